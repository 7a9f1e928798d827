//! How often a judge gives rows the label that they have.

use std::collections::BTreeMap;

use serde::Serialize;

/// Counts of rows by their label and the judge's.
#[derive(Debug, Clone, Default)]
pub struct Confusion(BTreeMap<(&'static str, &'static str), u32>);

/// Figures of one label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LabelFigures {
    /// Number of rows with the label.
    pub count: u32,
    /// Share of rows that the judge gave the label, that have it; null without such rows.
    pub precision: Option<f64>,
    /// Share of rows with the label, that the judge gave it; null without such rows.
    pub recall: Option<f64>,
}

impl Confusion {
    /// Counts a row.
    pub fn add(&mut self, label: &'static str, judged: &'static str) {
        *self.0.entry((label, judged)).or_default() += 1;
    }

    /// Returns the number of rows.
    pub fn count(&self) -> u32 {
        self.0.values().sum()
    }

    /// Returns the share of rows with the same label, 0 to 1; 0 without rows.
    pub fn agreement(&self) -> f64 {
        share(self.sum(|label, judged| label == judged), self.count()).unwrap_or_default()
    }

    /// Returns the figures of a label.
    pub fn of(&self, name: &str) -> LabelFigures {
        let both = self.sum(|label, judged| label == name && judged == name);
        let count = self.sum(|label, _| label == name);
        let judged = self.sum(|_, judged| judged == name);
        LabelFigures { count, precision: share(both, judged), recall: share(both, count) }
    }

    /// Returns the counts by label and the judge's label.
    pub fn cells(&self) -> impl Iterator<Item = (&'static str, &'static str, u32)> {
        self.0.iter().map(|((label, judged), count)| (*label, *judged, *count))
    }

    fn sum(&self, is_counted: impl Fn(&str, &str) -> bool) -> u32 {
        let counted = self.0.iter().filter(|((label, judged), _)| is_counted(label, judged));
        counted.map(|(_, count)| count).sum()
    }
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_label_are_precision_and_recall() {
        let mut confusion = Confusion::default();
        for (label, judged) in [("keep", "keep"), ("keep", "reject"), ("reject", "reject")] {
            confusion.add(label, judged);
        }
        assert!((confusion.agreement() - 2.0 / 3.0).abs() < 1e-12);
        let figures = confusion.of("reject");
        assert_eq!((figures.count, figures.precision, figures.recall), (1, Some(0.5), Some(1.0)));
        assert_eq!(confusion.of("same").recall, None);
    }
}
