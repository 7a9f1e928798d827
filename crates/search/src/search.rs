//! One search: runs the retrievers concurrently, then fuses, reranks and deduplicates their
//! results.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use chrono::Utc;
use futures::future::try_join_all;
use mc_domain::{PassageId, ProjectId, SourceKind};
use mc_sanitizer::{Policy, mask_with};
use mc_store::Store;
use mc_store::passages::{self, Passage, PassageFilter};
use tantivy::TantivyError;
use tokio::time::{Instant, timeout_at};

use crate::index::schema::{Corpus, Scope};
use crate::index::{Freshness, KeywordIndex, UpToDate};
use crate::models::ActiveModels;
use crate::query::gloss::{self, Gloss};
use crate::query::{
    Options, ParsedQuery, Query, all_terms, parse, stem_terms, telling_terms, whole_term,
};
use crate::rank::fusion::{Fused, fuse};
use crate::rank::rerank::{RankContext, rerank};
use crate::rank::step::Step;
use crate::rank::{Candidate, dedup::dedup};
use crate::response::{Explain, Hit, SearchResponse};
use crate::retrievers::keyword::{self, Telling};
use crate::retrievers::vector::{Sought, VectorRetriever};
use crate::retrievers::{RankedList, Retriever};
use crate::{Error, history};

/// Minimum number of hits requested from each retriever.
pub const MIN_DEPTH: usize = 200;
/// Passages read in full for ranking: four for every three requested hits, and at least
/// [`MIN_HYDRATED`].
const HYDRATED_PER_THREE: usize = 4;
const MIN_HYDRATED: usize = 32;
/// Share of the time budget for the retrievers; the rest is for reading the passages they found.
const RETRIEVERS_SHARE: f64 = 0.75;
/// Size in bytes up to which a text's words are looked up on the async thread.
const SHORT_TEXT: usize = 256;
/// Passages of a project up to which it is searched on the async thread: about 0.3 ms.
const FEW_TEXTS: u64 = 2_000;
/// Share of the time budget for catching up with the change feed.
const REFRESH_SHARE: f64 = 0.5;

/// Dependencies of a search; cheap to clone.
#[derive(Clone)]
pub struct SearchContext {
    /// Database.
    pub store: Store,
    /// This node's keyword index.
    pub keyword: KeywordIndex,
    /// Models for the vector retriever.
    pub models: ActiveModels,
    /// Masking policy of the project, applied to queries as to the stored texts.
    pub sanitizing: Arc<Policy>,
}

impl SearchContext {
    /// Returns a context for searches that share one connection ([`Store::visit`]).
    #[must_use]
    pub fn visiting(&self) -> Self {
        Self { store: self.store.share_reads(), ..self.clone() }
    }
}

/// Finds passages.
///
/// A retriever that is late or fails is skipped and named in the response's `degraded`, and so is a
/// database that is late with the passages. A database that fails is an error.
pub async fn search(
    context: &SearchContext,
    query: &Query,
    options: &Options,
) -> Result<SearchResponse, Error> {
    let searches = [(query.clone(), options.clone())];
    let found = search_all(context, &searches).await?.pop();
    Ok(found.expect("an outcome for each search"))
}

/// Runs several searches of one project concurrently, each like [`search`].
///
/// They share common lookups, and one statement reads all the passages found.
pub async fn search_all(
    context: &SearchContext,
    searches: &[(Query, Options)],
) -> Result<Vec<SearchResponse>, Error> {
    let Some((first, Options { time_budget, .. })) = searches.first() else {
        return Ok(Vec::new());
    };
    let project = first.filter.project;
    debug_assert!(searches.iter().all(|(query, _)| query.filter.project == project));
    let vectors = VectorRetriever::new(&context.store, &context.models, project);
    let index = UpToDate::new(&context.keyword, time_budget.mul_f64(REFRESH_SHARE));
    let each = searches
        .iter()
        .map(|(query, options)| shortlist(context, &vectors, &index, query, options));
    let mut found = try_join_all(each).await?;
    let passages = hydrate(context, project, &mut found).await?;
    let outcomes = found.into_iter().zip(searches);
    Ok(outcomes.map(|(found, (query, options))| found.ranked(query, options, &passages)).collect())
}

/// Fused results of a search's retrievers, before the passages are read.
struct Shortlist {
    fused_score: Vec<Fused>,
    /// See [`keyword::KeywordHits`].
    covered: HashMap<PassageId, f32>,
    /// Similarity of the last vector hit, if there are more beyond the limit.
    nearest_end: Option<f32>,
    names: ParsedQuery,
    degraded: Vec<String>,
    /// Whether a statement failed or was abandoned on the connection that the searches share: the
    /// next read must not wait for it, or fail with it.
    has_failed_statement: bool,
    began: Instant,
    deadline: Instant,
}

async fn shortlist(
    context: &SearchContext,
    vectors: &VectorRetriever<'_>,
    index: &UpToDate<'_>,
    query: &Query,
    options: &Options,
) -> Result<Shortlist, Error> {
    if query.is_empty() {
        return Err(Error::EmptyQuery);
    }
    let began = Instant::now();
    let (deadline, retrievers_end) =
        (began + options.time_budget, began + options.time_budget.mul_f64(RETRIEVERS_SHARE));
    let names = parse(query);
    let mut degraded = Vec::new();
    if is_empty(index, query).await {
        let (fused, covered) = (Vec::new(), HashMap::new());
        let (nearest_end, has_failed_statement) = (None, false);
        return Ok(Shortlist {
            fused_score: fused,
            covered,
            nearest_end,
            names,
            degraded,
            has_failed_statement,
            began,
            deadline,
        });
    }

    let gloss =
        options.disabled_steps.takes(Step::Gloss).then(|| gloss::english(&query.text)).flatten();
    let sought = sought(context, query, options, gloss.as_ref()).await;
    let (keyword, vector, changes) = tokio::join!(
        timeout_at(retrievers_end, search_keywords(context, index, query, gloss, &names, options)),
        timeout_at(retrievers_end, vectors.search(&sought, &query.filter, depth(options), index)),
        timeout_at(retrievers_end, nearest_changes(vectors, &sought, query, options, index)),
    );
    let mut has_failed_statement = !matches!((&vector, &changes), (Ok(Ok(_)), Ok(Ok(_))));
    let mut covered = HashMap::new();
    let mut lists: Vec<(Retriever, RankedList)> = Vec::new();
    let mut commits: Vec<(Retriever, RankedList)> = Vec::new();
    if let Some((found, note)) = on_time_or_degraded(Retriever::Keyword, keyword, &mut degraded) {
        degraded.extend(note.map(str::to_owned));
        covered.extend(found.covered);
        lists.push((Retriever::Exact, found.exact));
        lists.push((Retriever::Keyword, found.words));
        commits.push((Retriever::Keyword, found.changes));
    }
    // Why there are no vectors of commits, the vector retriever says; their words are enough.
    if let Ok(Ok(list)) = changes {
        commits.push((Retriever::Vector, list));
    }
    let mut nearest_end = None;
    if let Some(list) = on_time_or_degraded(Retriever::Vector, vector, &mut degraded) {
        let is_cut = list.len() >= depth(options);
        nearest_end = list.last().map(|(_, similarity)| *similarity).filter(|_| is_cut);
        lists.push((Retriever::Vector, list));
    }
    lists.retain(|(retriever, _)| options.disabled_steps.takes(retriever.step()));

    let fused = fuse(&lists);
    let store = usable_store(&context.store, has_failed_statement);
    let before = degraded.len();
    let fused = with_history(&store, query, options, fused, &commits, deadline, &mut degraded);
    let fused = shortened(fused.await, options.limit);
    has_failed_statement |= degraded.len() > before;
    Ok(Shortlist {
        fused_score: fused,
        covered,
        nearest_end,
        names,
        degraded,
        has_failed_statement,
        began,
        deadline,
    })
}

impl Shortlist {
    /// Reranks and deduplicates the passages that were read.
    fn ranked(
        self,
        query: &Query,
        options: &Options,
        passages: &HashMap<PassageId, Passage>,
    ) -> SearchResponse {
        let candidate = |Fused { id, retrievers, score, .. }| {
            let passage = passages.get(&id)?.clone();
            Some(Candidate {
                passage,
                retrievers,
                fused_score: score,
                adjustments: Vec::new(),
                score,
            })
        };
        let mut candidates: Vec<_> = self.fused_score.into_iter().filter_map(candidate).collect();
        let situation = RankContext {
            names: self.names,
            text: query.text.to_lowercase(),
            now: Utc::now(),
            disabled_steps: options.disabled_steps.clone(),
        };
        rerank(&mut candidates, &situation);
        let kept = dedup(candidates, options.limit, options.max_per_file);
        let hit = |candidate| {
            let mut hit = hit(candidate, &self.covered, options.explain);
            hit.similarity_below = self.nearest_end.filter(|_| hit.similarity.is_none());
            hit
        };
        let hits = kept.into_iter().map(hit).collect();
        SearchResponse { hits, degraded: self.degraded, took: self.began.elapsed() }
    }
}

/// The texts whose meaning is sought: the query, and where nothing but records is sought, the query
/// without what many of the project's records say; that alone where it says all.
async fn sought(
    context: &SearchContext,
    query: &Query,
    options: &Options,
    gloss: Option<&Gloss>,
) -> Sought {
    let masked = |text: &str| mask_with(text, &context.sanitizing).text;
    let text = query.embedding_text();
    if text.trim().is_empty() {
        return Sought { texts: Vec::new(), gloss: None };
    }
    let texts = match telling(context, query, options).await {
        None => vec![masked(&text)],
        Some(telling) if telling.says_all => vec![masked(&telling.text)],
        Some(telling) => vec![masked(&text), masked(&telling.text)],
    };
    Sought { texts, gloss: gloss.map(|gloss| masked(&gloss.text)) }
}

/// The query without what many of the project's records say, where nothing but records is sought.
/// Makes do without where the index can't tell: the keyword retriever reports that.
async fn telling(context: &SearchContext, query: &Query, options: &Options) -> Option<Telling> {
    let is_of_records = keyword::corpus(&query.filter, &options.disabled_steps) == Corpus::Records;
    if !is_of_records || !options.disabled_steps.takes(Step::Telling) {
        return None;
    }
    let view = context.keyword.view()?;
    let (project, text) = (query.filter.project, query.text.clone());
    let is_short = text.len() <= SHORT_TEXT;
    look(is_short, move || keyword::telling(&view, project, &text)).await.ok()?
}

/// Looks into the index: on the spot where that is short, in less time than it takes to wake
/// another thread. tantivy asserts its way through files: on a broken one it may panic.
async fn look<T: Send + 'static>(
    is_short: bool,
    look: impl FnOnce() -> Result<T, TantivyError> + Send + 'static,
) -> Result<T, Error> {
    if !is_short {
        return Ok(tokio::task::spawn_blocking(look).await??);
    }
    let panicked = |_| Err(TantivyError::InternalError("a look into the index panicked".into()));
    Ok(catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(panicked)?)
}

/// Hits asked of each retriever.
fn depth(options: &Options) -> usize {
    MIN_DEPTH.max(options.limit.saturating_mul(2))
}

/// Whether commits say something of the files that are sought.
fn has_history(query: &Query, options: &Options) -> bool {
    options.disabled_steps.takes(Step::History) && history::applies(&query.filter)
}

/// The commits nearest in meaning, where history has a say.
async fn nearest_changes(
    vectors: &VectorRetriever<'_>,
    sought: &Sought,
    query: &Query,
    options: &Options,
    index: &UpToDate<'_>,
) -> Result<RankedList, Error> {
    if !has_history(query, options) {
        return Ok(RankedList::new());
    }
    let changes = history::changes_of(query.filter.project);
    vectors.search(sought, &changes, MIN_DEPTH, index).await
}

/// The fused list with what the files of the nearest commits give, if that can be had in time.
async fn with_history(
    store: &Store,
    query: &Query,
    options: &Options,
    fused: Vec<Fused>,
    commits: &[(Retriever, RankedList)],
    deadline: Instant,
    degraded: &mut Vec<String>,
) -> Vec<Fused> {
    if commits.iter().all(|(_, list)| list.is_empty()) {
        return fused;
    }
    let limit = hydrated(options.limit);
    let added = history::add_to(fused.clone(), store, &query.filter, commits, limit);
    on_time_or_degraded(Retriever::History, timeout_at(deadline, added).await, degraded)
        .unwrap_or(fused)
}

/// What a retriever brought in time; otherwise its name and the reason are noted.
fn on_time_or_degraded<T>(
    retriever: Retriever,
    outcome: Result<Result<T, Error>, tokio::time::error::Elapsed>,
    degraded: &mut Vec<String>,
) -> Option<T> {
    let reason = match outcome {
        Ok(Ok(found)) => return Some(found),
        Ok(Err(error)) => {
            tracing::warn!(
                search.retriever = retriever.as_str(),
                error = &error as &dyn std::error::Error,
                "search retriever failed"
            );
            match error {
                Error::Embedding(_) => "embedding provider unavailable",
                Error::Store(_) => "database unavailable",
                Error::Index(_) => "index failed and is being rebuilt",
                _ => "failed",
            }
        }
        Err(_) => "late",
    };
    degraded.push(format!("{}: {reason}", retriever.as_str()));
    None
}

/// Whether the project is known to have nothing from where the query seeks. Records alone are not
/// asked for: nearly every project has some, and a search of them need not wait for the answer.
async fn is_empty(index: &UpToDate<'_>, query: &Query) -> bool {
    let PassageFilter { project, sources, .. } = &query.filter;
    if sources.is_empty() || sources.contains(&SourceKind::Memory) {
        return false;
    }
    let Some(view) = index.view().await else { return false };
    let (sources, scope) = (sources.clone(), Scope::of(*project));
    let count = move || {
        let searcher = view.reader.searcher();
        let of = |source: &SourceKind| scope.term(view.fields.source, source.as_str());
        sources.iter().try_fold(0, |sum, source| Ok(sum + searcher.doc_freq(&of(source))?))
    };
    look(true, count).await.is_ok_and(|passages| passages == 0)
}

/// What the keyword index found.
#[derive(Default)]
struct Keyword {
    exact: RankedList,
    words: RankedList,
    /// Commits by their words.
    changes: RankedList,
    /// See [`keyword::KeywordHits`].
    covered: RankedList,
}

/// Brings the index up to date, then searches it; answers what is left to be said about it, too.
async fn search_keywords(
    context: &SearchContext,
    index: &UpToDate<'_>,
    query: &Query,
    gloss: Option<Gloss>,
    names: &ParsedQuery,
    options: &Options,
) -> Result<(Keyword, Option<&'static str>), Error> {
    let note = match index.brought().await {
        Freshness::Current => None,
        Freshness::Behind => Some("keyword index behind"),
        Freshness::Rebuilding => Some("keyword index rebuilding"),
        Freshness::Stuck => Some("keyword index can't be written, what is new is missing from it"),
        Freshness::Unbuilt => Some("keyword index can't be built, it has only a part"),
    };
    let Some(view) = context.keyword.view() else {
        return Ok((Keyword::default(), note));
    };
    let id = view.id;
    let without = options.disabled_steps.clone();
    let terms = match keyword::corpus(&query.filter, &without) {
        _ if !without.takes(Step::StopWords) => all_terms,
        Corpus::Records => stem_terms,
        Corpus::Passages | Corpus::Changes => telling_terms,
    };
    let terms = terms(&query.text);
    let ids = query.ids.iter().filter_map(|id| whole_term(id)).collect();
    let gloss = gloss.map(|gloss| gloss.words).unwrap_or_default();
    let changes = has_history(query, options).then(|| keyword::Wanted {
        terms: terms.clone(),
        ids: Vec::new(),
        gloss: gloss.clone(),
        names: ParsedQuery::default(),
        filter: history::changes_of(query.filter.project),
        reader: None,
        limit: MIN_DEPTH,
        disabled_steps: without.clone(),
    });
    let wanted = keyword::Wanted {
        terms,
        ids,
        gloss,
        names: names.clone(),
        filter: query.filter.clone(),
        reader: context.store.principal(),
        limit: depth(options),
        disabled_steps: without,
    };
    let found = async {
        let (counted, filter) = (view.clone(), query.filter.clone());
        let texts = look(true, move || keyword::size(&counted, &filter)).await?;
        let search = move || {
            let keyword::KeywordHits { exact, keyword, covered } = keyword::search(&view, wanted)?;
            let changes = changes.map(|wanted| keyword::search(&view, wanted)).transpose()?;
            let changes = changes.map(|found| found.keyword).unwrap_or_default();
            Ok(Keyword { exact, words: keyword, changes, covered })
        };
        look(texts <= FEW_TEXTS, search).await
    };
    // A file that went bad after the start: what tantivy reports, or asserts.
    let found = found.await.inspect_err(|_| context.keyword.report_damage(id))?;
    Ok((found, note))
}

/// The best of the fused list, and every exact hit: those are to come first wherever they stand.
fn shortened(fused: Vec<Fused>, limit: usize) -> Vec<Fused> {
    let hydrated = hydrated(limit);
    let is_exact =
        |fused: &Fused| fused.retrievers.iter().any(|found| found.retriever == Retriever::Exact);
    let numbered = fused.into_iter().enumerate();
    numbered.filter(|(i, f)| *i < hydrated || is_exact(f)).map(|(_, f)| f).collect()
}

/// How many passages are read for so many hits.
fn hydrated(limit: usize) -> usize {
    MIN_HYDRATED.max(limit.saturating_mul(HYDRATED_PER_THREE) / 3)
}

/// The store for the next read: with a connection of its own, where the one that is shared may not
/// answer at once.
fn usable_store(store: &Store, has_failed_statement: bool) -> Store {
    if has_failed_statement { store.share_reads() } else { store.clone() }
}

/// Reads what all the searches found; what is gone, expired or superseded drops out here. Those
/// that it can't be read for in time say so.
async fn hydrate(
    context: &SearchContext,
    project: ProjectId,
    found: &mut [Shortlist],
) -> Result<HashMap<PassageId, Passage>, Error> {
    let ids: HashSet<_> =
        found.iter().flat_map(|found| &found.fused_score).map(|fused| fused.id).collect();
    let Some(deadline) = found.iter().map(|found| found.deadline).max().filter(|_| !ids.is_empty())
    else {
        return Ok(HashMap::new());
    };
    let ids: Vec<_> = ids.into_iter().collect();
    let store = usable_store(&context.store, found.iter().any(|found| found.has_failed_statement));
    let Ok(read) = timeout_at(deadline, passages::load(&store, project, &ids)).await else {
        for found in found.iter_mut().filter(|found| !found.fused_score.is_empty()) {
            found.degraded.push("database: late".to_owned());
        }
        return Ok(HashMap::new());
    };
    Ok(read?.into_iter().map(|passage| (passage.indexed.id, passage)).collect())
}

fn hit(candidate: Candidate, covered: &HashMap<PassageId, f32>, explain: bool) -> Hit {
    let (similarity, keyword) =
        (candidate.leg_score(Retriever::Vector), candidate.leg_score(Retriever::Keyword));
    let product = candidate.score;
    Hit {
        score: product / (1.0 + product),
        similarity,
        similarity_below: None,
        keyword,
        coverage: covered.get(&candidate.passage.indexed.id).copied(),
        passage: candidate.passage,
        explain: explain.then_some(Explain {
            retrievers: candidate.retrievers,
            fused_score: candidate.fused_score,
            adjustments: candidate.adjustments,
            adjusted_score: product,
        }),
    }
}
