//! Similar past changes: commits whose messages are near to the task, and the files that they touched.
//!
//! A section beside the bundle, for callers that ask for it. It takes no place of a record and counts as no evidence.

use chrono::{DateTime, Utc};
use mc_domain::{SourceKind, Trust};
use mc_search::{Options, Query, search};
use mc_store::passages::PassageFilter;
use mc_store::{history, tasks};
use tokio::time::{Instant, timeout_at};

use super::RecallRequest;
use crate::{Error, MemoryContext};

/// Most changes of a section. In two of three cases one of the three nearest touched a file that has to change.
pub const MAX_CHANGES: usize = 3;

/// Hexadecimal digits of a commit that people read.
const SHORT_ID: usize = 10;

/// A past change that resembles the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastChange {
    /// First digits of the commit's name.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// When it was committed.
    pub committed_at: DateTime<Utc>,
    /// Paths of the indexed files of code that it touched, by their names now, sorted.
    pub files: Vec<String>,
    /// Who vouches for the message.
    pub trust: Trust,
}

/// Similar past changes, nearest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastChanges {
    /// At most [`MAX_CHANGES`].
    pub changes: Vec<PastChange>,
    /// What was late or failed and was left out.
    pub degraded: Vec<String>,
}

/// Finds the past changes nearest to what the request is about, within its time budget.
pub async fn past_changes(
    ctx: &MemoryContext,
    request: &RecallRequest,
) -> Result<PastChanges, Error> {
    let deadline = Instant::now() + request.time_budget;
    let late = || PastChanges { changes: Vec::new(), degraded: vec!["changes: late".to_owned()] };
    timeout_at(deadline, find(ctx, request, deadline)).await.unwrap_or_else(|_| Ok(late()))
}

async fn find(
    ctx: &MemoryContext,
    request: &RecallRequest,
    deadline: Instant,
) -> Result<PastChanges, Error> {
    let text = text(ctx, request).await?;
    if text.trim().is_empty() {
        return Ok(PastChanges::default());
    }
    let mut filter = PassageFilter::project(request.project);
    filter.sources = vec![SourceKind::Change];
    let options = Options {
        limit: MAX_CHANGES,
        time_budget: deadline.saturating_duration_since(Instant::now()),
        ..Options::default()
    };
    let found = search(&ctx.search, &Query::text(text, filter), &options).await?;
    // The farthest of all has no word in common with the task either.
    let near = found.hits.iter().filter(|hit| hit.score > 0.0);
    let ids: Vec<_> = near.map(|hit| hit.passage.indexed.id).collect();
    let mut commits = history::of_passages(&ctx.store, request.project, &ids).await?;
    let changes = ids.iter().filter_map(|id| commits.remove(id)).map(PastChange::from).collect();
    Ok(PastChanges { changes, degraded: found.degraded })
}

/// What the request is about, in words.
async fn text(ctx: &MemoryContext, request: &RecallRequest) -> Result<String, Error> {
    let task = match &request.task_external_id {
        Some(id) => tasks::find(&ctx.store, request.project, id).await?,
        None => None,
    };
    let parts = request.query.iter().cloned().chain(task.map(|task| task.title));
    let parts = parts.chain(request.signals.iter().cloned());
    let parts = parts.chain(request.symbols.iter().cloned()).chain(request.repo_path.clone());
    Ok(parts.collect::<Vec<_>>().join(" "))
}

impl From<history::Commit> for PastChange {
    fn from(commit: history::Commit) -> Self {
        let history::Commit { sha, subject, committed_at, trust, files, .. } = commit;
        Self { commit: sha.chars().take(SHORT_ID).collect(), subject, committed_at, files, trust }
    }
}
