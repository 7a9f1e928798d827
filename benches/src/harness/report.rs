//! Results as JSON for machines and as Markdown for people.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::machine::Circumstances;
use super::stats::Spread;

/// The results of a benchmark.
#[derive(Debug, Serialize)]
pub struct Report {
    benchmark: &'static str,
    circumstances: Circumstances,
    /// The data of the measurement, in sentences.
    data: Vec<String>,
    measures: Vec<Measure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<Table>,
}

/// A table of figures.
#[derive(Debug, Serialize)]
pub struct Table {
    /// The headers of the columns.
    pub header: Vec<&'static str>,
    /// The cells, as text.
    pub rows: Vec<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Measure {
    name: String,
    unit: &'static str,
    #[serde(flatten)]
    spread: Spread,
    budget: Option<&'static str>,
}

impl Report {
    /// Creates an empty report; `benchmark` names its files.
    pub fn new(benchmark: &'static str) -> Self {
        let circumstances = Circumstances::here();
        Self { benchmark, circumstances, data: Vec::new(), measures: Vec::new(), table: None }
    }

    /// Adds a note about the data or the method.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.data.push(sentence.into());
    }

    /// Adds a measure of several runs.
    pub fn add(&mut self, name: impl Into<String>, unit: &'static str, spread: Spread) {
        self.measures.push(Measure { name: name.into(), unit, spread, budget: None });
    }

    /// Adds a measure with its budget of the design.
    pub fn add_budgeted(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        spread: Spread,
        budget: &'static str,
    ) {
        self.measures.push(Measure { name: name.into(), unit, spread, budget: Some(budget) });
    }

    /// Sets a table to print below the measures.
    pub fn set_table(&mut self, table: Table) {
        self.table = Some(table);
    }

    /// Writes `<benchmark>.json` and `<benchmark>.md` into `out` and prints the latter.
    pub fn write(&self, out: &Path) -> Result<()> {
        let markdown = self.to_markdown();
        let write = |ending: &str, text: String| {
            let file = out.join(format!("{}.{ending}", self.benchmark));
            std::fs::write(&file, text)
                .with_context(|| format!("{} can't be written", file.display()))
        };
        std::fs::create_dir_all(out)
            .with_context(|| format!("{} can't be made; choose another --out", out.display()))?;
        write("json", serde_json::to_string_pretty(self)? + "\n")?;
        show(&markdown);
        write("md", markdown)
    }

    fn to_markdown(&self) -> String {
        let about = self.circumstances.lines().map(|(name, value)| format!("- {name}: {value}\n"));
        let data: String = self.data.iter().map(|sentence| format!("- {sentence}\n")).collect();
        let rows: String = self.measures.iter().map(Measure::to_row).collect();
        format!(
            "# {}\n\n{}{data}\n| measure | median | min | max | unit | runs | budget |\n\
             | --- | ---: | ---: | ---: | --- | ---: | --- |\n{rows}{}",
            self.benchmark,
            about.concat(),
            self.table.as_ref().map(Table::to_markdown).unwrap_or_default()
        )
    }
}

impl Table {
    fn to_markdown(&self) -> String {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let rule = line(vec!["---:"; self.header.len()]);
        let rows = self.rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
        format!("\n{}{rule}{}", line(self.header.clone()), rows.collect::<String>())
    }
}

impl Measure {
    fn to_row(&self) -> String {
        let Spread { median, min, max, runs } = self.spread;
        let [median, min, max] = [median, min, max].map(short);
        let (name, unit, budget) = (&self.name, self.unit, self.budget.unwrap_or_default());
        format!("| {name} | {median} | {min} | {max} | {unit} | {runs} | {budget} |\n")
    }
}

/// Formats a value with three significant digits, and as a whole number from a hundred on.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[expect(clippy::print_stdout, reason = "the result is what the benchmark is run for")]
fn show(markdown: &str) {
    println!("{markdown}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_has_the_spread_and_the_budget() {
        let mut report = Report::new("test");
        report.note("three texts");
        report.add_budgeted("recall p50", "ms", Spread::of([4.256, 4.0, 104.4]), "< 8 ms");
        let markdown = report.to_markdown();
        assert!(markdown.contains("- three texts\n"), "{markdown}");
        let row = "| recall p50 | 4.26 | 4.00 | 104 | ms | 3 | < 8 ms |";
        assert!(markdown.contains(row), "{markdown}");
    }

    #[test]
    fn small_values_keep_their_digits() {
        assert_eq!([0.987_6, 12.34, 0.0, 1_234.5].map(short), ["0.988", "12.3", "0", "1234"]);
    }
}
