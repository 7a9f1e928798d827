//! A linear model of the effects of changes, shared by all prompts.
//!
//! The score of a prompt on a case is taken as the sum of the ease of the case, the effects of the
//! prompt's differences from the parent, a deviation of the prompt, and noise. Effects and
//! deviations are expected to be small, which is the prior of a Bayesian linear regression. So a
//! change that several prompts share is judged by the evaluations of all of them, and a prompt with
//! few evaluations is not preferred for a lucky batch.

mod matrix;

use std::collections::BTreeMap;

use super::features::Feature;
use super::{Candidate, Effect};
use crate::evaluate::Ledger;
use crate::random::Random;
use matrix::Cholesky;

/// Standard deviation of what a prompt deviates from the sum of its effects.
const DEVIATION: f64 = 0.03;

/// Variance of a score around its expectation, before it is estimated; that of a coin toss is 0.25.
const NOISE_BEFORE: f64 = 0.2;

/// Range of the estimated variance of scores.
const NOISE_RANGE: (f64, f64) = (0.002, 0.25);

/// Passes that alternate between the ease of cases and the effects.
const PASSES: usize = 6;

/// Estimated effects.
#[derive(Debug, Clone)]
pub(super) struct Effects {
    columns: BTreeMap<Feature, usize>,
    means: Vec<f64>,
    /// Standard errors.
    errors: Vec<f64>,
    precision: Option<Cholesky>,
    /// Mean score of the parent on each case, as far as it is known.
    ease: BTreeMap<usize, f64>,
    noise: f64,
}

impl Default for Effects {
    fn default() -> Self {
        let (columns, ease) = (BTreeMap::new(), BTreeMap::new());
        let (means, errors) = (vec![], vec![]);
        Self { columns, means, errors, precision: None, ease, noise: NOISE_BEFORE }
    }
}

/// The scores of one prompt.
struct Row {
    columns: Vec<usize>,
    scores: Vec<(usize, f64)>,
    gain: f64,
}

impl Effects {
    /// Estimates all effects from the scores that the ledger has.
    pub(super) fn fit(&mut self, ledger: &Ledger<'_>, parent: &Candidate, evaluated: &[Candidate]) {
        for feature in evaluated.iter().flat_map(|candidate| &candidate.features) {
            let next = self.columns.len();
            self.columns.entry(feature.clone()).or_insert(next);
        }
        self.means.resize(self.columns.len(), 0.0);
        let candidates = std::iter::once(parent).chain(evaluated);
        let mut rows: Vec<Row> =
            candidates.filter_map(|candidate| self.row(ledger, candidate)).collect();
        let precision = self.precision_of(&rows);
        for _ in 0..PASSES {
            self.ease = ease_of_cases(&rows);
            self.solve(&precision, &mut rows);
        }
        self.errors = precision.inverse_diagonal().into_iter().map(f64::sqrt).collect();
        self.precision = Some(precision);
        self.noise = self.residual_variance(&rows);
    }

    /// Returns the estimated gain of a prompt over the parent: the sum of its effects, and the part
    /// of its deviation that is probably no noise.
    pub(super) fn gain(&self, ledger: &Ledger<'_>, candidate: &Candidate) -> f64 {
        let sum = self.sum(&candidate.features);
        let scores: Vec<_> = ledger.scores_of(candidate.key).collect();
        match self.mean_gain(&scores) {
            Some(observed) => sum + self.shrink(observed - sum, scores.len()),
            None => sum,
        }
    }

    /// Returns the sum of the estimated effects.
    pub(super) fn sum(&self, features: &[Feature]) -> f64 {
        features
            .iter()
            .filter_map(|feature| self.columns.get(feature))
            .map(|c| self.means[*c])
            .sum()
    }

    /// Returns whether a change probably has a gain: its estimate exceeds its standard error.
    pub(super) fn is_clear_gain(&self, feature: &Feature) -> bool {
        self.columns.get(feature).is_some_and(|column| self.means[*column] > self.errors[*column])
    }

    /// Draws effects that are possible after the evaluations, for choosing edits.
    pub(super) fn sample(&self, random: &mut Random) -> Sample<'_> {
        let normal: Vec<f64> = self.means.iter().map(|_| random.normal()).collect();
        let deviations = self.precision.as_ref().map(|precision| precision.solve_upper(&normal));
        let effects = match deviations {
            Some(deviations) => self.means.iter().zip(deviations).map(|(m, d)| m + d).collect(),
            None => vec![],
        };
        Sample { known: self, effects, unknown: BTreeMap::new() }
    }

    /// Returns all effects, the largest first.
    pub(super) fn list(&self) -> Vec<Effect> {
        let effect = |(feature, column): (&Feature, &usize)| {
            let (gain, error) = (self.means[*column], self.errors[*column]);
            Effect { change: feature.to_string(), gain, error }
        };
        let mut effects: Vec<Effect> = self.columns.iter().map(effect).collect();
        effects.sort_by(|a, b| b.gain.abs().total_cmp(&a.gain.abs()).then(a.change.cmp(&b.change)));
        effects
    }

    fn row(&self, ledger: &Ledger<'_>, candidate: &Candidate) -> Option<Row> {
        let scores: Vec<_> = ledger.scores_of(candidate.key).collect();
        let columns = candidate.features.iter().map(|feature| self.columns[feature]).collect();
        let gain = self.sum(&candidate.features);
        (!scores.is_empty()).then_some(Row { columns, scores, gain })
    }

    /// Returns the weight of a prompt's mean gain: the inverse of its variance.
    fn weight(&self, row: &Row) -> f64 {
        1.0 / (self.noise / row.scores.len() as f64 + DEVIATION * DEVIATION)
    }

    fn precision_of(&self, rows: &[Row]) -> Cholesky {
        let mut precision = matrix::zeros(self.columns.len());
        for (feature, column) in &self.columns {
            precision[*column][*column] = feature.expected_effect().powi(-2);
        }
        for row in rows {
            let weight = self.weight(row);
            for i in &row.columns {
                row.columns.iter().for_each(|j| precision[*i][*j] += weight);
            }
        }
        Cholesky::new(precision)
    }

    /// Updates the effects from the mean gains of the prompts, and the gains of the prompts from
    /// the effects.
    fn solve(&mut self, precision: &Cholesky, rows: &mut [Row]) {
        let mut sums = vec![0.0; self.means.len()];
        for row in &*rows {
            let weighted = self.weight(row) * self.mean_gain(&row.scores).unwrap_or(0.0);
            row.columns.iter().for_each(|column| sums[*column] += weighted);
        }
        self.means = precision.solve(&sums);
        for row in rows.iter_mut() {
            let sum: f64 = row.columns.iter().map(|column| self.means[*column]).sum();
            let observed = self.mean_gain(&row.scores).unwrap_or(sum);
            let is_parent = row.columns.is_empty();
            let deviation = self.shrink(observed - sum, row.scores.len());
            row.gain = if is_parent { 0.0 } else { sum + deviation };
        }
    }

    fn mean_gain(&self, scores: &[(usize, f64)]) -> Option<f64> {
        let gain = |(case, score): &(usize, f64)| Some(score - self.ease.get(case)?);
        let gains: Vec<f64> = scores.iter().filter_map(gain).collect();
        crate::stats::mean(&gains)
    }

    /// Returns the part of a deviation of a prompt that is probably no noise.
    fn shrink(&self, deviation: f64, scores: usize) -> f64 {
        let variance = DEVIATION * DEVIATION;
        deviation * variance / (variance + self.noise / scores as f64)
    }

    fn residual_variance(&self, rows: &[Row]) -> f64 {
        let residual = |row: &Row, case: &usize, score: f64| {
            Some((score - self.ease.get(case)? - row.gain).powi(2))
        };
        let squares: Vec<f64> = rows
            .iter()
            .flat_map(|row| row.scores.iter().filter_map(|(case, s)| residual(row, case, *s)))
            .collect();
        let used = self.ease.len();
        if squares.len() < 2 * used.max(10) {
            return NOISE_BEFORE;
        }
        let variance = squares.iter().sum::<f64>() / (squares.len() - used) as f64;
        variance.clamp(NOISE_RANGE.0, NOISE_RANGE.1)
    }
}

/// Returns the mean score on each case, less the gains of the prompts that were evaluated on it.
fn ease_of_cases(rows: &[Row]) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for row in rows {
        for (case, score) in &row.scores {
            let (sum, count) = sums.entry(*case).or_default();
            *sum += score - row.gain;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(case, (sum, count))| (case, sum / count)).collect()
}

/// Effects that are possible after the evaluations.
pub(super) struct Sample<'a> {
    known: &'a Effects,
    effects: Vec<f64>,
    unknown: BTreeMap<Feature, f64>,
}

impl Sample<'_> {
    /// Returns the sum of the effects. Those of changes that were never evaluated are drawn from
    /// what is expected, once for each change.
    pub(super) fn sum(&mut self, features: &[Feature], random: &mut Random) -> f64 {
        features.iter().map(|feature| self.effect(feature, random)).sum()
    }

    fn effect(&mut self, feature: &Feature, random: &mut Random) -> f64 {
        let known = self.known.columns.get(feature).and_then(|column| self.effects.get(*column));
        if let Some(effect) = known {
            return *effect;
        }
        let draw = || random.normal() * feature.expected_effect();
        *self.unknown.entry(feature.clone()).or_insert_with(draw)
    }
}
