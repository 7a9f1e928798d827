//! The report of an evaluation, as tables and JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::metrics::{self, Summary};

/// A variant of the ranking, measured on every set.
pub struct Variant {
    /// The disabled steps.
    pub without: Vec<String>,
    /// The summaries, in the order of the sets.
    pub sets: Vec<Summary>,
}

impl Variant {
    pub fn without(without: Vec<String>) -> Self {
        Self { without, sets: Vec::new() }
    }

    pub fn to_json(&self) -> Value {
        let sets: Vec<_> = self.sets.iter().map(Summary::to_json).collect();
        let average = metrics::macro_average(&self.sets);
        json!({ "without": self.without, "sets": sets, "average": average })
    }
}

/// Returns a table with one row per set.
pub fn sets(summaries: &[Summary]) -> Table {
    let header = ["set", "queries", "recall@5", "recall@10", "MRR@10", "nDCG@10"];
    let mut table = empty(header.into_iter().chain(["p50 ms", "p95 ms", "degraded"]));
    for summary in summaries {
        table.add_row(summary.row());
    }
    if summaries.len() > 1 {
        table.add_row(metrics::average_row(summaries));
    }
    aligned(table)
}

/// Returns a table with one row per variant: recall@5 of each set, and the difference of the
/// averages from those of the first variant.
pub fn ablation(variants: &[Variant]) -> Table {
    let Some(baseline) = variants.first() else { return empty([]) };
    let names = baseline.sets.iter().map(|set| set.name.as_str());
    let mut table =
        empty(["without"].into_iter().chain(names).chain(["average", "recall@5", "MRR@10"]));
    let [baseline_recall, _, baseline_mrr, _] = metrics::averages(&baseline.sets);
    for variant in variants {
        let [recall, _, mrr, _] = metrics::averages(&variant.sets);
        let without =
            if variant.without.is_empty() { "-".into() } else { variant.without.join(", ") };
        let sets = variant.sets.iter().map(|set| format!("{:.3}", set.figures[0]));
        let differences = [recall - baseline_recall, mrr - baseline_mrr];
        let differences = differences.map(|difference| format!("{difference:+.3}"));
        let row = [without].into_iter().chain(sets);
        let row = row.chain([format!("{recall:.3}")]).chain(differences);
        table.add_row(row);
    }
    aligned(table)
}

fn empty<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    table
}

fn aligned(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
