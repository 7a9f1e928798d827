//! System prompts: instructions and examples, in an order.

mod file;
mod item;
mod size;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::Error;
use crate::random::stable_hash;

pub use file::{MAX_FILE_BYTES, PromptFile, Quality, QualityLabel};
pub use item::{Item, Section};
pub use size::{Limits, PromptSize};

/// A system prompt. No two items of a section have the same id or the same text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Items", into = "Items")]
pub struct Prompt(Items);

/// The fields of a prompt, in the order of its file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Items {
    #[serde(default)]
    instructions: Vec<Item>,
    #[serde(default)]
    examples: Vec<Item>,
}

impl Prompt {
    /// Creates a prompt. Fails if an id or a text is invalid or occurs twice in a section.
    pub fn new(instructions: Vec<Item>, examples: Vec<Item>) -> Result<Self, Error> {
        for section in [&instructions, &examples] {
            check_items(section)?;
        }
        Ok(Self(Items { instructions, examples }))
    }

    /// Returns the items of a section in their order.
    pub fn items(&self, section: Section) -> &[Item] {
        match section {
            Section::Instructions => &self.0.instructions,
            Section::Examples => &self.0.examples,
        }
    }

    /// Returns all items with their sections.
    pub fn all_items(&self) -> impl Iterator<Item = (Section, &Item)> {
        Section::ALL
            .into_iter()
            .flat_map(|section| self.items(section).iter().map(move |item| (section, item)))
    }

    /// Returns the item with an id.
    pub fn find(&self, section: Section, id: &str) -> Option<&Item> {
        self.items(section).iter().find(|item| item.id == id)
    }

    /// Returns a copy with other items in a section, or none if they have duplicates or an invalid
    /// item.
    pub(crate) fn with_items(&self, section: Section, items: Vec<Item>) -> Option<Self> {
        check_items(&items).ok()?;
        let mut changed = self.0.clone();
        match section {
            Section::Instructions => changed.instructions = items,
            Section::Examples => changed.examples = items,
        }
        Some(Self(changed))
    }

    /// Returns the text for a model: the instructions as a list, then the examples. An empty prompt
    /// is an empty text.
    pub fn render(&self) -> String {
        let list = self.0.instructions.iter().map(|item| format!("- {}\n", indent(&item.text)));
        let mut text: String = list.collect();
        for (index, example) in self.0.examples.iter().enumerate() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}Example {}:\n{}\n", index + 1, example.text.trim_end()));
        }
        text
    }

    /// Returns the size of the rendered text.
    pub fn size(&self) -> PromptSize {
        PromptSize::of(&self.render())
    }

    /// Returns a stable hash of ids, texts and order.
    pub fn key(&self) -> u64 {
        let parts = self
            .all_items()
            .flat_map(|(section, item)| [section.as_str(), item.id.as_str(), item.text.as_str()]);
        stable_hash(&parts.collect::<Vec<_>>())
    }

    /// Returns the changes from this prompt to `other` as a unified diff of lines `[id] text`.
    /// It is empty if both are equal.
    pub fn diff(&self, other: &Self) -> String {
        let (before, after) = (self.listing(), other.listing());
        TextDiff::from_lines(&before, &after).unified_diff().context_radius(1).to_string()
    }

    fn listing(&self) -> String {
        let lines = |section: Section| -> String {
            let items = self.items(section).iter();
            items.map(|item| format!("[{}] {}\n", item.id, indent(&item.text))).collect()
        };
        format!(
            "instructions:\n{}examples:\n{}",
            lines(Section::Instructions),
            lines(Section::Examples)
        )
    }
}

impl TryFrom<Items> for Prompt {
    type Error = Error;

    fn try_from(items: Items) -> Result<Self, Error> {
        Self::new(items.instructions, items.examples)
    }
}

impl From<Prompt> for Items {
    fn from(prompt: Prompt) -> Self {
        prompt.0
    }
}

fn check_items(items: &[Item]) -> Result<(), Error> {
    let (mut ids, mut texts) = (HashSet::new(), HashSet::new());
    for item in items {
        item.check()?;
        let is_new = ids.insert(item.id.as_str()) && texts.insert(item.normalized_text());
        if !is_new {
            return Err(Error::Duplicate { id: item.id.clone() });
        }
    }
    Ok(())
}

/// Indents all lines but the first, so that a list shows where an item ends.
fn indent(text: &str) -> String {
    text.trim_end().replace('\n', "\n  ")
}
