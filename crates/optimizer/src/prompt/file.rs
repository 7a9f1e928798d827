//! The file of a prompt, `system_prompts/<project>.yaml`.

use serde::{Deserialize, Serialize};

use super::Prompt;
use crate::Error;

/// Maximum size of a file that is read.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// A version of a project's system prompt, as it is stored in git. Fields are written in the order
/// below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptFile {
    /// Key of the project.
    pub project: String,
    /// Number of the version, from 1.
    pub version: u32,
    /// Day of the version, as `2026-11-29`.
    pub date: String,
    /// Version that was in use before; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// How well the version is known to work.
    pub quality: Quality,
    /// Changes from the parent, as a unified diff.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// The prompt.
    pub prompt: Prompt,
}

/// How well a version is known to work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// The label.
    pub label: QualityLabel,
    /// Gain over the version before, if it was measured: 0.1 is ten more successes in a hundred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Interval of the gain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// Evidence for a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QualityLabel {
    /// Written by people, or never compared.
    Unmeasured,
    /// Better than the version before on held-out cases.
    BetterOffline,
    /// Better than the version before in a canary.
    BetterInCanary,
}

impl PromptFile {
    /// Returns the file as YAML.
    pub fn to_yaml(&self) -> Result<String, Error> {
        serde_norway::to_string(self).map_err(|error| invalid(&error))
    }

    /// Parses a file of at most [`MAX_FILE_BYTES`]. Unknown fields and duplicates are errors.
    pub fn from_yaml(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_FILE_BYTES {
            let reason = format!("{} bytes, and {MAX_FILE_BYTES} are allowed", text.len());
            return Err(Error::InvalidFile { reason });
        }
        serde_norway::from_str(text).map_err(|error| invalid(&error))
    }
}

fn invalid(error: &serde_norway::Error) -> Error {
    Error::InvalidFile { reason: error.to_string() }
}
