//! Before an answer is generated: what does the team know about this place?

mod assemble;
mod question;

use std::time::Duration;

use mc_domain::{BundleId, BundleSection, ProjectId, RecordId, RecordKind, SourceKind};
use mc_search::{Hit, Options, Outcome, Query, search_all};
use mc_store::bundles::{BundleItem, NewBundle};
use mc_store::passages::PassageFilter;
use mc_store::{bundles, tasks};
use tokio::time::{Instant, timeout_at};

use crate::bundle::{Bundle, Envelope, LinkTarget, TaskHead, pack};
use crate::confidence::{self};
use crate::tokens::TokenBudget;
use crate::{Error, MemoryContext, citations};

use assemble::Scored;
use question::Asked;

/// How long a recall may take, unless it says otherwise.
pub const DEFAULT_TIME_BUDGET: Duration = Duration::from_millis(300);

/// The part of the time that the search may take; the rest is for citations and packing.
const SEARCH_SHARE: f64 = 0.8;
/// Records looked at.
const MEMORY_LIMIT: usize = 40;
/// Records of the asked part of the system looked at besides.
const SCOPED_LIMIT: usize = 20;
/// Documents looked at.
const DOC_LIMIT: usize = 8;
/// Dialogs looked at.
const DIALOG_LIMIT: usize = 6;
/// Places in the code looked at.
const CODE_LIMIT: usize = 8;
/// How often a bundle's record is tried to be written.
const JOURNAL_ATTEMPTS: u32 = 3;

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
    let asked = question::read(request, task.as_ref(), &ctx.search.sanitizing);
    let asked = asked.ok_or(Error::NothingAsked)?;
    let (hits, left_out) = find(ctx, request, &asked, deadline).await?;
    degraded.extend(left_out);
    let found = hits.len();
    let mut scored = assemble::score(&asked.question, hits);
    check_citations(ctx, request.project, &mut scored, deadline, &mut degraded).await?;

    let confidence = confidence::confidence(scored.iter().map(|s| s.evidence).collect());
    let reason = scored.is_empty().then(|| why_empty(found, &degraded));
    let envelope = Envelope {
        id: BundleId::generate(),
        confidence,
        degraded,
        reason,
        task: request.task_external_id.as_ref().map(|id| head(id, task.as_ref())),
    };
    let bundle = pack(envelope, assemble::contents(scored), request.limit);
    journal(ctx, request, &asked, &bundle);
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

fn head(external_id: &str, task: Option<&tasks::Task>) -> TaskHead {
    TaskHead {
        external_id: external_id.to_owned(),
        title: task.map(|task| task.title.clone()).unwrap_or_default(),
        status: task.map_or_else(|| "unknown".to_owned(), |task| task.status.clone()),
    }
}

fn why_empty(found: usize, degraded: &[String]) -> String {
    let late =
        if degraded.is_empty() { "" } else { "; parts of the search were left out, so try again" };
    match found {
        0 => format!("the project's memory holds nothing about this{late}"),
        n => format!("{n} candidates were found, none of them close enough to rely on{late}"),
    }
}

/// Searches records, records of the asked part of the system, documents, dialogs and code, all at
/// once.
async fn find(
    ctx: &MemoryContext,
    request: &RecallRequest,
    asked: &Asked,
    deadline: Instant,
) -> Result<(Vec<Hit>, Vec<String>), Error> {
    let budget = deadline.saturating_duration_since(Instant::now()).mul_f64(SEARCH_SHARE);
    let within = |source| {
        let mut filter = PassageFilter::project(request.project);
        filter.sources = vec![source];
        Query { filter, ..asked.query(request.project) }
    };
    let mut searches = vec![
        (within(SourceKind::Memory), MEMORY_LIMIT),
        (within(SourceKind::Doc), DOC_LIMIT),
        (within(SourceKind::Dialog), DIALOG_LIMIT),
        (within(SourceKind::Code), CODE_LIMIT),
    ];
    if !asked.scope.is_empty() {
        let mut scoped = within(SourceKind::Memory);
        scoped.filter.scope.clone_from(&asked.scope);
        searches.push((scoped, SCOPED_LIMIT));
    }
    let limited =
        |(query, limit)| (query, Options { limit, time_budget: budget, ..Options::default() });
    let searches: Vec<_> = searches.into_iter().map(limited).collect();
    Ok(gather(search_all(&ctx.search, &searches).await?))
}

/// Hits of several searches, each passage once, and what any of them left out.
fn gather(outcomes: Vec<Outcome>) -> (Vec<Hit>, Vec<String>) {
    let mut hits: Vec<Hit> = Vec::new();
    let mut degraded: Vec<String> = Vec::new();
    for outcome in outcomes {
        for hit in outcome.hits {
            let id = hit.passage.indexed.id;
            match hits.iter_mut().find(|have| have.passage.indexed.id == id) {
                // The scoped search may have looked deeper into one of the legs.
                Some(have) => {
                    have.similarity = have.similarity.or(hit.similarity);
                    have.keyword = have.keyword.or(hit.keyword);
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

/// Puts the verdicts of what records cite beside them: checked now if there is time.
async fn check_citations(
    ctx: &MemoryContext,
    project: ProjectId,
    scored: &mut [Scored],
    deadline: Instant,
    degraded: &mut Vec<String>,
) -> Result<(), Error> {
    let ids: Vec<RecordId> = scored.iter().filter_map(Scored::citing_record).collect();
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
    for one in scored.iter_mut() {
        if let Some(found) = one.citing_record().and_then(|id| by_record.get(&id)) {
            one.cite(found);
        }
    }
    Ok(())
}

/// Keeps what was answered, after the answer. Tried again when the database is away for a
/// moment; what can't be kept at last is logged as an error with the bundle's id.
fn journal(ctx: &MemoryContext, request: &RecallRequest, asked: &Asked, bundle: &Bundle) {
    let record = NewBundle {
        id: bundle.id,
        project: request.project,
        principal: request.principal.clone(),
        request: asked.as_json(),
        confidence: bundle.confidence,
        tokens: i32::try_from(bundle.tokens).unwrap_or(i32::MAX),
        degraded: bundle.degraded.clone(),
        items: items(bundle),
    };
    let store = ctx.store.clone();
    ctx.journal.spawn(bundle.id, async move {
        for attempt in 1..=JOURNAL_ATTEMPTS {
            let Err(error) = bundles::insert(&store, &record).await else { return };
            if attempt == JOURNAL_ATTEMPTS {
                tracing::error!(bundle.id = %record.id, error = &error as &dyn std::error::Error,
                    "a bundle was handed out and could not be recorded");
                return;
            }
            tokio::time::sleep(Duration::from_millis(200) * attempt).await;
        }
    });
}

fn items(bundle: &Bundle) -> Vec<BundleItem> {
    let statement = |section, s: &crate::bundle::Statement| BundleItem {
        section,
        record: Some(s.id),
        doc: None,
        passage: s.passage,
        score: s.score,
    };
    let gotchas = bundle.gotchas.iter().map(|s| statement(BundleSection::Gotchas, s));
    let facts = bundle.facts.iter().map(|s| statement(BundleSection::Facts, s));
    let shots = bundle.few_shots.iter().map(|s| BundleItem {
        section: BundleSection::FewShots,
        record: Some(s.id),
        doc: None,
        passage: s.passage,
        score: s.score,
    });
    let links = bundle.links.iter().map(|link| {
        let (record, doc) = match link.target {
            LinkTarget::Record(id) => (Some(id), None),
            LinkTarget::Doc(id) => (None, Some(id)),
        };
        BundleItem {
            section: BundleSection::Links,
            record,
            doc,
            passage: link.passage,
            score: link.score,
        }
    });
    let dialogs = bundle.dialogs.iter().map(|talk| BundleItem {
        section: BundleSection::Dialogs,
        record: None,
        doc: None,
        passage: talk.passage,
        score: talk.score,
    });
    let code = bundle.code.iter().map(|place| BundleItem {
        section: BundleSection::Code,
        record: None,
        doc: None,
        passage: place.passage,
        score: place.score,
    });
    gotchas.chain(facts).chain(shots).chain(links).chain(dialogs).chain(code).collect()
}

/// Whether a kind goes first where it is about the asked place.
fn is_warning(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Gotcha | RecordKind::Rule)
}
