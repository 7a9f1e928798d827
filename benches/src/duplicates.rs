//! Measures the detection of duplicates among many records: recall, false merges, and time.

mod generated;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use mc_domain::{RecordId, RecordKind, Trust};
use mc_memory::duplicates::{ClusterMatch, Decided, clusters};
use mc_memory::normalize::content_hash;
use mc_store::duplicates::DuplicateCandidate;

use crate::harness::report::{Report, Table, short};
use crate::harness::stats::Spread;
use generated::{GeneratedNote, Way};

/// The amount to measure.
#[derive(clap::Args)]
pub struct Args {
    /// Numbers of notes, each measured separately
    #[arg(long = "notes", default_values_t = [10_000, 100_000])]
    notes: Vec<usize>,
    /// Passes over each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Directory for the results
    #[arg(long, default_value = "bench-results")]
    out: PathBuf,
}

/// Generates notes and merges duplicates.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    let mut report = Report::new("duplicates");
    report.note(
        "Of five notes, three are independent, one paraphrases another in one of the ways below \
         (`paraphrased`), and one differs from another in a detail that must keep them apart \
         (`apart`).",
    );
    let mut rows = Vec::new();
    for count in &args.notes {
        let made = generated::notes(*count);
        let notes: Vec<_> = made.iter().map(noted).collect();
        let mut found = Vec::new();
        let times = (0..args.runs).map(|_| {
            let begun = Instant::now();
            found = clusters(&notes, &Decided::default());
            begun.elapsed().as_secs_f64()
        });
        report.add(format!("time for {count} notes"), "s", Spread::of(times.collect::<Vec<_>>()));
        rows.extend(Way::ALL.map(|way| line(*count, way, &Found::of(&made, &found, way))));
    }
    report.set_table(Table { header: vec!["notes", "what", "of", "put together", "share"], rows });
    report.write(&args.out)
}

fn noted(made: &GeneratedNote) -> DuplicateCandidate {
    DuplicateCandidate {
        id: RecordId::generate(),
        kind: RecordKind::Fact,
        content: made.text.clone(),
        content_hash: content_hash(&made.text),
        trust: Trust::Team,
        use_count: 0,
        recall_count: 0,
    }
}

/// Of the notes generated in one way, those that were merged with their origin.
struct Found {
    all: usize,
    together: usize,
}

impl Found {
    fn of(made: &[GeneratedNote], found: &[ClusterMatch], way: Way) -> Self {
        let all = made.iter().filter(|note| note.way == way).count();
        // Each pair of a cluster, by the way in which the note was generated that is not the
        // origin.
        let pairs = found.iter().flat_map(|alike| {
            alike.others.iter().map(move |(other, _)| (&made[alike.keeper], &made[*other]))
        });
        let together = pairs.filter(|(a, b)| {
            let is_origin = a.subject == b.subject;
            match way {
                Way::Alone => !is_origin,
                way => is_origin && (b.way == way || (a.way == way && b.way == Way::Alone)),
            }
        });
        Self { all, together: together.count() }
    }
}

fn line(count: usize, way: Way, found: &Found) -> Vec<String> {
    let share = found.together as f64 / found.all.max(1) as f64;
    vec![
        count.to_string(),
        way.as_str().to_owned(),
        found.all.to_string(),
        found.together.to_string(),
        format!("{} %", short(100.0 * share)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paraphrases_are_merged_and_different_notes_kept_apart() {
        let made = generated::notes(2_000);
        let notes: Vec<_> = made.iter().map(noted).collect();
        let found = clusters(&notes, &Decided::default());
        let (mut rendered, mut together) = (0, 0);
        for way in Way::ALL {
            let found = Found::of(&made, &found, way);
            if way.is_duplicate() {
                rendered += found.all;
                together += found.together;
            } else {
                assert_eq!(found.together, 0, "{}", way.as_str());
            }
        }
        assert!(together * 100 >= rendered * 97, "{together} of {rendered}");
    }
}
