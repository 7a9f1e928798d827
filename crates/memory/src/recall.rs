//! Recalls what the team knows about the place of a request. The flow of [`recall`]:
//!
//! 1. `query::read` turns the request into a query; `find` runs all searches and look-ups at once.
//! 2. `relevance::rank` orders the records found: similarity plus ties to task, symbol and path,
//!    times age, use and state. `check_citations` checks the best, and they are ranked again.
//! 3. `select_records` keeps the good ones (`select::Selection`), and
//!    `disagreement::put_newer_first` orders contradicting ones.
//! 4. `assemble::select_places` adds documents, dialogs and code, the fewer the surer the records.
//! 5. `assemble::add_items` sorts all into sections, and [`pack`] fills the token budget. Then
//!    `bundle_log::enqueue` writes the bundle, after the response.
//!
//! Which facts come first is decided in `relevance::rank` (by `RankedRecord::rank`), and only then
//! do trust and staleness move records back.

mod assemble;
mod bundle_log;
mod changes;
mod disagreement;
mod excerpt;
mod peripheral;
mod query;
mod relevance;
mod select;
mod signals;

use std::time::Duration;

use mc_contract::operations::recall::TaskSummary;
use mc_contract::operations::task::Task;
use mc_domain::{BundleId, ProjectId, RecordId, SourceKind};
use mc_search::{Hit, Options, Query, SearchResponse, search_all};
use mc_store::passages::PassageFilter;
use mc_store::{tasks, vectors};
use tokio::time::{Instant, timeout, timeout_at};

use crate::bundle::{Bundle, pack};
use crate::task_links::{TaskLinks, find_task_links};
use crate::tokens::TokenBudget;
use crate::{Error, MemoryContext, citations};

pub(crate) use bundle_log::IssuedBundle;
pub use changes::{MAX_CHANGES, PastChanges, past_changes};
use query::RecallQuery;
use relevance::RankedRecord;
use select::Selection;

/// Share of the time budget for the search; the rest is for citations and packing.
const SEARCH_SHARE: f64 = 0.8;
/// Most records that the search returns.
const MEMORY_LIMIT: usize = 24;
/// Most records whose citations are checked.
const CITATION_CHECK_LIMIT: usize = 24;
/// Most additional records within the query's scope.
const SCOPED_LIMIT: usize = 20;
const DOC_LIMIT: usize = 8;
const DIALOG_LIMIT: usize = 6;
const CODE_LIMIT: usize = 8;

/// A request to recall knowledge.
#[derive(Debug, Clone)]
pub struct RecallRequest {
    /// Project to search.
    pub project: ProjectId,
    /// Name of the caller, stored with the bundle.
    pub principal: String,
    /// Whether it is no use of the memory: of a control group or of an evaluation.
    pub is_control: bool,
    /// Free text of the query.
    pub query: Option<String>,
    /// Current task, by the tracker's id.
    pub task_external_id: Option<String>,
    /// Path in the repository.
    pub repo_path: Option<String>,
    /// Symbols that the caller works on.
    pub symbols: Vec<String>,
    /// Signals that the caller noticed: `nil-delay`, an error's name.
    pub signals: Vec<String>,
    /// Most tokens of the bundle.
    pub limit: TokenBudget,
    /// Most time for the recall.
    pub time_budget: Duration,
}

/// Recalls the team's knowledge, best first, within the token and time budgets. Late parts are left
/// out and named in [`Bundle::degraded`]. A bundle without good results is empty and has a reason.
pub async fn recall(ctx: &MemoryContext, request: &RecallRequest) -> Result<Bundle, Error> {
    let deadline = Instant::now() + request.time_budget;
    let mut recall = Recall { ctx, request, deadline, degraded: Vec::new() };
    let task = recall.find_task().await?;
    let query =
        query::read(request, task.as_ref(), &ctx.search.sanitizing).ok_or(Error::EmptyQuery)?;
    let version = Box::pin(ctx.prompt_versions.version(&ctx.store, request.project));
    let (found, prompt_version) = tokio::join!(recall.find(&query), timeout_at(deadline, version));
    let (hits, linked) = found?;
    let candidates = hits.len();
    let (mut records, others) = assemble::split_records(hits, &linked);
    relevance::rank(&query.features, &mut records);
    records.truncate(CITATION_CHECK_LIMIT);
    recall.check_citations(&mut records).await?;
    // Ranks again, as fresh citations tie records to symbols and files and stale ones lower them.
    relevance::rank(&query.features, &mut records);
    let mut records = recall.select_records(&query, records).await?;
    disagreement::put_newer_first(&mut records, &ctx.notes);
    let places = assemble::select_places(&query.features, others, &records, &linked);

    let degraded = recall.degraded;
    let confidence = assemble::confidence(&records, &places);
    let reason =
        (records.is_empty() && places.is_empty()).then(|| why_empty(candidates, &query, &degraded));
    let task = request.task_external_id.as_ref().map(|id| task_summary(id, task.as_ref()));
    let empty = Bundle::empty(BundleId::generate());
    let prompt_version = prompt_version.unwrap_or_default();
    let mut bundle = Bundle { confidence, degraded, reason, task, prompt_version, ..empty };
    assemble::add_items(&mut bundle, &query.features, records, &places);
    let bundle = pack(bundle, request.limit);
    bundle_log::enqueue(ctx, request, &query, &bundle);
    Ok(bundle)
}

/// A recall at work.
struct Recall<'a> {
    ctx: &'a MemoryContext,
    request: &'a RecallRequest,
    deadline: Instant,
    /// Parts of the search that were late or unavailable.
    degraded: Vec<String>,
}

impl Recall<'_> {
    /// Finds the current task.
    async fn find_task(&mut self) -> Result<Option<Task>, Error> {
        let Some(id) = &self.request.task_external_id else { return Ok(None) };
        let found = tasks::find(&self.ctx.store, self.request.project, id);
        let Ok(found) = timeout_at(self.deadline, found).await else {
            self.degraded.push("task: late".to_owned());
            return Ok(None);
        };
        Ok(found?)
    }

    /// Searches records, records in scope, documents, dialogs and code, and looks up passages tied
    /// to the tasks and the path, all at once.
    async fn find(&mut self, query: &RecallQuery) -> Result<(Vec<Hit>, TaskLinks), Error> {
        let Self { ctx, request, .. } = *self;
        let budget = self.deadline.saturating_duration_since(Instant::now()).mul_f64(SEARCH_SHARE);
        let searches = searches(request.project, query, budget);
        let paths = query.paths();
        let ties = find_task_links(&ctx.store, request.project, &query.task_ids, &paths);
        // The searches share a connection; ties are read concurrently.
        let search = ctx.search.visiting();
        let (outcomes, ties) = tokio::join!(search_all(&search, &searches), timeout(budget, ties));
        drop(search);
        let mut hits = self.gather(outcomes?);
        let Ok(ties) = ties else {
            self.degraded.push("links to tasks and places: late".to_owned());
            return Ok((hits, TaskLinks::default()));
        };
        let (ties, linked) = ties?;
        let is_new =
            |hit: &Hit| !hits.iter().any(|have| have.passage.indexed.id == hit.passage.indexed.id);
        let new: Vec<_> = ties.into_iter().filter(is_new).collect();
        hits.extend(new);
        Ok((hits, linked))
    }

    /// Merges the hits of several searches, each passage once, and their `degraded` records.
    fn gather(&mut self, outcomes: Vec<SearchResponse>) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut degraded: Vec<String> = Vec::new();
        for outcome in outcomes {
            for hit in outcome.hits {
                let id = hit.passage.indexed.id;
                match hits.iter_mut().find(|have| have.passage.indexed.id == id) {
                    // The scoped search may have gone deeper in one of the retrievers.
                    Some(have) => {
                        have.similarity = have.similarity.or(hit.similarity);
                        have.similarity_below = have.similarity_below.or(hit.similarity_below);
                        have.keyword = have.keyword.or(hit.keyword);
                        have.coverage = have.coverage.or(hit.coverage);
                        have.score = have.score.max(hit.score);
                    }
                    None => hits.push(hit),
                }
            }
            for record in outcome.degraded {
                if !degraded.contains(&record) {
                    degraded.push(record);
                }
            }
        }
        self.degraded.extend(degraded);
        hits
    }

    /// Attaches citations with verdicts to the records; checks them now if there is time.
    async fn check_citations(&mut self, records: &mut [RankedRecord]) -> Result<(), Error> {
        let ids: Vec<RecordId> = records.iter().filter_map(RankedRecord::citing).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let recheck = citations::recheck_records(&self.ctx.store, self.request.project, &ids);
        let by_record = if let Ok(checked) = timeout_at(self.deadline, recheck).await {
            checked?.0
        } else {
            let note = "citations: late, verdicts are those of the last check";
            self.degraded.push(note.to_owned());
            citations::last_known(&self.ctx.store, &ids).await?
        };
        for record in records {
            if let Some(found) = record.citing().and_then(|id| by_record.get(&id)) {
                record.set_citations(found);
            }
        }
        Ok(())
    }

    /// Selects the records of the bundle: good ones, and those that belong to the best one.
    async fn select_records(
        &mut self,
        query: &RecallQuery,
        records: Vec<RankedRecord>,
    ) -> Result<Vec<RankedRecord>, Error> {
        let selection = Selection::of(&query.features, records);
        let Some((best, places)) = selection.undecided() else { return Ok(selection.with(&[])) };
        let store = &self.ctx.store;
        let near = Box::pin(vectors::near_to(store, best, &places, select::NEAR_COSINE));
        if let Ok(near) = timeout_at(self.deadline, near).await {
            Ok(selection.with(&near?))
        } else {
            self.degraded.push("records that belong to the best one: late".to_owned());
            Ok(selection.with(&[]))
        }
    }
}

fn task_summary(external_id: &str, task: Option<&Task>) -> TaskSummary {
    TaskSummary {
        external_id: external_id.to_owned(),
        title: task.map(|task| task.title.clone()).unwrap_or_default(),
        status: task.map_or_else(|| "unknown".to_owned(), |task| task.status.clone()),
    }
}

fn why_empty(candidates: usize, query: &RecallQuery, degraded: &[String]) -> String {
    let late =
        if degraded.is_empty() { "" } else { "; parts of the search were left out, so try again" };
    match (candidates, query.has_words()) {
        (0, true) => format!("the project's memory holds nothing about this{late}"),
        (0, false) => {
            let ids = query.task_ids.join(", ");
            format!("nothing is linked to {ids} or names it; ask in words, too{late}")
        }
        (n, _) => format!("{n} candidates were found, none of them close enough to rely on{late}"),
    }
}

fn searches(
    project: ProjectId,
    query: &RecallQuery,
    time_budget: Duration,
) -> Vec<(Query, Options)> {
    let within = |source| {
        let mut filter = PassageFilter::project(project);
        filter.sources = vec![source];
        filter
    };
    let mut searches = vec![
        (query.of_records(within(SourceKind::Memory)), MEMORY_LIMIT),
        (query.of_places(within(SourceKind::Doc)), DOC_LIMIT),
        (query.of_places(within(SourceKind::Dialog)), DIALOG_LIMIT),
        (query.of_places(within(SourceKind::Code)), CODE_LIMIT),
    ];
    if !query.features.scope.is_empty() {
        let mut filter = within(SourceKind::Memory);
        filter.scope.clone_from(&query.features.scope);
        searches.push((query.of_records(filter), SCOPED_LIMIT));
    }
    let limited = |(query, limit)| (query, Options { limit, time_budget, ..Options::default() });
    searches.into_iter().map(limited).collect()
}
