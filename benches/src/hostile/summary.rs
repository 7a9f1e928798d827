//! The table of the report: a row for each parser.

use super::measure::Growth;
use super::pairs::{Measurement, Outcome};
use crate::harness::report::{Table, short};
use crate::harness::stats::Spread;

/// Returns the table.
pub fn table(measured: &[Measurement<'_>]) -> Table {
    let parsers = measured.chunk_by(|a, b| a.parser == b.parser);
    Table {
        header: vec![
            "parser",
            "families",
            "worst exponent",
            "family of the worst exponent",
            "ms/MB, slowest family",
            "slowest family",
            "ms/MB, median family",
            "longest, bytes",
            "failed",
        ],
        rows: parsers.map(row).collect(),
    }
}

/// Returns the row of a parser from its pairs, of which there is at least one.
fn row(pairs: &[Measurement<'_>]) -> Vec<String> {
    let steepest = pairs.iter().max_by(|a, b| a.growth.exponent.total_cmp(&b.growth.exponent));
    let cost = |pair: &Measurement<'_>| pair.growth.milliseconds_per_megabyte();
    let costs = Spread::of(pairs.iter().map(cost));
    let slowest = pairs.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)));
    let lengths = Spread::of(pairs.iter().map(|pair| longest(&pair.growth)));
    let failed = pairs.iter().filter(|pair| pair.outcome == Outcome::AboveLimit).count();
    let family = |pair: Option<&Measurement<'_>>| pair.map(|pair| quoted(pair.family));
    vec![
        pairs[0].parser.to_owned(),
        pairs.len().to_string(),
        steepest.map(|pair| format!("{:.2}", pair.growth.exponent)).unwrap_or_default(),
        family(steepest).unwrap_or_default(),
        short(costs.max),
        family(slowest).unwrap_or_default(),
        short(costs.median),
        format!("{:.0}-{:.0}", lengths.min, lengths.max),
        failed.to_string(),
    ]
}

fn longest(growth: &Growth) -> f64 {
    growth.last().bytes as f64
}

/// Quotes the name of a family for a table in Markdown.
fn quoted(name: &str) -> String {
    format!("`` {} ``", name.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::super::measure::Point;
    use super::*;

    fn measured(family: &str, outcome: Outcome, times: [f64; 2]) -> Measurement<'_> {
        let point = |bytes, seconds| Point { bytes, seconds };
        let growth = Growth::of(vec![point(1_000, times[0]), point(2_000, times[1])]);
        Measurement { parser: "mask", family, outcome, growth }
    }

    #[test]
    fn row_has_the_steepest_and_the_slowest_family() {
        let pairs = [
            measured("slow", Outcome::Linear, [0.004, 0.008]),
            measured("a|b", Outcome::AboveLimit, [0.001, 0.004]),
        ];
        let row = table(&pairs).rows.remove(0);
        let wanted =
            ["mask", "2", "2.00", r"`` a\|b ``", "4000", "`` slow ``", "2000", "2000-2000", "1"];
        assert_eq!(row, wanted);
    }

    #[test]
    fn parsers_have_rows_of_their_own() {
        let one = measured("a", Outcome::Linear, [0.1, 0.2]);
        let other = Measurement { parser: "inspect", ..one.clone() };
        let rows = table(&[one.clone(), one, other]).rows;
        let families: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
        assert_eq!(families, [("mask", "2"), ("inspect", "1")]);
    }
}
