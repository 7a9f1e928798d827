//! Edits of a prompt.

mod between;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::prompt::{Item, Prompt, Section};

pub use between::edits_between;

/// One edit of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Edit {
    /// The section that is edited.
    pub section: Section,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

/// The six kinds of change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// Inserts an item.
    Add {
        /// The new item.
        item: Item,
        /// Its index after the change; none is the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<usize>,
    },
    /// Removes an item.
    Drop {
        /// Id of the item.
        id: String,
    },
    /// Moves an item.
    Move {
        /// Id of the item.
        id: String,
        /// Its index after the change.
        position: usize,
    },
    /// Replaces the text of an item by other words for the same idea.
    Rephrase {
        /// Id of the item.
        id: String,
        /// The new text.
        text: String,
    },
    /// Replaces the text of an item by a shorter one.
    Shorten {
        /// Id of the item.
        id: String,
        /// The new text, of fewer bytes.
        text: String,
    },
    /// Replaces an item by another one at its position.
    Swap {
        /// Id of the former item.
        id: String,
        /// The new item.
        item: Item,
    },
}

impl Edit {
    /// Returns the edited prompt, or none if the edit does not fit: its item is missing, nothing
    /// would change, or the result would have a duplicate or an invalid item.
    pub fn apply(&self, prompt: &Prompt) -> Option<Prompt> {
        let mut items = prompt.items(self.section).to_vec();
        self.change.apply(&mut items)?;
        prompt.with_items(self.section, items)
    }

    /// Returns the id of the item that the edit changes or inserts.
    pub fn id(&self) -> &str {
        match &self.change {
            Change::Add { item, .. } => &item.id,
            Change::Drop { id }
            | Change::Move { id, .. }
            | Change::Rephrase { id, .. }
            | Change::Shorten { id, .. }
            | Change::Swap { id, .. } => id,
        }
    }
}

impl Change {
    fn apply(&self, items: &mut Vec<Item>) -> Option<()> {
        let find = |items: &[Item], id: &str| items.iter().position(|item| item.id == id);
        match self {
            Self::Add { item, position } => {
                let index = position.unwrap_or(items.len());
                (index <= items.len()).then(|| items.insert(index, item.clone()))
            }
            Self::Drop { id } => find(items, id).map(|index| drop(items.remove(index))),
            Self::Move { id, position } => {
                let index = find(items, id).filter(|index| index != position)?;
                (*position < items.len()).then(|| {
                    let item = items.remove(index);
                    items.insert(*position, item);
                })
            }
            Self::Rephrase { id, text } => {
                let index = find(items, id)?;
                replace_text(&mut items[index], text)
            }
            Self::Shorten { id, text } => {
                let index = find(items, id)?;
                (text.len() < items[index].text.len())
                    .then(|| replace_text(&mut items[index], text))?
            }
            Self::Swap { id, item } => {
                let index = find(items, id)?;
                (item.id != *id).then(|| items[index] = item.clone())
            }
        }
    }
}

/// Replaces the text, unless only its case or its spaces change.
fn replace_text(item: &mut Item, text: &str) -> Option<()> {
    let former = item.normalized_text();
    text.clone_into(&mut item.text);
    (item.normalized_text() != former).then_some(())
}

impl fmt::Display for Edit {
    /// Writes the edit in a few words, such as `instructions: drop old-rule`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.section.as_str())?;
        match &self.change {
            Change::Add { item, .. } => write!(f, "add {}", item.id),
            Change::Drop { id } => write!(f, "drop {id}"),
            Change::Move { id, position } => write!(f, "move {id} to {}", position + 1),
            Change::Rephrase { id, .. } => write!(f, "rephrase {id}"),
            Change::Shorten { id, .. } => write!(f, "shorten {id}"),
            Change::Swap { id, item } => write!(f, "swap {id} for {}", item.id),
        }
    }
}
