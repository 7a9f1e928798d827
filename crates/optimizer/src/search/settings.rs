//! Settings of a night.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::prompt::Limits;

/// Settings of a night. The same settings, cases and scores give the same result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Prompts that a level of the beam search keeps.
    pub width: usize,
    /// Maximum number of levels.
    pub depth: usize,
    /// Maximum number of children of a prompt in a level.
    pub children: usize,
    /// Maximum number of edits by which a child differs from its prompt.
    pub edits_per_child: usize,
    /// Training cases of one round of elimination.
    pub minibatch: usize,
    /// Maximum number of evaluations of one prompt on one case, with those of held-out cases.
    pub budget: usize,
    /// Share of the cases that are held out.
    pub held_out_percent: u8,
    /// Number of held-out cases below which nothing is proposed.
    pub min_held_out: usize,
    /// Prompts that are compared with the parent on the held-out cases.
    pub finalists: usize,
    /// Probability that a night proposes a prompt that is no better, at most.
    pub significance: f64,
    /// Maximum size of a prompt.
    pub limits: Limits,
    /// Evaluations that run at once.
    pub concurrency: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            width: 4,
            depth: 16,
            children: 6,
            edits_per_child: 4,
            minibatch: 5,
            budget: 4_000,
            held_out_percent: 40,
            min_held_out: 20,
            finalists: 3,
            significance: 0.05,
            limits: Limits::default(),
            concurrency: 4,
        }
    }
}

impl Settings {
    /// Checks that each setting is in its range.
    pub fn check(&self) -> Result<(), Error> {
        for (setting, value) in [
            ("width", self.width),
            ("depth", self.depth),
            ("children", self.children),
            ("edits_per_child", self.edits_per_child),
            ("minibatch", self.minibatch),
            ("finalists", self.finalists),
            ("concurrency", self.concurrency),
        ] {
            check_setting(setting, &value, (1..=100).contains(&value), "from 1 to 100")?;
        }
        let is_share = (1..=90).contains(&self.held_out_percent);
        check_setting("held_out_percent", &self.held_out_percent, is_share, "from 1 to 90")?;
        let is_level = self.significance > 0.0 && self.significance <= 0.5;
        check_setting("significance", &self.significance, is_level, "above 0 and at most 0.5")?;
        let is_enough = self.min_held_out >= 5;
        check_setting("min_held_out", &self.min_held_out, is_enough, "at least 5")?;
        check_setting("budget", &self.budget, self.budget <= 1_000_000, "at most 1000000")
    }
}

pub(crate) fn check_setting(
    setting: &'static str,
    value: &impl ToString,
    is_valid: bool,
    rule: &'static str,
) -> Result<(), Error> {
    if is_valid {
        return Ok(());
    }
    Err(Error::InvalidSetting { setting, value: value.to_string(), rule })
}
