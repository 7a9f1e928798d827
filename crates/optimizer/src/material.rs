//! The material that rules propose edits from: candidate instructions and examples, and errors that
//! occur often.
//!
//! All texts are used as they are given. The caller masks secrets in them, and refuses texts that
//! are prompt injections.

mod catalog;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::prompt::{Item, Section};
use crate::random::stable_hash;

pub use catalog::catalog;

/// Maximum length of the part of a derived instruction that comes from an error.
const MAX_ERROR_CHARS: usize = 300;

/// Material of one project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    /// Candidate instructions, each id once.
    pub instructions: Vec<CandidateInstruction>,
    /// Candidate examples, each id once.
    pub examples: Vec<CandidateExample>,
    /// Errors that occur often.
    pub errors: Vec<FrequentError>,
}

/// An instruction that may be added, with other forms of its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateInstruction {
    /// Id, as in the prompt.
    pub id: String,
    /// The text.
    pub text: String,
    /// Other words for the same idea.
    #[serde(default)]
    pub rephrasings: Vec<String>,
    /// A shorter form.
    #[serde(default)]
    pub short: Option<String>,
    /// Ids of the errors that the instruction should prevent.
    #[serde(default)]
    pub errors: Vec<String>,
}

/// An example that may be added, with its success in recalls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateExample {
    /// Id, as in the prompt.
    pub id: String,
    /// The text.
    pub text: String,
    /// How often recalls returned the example.
    pub recalls: u32,
    /// How often it was then used.
    pub uses: u32,
    /// Ids of the errors that the example shows how to avoid.
    #[serde(default)]
    pub errors: Vec<String>,
}

/// An error that occurs often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequentError {
    /// Id, such as `failed-tests`. The catalog knows some ids; others are allowed.
    pub id: String,
    /// What goes wrong, in a sentence.
    pub description: String,
    /// What prevents it, in a sentence, if this is known.
    #[serde(default)]
    pub remedy: Option<String>,
    /// How often it occurred.
    pub count: u32,
}

impl Material {
    /// Creates the material of a project: the general catalog, one instruction derived from each
    /// frequent error, and the given examples.
    pub fn from_sources(errors: Vec<FrequentError>, examples: Vec<CandidateExample>) -> Self {
        let derived = errors.iter().map(CandidateInstruction::from_error);
        let instructions = catalog().iter().cloned().chain(derived);
        let by_id: BTreeMap<_, _> =
            instructions.map(|candidate| (candidate.id.clone(), candidate)).collect();
        Self { instructions: by_id.into_values().collect(), examples, errors }
    }

    /// Returns the candidate instruction with an id.
    pub fn instruction(&self, id: &str) -> Option<&CandidateInstruction> {
        self.instructions.iter().find(|candidate| candidate.id == id)
    }

    /// Returns the candidate example with an id.
    pub fn example(&self, id: &str) -> Option<&CandidateExample> {
        self.examples.iter().find(|candidate| candidate.id == id)
    }

    /// Returns the ids of the errors that an item should prevent, if the material knows the item.
    pub fn errors_of(&self, section: Section, id: &str) -> &[String] {
        match section {
            Section::Instructions => self.instruction(id).map_or(&[], |found| &found.errors),
            Section::Examples => self.example(id).map_or(&[], |found| &found.errors),
        }
    }

    /// Returns how often errors with these ids occurred.
    pub(crate) fn count_of(&self, errors: &[String]) -> u32 {
        let counted = self.errors.iter().filter(|error| errors.contains(&error.id));
        counted.map(|error| error.count).fold(0, u32::saturating_add)
    }
}

impl CandidateInstruction {
    /// Derives an instruction from an error: its remedy, or a warning of the error. The id depends
    /// on the error's id only, so later nights recognize the instruction.
    pub fn from_error(error: &FrequentError) -> Self {
        let remedy = error.remedy.as_deref().map(one_line).filter(|text| !text.is_empty());
        let description = one_line(&error.description);
        let warning = format!("This error occurs often here: {description} Check for it.");
        let long = remedy.as_ref().map(|remedy| {
            format!("{remedy} This prevents an error that occurs often here: {description}")
        });
        Self {
            id: format!("error-{:016x}", stable_hash(&[&error.id])),
            text: remedy.clone().unwrap_or(warning),
            rephrasings: long.into_iter().collect(),
            short: remedy.is_none().then(|| format!("Avoid this: {description}")),
            errors: vec![error.id.clone()],
        }
    }

    /// Returns the instruction as an item.
    pub fn item(&self) -> Item {
        Item::new(&self.id, &self.text)
    }
}

impl CandidateExample {
    /// Returns the example as an item.
    pub fn item(&self) -> Item {
        Item::new(&self.id, &self.text)
    }

    /// Returns the share of recalls after which the example was used. One use of two recalls is
    /// added, so that few recalls give no extreme rate.
    pub fn hit_rate(&self) -> f64 {
        let uses = f64::from(self.uses.min(self.recalls));
        (uses + 1.0) / (f64::from(self.recalls) + 2.0)
    }
}

/// Returns a text on one line, shortened, with a mark at its end.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(MAX_ERROR_CHARS).collect();
    if short.is_empty() || short.ends_with(['.', '!', '?']) { short } else { format!("{short}.") }
}
