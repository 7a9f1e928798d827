//! The sanitizer: recall, false positives, and speed.

mod data;
mod speed;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use mc_sanitizer::{Action, Policy, Sanitizer, mask_with};

use crate::harness::report::{Report, Table, short};
use data::{Negative, Positive};

/// Categories without a vendor's format: they stay when vendors' formats are left out.
const OF_NO_VENDOR: &[&str] = &[
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
const CLEAN: &[&str] = &["benign_code", "scanner_fp"];

/// The data to measure on.
#[derive(clap::Args)]
pub struct Args {
    /// Directory with positives.jsonl and negatives.jsonl, or the same compressed (.gz)
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
}

/// Masks all rows of the data, and the source code repeatedly.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    let positives: Vec<Positive> = data::read(&args.data, "positives")?;
    let negatives: Vec<Negative> = data::read(&args.data, "negatives")?;
    let mut report = Report::new("sanitizer");
    report.note("A secret counts as found where the masked text does not hold it whole.");
    report.note(
        "All is masked that there are rules for; the speed is that of the default policy, \
                 of one thread's processor time.",
    );
    let mut rows = recall(&positives, args.tell);
    rows.extend(touched(&negatives, args.tell));
    report.set_table(Table {
        header: vec!["kind", "what", "of", "share", "share without vendors' formats"],
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
                .for_each(|row| crate::harness::say(&format!("left, {kind}: {}", row.secret)));
            let [all, generic] = policies
                .each_ref()
                .map(|policy| rows.iter().filter(|row| is_found(row, policy)).count());
            line(kind, "secrets found", all, rows.len(), Some(generic))
        })
        .collect()
}

/// Returns a row of the table for each kind of text without a secret.
fn touched(negatives: &[Negative], tell: bool) -> Vec<Vec<String>> {
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
                        crate::harness::say(&format!("touched, {kind}: {after}"));
                    }
                }
            }
        }
        if CLEAN.contains(&kind) {
            clean = (clean.0 + changed, clean.1 + lines);
        }
        rows.push(line(kind, "lines touched", changed, lines, None));
    }
    rows.push(line(&CLEAN.join(" and "), "lines touched", clean.0, clean.1, None));
    rows
}

fn line(kind: &str, what: &str, count: usize, of: usize, generic: Option<usize>) -> Vec<String> {
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
    let vendors = sanitizer.formats().filter(|format| !OF_NO_VENDOR.contains(format));
    vendors.fold(Policy::strict(), |policy, format| policy.with(format, Action::Allow))
}
