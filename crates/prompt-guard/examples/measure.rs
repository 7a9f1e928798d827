//! Counts the flagged and quarantined passages of ordinary text: `measure DIRECTORY...`.
//!
//! Splits `corpus.jsonl` files into rows, files of notes at their lines `%%`, and other text files
//! into windows of 60 lines, as the indexer does. `VERBOSE=1` prints the detections.

#![expect(clippy::print_stdout, reason = "a measuring tool")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mc_prompt_guard::{Detection, Family, inspect};

const LINES: usize = 60;
/// Separates notes.
const NEXT_NOTE: &str = "\n%%\n";

#[derive(Default)]
struct Count {
    passages: usize,
    bytes: usize,
    flagged: usize,
    quarantined: usize,
    families: [usize; Family::ALL.len()],
    time: Duration,
}

fn main() {
    let verbose = std::env::var_os("VERBOSE").is_some();
    for directory in std::env::args().skip(1) {
        let mut count = Count::default();
        let mut files = Vec::new();
        walk(Path::new(&directory), &mut files);
        files.sort();
        for file in files {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            for passage in passages(&file, &text) {
                measure(&file, &passage, verbose, &mut count);
            }
        }
        report(&directory, &count);
    }
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else {
        files.push(path.to_owned());
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else if entry.metadata().is_ok_and(|about| about.len() < 1_000_000) {
            files.push(path);
        }
    }
}

fn passages(file: &Path, text: &str) -> Vec<String> {
    if file.extension().is_some_and(|extension| extension == "jsonl") {
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).ok()?;
            let part = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            Some(format!("{}\n{}", part("title"), part("text")))
        };
        return text.lines().filter_map(row).collect();
    }
    if text.contains(NEXT_NOTE) {
        return text.split(NEXT_NOTE).map(str::to_owned).collect();
    }
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks(LINES).map(|lines| lines.join("\n")).collect()
}

fn measure(file: &Path, passage: &str, verbose: bool, count: &mut Count) {
    let begun = Instant::now();
    let found = inspect(passage);
    count.time += begun.elapsed();
    count.passages += 1;
    count.bytes += passage.len();
    count.flagged += usize::from(!found.is_empty());
    count.quarantined += usize::from(found.iter().any(Detection::quarantines));
    for one in &found {
        count.families[one.family as usize] += usize::from(one.quarantines());
        if verbose {
            let part: String = passage[one.span.clone()].chars().take(160).collect();
            let (family, confidence) = (one.family.as_str(), one.confidence);
            println!("{} {family} {confidence:.2} {}: {part:?}", file.display(), one.reason);
        }
    }
}

fn report(directory: &str, count: &Count) {
    let share = |part: usize| part as f64 * 1000.0 / count.passages.max(1) as f64;
    println!(
        "{directory}: {} passages, {:.1} MB, {:.1} MB/s, flagged {} ({:.2} per 1000), \
         quarantined {} ({:.2} per 1000)",
        count.passages,
        count.bytes as f64 / 1e6,
        count.bytes as f64 / 1e6 / count.time.as_secs_f64().max(1e-9),
        count.flagged,
        share(count.flagged),
        count.quarantined,
        share(count.quarantined),
    );
    for (family, stopped) in Family::ALL.iter().zip(count.families).filter(|(_, n)| *n > 0) {
        println!("  {}: {stopped}", family.as_str());
    }
}
