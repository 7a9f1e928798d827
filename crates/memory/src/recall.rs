//! Before an answer is generated: what does the team know about this place?

mod aside;
mod assemble;
mod changes;
mod disagreement;
mod excerpt;
mod journal;
mod query;
mod relevance;
mod select;
mod signals;

use std::time::Duration;

use mc_domain::{BundleId, ProjectId, RecordId, SourceKind};
use mc_search::{Hit, Options, Query, SearchResponse, search_all};
use mc_store::passages::PassageFilter;
use mc_store::{tasks, vectors};
use tokio::time::{Instant, timeout, timeout_at};

use crate::bundle::{Bundle, Envelope, TaskSummary, pack};
use crate::tied::{Linked, tied};
use crate::tokens::TokenBudget;
use crate::{Error, MemoryContext, citations};

pub use changes::{MAX_CHANGES, PastChange, PastChanges, past_changes};
pub(crate) use journal::HandedOut;
use query::RecallQuery;
use relevance::Note;
use select::Choice;

/// How long a recall may take, unless it says otherwise.
pub const DEFAULT_TIME_BUDGET: Duration = Duration::from_millis(300);

/// The part of the time that the search may take; the rest is for citations and packing.
const SEARCH_SHARE: f64 = 0.8;
/// Records looked at.
const MEMORY_LIMIT: usize = 24;
/// Of these, records that are held against what they cite.
const JUDGED_LIMIT: usize = 24;
/// Records of the asked part of the system looked at besides.
const SCOPED_LIMIT: usize = 20;
/// Documents looked at.
const DOC_LIMIT: usize = 8;
/// Dialogs looked at.
const DIALOG_LIMIT: usize = 6;
/// Places in the code looked at.
const CODE_LIMIT: usize = 8;

/// A request for what is known.
#[derive(Debug, Clone)]
pub struct RecallRequest {
    /// Project.
    pub project: ProjectId,
    /// Who asks; kept with the bundle.
    pub principal: String,
    /// What it is about, in words.
    pub query: Option<String>,
    /// The task at hand, by the tracker's id.
    pub task_external_id: Option<String>,
    /// Where in the repository.
    pub repo_path: Option<String>,
    /// Symbols at hand.
    pub symbols: Vec<String>,
    /// What was noticed: `nil-delay`, an error's name.
    pub signals: Vec<String>,
    /// Most tokens that the bundle may cost.
    pub limit: TokenBudget,
    /// Most time that it may take.
    pub time_budget: Duration,
}

impl RecallRequest {
    /// A request with the default limits that asks for nothing yet.
    pub fn new(project: ProjectId, principal: impl Into<String>) -> Self {
        Self {
            project,
            principal: principal.into(),
            query: None,
            task_external_id: None,
            repo_path: None,
            symbols: Vec::new(),
            signals: Vec::new(),
            limit: TokenBudget::default(),
            time_budget: DEFAULT_TIME_BUDGET,
        }
    }
}

/// Answers with what the team knows, best first, within the token limit and the time budget. A
/// part of the search that is late is left out and named in [`Bundle::degraded`]; a bundle with
/// nothing good enough is empty and says why.
pub async fn recall(ctx: &MemoryContext, request: &RecallRequest) -> Result<Bundle, Error> {
    let deadline = Instant::now() + request.time_budget;
    let (task, mut degraded) = find_task(ctx, request, deadline).await?;
    let asked = query::read(request, task.as_ref(), &ctx.search.sanitizing);
    let asked = asked.ok_or(Error::NothingAsked)?;
    let found = find(ctx, request, &asked, deadline).await?;
    degraded.extend(found.degraded);
    let candidates = found.hits.len();
    let (mut notes, others) = assemble::part(found.hits, &found.linked);
    relevance::judge(&asked.question, &mut notes);
    notes.truncate(JUDGED_LIMIT);
    check_citations(ctx, request.project, &mut notes, deadline, &mut degraded).await?;
    // Once more, with what the best ones cite.
    relevance::judge(&asked.question, &mut notes);
    let mut notes = choose(ctx, &asked, notes, deadline, &mut degraded).await?;
    disagreement::settle(&mut notes, &ctx.notes);
    let others = assemble::others(&asked.question, others, &notes, &found.linked);

    let confidence = assemble::confidence(&notes, &others);
    let reason =
        (notes.is_empty() && others.is_empty()).then(|| why_empty(candidates, &asked, &degraded));
    let envelope = Envelope {
        id: BundleId::generate(),
        confidence,
        degraded,
        reason,
        task: request.task_external_id.as_ref().map(|id| head(id, task.as_ref())),
    };
    let contents = assemble::contents(&asked.question, notes, &others);
    let bundle = pack(envelope, contents, request.limit);
    journal::keep(ctx, request, &asked, &bundle);
    Ok(bundle)
}

/// The task at hand as the project knows it, and what is to be said if that takes too long.
async fn find_task(
    ctx: &MemoryContext,
    request: &RecallRequest,
    deadline: Instant,
) -> Result<(Option<tasks::Task>, Vec<String>), Error> {
    let Some(id) = &request.task_external_id else { return Ok((None, Vec::new())) };
    match timeout_at(deadline, tasks::find(&ctx.store, request.project, id)).await {
        Ok(found) => Ok((found?, Vec::new())),
        Err(_) => Ok((None, vec!["task: late".to_owned()])),
    }
}

fn head(external_id: &str, task: Option<&tasks::Task>) -> TaskSummary {
    TaskSummary {
        external_id: external_id.to_owned(),
        title: task.map(|task| task.title.clone()).unwrap_or_default(),
        status: task.map_or_else(|| "unknown".to_owned(), |task| task.status.clone()),
    }
}

fn why_empty(candidates: usize, asked: &RecallQuery, degraded: &[String]) -> String {
    let late =
        if degraded.is_empty() { "" } else { "; parts of the search were left out, so try again" };
    match (candidates, asked.has_words()) {
        (0, true) => format!("the project's memory holds nothing about this{late}"),
        (0, false) => {
            let ids = asked.task_ids.join(", ");
            format!("nothing is linked to {ids} or names it; ask in words, too{late}")
        }
        (n, _) => format!("{n} candidates were found, none of them close enough to rely on{late}"),
    }
}

/// What the searches and look-ups brought.
struct Found {
    hits: Vec<Hit>,
    linked: Linked,
    degraded: Vec<String>,
}

/// Searches records, records of the asked part of the system, documents, dialogs and code, and looks
/// up what is tied to the tasks and the place, all at once.
async fn find(
    ctx: &MemoryContext,
    request: &RecallRequest,
    asked: &RecallQuery,
    deadline: Instant,
) -> Result<Found, Error> {
    let budget = deadline.saturating_duration_since(Instant::now()).mul_f64(SEARCH_SHARE);
    let searches = searches(request.project, asked, budget);
    let paths = asked.paths();
    let tied = timeout(budget, tied(&ctx.store, request.project, &asked.task_ids, &paths));
    // The searches share a connection; what is tied is read beside them.
    let search = ctx.search.visiting();
    let (outcomes, tied) = tokio::join!(search_all(&search, &searches), tied);
    drop(search);
    let (mut hits, mut degraded) = gather(outcomes?);
    let Ok(tied) = tied else {
        degraded.push("links to tasks and places: late".to_owned());
        return Ok(Found { hits, linked: Linked::default(), degraded });
    };
    let (tied, linked) = tied?;
    let is_new =
        |hit: &Hit| !hits.iter().any(|have| have.passage.indexed.id == hit.passage.indexed.id);
    let new: Vec<_> = tied.into_iter().filter(is_new).collect();
    hits.extend(new);
    Ok(Found { hits, linked, degraded })
}

/// What is looked for, each with its limits.
fn searches(
    project: ProjectId,
    asked: &RecallQuery,
    time_budget: Duration,
) -> Vec<(Query, Options)> {
    let within = |source| {
        let mut filter = PassageFilter::project(project);
        filter.sources = vec![source];
        filter
    };
    let mut searches = vec![
        (asked.of_records(within(SourceKind::Memory)), MEMORY_LIMIT),
        (asked.of_places(within(SourceKind::Doc)), DOC_LIMIT),
        (asked.of_places(within(SourceKind::Dialog)), DIALOG_LIMIT),
        (asked.of_places(within(SourceKind::Code)), CODE_LIMIT),
    ];
    if !asked.question.scope.is_empty() {
        let mut filter = within(SourceKind::Memory);
        filter.scope.clone_from(&asked.question.scope);
        searches.push((asked.of_records(filter), SCOPED_LIMIT));
    }
    let limited = |(query, limit)| (query, Options { limit, time_budget, ..Options::default() });
    searches.into_iter().map(limited).collect()
}

/// Hits of several searches, each passage once, and what any of them left out.
fn gather(outcomes: Vec<SearchResponse>) -> (Vec<Hit>, Vec<String>) {
    let mut hits: Vec<Hit> = Vec::new();
    let mut degraded: Vec<String> = Vec::new();
    for outcome in outcomes {
        for hit in outcome.hits {
            let id = hit.passage.indexed.id;
            match hits.iter_mut().find(|have| have.passage.indexed.id == id) {
                // The scoped search may have looked deeper into one of the legs.
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
        for note in outcome.degraded {
            if !degraded.contains(&note) {
                degraded.push(note);
            }
        }
    }
    (hits, degraded)
}

/// The notes of the bundle: those that are good enough, and those that belong to the best of them.
async fn choose(
    ctx: &MemoryContext,
    asked: &RecallQuery,
    notes: Vec<Note>,
    deadline: Instant,
    degraded: &mut Vec<String>,
) -> Result<Vec<Note>, Error> {
    let choice = Choice::of(&asked.question, notes);
    let Some((best, others)) = choice.in_doubt() else { return Ok(choice.with(&[])) };
    let near = Box::pin(vectors::near_to(&ctx.store, best, &others, select::NEAR));
    if let Ok(near) = timeout_at(deadline, near).await {
        Ok(choice.with(&near?))
    } else {
        degraded.push("records that belong to the best one: late".to_owned());
        Ok(choice.with(&[]))
    }
}

/// Puts the verdicts of what records cite beside them: checked now if there is time.
async fn check_citations(
    ctx: &MemoryContext,
    project: ProjectId,
    notes: &mut [Note],
    deadline: Instant,
    degraded: &mut Vec<String>,
) -> Result<(), Error> {
    let ids: Vec<RecordId> = notes.iter().filter_map(Note::citing).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let recheck = citations::recheck_records(&ctx.store, project, &ids);
    let by_record = if let Ok(checked) = timeout_at(deadline, recheck).await {
        checked?.0
    } else {
        degraded.push("citations: late, verdicts are those of the last check".to_owned());
        citations::last_known(&ctx.store, &ids).await?
    };
    for note in notes {
        if let Some(found) = note.citing().and_then(|id| by_record.get(&id)) {
            note.cite(found);
        }
    }
    Ok(())
}
