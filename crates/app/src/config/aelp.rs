//! The section `aelp`: the nightly optimization of system prompts.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use mc_jobs::PromptSettings;
use mc_memory::prompts::night::{Evaluator, NightSettings};
use mc_optimizer::{CanarySettings, Settings};
use serde::{Deserialize, Serialize};

/// The nightly optimization of system prompts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aelp {
    pub evaluator: AelpEvaluator,
    pub model_budget: usize,
    pub model_minutes: u64,
    pub checkout: PathBuf,
    pub search: Search,
    pub canary: CanarySettings,
}

/// The part of the search's settings that is configured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    pub seed: u64,
    pub width: usize,
    pub depth: usize,
    pub budget: usize,
}

/// What scores prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AelpEvaluator {
    Rules,
    Model,
}

impl Aelp {
    /// Returns the settings of the job, or the first setting that is out of its range.
    pub fn settings(&self) -> Result<PromptSettings> {
        let Search { seed, width, depth, budget } = self.search;
        let search = Settings { seed, width, depth, budget, ..Settings::default() };
        search.check().context("aelp.search is not valid")?;
        self.canary.check().context("aelp.canary is not valid")?;
        // The job that runs a night ends after half an hour.
        ensure!(
            (1..=28).contains(&self.model_minutes),
            "aelp.model_minutes is {}; set it to 1 to 28",
            self.model_minutes
        );
        let checkout = Some(self.checkout.clone()).filter(|path| !path.as_os_str().is_empty());
        ensure!(
            checkout.as_ref().is_none_or(|path| path.is_absolute()),
            "aelp.checkout is {}; set it to an absolute path",
            self.checkout.display()
        );
        let evaluator = match self.evaluator {
            AelpEvaluator::Rules => Evaluator::Rules,
            AelpEvaluator::Model => Evaluator::Model,
        };
        let night = NightSettings {
            search,
            canary: self.canary.clone(),
            evaluator,
            model_budget: self.model_budget,
            model_time: Duration::from_mins(self.model_minutes),
        };
        Ok(PromptSettings { night, checkout })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn defaults_are_those_of_the_crate() {
        let settings = Config::defaults().aelp.settings().expect("the defaults are valid");
        assert_eq!(settings.night, NightSettings::default());
        assert_eq!(settings.checkout, None);
    }

    #[test]
    fn setting_out_of_range_is_named() {
        let mut aelp = Config::defaults().aelp;
        aelp.canary.percent = 60;
        let error = format!("{:#}", aelp.settings().expect_err("60 %"));
        assert_eq!(error, "aelp.canary is not valid: percent is 60, and must be from 1 to 50");
    }
}
