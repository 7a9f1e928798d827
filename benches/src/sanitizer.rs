//! The sanitizer: recall, false positives, and speed.

mod data;
mod leave_one_out;
mod speed;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use mc_domain::FindingAction;
use mc_sanitizer::{Policy, Sanitizer, mask_with};

use crate::harness::report::{Report, Table, short};
use data::{Negative, Positive};

/// Categories that belong to no vendor; `without_vendors` keeps them.
const GENERIC_FORMATS: &[&str] = &[
    "private-key",
    "jwt",
    "connection-password",
    "url-credential",
    "authorization",
    "registry-password",
    "command-password",
    "netrc-password",
    "webhook-url",
    "url-signature",
];

/// The kinds of rows that must stay unchanged.
const CLEAN_KINDS: &[&str] = &["benign_code", "scanner_fp"];

/// The data to measure on.
#[derive(clap::Args)]
pub struct Args {
    /// Directory with positives.jsonl and negatives.jsonl, or their .gz files
    #[arg(long)]
    data: PathBuf,
    /// Directory of source code for the speed
    #[arg(long)]
    source: PathBuf,
    /// Extension of the source files
    #[arg(long, default_value = "rs")]
    extension: String,
    /// Passes over the source code
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Directory for the results
    #[arg(long, default_value = "bench-results")]
    out: PathBuf,
    /// Print each missed secret and each changed line
    #[arg(long)]
    tell: bool,
    /// Also leave out each vendor and each country in turn, and measure its own rows
    #[arg(long)]
    leave_one_out: bool,
}

/// Masks all rows of the data, and the source code repeatedly.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    let positives: Vec<Positive> = data::read(&args.data, "positives")?;
    let negatives: Vec<Negative> = data::read(&args.data, "negatives")?;
    let mut report = Report::new("sanitizer");
    report.note("A secret counts as found if the masked text does not contain all of it.");
    report.note(
        "Recall uses the strict policy. Speed is that of the default policy, in processor time \
         of one thread.",
    );
    let mut rows = recall(&positives, args.tell);
    rows.extend(false_positives(&negatives, args.tell));
    if args.leave_one_out {
        report.note(
            "Left out: each vendor and each country in turn; the last column is what is found of \
             its own rows without its rules.",
        );
        rows.extend(leave_one_out::rows(&positives, args.tell));
    }
    report.set_table(Table {
        header: vec!["kind", "count", "total", "share", "share without their rules"],
        rows,
    });
    speed::measure(args, &mut report)?;
    report.write(&args.out)
}

/// Returns a row of the table for each kind of secret.
fn recall(positives: &[Positive], tell: bool) -> Vec<Vec<String>> {
    let policies = [Policy::strict(), without_vendors()];
    let is_found = |row: &Positive, policy: &Policy| {
        !mask_with(&row.text, policy).text.as_str().contains(&row.secret)
    };
    data::by_kind(positives, |row| &row.kind)
        .map(|(kind, rows)| {
            let missed = rows.iter().filter(|row| !is_found(row, &policies[0]));
            missed
                .filter(|_| tell)
                .for_each(|row| crate::harness::say(&format!("missed, {kind}: {}", row.secret)));
            let [all, generic] = policies
                .each_ref()
                .map(|policy| rows.iter().filter(|row| is_found(row, policy)).count());
            table_row(kind, "secrets found", all, rows.len(), Some(generic))
        })
        .collect()
}

/// Returns a row of the table for each kind of text without a secret.
fn false_positives(negatives: &[Negative], tell: bool) -> Vec<Vec<String>> {
    let policy = Policy::strict();
    let mut clean = (0, 0);
    let mut rows = Vec::new();
    for (kind, texts) in data::by_kind(negatives, |row| &row.kind) {
        let (mut changed, mut lines) = (0, 0);
        for text in texts {
            let masked = mask_with(&text.text, &policy).text;
            for (before, after) in text.text.split('\n').zip(masked.as_str().split('\n')) {
                lines += 1;
                if before != after {
                    changed += 1;
                    if tell {
                        crate::harness::say(&format!("changed, {kind}: {after}"));
                    }
                }
            }
        }
        if CLEAN_KINDS.contains(&kind) {
            clean = (clean.0 + changed, clean.1 + lines);
        }
        rows.push(table_row(kind, "lines changed", changed, lines, None));
    }
    rows.push(table_row(&CLEAN_KINDS.join(" and "), "lines changed", clean.0, clean.1, None));
    rows
}

fn table_row(
    kind: &str,
    what: &str,
    count: usize,
    of: usize,
    generic: Option<usize>,
) -> Vec<String> {
    let share = |count: usize| short(count as f64 / of.max(1) as f64);
    vec![
        kind.to_owned(),
        format!("{count} {what}"),
        of.to_string(),
        share(count),
        generic.map(share).unwrap_or_default(),
    ]
}

/// Returns a policy without the formats of single vendors, to measure secrets of vendors without a
/// rule.
fn without_vendors() -> Policy {
    let sanitizer = Sanitizer::default();
    let vendors = sanitizer.formats().filter(|format| !GENERIC_FORMATS.contains(format));
    vendors.fold(Policy::strict(), |policy, format| policy.with(format, FindingAction::Allow))
}
