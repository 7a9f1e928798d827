//! The steps of a ranking by name. A search can disable each of them, so that its contribution can
//! be measured.

pub use mc_domain::RankingStep as Step;

/// The steps that a ranking does without.
#[derive(Debug, Clone, Default)]
pub struct DisabledSteps(Vec<Step>);

impl DisabledSteps {
    /// Whether this one is taken.
    pub fn takes(&self, step: Step) -> bool {
        !self.0.contains(&step)
    }
}

impl FromIterator<Step> for DisabledSteps {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}
