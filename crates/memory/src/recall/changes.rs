//! Similar past changes: commits with messages near to the task, and the files they touched.
//!
//! An additional section of the response, on request; it takes no tokens from records.

use mc_contract::operations::recall::PastChange;
use mc_domain::SourceKind;
use mc_search::{Hit, Options, search};
use mc_store::passages::PassageFilter;
use mc_store::{history, tasks};
use tokio::time::{Instant, timeout_at};

use super::{RecallRequest, query};
use crate::{Error, MemoryContext};

/// Most changes of a section. In two of three cases, one of them touched a file to be changed.
pub const MAX_CHANGES: usize = 3;

/// Cosine similarity from which a commit's message counts as near.
const SIMILARITY_MIN: f32 = 0.3;
/// With fewer words than this, any two texts are near each other: a greeting and "Begin", say.
const WORDS_MIN: usize = 3;

/// Hexadecimal digits of a commit id as people read it.
const SHORT_ID_DIGITS: usize = 10;

/// Similar past changes, nearest first.
#[derive(Debug, Default)]
pub struct PastChanges {
    /// At most [`MAX_CHANGES`].
    pub changes: Vec<PastChange>,
    /// Parts that were late or failed and were left out.
    pub degraded: Vec<String>,
}

/// Finds the past changes nearest to the request, within its time budget.
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
    let task = match &request.task_external_id {
        Some(id) => tasks::find(&ctx.store, request.project, id).await?,
        None => None,
    };
    let mut filter = PassageFilter::project(request.project);
    filter.sources = vec![SourceKind::Change];
    let recall_query = query::read(request, task.as_ref(), &ctx.search.sanitizing);
    let Some(recall_query) = recall_query else { return Ok(PastChanges::default()) };
    let query = recall_query.of_changes(filter);
    if query.is_empty() {
        return Ok(PastChanges::default());
    }
    let options = Options {
        limit: MAX_CHANGES,
        time_budget: deadline.saturating_duration_since(Instant::now()),
        ..Options::default()
    };
    let found = search(&ctx.search, &query, &options).await?;
    let is_short = recall_query.features.bare_words().is_some_and(|words| words < WORDS_MIN);
    let near = found.hits.iter().filter(|hit| is_near(hit, is_short));
    let ids: Vec<_> = near.map(|hit| hit.passage.indexed.id).collect();
    let mut commits = history::of_passages(&ctx.store, request.project, &ids).await?;
    let changes = ids.iter().filter_map(|id| commits.remove(id)).map(past_change).collect();
    Ok(PastChanges { changes, degraded: found.degraded })
}

/// Whether a commit is similar. Words decide if it has no similarity, because the vectors did not
/// return it or it has none yet, and if the query is short.
fn is_near(hit: &Hit, is_short: bool) -> bool {
    let has_words = hit.keyword.is_some();
    hit.similarity
        .map_or(has_words, |similarity| similarity >= SIMILARITY_MIN && (has_words || !is_short))
}

fn past_change(commit: history::Commit) -> PastChange {
    let history::Commit { sha, subject, committed_at, trust, files, .. } = commit;
    let commit = sha.chars().take(SHORT_ID_DIGITS).collect();
    PastChange { commit, subject, date: committed_at, files, trust }
}
