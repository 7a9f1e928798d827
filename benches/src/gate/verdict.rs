//! A figure of two commits, measured in turn: its loss and its noise.

use crate::harness::report::short;
use crate::harness::stats::Spread;

/// Maximum loss that passes, in addition to the noise.
pub const LOSS_MAX: f64 = 0.1;

/// The direction in which a figure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// A rate.
    More,
    /// A time.
    Less,
}

/// The verdict on a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Slower beyond the noise of the run.
    Slower,
    /// Not slower, or not distinguishable from the noise.
    Holds,
}

/// The losses and the noise of a figure, by round.
#[derive(Debug)]
pub struct Compared {
    /// The share by which the newer commit is worse.
    pub losses: Vec<f64>,
    /// The share by which the older commit differs from itself.
    pub noises: Vec<f64>,
}

impl Compared {
    /// Computes both of rounds that measured the older commit, the newer one, and the older one
    /// again.
    pub fn of(better: Better, rounds: impl Iterator<Item = [f64; 3]>) -> Self {
        let (mut losses, mut noises) = (Vec::new(), Vec::new());
        for [first, new, second] in rounds {
            let old = f64::midpoint(first, second);
            losses.push(match better {
                Better::More => 1.0 - new / old,
                Better::Less => new / old - 1.0,
            });
            noises.push((first - second).abs() / old);
        }
        Self { losses, noises }
    }

    /// Decides whether the median loss is beyond the limit and the median noise.
    pub fn verdict(&self) -> Verdict {
        if self.loss() > LOSS_MAX + self.noise() { Verdict::Slower } else { Verdict::Holds }
    }

    /// Describes the median loss and noise.
    pub fn describe(&self) -> String {
        let percent = |share: f64| short(100.0 * share);
        format!("{} % lost, noise {} %", percent(self.loss()), percent(self.noise()))
    }

    fn loss(&self) -> f64 {
        Spread::of(self.losses.iter().copied()).median
    }

    fn noise(&self) -> f64 {
        Spread::of(self.noises.iter().copied()).median
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_counts_beyond_a_tenth_and_the_noise() {
        let slower = |better, rounds: &[[f64; 3]]| {
            Compared::of(better, rounds.iter().copied()).verdict() == Verdict::Slower
        };
        assert!(slower(Better::Less, &[[10.0, 12.0, 10.0]; 3]));
        assert!(!slower(Better::Less, &[[10.0, 10.9, 10.0]; 3]), "less than a tenth");
        assert!(!slower(Better::Less, &[[9.0, 12.0, 11.0]; 3]), "it varies by a fifth itself");
        assert!(!slower(Better::Less, &[[10.0, 5.0, 10.0]; 3]), "faster");
        assert!(slower(Better::More, &[[100.0, 85.0, 100.0]; 3]));
        assert!(!slower(Better::More, &[[100.0, 150.0, 100.0]; 3]), "more of them");
        let once = [[10.0, 30.0, 10.0], [10.0, 10.0, 10.0], [10.0, 10.0, 10.0]];
        assert!(!slower(Better::Less, &once), "one bad round is none of the commit's");
    }
}
