//! Named steps of the ranking. A search can disable each of them, to measure its contribution.

pub use mc_domain::RankingStep as Step;

/// Steps that a ranking skips.
#[derive(Debug, Clone, Default)]
pub struct DisabledSteps(Vec<Step>);

impl DisabledSteps {
    /// Returns whether the step is enabled.
    pub fn allows(&self, step: Step) -> bool {
        !self.0.contains(&step)
    }
}

impl FromIterator<Step> for DisabledSteps {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}
