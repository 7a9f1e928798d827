//! Figures of answers without and with the bundle, and of their difference.

use mc_optimizer::stats;
use serde::Serialize;

/// Seed of the random samples, so that the same answers have the same figures.
const SEED: u64 = 1;

/// The same thing of the answer without the bundle and of the one with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sides<T> {
    /// Without the bundle.
    pub without: T,
    /// With the bundle.
    pub with: T,
}

/// For each fact of a question, whether an answer states it.
pub type Stated = Vec<bool>;

/// Figures of the answers of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SideFigures {
    /// Facts that the answers state.
    pub facts_found: u32,
    /// Mean over the questions of the share of facts found, 0 to 1.
    pub mean_share: f64,
    /// Questions whose answer states all facts.
    pub complete: u32,
    /// Share of those questions, 0 to 1.
    pub complete_share: f64,
}

/// The difference of the shares of facts found, with the bundle less without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// Mean over the questions, -1 to 1.
    pub mean: f64,
    /// Lower bound of the 95 % bootstrap interval of the mean, over the questions.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// One-sided p-value of a sign-flip test: how likely a gain of at least this size is if the
    /// bundle makes no difference. Near 1, a loss is likely.
    pub p: f64,
}

/// Figures of a set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Number of questions.
    pub questions: u32,
    /// Number of their facts.
    pub facts: u32,
    /// Figures of both sides.
    #[serde(flatten)]
    pub sides: Sides<SideFigures>,
    /// Their difference.
    pub difference: Difference,
}

impl Figures {
    /// Returns the figures of questions; `None` without questions.
    pub fn of(questions: &[Sides<&Stated>]) -> Option<Self> {
        let differences: Vec<f64> =
            questions.iter().map(|sides| share(sides.with) - share(sides.without)).collect();
        let (low, high) = stats::bootstrap_interval(&differences, SEED)?;
        let mean = stats::mean(&differences)?;
        let p = stats::sign_flip_p(&differences, SEED);
        let sides = Sides {
            without: side(questions.iter().map(|sides| sides.without))?,
            with: side(questions.iter().map(|sides| sides.with))?,
        };
        Some(Self {
            questions: count(questions.iter()),
            facts: count(questions.iter().flat_map(|sides| sides.with)),
            sides,
            difference: Difference { mean, low, high, p },
        })
    }
}

/// Returns the number of facts that an answer states.
pub fn found(stated: &Stated) -> u32 {
    count(stated.iter().filter(|is_stated| **is_stated))
}

fn side<'a>(questions: impl Iterator<Item = &'a Stated> + Clone) -> Option<SideFigures> {
    let shares: Vec<f64> = questions.clone().map(share).collect();
    let complete = count(questions.clone().filter(|stated| stated.iter().all(|found| *found)));
    Some(SideFigures {
        facts_found: questions.map(found).sum(),
        mean_share: stats::mean(&shares)?,
        complete,
        complete_share: f64::from(complete) / shares.len() as f64,
    })
}

/// Returns the share of facts that an answer states. Each question has a fact.
fn share(stated: &Stated) -> f64 {
    f64::from(found(stated)) / stated.len() as f64
}

fn count(items: impl Iterator) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn figures(questions: &[(&[bool], &[bool])]) -> Figures {
        let owned: Vec<(Stated, Stated)> =
            questions.iter().map(|(without, with)| (without.to_vec(), with.to_vec())).collect();
        let sides: Vec<_> = owned.iter().map(|(without, with)| Sides { without, with }).collect();
        Figures::of(&sides).unwrap()
    }

    #[test]
    fn each_question_has_the_same_weight() {
        let figures = figures(&[
            (&[false; 4], &[true, true, true, false]),
            (&[true], &[true]),
            (&[true], &[false]),
        ]);
        assert_eq!((figures.questions, figures.facts), (3, 6));
        let Sides { without, with } = figures.sides;
        assert_eq!((without.facts_found, with.facts_found), (2, 4));
        assert_eq!((without.complete, with.complete), (2, 1));
        assert!((without.mean_share - 2.0 / 3.0).abs() < 1e-12);
        assert!((with.mean_share - 1.75 / 3.0).abs() < 1e-12);
        let difference = figures.difference;
        assert!((difference.mean + 0.25 / 3.0).abs() < 1e-12);
        assert!(difference.low < difference.mean && difference.mean < difference.high);
        // Of the four patterns of signs, three have a sum of at least 0.75 - 1.
        assert!((difference.p - 0.75).abs() < 1e-12, "{difference:?}");
    }

    #[test]
    fn same_answers_are_no_difference() {
        let figures = figures(&[(&[true, false], &[true, false]), (&[false], &[false])]);
        let Difference { mean, low, high, p } = figures.difference;
        assert!([mean, low, high].iter().all(|value| value.abs() < 1e-12));
        assert!((p - 1.0).abs() < 1e-12);
        assert_eq!(Figures::of(&[]), None);
    }
}
