//! The speed on source code.

use std::path::Path;

use anyhow::{Result, ensure};
use mc_sanitizer::{Policy, mask_with};

use super::Args;
use crate::growth::measure::thread_seconds;
use crate::harness::report::Report;
use crate::harness::stats::Spread;

/// Bytes to read: more do not change the result.
const ENOUGH: usize = 40_000_000;

/// Adds the megabytes per second of one thread, for all files and for those without findings. A
/// file with findings is searched at least twice.
pub fn measure(args: &Args, report: &mut Report) -> Result<()> {
    let files = source(&args.source, &args.extension)?;
    let policy = Policy::default();
    // The first call compiles the rules and loads the phone numbers' metadata.
    mask_with("call +49 30 901820", &policy);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let is_clean = |file: &&str| mask_with(file, &policy).findings.is_empty();
    let clean: Vec<&str> = files.iter().copied().filter(is_clean).collect();
    ensure!(
        megabytes(&clean) > 0.0,
        "no .{} files without findings below {}",
        args.extension,
        args.source.display()
    );
    report.note(format!(
        "{} files of source code, {:.1} MB; {} of them without findings, {:.1} MB",
        files.len(),
        megabytes(&files),
        clean.len(),
        megabytes(&clean)
    ));
    let speed = |files: &[&str]| Spread::of(speeds(files, &policy, args.runs));
    let of_all = speed(&files);
    report.add_budgeted("source code, one core", "MB/s", of_all, ">= 100 MB/s");
    let of_clean = speed(&clean);
    report.add("source code without findings, one core", "MB/s", of_clean);
    Ok(())
}

/// Returns the megabytes per second of each run over the files, in processor time.
fn speeds(files: &[&str], policy: &Policy, runs: usize) -> Vec<f64> {
    let speed = |_| {
        let start = thread_seconds();
        for file in files {
            mask_with(file, policy);
        }
        megabytes(files) / (thread_seconds() - start)
    };
    (0..runs).map(speed).collect()
}

fn megabytes(files: &[&str]) -> f64 {
    files.iter().map(|file| file.len()).sum::<usize>() as f64 / 1e6
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
