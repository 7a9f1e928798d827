//! The speed on clean source code.

use std::path::Path;

use anyhow::{Result, ensure};
use mc_sanitizer::{Policy, mask_with};

use super::Args;
use crate::growth::measure::thread_seconds;
use crate::harness::report::Report;
use crate::harness::stats::Spread;

/// Bytes to read: more do not change the result.
const ENOUGH: usize = 40_000_000;

/// Adds the megabytes per second of one thread.
pub fn measure(args: &Args, report: &mut Report) -> Result<()> {
    let files = source(&args.source, &args.extension)?;
    let bytes: usize = files.iter().map(String::len).sum();
    ensure!(bytes > 0, "no .{} files below {}", args.extension, args.source.display());
    report.note(format!("{} files of source code, {:.1} MB", files.len(), bytes as f64 / 1e6));
    let policy = Policy::default();
    // The first call compiles the rules and loads the phone numbers' metadata.
    mask_with("call +49 30 901820", &policy);
    let runs: Vec<f64> = (0..args.runs)
        .map(|_| {
            let start = thread_seconds();
            for file in &files {
                mask_with(file, &policy);
            }
            bytes as f64 / 1e6 / (thread_seconds() - start)
        })
        .collect();
    report.add_budgeted("clean source code, one core", "MB/s", Spread::of(runs), ">= 100 MB/s");
    Ok(())
}

/// Returns the text of the files below a directory, sorted by name.
fn source(directory: &Path, extension: &str) -> Result<Vec<String>> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        if bytes > ENOUGH {
            break;
        }
        if path.is_dir() {
            let mut inside = std::fs::read_dir(&path)?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<Vec<_>, _>>()?;
            inside.sort_unstable_by(|a, b| b.cmp(a));
            pending.extend(inside);
        } else if path.extension().is_some_and(|found| found == extension) {
            // Files that are not UTF-8 are not source code.
            if let Ok(text) = std::fs::read_to_string(&path) {
                bytes += text.len();
                texts.push(text);
            }
        }
    }
    Ok(texts)
}
