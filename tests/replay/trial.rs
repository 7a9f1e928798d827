//! A replay with its comparisons, and interrupted runs between its commits.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_domain::IngestStatus;
use mc_store::Store;
use mc_store::ingest_runs::IngestRun;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Result;
use super::image::{Image, Reuse};
use super::index::Index;
use super::interruption::{Interruption, execute};
use super::source::Source;

/// Comparisons with a full index in a replay.
const COMPARISONS: usize = 10;
/// Interruptions of one run: fewer than its attempts.
const INTERRUPTIONS_OF_A_RUN: usize = 3;
/// Interval between observations of the readiness during a run.
const OBSERVATION: Duration = Duration::from_millis(5);

/// The rows of a full index of one commit.
#[derive(Debug, Clone)]
pub struct State {
    /// The files with their chunks.
    pub files: Image,
    /// The commits.
    pub history: Image,
}

/// Full indexes by their commit.
pub type States = HashMap<String, State>;

/// What a replay has shown.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Number of commits.
    pub commits: usize,
    /// Full indexes that were compared.
    pub comparisons: usize,
    /// Rows of files that were compared.
    pub rows: usize,
    /// Differences of files, chunks, passages and symbols from the full index.
    pub differences: Vec<String>,
    /// Differences of the history.
    pub history_differences: Vec<String>,
    /// Unchanged chunks in all files.
    pub reuse: Reuse,
    /// Unchanged chunks in changed files.
    pub reuse_in_changed_files: Reuse,
    /// Durations of the runs of single commits.
    pub runs: Vec<Duration>,
    /// Durations of the full runs.
    pub full_runs: Vec<Duration>,
}

/// Replays all commits, and compares the index with a full one after each tenth of them. Returns
/// the full indexes, too.
pub async fn replay(store: &Store, source: &Source, dir: &Path) -> Result<(Replayed, States)> {
    let mut replayed = Replayed { commits: source.commits.len() - 1, ..Replayed::default() };
    let mut states = States::new();
    let index = Index::new(store, dir.join("replay"), "replay", source).await?;
    let mut before = Image::default();
    for (number, commit) in source.commits.iter().enumerate() {
        source.move_to(commit)?;
        let started = Instant::now();
        index.update().await?;
        let took = started.elapsed();
        let files = index.files().await?;
        if number > 0 {
            replayed.runs.push(took);
            let (all, changed) = files.reuse(&before);
            replayed.reuse.add(all);
            replayed.reuse_in_changed_files.add(changed);
        }
        before = files;
        // The last commit of each tenth.
        let tenth = |number: usize| number * COMPARISONS / replayed.commits;
        if number == 0 || tenth(number) != tenth(number - 1) {
            let full = full(store, source, dir, number, &mut replayed).await?;
            replayed.compare(number, &before, &index.history().await?, &full);
            states.insert(commit.clone(), full);
        }
    }
    Ok((replayed, states))
}

/// Indexes the branch in a new project.
async fn full(
    store: &Store,
    source: &Source,
    dir: &Path,
    number: usize,
    replayed: &mut Replayed,
) -> Result<State> {
    let key = format!("full-{number}");
    let index = Index::new(store, dir.join(&key), &key, source).await?;
    let started = Instant::now();
    index.update().await?;
    replayed.full_runs.push(started.elapsed());
    Ok(State { files: index.files().await?, history: index.history().await? })
}

impl Replayed {
    fn compare(&mut self, number: usize, files: &Image, history: &Image, full: &State) {
        self.comparisons += 1;
        self.rows += full.files.row_count();
        let note = |mine: &Image, right: &Image| {
            let differences = mine.differences(right);
            let found = !differences.is_empty();
            let examples = mine.examples(right);
            found.then(|| format!("commit {number}: {differences:?}, such as {examples:?}"))
        };
        self.differences.extend(note(files, &full.files));
        self.history_differences.extend(note(history, &full.history));
    }
}

/// What interrupted runs have shown.
#[derive(Debug, Default)]
pub struct Interrupted {
    /// Runs whose future was dropped.
    pub dropped: usize,
    /// Runs that were cancelled.
    pub cancelled: usize,
    /// Runs that a user ended, so that no run was open.
    pub failed: usize,
    /// Polls after which runs were interrupted.
    pub polls: Vec<usize>,
    /// Interruptions after which files were stored, but not all.
    pub partial: usize,
    /// Observations of the readiness, during runs and after interruptions.
    pub observations: usize,
    /// Those that were ready, with the stored files compared.
    pub ready_observations: usize,
    /// Those that were ready, while the stored files were not those of the indexed commit.
    pub false_ready: Vec<String>,
    /// Completed runs whose index differs from a full one, or is not ready.
    pub wrong_results: Vec<String>,
    /// Completed runs whose history differs from that of a full index.
    pub history_differences: Vec<String>,
}

/// Indexes random commits of `states` one after the other, and interrupts the runs at `count`
/// random points. Each is resumed until it is done; meanwhile the branch may move.
pub async fn interrupt(
    store: &Store,
    source: &Source,
    dir: &Path,
    states: &Arc<States>,
    count: usize,
    seed: u64,
) -> Result<Interrupted> {
    let mut commits: Vec<&String> = states.keys().collect();
    commits.sort_by_key(|commit| source.commits.iter().position(|of| of == *commit));
    let index = Index::new(store, dir.join("interrupted"), "interrupted", source).await?;
    source.move_to(commits[0])?;
    let run = index.enqueue().await?;
    let (first, _) = execute(&index.context, &run, Interruption::Drop, usize::MAX).await?;
    let mut trial = Trial {
        random: StdRng::seed_from_u64(seed),
        polls: first,
        index: Arc::new(index),
        found: Interrupted::default(),
        source,
        states: Arc::clone(states),
        commits: &commits,
        count,
    };
    trial.check_result(commits[0]).await?;
    while trial.found.count() < count {
        trial.round().await?;
    }
    Ok(trial.found)
}

impl Interrupted {
    /// Number of interruptions.
    pub fn count(&self) -> usize {
        self.dropped + self.cancelled + self.failed
    }
}

struct Trial<'a> {
    random: StdRng,
    /// Expected number of polls of a run.
    polls: usize,
    index: Arc<Index>,
    found: Interrupted,
    source: &'a Source,
    states: Arc<States>,
    commits: &'a [&'a String],
    count: usize,
}

impl Trial<'_> {
    /// Indexes another commit, with interruptions.
    async fn round(&mut self) -> Result<()> {
        let mut target = self.push()?;
        let mut run = self.index.enqueue().await?;
        let watcher = Watcher::start(&self.index, &self.states);
        for _ in 0..INTERRUPTIONS_OF_A_RUN {
            if self.found.count() == self.count || !self.interrupt(&run).await? {
                break;
            }
            self.check_interrupted(&target).await?;
            if self.index.run(&run).await?.status == IngestStatus::Failed {
                run = self.index.enqueue().await?;
            }
            if self.random.random_ratio(1, 4) {
                target = self.push()?;
            }
        }
        self.index.finish(&run).await?;
        self.check_result(&target).await?;
        watcher.stop(&mut self.found).await
    }

    /// Moves the branch to a random commit.
    fn push(&mut self) -> Result<String> {
        let commit = self.commits[self.random.random_range(0..self.commits.len())];
        self.source.move_to(commit)?;
        Ok(commit.clone())
    }

    /// Executes a run, and interrupts it. Returns whether it was interrupted before its end.
    async fn interrupt(&mut self, run: &IngestRun) -> Result<bool> {
        let kinds = [Interruption::Drop, Interruption::Cancel, Interruption::Fail];
        let kind = kinds[self.random.random_range(0..kinds.len())];
        let polls = self.random.random_range(1..=self.polls.max(2));
        let (polled, is_interrupted) = execute(&self.index.context, run, kind, polls).await?;
        if !is_interrupted {
            self.polls = polled;
            return Ok(false);
        }
        // The whole run would have been longer.
        self.polls += self.polls / 4 + 1;
        self.found.polls.push(polled);
        match kind {
            Interruption::Drop => self.found.dropped += 1,
            Interruption::Cancel => self.found.cancelled += 1,
            Interruption::Fail => self.found.failed += 1,
        }
        Ok(true)
    }

    async fn check_interrupted(&mut self, target: &str) -> Result<()> {
        let files = self.index.files().await?;
        let is_whole = |state: &State| files.differences(&state.files).is_empty();
        if !self.states.values().any(is_whole) {
            self.found.partial += 1;
        }
        self.found.observations += 1;
        let seen = self.index.searchable().await?;
        if seen.is_ready() {
            self.found.ready_observations += 1;
            let is_right = self.states.get(&seen.source_ref).is_some_and(is_whole);
            if !is_right {
                let note = format!("ready at {} on the way to {target}", seen.source_ref);
                self.found.false_ready.push(note);
            }
        }
        Ok(())
    }

    async fn check_result(&mut self, target: &str) -> Result<()> {
        let seen = self.index.searchable().await?;
        if !seen.is_ready() || seen.source_ref != target {
            self.found.wrong_results.push(format!("{seen:?} after the run of {target}"));
        }
        let state = &self.states[target];
        let differences = self.index.files().await?.differences(&state.files);
        if !differences.is_empty() {
            self.found.wrong_results.push(format!("{target}: {differences:?}"));
        }
        let history = self.index.history().await?;
        let differences = history.differences(&state.history);
        if !differences.is_empty() {
            let examples = history.examples(&state.history);
            let note = format!("{target}: {differences:?}, such as {examples:?}");
            self.found.history_differences.push(note);
        }
        Ok(())
    }
}

/// Task that observes the readiness of an index.
struct Watcher {
    stop: CancellationToken,
    task: JoinHandle<Result<Interrupted>>,
}

impl Watcher {
    fn start(index: &Arc<Index>, states: &Arc<States>) -> Self {
        let stop = CancellationToken::new();
        let watching = watch(Arc::clone(index), Arc::clone(states), stop.clone());
        Self { stop, task: tokio::spawn(watching) }
    }

    async fn stop(self, found: &mut Interrupted) -> Result<()> {
        self.stop.cancel();
        let seen = self.task.await??;
        found.observations += seen.observations;
        found.ready_observations += seen.ready_observations;
        found.false_ready.extend(seen.false_ready);
        Ok(())
    }
}

async fn watch(
    index: Arc<Index>,
    states: Arc<States>,
    stop: CancellationToken,
) -> Result<Interrupted> {
    let mut found = Interrupted::default();
    while !stop.is_cancelled() {
        let before = index.searchable().await?;
        found.observations += 1;
        if before.is_ready() {
            let files = index.files().await?;
            // If it was ready all the time, the files are of that time.
            if index.searchable().await? == before {
                found.ready_observations += 1;
                let state = states.get(&before.source_ref);
                if state.is_none_or(|state| !files.differences(&state.files).is_empty()) {
                    found.false_ready.push(format!("ready at {}", before.source_ref));
                }
            }
        }
        tokio::time::sleep(OBSERVATION).await;
    }
    Ok(found)
}
