//! The configuration of patches.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Limits;

/// Largest accepted `max_diff_bytes`.
const DIFF_BYTES_MAX: usize = 1_000_000;
/// Largest accepted `max_files`.
const FILES_MAX: usize = 500;
/// Longest accepted time until a patch is deleted, in hours: 90 days.
const TTL_HOURS_MAX: u64 = 24 * 90;

/// The configuration of patches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodingSettings {
    /// Maximum size of a diff, in bytes.
    #[serde(alias = "max-diff-bytes")]
    pub max_diff_bytes: usize,
    /// Maximum number of files of a patch.
    pub max_files: usize,
    /// Hours until a patch is deleted.
    pub ttl_hours: u64,
    /// Files and directories that no patch may change, from the root of a workspace.
    pub forbidden_paths: Vec<String>,
    /// Language of summaries, such as `en`; empty for that of the instructions.
    pub language: String,
}

impl Default for CodingSettings {
    fn default() -> Self {
        Self {
            max_diff_bytes: 256 * 1024,
            max_files: 25,
            ttl_hours: 24,
            forbidden_paths: Vec::new(),
            language: String::new(),
        }
    }
}

/// A setting that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`coding.{field}`: {rule}")]
pub struct InvalidSettings {
    /// The setting.
    pub field: &'static str,
    /// The rule, and what to do.
    pub rule: String,
}

impl CodingSettings {
    /// Checks the rules; to be called once, when the service starts.
    pub fn check(&self) -> Result<(), InvalidSettings> {
        let ranges = [
            ("max_diff_bytes", self.max_diff_bytes as u64, 1, DIFF_BYTES_MAX as u64),
            ("max_files", self.max_files as u64, 1, FILES_MAX as u64),
            ("ttl_hours", self.ttl_hours, 1, TTL_HOURS_MAX),
        ];
        for (field, value, min, max) in ranges {
            if !(min..=max).contains(&value) {
                let rule = format!("{value} is out of range; set {min} to {max}");
                return Err(InvalidSettings { field, rule });
            }
        }
        let forbidden = self.forbidden_paths.iter().map(String::as_str);
        crate::PathRules::new([], forbidden)
            .map(|_| ())
            .map_err(|error| InvalidSettings { field: "forbidden_paths", rule: error.to_string() })
    }

    /// Returns the limits of a patch.
    pub fn limits(&self) -> Limits {
        let (max_diff_bytes, max_files) = (self.max_diff_bytes, self.max_files);
        Limits { max_diff_bytes, max_files, ..Limits::default() }
    }

    /// Returns the time until a patch is deleted.
    pub fn ttl(&self) -> Duration {
        Duration::from_hours(self.ttl_hours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        CodingSettings::default().check().expect("the defaults are valid");
        let field = |settings: CodingSettings| settings.check().expect_err("invalid").field;
        let defaults = CodingSettings::default;
        assert_eq!(field(CodingSettings { ttl_hours: 0, ..defaults() }), "ttl_hours");
        assert_eq!(field(CodingSettings { max_files: 501, ..defaults() }), "max_files");
        let outside = CodingSettings { forbidden_paths: vec!["../up".to_owned()], ..defaults() };
        assert_eq!(field(outside), "forbidden_paths");
    }
}
