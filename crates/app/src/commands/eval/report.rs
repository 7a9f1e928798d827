//! The figures as tables and JSON.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::metrics::{self, Summary};

/// One way of ranking, measured on every set.
pub struct Variant {
    /// The steps that it does without.
    pub without: Vec<String>,
    /// In the order of the sets.
    pub sets: Vec<Summary>,
}

impl Variant {
    /// Not measured yet.
    pub fn without(without: Vec<String>) -> Self {
        Self { without, sets: Vec::new() }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let sets: Vec<_> = self.sets.iter().map(Summary::to_json).collect();
        let average = metrics::macro_average(&self.sets);
        json!({ "without": self.without, "sets": sets, "average": average })
    }
}

/// A row a set.
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

/// A row a way of ranking: recall@5 of each set, and what the average loses or gains against the
/// first of them.
pub fn ablation(variants: &[Variant]) -> Table {
    let Some(whole) = variants.first() else { return empty([]) };
    let names = whole.sets.iter().map(Summary::name);
    let mut table =
        empty(["without"].into_iter().chain(names).chain(["average", "recall@5", "MRR@10"]));
    let [whole_recall, _, whole_mrr, _] = metrics::averages(&whole.sets);
    for variant in variants {
        let [recall, _, mrr, _] = metrics::averages(&variant.sets);
        let without =
            if variant.without.is_empty() { "-".into() } else { variant.without.join(", ") };
        let sets = variant.sets.iter().map(|set| format!("{:.3}", set.recall_5()));
        let change = [recall - whole_recall, mrr - whole_mrr].map(|by| format!("{by:+.3}"));
        let row = [without].into_iter().chain(sets).chain([format!("{recall:.3}")]).chain(change);
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

/// Figures to the right.
fn aligned(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
