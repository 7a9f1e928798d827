//! One search: runs the retrievers, then fuses, reranks and deduplicates their results.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures::future::try_join_all;
use mc_domain::{FileId, PassageId, ProjectId, SourceKind};
use mc_sanitizer::{Policy, mask_with};
use mc_store::Store;
use mc_store::passages::{self, Passage};
use tantivy::TantivyError;
use tokio::time::{Instant, timeout_at};

use crate::Error;
use crate::history::{self, FileScores};
use crate::index::schema::{Corpus, Scope};
use crate::index::{Freshness, KeywordIndex, RefreshedIndex};
use crate::models::ActiveModels;
use crate::query::gloss::{self, Gloss};
use crate::query::{
    Options, ParsedQuery, Query, all_terms, compound_term, parse, significant_terms, stem_terms,
};
use crate::rank::dedup::{WordPairs, dedup};
use crate::rank::fusion::{Fused, fuse};
use crate::rank::rerank::{RankContext, rerank};
use crate::rank::{Candidate, Step, translation};
use crate::response::{Explain, Hit, SearchResponse};
use crate::retrievers::keyword::{self, DistinctiveText, KeywordHits, KeywordQuery};
use crate::retrievers::vector::{VectorHits, VectorQuery, VectorRetriever};
use crate::retrievers::{Failure, RankedList, Retriever, until};

/// Minimum number of hits requested from each retriever.
pub const MIN_DEPTH: usize = 200;
/// Passages read for ranking: four for three requested hits, at least [`MIN_HYDRATED`].
const HYDRATED_PER_THREE: usize = 4;
const MIN_HYDRATED: usize = 32;
/// Passages that are read in place of each that repeats another one, after each statement that
/// reads passages; none after the last one. With two and four, a search of redmine takes 5 ms
/// longer.
const FURTHER_FOR_EACH: [usize; 3] = [1, 1, 0];
/// Share of the time budget for the retrievers; the rest is for reading the passages they found.
const RETRIEVERS_SHARE: f64 = 0.75;
/// The same for the commits with similar vectors, whose files are read after them.
const COMMITS_SHARE: f64 = 0.6;
/// The same until the history is added to the results.
const HISTORY_SHARE: f64 = 0.85;
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
    /// Returns a context for searches that share one connection ([`Store::share_reads`]), except
    /// for the history.
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
    Ok(found.expect("a response for each search"))
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
    let index = RefreshedIndex::new(&context.keyword, project, time_budget.mul_f64(REFRESH_SHARE));
    let (vectors, index) = (&vectors, &index);
    let each = searches.iter().map(async |(query, options)| {
        Search { context, vectors, index, query, options }.shortlist().await
    });
    let mut found = try_join_all(each).await?;
    let mut passages = HashMap::new();
    for further in FURTHER_FOR_EACH {
        hydrate(context, project, &mut found, &mut passages).await?;
        let mut has_further = false;
        for (found, (query, options)) in found.iter_mut().zip(searches) {
            let removed = found.remove_repeated(query, options, &passages);
            has_further |= found.add_further(removed * further);
        }
        if !has_further {
            break;
        }
    }
    let mut word_pairs = WordPairs::default();
    let ranked = found
        .into_iter()
        .zip(searches)
        .map(|(found, (query, options))| found.ranked(query, options, &passages, &mut word_pairs));
    Ok(ranked.collect())
}

/// Fused results of a search's retrievers, before the passages are read.
struct Shortlist {
    fused: Vec<Fused>,
    /// Those that follow, best first.
    further: Vec<Fused>,
    /// See [`KeywordHits`].
    covered: HashMap<PassageId, f32>,
    /// Similarity of the last vector hit, if there are more beyond the limit.
    lowest_similarity: Option<f32>,
    names: ParsedQuery,
    degraded: Vec<String>,
    /// Whether a statement failed or was abandoned on the connection that the searches share: the
    /// next read must not wait for it, or fail with it.
    has_failed_statement: bool,
    started_at: Instant,
    deadline: Instant,
}

/// Results of the keyword index.
#[derive(Default)]
struct KeywordResults {
    hits: KeywordHits,
    /// Commits by the words of their messages, for the history.
    commits: RankedList,
    /// Note that the index is not up to date.
    note: Option<&'static str>,
}

struct Retrieved {
    keyword: Result<KeywordResults, Failure>,
    vector: Result<VectorHits, Failure>,
    history: HistoryResults,
}

/// Results of the history.
struct HistoryResults {
    /// Whether the commits with similar vectors were found; without their list.
    similar_commits: Result<VectorHits, Failure>,
    /// Files that similar commits touched.
    files: Result<FileScores, Failure>,
    /// Whether they were read on the connection that the searches share.
    is_shared: bool,
}

/// One search, which shares vectors and index with others.
struct Search<'a> {
    context: &'a SearchContext,
    vectors: &'a VectorRetriever<'a>,
    index: &'a RefreshedIndex<'a>,
    query: &'a Query,
    options: &'a Options,
}

/// Results of several retrievers.
type RankedLists = Vec<(Retriever, RankedList)>;

impl Shortlist {
    /// Creates an empty shortlist of a search that starts now.
    fn new(names: ParsedQuery, time_budget: Duration) -> Self {
        let started_at = Instant::now();
        Self {
            fused: Vec::new(),
            further: Vec::new(),
            covered: HashMap::new(),
            lowest_similarity: None,
            names,
            degraded: Vec::new(),
            has_failed_statement: false,
            started_at,
            deadline: started_at + time_budget,
        }
    }

    /// Returns the lists of the retrievers, and the files of the history; failures go to
    /// `degraded`.
    fn collect(&mut self, retrieved: Retrieved, options: &Options) -> (RankedLists, FileScores) {
        let Retrieved { keyword, vector, history } = retrieved;
        let HistoryResults { similar_commits, files, is_shared } = history;
        let is_complete = |hits: &VectorHits| !hits.is_partial;
        let has_vectors = vector.as_ref().is_ok_and(is_complete);
        let has_commits = similar_commits.as_ref().is_ok_and(is_complete);
        self.has_failed_statement = !has_vectors || is_shared && !(has_commits && files.is_ok());
        let mut lists = RankedLists::new();
        let keyword = on_time_or_degraded(Retriever::Keyword, keyword, &mut self.degraded);
        if let Some(KeywordResults { hits, note, .. }) = keyword {
            self.degraded.extend(note.map(str::to_owned));
            self.covered.extend(hits.covered);
            lists.push((Retriever::Exact, hits.exact));
            lists.push((Retriever::Keyword, hits.keyword));
        }
        let vector = on_time_or_degraded(Retriever::Vector, vector, &mut self.degraded);
        if let Some(VectorHits { list, degraded, .. }) = vector {
            self.degraded.extend(degraded);
            let is_cut = list.len() >= depth(options);
            self.lowest_similarity =
                list.last().map(|(_, similarity)| *similarity).filter(|_| is_cut);
            lists.push((Retriever::Vector, list));
        }
        lists.retain(|(retriever, _)| options.disabled_steps.allows(retriever.step()));
        // What the vector retriever lacks as well is reported once.
        let files = match (files, similar_commits) {
            (Ok(files), Err(failure)) if has_vectors => {
                on_time_or_degraded::<()>(Retriever::History, Err(failure), &mut self.degraded);
                Some(files)
            }
            (files, commits) => {
                let notes = commits.map(|hits| hits.degraded).unwrap_or_default();
                self.degraded.extend(notes.into_iter().filter(|_| has_vectors));
                on_time_or_degraded(Retriever::History, files, &mut self.degraded)
            }
        };
        let files = files.into_iter().flatten().take(hydrated(options.limit));
        (lists, files.collect())
    }

    /// Removes texts in other languages, unless the query has filters by which it may mean them.
    /// Returns their number.
    fn remove_repeated(
        &mut self,
        query: &Query,
        options: &Options,
        passages: &HashMap<PassageId, Passage>,
    ) -> usize {
        let has_filter = !query.filter.is_of_vectors();
        let is_meant = has_filter || translation::is_about_translations(&query.text.to_lowercase());
        if is_meant || !options.disabled_steps.allows(Step::Translation) {
            return 0;
        }
        translation::remove_repeated(&mut self.fused, passages)
    }

    /// Adds further passages, to be read. Returns whether there are any.
    fn add_further(&mut self, count: usize) -> bool {
        let count = count.min(self.further.len());
        self.fused.extend(self.further.drain(..count));
        count > 0
    }

    /// Reranks and deduplicates the passages that were read.
    fn ranked(
        self,
        query: &Query,
        options: &Options,
        passages: &HashMap<PassageId, Passage>,
        word_pairs: &mut WordPairs,
    ) -> SearchResponse {
        let candidate = |Fused { id, retrievers, score, .. }| {
            Some(Candidate::new(passages.get(&id)?.clone(), retrievers, score))
        };
        let mut candidates: Vec<_> = self.fused.into_iter().filter_map(candidate).collect();
        let context = RankContext {
            names: self.names,
            text: query.text.to_lowercase(),
            now: Utc::now(),
            disabled_steps: options.disabled_steps.clone(),
        };
        rerank(&mut candidates, &context);
        let unique = dedup(candidates, options.limit, options.max_per_file, word_pairs);
        let hit = |candidate| {
            let mut hit = hit(candidate, &self.covered, options.explain);
            hit.similarity_below = self.lowest_similarity.filter(|_| hit.similarity.is_none());
            hit
        };
        let hits = unique.into_iter().map(hit).collect();
        SearchResponse { hits, degraded: self.degraded, took: self.started_at.elapsed() }
    }
}

impl Search<'_> {
    async fn shortlist(&self) -> Result<Shortlist, Error> {
        if self.query.is_empty() {
            return Err(Error::EmptyQuery);
        }
        let mut shortlist = Shortlist::new(parse(self.query), self.options.time_budget);
        if self.is_index_empty().await {
            return Ok(shortlist);
        }
        let end = shortlist.started_at + self.options.time_budget.mul_f64(RETRIEVERS_SHARE);
        let retrieved = self.retrieve(&shortlist, end).await;
        let (lists, files) = shortlist.collect(retrieved, self.options);
        let store = usable_store(&self.context.store, shortlist.has_failed_statement);
        let before = shortlist.degraded.len();
        let fused = self.with_history(&store, fuse(&lists), &files, &mut shortlist).await;
        (shortlist.fused, shortlist.further) = shortened(fused, self.options.limit);
        shortlist.has_failed_statement |= shortlist.degraded.len() > before;
        Ok(shortlist)
    }

    /// Runs the retrievers concurrently, until `end`.
    async fn retrieve(&self, shortlist: &Shortlist, end: Instant) -> Retrieved {
        let has_gloss = self.options.disabled_steps.allows(Step::Gloss);
        let gloss = has_gloss.then(|| gloss::english(&self.query.text)).flatten();
        let texts = self.vector_query(gloss.as_ref()).await;
        let nearest = async {
            // The history compares vectors nevertheless.
            if !self.options.disabled_steps.allows(Step::Vector) {
                return Ok(VectorHits::default());
            }
            let (filter, depth) = (&self.query.filter, depth(self.options));
            self.vectors.search(&texts, filter, depth, self.index, end).await
        };
        let keyword = Box::pin(until(end, self.search_keywords(gloss, &shortlist.names)));
        let (vector, (keyword, history)) =
            tokio::join!(nearest, self.with_commits(keyword, &texts, shortlist, end));
        Retrieved { keyword, vector, history }
    }

    /// Adds the results of the history to those of the keyword index. It reads on a connection of
    /// its own if one is free, at the same time as the vector retriever, and returns it at the end.
    async fn with_commits(
        &self,
        keyword: impl Future<Output = Result<KeywordResults, Failure>>,
        texts: &VectorQuery,
        shortlist: &Shortlist,
        end: Instant,
    ) -> (Result<KeywordResults, Failure>, HistoryResults) {
        let mut history = HistoryResults {
            similar_commits: Ok(VectorHits::default()),
            files: Ok(FileScores::new()),
            is_shared: false,
        };
        if !self.has_commits().await {
            return (keyword.await, history);
        }
        // A connection is not reserved while a remote model is asked.
        let is_remote = self.vectors.has_remote_model();
        let own = if is_remote { None } else { self.context.store.share_reads_if_free() };
        history.is_shared = own.is_none();
        let store = own.unwrap_or_else(|| self.context.store.clone());
        let commits_end = shortlist.started_at + self.options.time_budget.mul_f64(COMMITS_SHARE);
        let (mut keyword, similar_commits) =
            tokio::join!(keyword, self.nearest_commits(&store, texts, commits_end));
        history.similar_commits = similar_commits;
        let is_complete = history.similar_commits.as_ref().is_ok_and(|hits| !hits.is_partial);
        let by_words = keyword.as_mut().map(|found| mem::take(&mut found.commits));
        let by_vectors = history.similar_commits.as_mut().map(|hits| mem::take(&mut hits.list));
        let commits = [
            (Retriever::Keyword, by_words.unwrap_or_default()),
            (Retriever::Vector, by_vectors.unwrap_or_default()),
        ];
        let store = if is_complete {
            Some(store)
        } else {
            // Its connection may be blocked.
            drop(store);
            self.context.store.share_reads_if_free()
        };
        if let Some(store) = store {
            let files = history::files(&store, self.query.filter.project, &commits);
            history.files = until(end, files).await;
        }
        (keyword, history)
    }

    /// Returns the texts for the vector retriever: the query and, for a search of records alone,
    /// its distinctive part. If that part has the same meaning, it replaces the query.
    async fn vector_query(&self, gloss: Option<&Gloss>) -> VectorQuery {
        let masked = |text: &str| mask_with(text, &self.context.sanitizing).text;
        let text = self.query.embedding_text();
        if text.trim().is_empty() {
            return VectorQuery { texts: Vec::new(), gloss: None };
        }
        let texts = match self.distinctive_text().await {
            None => vec![masked(&text)],
            Some(part) if part.has_same_meaning => vec![masked(&part.text)],
            Some(part) => vec![masked(&text), masked(&part.text)],
        };
        VectorQuery { texts, gloss: gloss.map(|gloss| masked(&gloss.text)) }
    }

    /// Returns the distinctive part of the query, for a search of records alone. A failure of the
    /// index is ignored, because the keyword retriever reports it.
    async fn distinctive_text(&self) -> Option<DistinctiveText> {
        let disabled_steps = &self.options.disabled_steps;
        let corpus = keyword::corpus(&self.query.filter, disabled_steps);
        if corpus != Corpus::Records || !disabled_steps.allows(Step::Telling) {
            return None;
        }
        let snapshot = self.context.keyword.snapshot()?;
        let (project, text) = (self.query.filter.project, self.query.text.clone());
        let is_short = text.len() <= SHORT_TEXT;
        let lookup = move || keyword::distinctive_text(&snapshot, project, &text);
        query_index(is_short, lookup).await.ok()?
    }

    /// Returns whether the history applies to the search.
    fn has_history(&self) -> bool {
        self.options.disabled_steps.allows(Step::History) && history::applies(&self.query.filter)
    }

    /// Returns whether the history applies, and the index may have commits.
    async fn has_commits(&self) -> bool {
        self.has_history() && self.count_indexed(&[SourceKind::Change]).await != Some(0)
    }

    /// Returns the commits with the most similar vectors.
    async fn nearest_commits(
        &self,
        store: &Store,
        texts: &VectorQuery,
        end: Instant,
    ) -> Result<VectorHits, Failure> {
        let filter = history::commit_filter(&self.query.filter);
        let retriever = VectorRetriever::new(store, &self.context.models, filter.project);
        retriever.narrow().search(texts, &filter, MIN_DEPTH, self.index, end).await
    }

    /// Adds the scores of the files of the nearest commits, if that succeeds in time.
    async fn with_history(
        &self,
        store: &Store,
        fused: Vec<Fused>,
        files: &[(FileId, f32)],
        shortlist: &mut Shortlist,
    ) -> Vec<Fused> {
        if files.is_empty() {
            return fused;
        }
        let added = history::add_to(fused.clone(), store, &self.query.filter, files);
        let end = shortlist.started_at + self.options.time_budget.mul_f64(HISTORY_SHARE);
        let added = until(end, added).await;
        on_time_or_degraded(Retriever::History, added, &mut shortlist.degraded).unwrap_or(fused)
    }

    /// Returns whether the index is up to date and has no passages of the requested sources.
    /// Searches of records skip the check, because nearly every project has records.
    async fn is_index_empty(&self) -> bool {
        let sources = &self.query.filter.sources;
        let has_records = sources.is_empty() || sources.contains(&SourceKind::Memory);
        !has_records && self.count_indexed(sources).await == Some(0)
    }

    /// Counts the passages of these sources in the index; `None` if it is not up to date or fails,
    /// which the keyword retriever reports.
    async fn count_indexed(&self, sources: &[SourceKind]) -> Option<u64> {
        let snapshot = self.index.snapshot().await?;
        let (sources, scope) = (sources.to_vec(), Scope::of(self.query.filter.project));
        let count = move || {
            let searcher = snapshot.reader.searcher();
            let term = |source: &SourceKind| scope.term(snapshot.fields.source, source.as_str());
            sources.iter().try_fold(0, |sum, source| Ok(sum + searcher.doc_freq(&term(source))?))
        };
        query_index(true, count).await.ok()
    }

    /// Brings the index up to date, then searches it.
    async fn search_keywords(
        &self,
        gloss: Option<Gloss>,
        names: &ParsedQuery,
    ) -> Result<KeywordResults, Error> {
        let note = match self.index.freshness().await {
            Freshness::Current => None,
            Freshness::Behind => Some("keyword index behind"),
            Freshness::Rebuilding => Some("keyword index rebuilding"),
            Freshness::ReadOnly => Some("keyword index can't be written, it lacks recent changes"),
            Freshness::Incomplete => Some("keyword index can't be rebuilt, it is incomplete"),
        };
        let Some(snapshot) = self.context.keyword.snapshot() else {
            return Ok(KeywordResults { note, ..KeywordResults::default() });
        };
        let id = snapshot.id;
        let passage_query = self.keyword_query(gloss, names);
        let commit_query = self.has_history().then(|| KeywordQuery {
            terms: passage_query.terms.clone(),
            ids: Vec::new(),
            gloss: passage_query.gloss.clone(),
            names: ParsedQuery::default(),
            filter: history::commit_filter(&self.query.filter),
            reader: None,
            limit: MIN_DEPTH,
            disabled_steps: self.options.disabled_steps.clone(),
        });
        let found = async {
            let (counted, filter) = (snapshot.clone(), self.query.filter.clone());
            let texts = query_index(true, move || keyword::size(&counted, &filter)).await?;
            let search = move || {
                let hits = keyword::search(&snapshot, passage_query)?;
                let commits =
                    commit_query.map(|query| keyword::search(&snapshot, query)).transpose()?;
                let commits = commits.map(|hits| hits.keyword).unwrap_or_default();
                Ok(KeywordResults { hits, commits, note })
            };
            query_index(texts <= FEW_TEXTS, search).await
        };
        // A file was damaged after the start: tantivy returned an error or panicked.
        found.await.inspect_err(|_| self.context.keyword.report_damage(id))
    }

    fn keyword_query(&self, gloss: Option<Gloss>, names: &ParsedQuery) -> KeywordQuery {
        let query = self.query;
        let disabled_steps = self.options.disabled_steps.clone();
        let terms = match keyword::corpus(&query.filter, &disabled_steps) {
            _ if !disabled_steps.allows(Step::StopWords) => all_terms,
            Corpus::Records => stem_terms,
            Corpus::Passages | Corpus::Changes => significant_terms,
        };
        KeywordQuery {
            terms: terms(&query.text),
            ids: query.ids.iter().filter_map(|id| compound_term(id)).collect(),
            gloss: gloss.map(|gloss| gloss.words).unwrap_or_default(),
            names: names.clone(),
            filter: query.filter.clone(),
            reader: self.context.store.principal(),
            limit: depth(self.options),
            disabled_steps,
        }
    }
}

/// Queries the index, on this thread if that is faster. tantivy may panic on a damaged file.
async fn query_index<T: Send + 'static>(
    is_short: bool,
    lookup: impl FnOnce() -> Result<T, TantivyError> + Send + 'static,
) -> Result<T, Error> {
    if !is_short {
        return Ok(mc_processor_time::spawn_blocking(lookup).await??);
    }
    let panicked = |_| Err(TantivyError::InternalError("querying the index panicked".into()));
    Ok(catch_unwind(AssertUnwindSafe(lookup)).unwrap_or_else(panicked)?)
}

/// Returns the number of hits requested from each retriever.
fn depth(options: &Options) -> usize {
    MIN_DEPTH.max(options.limit.saturating_mul(2))
}

/// Returns the results of a retriever, or adds its name and the reason to `degraded`.
fn on_time_or_degraded<T>(
    retriever: Retriever,
    outcome: Result<T, Failure>,
    degraded: &mut Vec<String>,
) -> Option<T> {
    let note = |failure: Failure| {
        degraded.push(format!("{}: {}", retriever.as_str(), failure.reason(retriever)));
    };
    outcome.map_err(note).ok()
}

/// Returns the best of the fused list and every exact hit, which the reranking moves to the top;
/// then those that are left.
fn shortened(fused: Vec<Fused>, limit: usize) -> (Vec<Fused>, Vec<Fused>) {
    let hydrated = hydrated(limit);
    let is_exact =
        |fused: &Fused| fused.retrievers.iter().any(|found| found.retriever == Retriever::Exact);
    let mut position = 0..;
    fused.into_iter().partition(|found| position.next() < Some(hydrated) || is_exact(found))
}

/// Returns the number of passages to read for a limit of hits.
fn hydrated(limit: usize) -> usize {
    MIN_HYDRATED.max(limit.saturating_mul(HYDRATED_PER_THREE) / 3)
}

/// Returns the store for the next read, with a new connection if the shared one may be blocked.
fn usable_store(store: &Store, has_failed_statement: bool) -> Store {
    if has_failed_statement { store.share_reads() } else { store.clone() }
}

/// Reads those passages of all searches that are not read yet. Deleted, expired and superseded ones
/// are missing in the result. If the database is late, it is added to `degraded` of each search.
async fn hydrate(
    context: &SearchContext,
    project: ProjectId,
    found: &mut [Shortlist],
    passages: &mut HashMap<PassageId, Passage>,
) -> Result<(), Error> {
    let ids = found.iter().flat_map(|found| &found.fused).map(|fused| fused.id);
    let ids: HashSet<_> = ids.filter(|id| !passages.contains_key(id)).collect();
    let Some(deadline) = found.iter().map(|found| found.deadline).max().filter(|_| !ids.is_empty())
    else {
        return Ok(());
    };
    let ids: Vec<_> = ids.into_iter().collect();
    let store = usable_store(&context.store, found.iter().any(|found| found.has_failed_statement));
    let Ok(read) = timeout_at(deadline, passages::load(&store, project, &ids)).await else {
        let is_unread = |found: &&mut Shortlist| {
            found.fused.iter().any(|fused| !passages.contains_key(&fused.id))
        };
        for found in found.iter_mut().filter(is_unread) {
            found.degraded.push("database: late".to_owned());
        }
        return Ok(());
    };
    passages.extend(read?.into_iter().map(|passage| (passage.indexed.id, passage)));
    Ok(())
}

fn hit(candidate: Candidate, covered: &HashMap<PassageId, f32>, explain: bool) -> Hit {
    let (similarity, keyword) = (
        candidate.retriever_score(Retriever::Vector),
        candidate.retriever_score(Retriever::Keyword),
    );
    let adjusted_score = candidate.score;
    Hit {
        score: adjusted_score / (1.0 + adjusted_score),
        similarity,
        similarity_below: None,
        keyword,
        coverage: covered.get(&candidate.passage.indexed.id).copied(),
        passage: candidate.passage,
        explain: explain.then_some(Explain {
            retrievers: candidate.retrievers,
            fused_score: candidate.fused_score,
            adjustments: candidate.adjustments,
            adjusted_score,
        }),
    }
}
