//! Settings of canaries.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::search::check_setting as check;

/// Settings of a canary. Do not change them while it runs: the error probabilities hold for fixed
/// ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CanarySettings {
    /// Share of the developers in the canary.
    pub percent: u8,
    /// Probability that a version that is no better is promoted, at most.
    pub alpha_promotion: f64,
    /// Probability that a version that is no worse is rolled back as worse, at most. It may be
    /// larger than `alpha_promotion`: an equal version is rolled back in the end in any case.
    pub alpha_rollback: f64,
    /// Nights between two tests for promotion. A week covers its days evenly.
    pub look_interval_nights: u32,
    /// Night of the last test. Without a significant gain the canary is then rolled back.
    pub max_nights: u32,
    /// Number of dialogs of the canary at which the last test takes place earlier.
    pub max_canary_dialogs: u32,
    /// Number of dialogs of each arm below which nothing is tested.
    pub min_dialogs: u32,
}

impl Default for CanarySettings {
    fn default() -> Self {
        Self {
            percent: 10,
            alpha_promotion: 0.05,
            alpha_rollback: 0.2,
            look_interval_nights: 7,
            max_nights: 28,
            max_canary_dialogs: 5_000,
            min_dialogs: 30,
        }
    }
}

impl CanarySettings {
    /// Checks that each setting is in its range.
    pub fn check(&self) -> Result<(), Error> {
        check("percent", &self.percent, (1..=50).contains(&self.percent), "from 1 to 50")?;
        for (setting, alpha) in
            [("alpha_promotion", self.alpha_promotion), ("alpha_rollback", self.alpha_rollback)]
        {
            check(setting, &alpha, alpha > 0.0 && alpha <= 0.5, "above 0 and at most 0.5")?;
        }
        let (interval, nights) = (self.look_interval_nights, self.max_nights);
        check("max_nights", &nights, (1..=365).contains(&nights), "from 1 to 365")?;
        let is_within = (1..=nights).contains(&interval);
        check("look_interval_nights", &interval, is_within, "from 1 to max_nights")?;
        let is_above = self.max_canary_dialogs > self.min_dialogs;
        check("max_canary_dialogs", &self.max_canary_dialogs, is_above, "above min_dialogs")
    }
}
