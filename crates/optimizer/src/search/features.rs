//! Differences of a prompt from the parent, to which effects are attributed.

use std::collections::BTreeSet;
use std::fmt;

use crate::edit::{Change, Edit};
use crate::prompt::{Item, Prompt, Section};
use crate::random::stable_hash;

/// One difference of a prompt from the parent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Feature {
    /// An item that the parent lacks.
    With(Section, String),
    /// The parent's item is missing.
    Without(Section, String),
    /// An item has another text than in the parent, or than in the material if it is new.
    Reworded(Section, String, u64),
    /// Another item is first.
    First(Section, String),
}

impl Feature {
    /// Returns the standard deviation of effects that is expected before any evaluation. Other
    /// words or another order change less than another content.
    pub(super) fn expected_effect(&self) -> f64 {
        match self {
            Self::With(..) | Self::Without(..) => 0.06,
            Self::Reworded(..) => 0.03,
            Self::First(..) => 0.02,
        }
    }
}

impl Feature {
    /// Returns the edit that undoes the difference, if there is one.
    pub(super) fn undo(&self, parent: &Prompt) -> Option<Edit> {
        let (section, change) = match self {
            Self::With(section, id) => (section, Change::Drop { id: id.clone() }),
            Self::Without(section, id) => {
                let item = parent.find(*section, id)?.clone();
                (section, Change::Add { item, position: None })
            }
            Self::Reworded(section, id, _) => {
                let text = parent.find(*section, id)?.text.clone();
                (section, Change::Rephrase { id: id.clone(), text })
            }
            Self::First(..) => return None,
        };
        Some(Edit { section: *section, change })
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::With(section, id) => write!(f, "with {} {id}", section.as_str()),
            Self::Without(section, id) => write!(f, "without {} {id}", section.as_str()),
            Self::Reworded(section, id, _) => write!(f, "reworded {} {id}", section.as_str()),
            Self::First(section, id) => write!(f, "first in {} {id}", section.as_str()),
        }
    }
}

/// Returns the differences in a fixed order.
pub(super) fn between(parent: &Prompt, prompt: &Prompt) -> Vec<Feature> {
    let mut features = BTreeSet::new();
    for section in Section::ALL {
        for item in prompt.items(section) {
            match parent.find(section, &item.id) {
                None => _ = features.insert(Feature::With(section, item.id.clone())),
                Some(former) if former.text != item.text => {
                    features.insert(reworded(section, item));
                }
                Some(_) => {}
            }
        }
        let is_missing = |item: &&Item| prompt.find(section, &item.id).is_none();
        let missing = parent.items(section).iter().filter(is_missing);
        features.extend(missing.map(|item| Feature::Without(section, item.id.clone())));
        features.extend(moved_to_front(parent, prompt, section));
    }
    features.into_iter().collect()
}

fn reworded(section: Section, item: &Item) -> Feature {
    Feature::Reworded(section, item.id.clone(), stable_hash(&[&item.text]))
}

/// Returns the item that is first now, if the former first one is still in the prompt.
fn moved_to_front(parent: &Prompt, prompt: &Prompt, section: Section) -> Option<Feature> {
    let (before, after) = (parent.items(section).first()?, prompt.items(section).first()?);
    let is_moved = before.id != after.id && prompt.find(section, &before.id).is_some();
    is_moved.then(|| Feature::First(section, after.id.clone()))
}
