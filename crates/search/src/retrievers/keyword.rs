//! BM25 and exact retrieval from the keyword index.
//!
//! BM25 scores these fields ([`crate::index::schema::Fields`]), chosen in `Lookup::words`:
//!
//! - of code and documents, the text ([`BODY_WEIGHT`]), the text with its context
//!   ([`WINDOW_WEIGHT`]) and the words of the path ([`PATH_WEIGHT`]);
//! - of memory records and of commits one field each, with weight 1.
//!
//! Queries are built from analyzed terms; user input is never parsed as query syntax.

mod exact;
mod filter;

use mc_domain::{PassageId, ProjectId, SourceKind, UserId};
use mc_store::passages::PassageFilter;
use tantivy::collector::TopDocs;
use tantivy::columnar::Column;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, EnableScoring, Occur, Query, TermQuery,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, TantivyError, Term};
use uuid::Uuid;

use super::RankedList;
use crate::analyzer::is_stop_word;
use crate::index::generation::IndexSnapshot;
use crate::index::schema::{Corpus, Fields, ID_HIGH, ID_LOW, Scope};
use crate::index::statistics::ProjectStatistics;
use crate::query::{ParsedQuery, QueryTerm, has_only_stop_words, significant_terms, word_term};
use crate::rank::{DisabledSteps, Step};

/// BM25 weight of the passage's own text. `docs/retrieval.md` has the alternatives that were tried.
const BODY_WEIGHT: f32 = 0.5;
/// BM25 weight of the text with its context.
const WINDOW_WEIGHT: f32 = 1.0;
/// BM25 weight of the words of the path.
const PATH_WEIGHT: f32 = 0.5;
/// Share of a project's records from which a word that they contain counts as common.
const COMMON_SHARE: f32 = 0.15;
/// Number of records below which a word is never common.
const COMMON_RECORDS: f32 = 5.0;
/// Minimum total weight for full coverage: about two rare words. Lighter queries reach less.
const ATTAINABLE_MIN: f32 = 8.0;
/// First letter after the Latin scripts.
const LATIN_END: char = '\u{250}';
/// Minimum number of significant words after the common words of a query are removed.
const MIN_DISTINCTIVE_WORDS: usize = 2;
/// Maximum number of terms in a query: the rarest, because they determine the result.
const MAX_TERMS: usize = 48;

/// Results of the exact and the BM25 retriever.
#[derive(Debug, Default)]
pub struct KeywordHits {
    /// Passages that match a name in the query.
    pub exact: RankedList,
    /// Passages by BM25.
    pub keyword: RankedList,
    /// Share of the query's words in each record, weighted by their rarity among records; empty
    /// unless only records are searched.
    pub covered: RankedList,
}

/// Input of [`search`].
#[derive(Debug)]
pub struct KeywordQuery {
    /// Words of the query.
    pub terms: Vec<QueryTerm>,
    /// Compound ids. Ids without a passage are ignored, and do not reduce the coverage.
    pub ids: Vec<QueryTerm>,
    /// English words for the terms of another script ([`crate::query::gloss`]).
    pub gloss: Vec<Vec<String>>,
    /// Symbols, paths and other names of the query.
    pub names: ParsedQuery,
    /// Passages that are searched.
    pub filter: PassageFilter,
    /// User who searches; private passages of other users are excluded.
    pub reader: Option<UserId>,
    /// Maximum number of hits in each list.
    pub limit: usize,
    /// Steps to skip; fields are steps too.
    pub disabled_steps: DisabledSteps,
}

/// Runs both retrievers. Blocks the thread.
pub fn search(snapshot: &IndexSnapshot, query: KeywordQuery) -> Result<KeywordHits, TantivyError> {
    let KeywordQuery { terms, ids, gloss, names, filter, reader, limit, disabled_steps } = query;
    let searcher = snapshot.reader.searcher();
    let corpus = corpus(&filter, &disabled_steps);
    let statistics =
        snapshot.statistics.of_corpus(&searcher, &snapshot.fields, filter.project, corpus)?;
    let (fields, scope) = (&snapshot.fields, &Scope::of(filter.project));
    let lookup = Lookup { searcher: &searcher, fields, scope, corpus, statistics, limit };
    let mut terms = lookup.readable(terms, gloss)?;
    terms.extend(lookup.existing(ids)?);
    let mut filters = filter::clauses(&filter, scope, fields)?;
    filters.extend(filter::others_private(&searcher, scope, reader, fields)?);
    let has_words =
        corpus == Corpus::Records && disabled_steps.allows(Step::Keyword) && !terms.is_empty();
    let covered = if has_words { lookup.covered(&terms, &filters)? } else { RankedList::new() };
    let words = lookup.words(terms, &disabled_steps)?;
    let exact = match exact::names(scope, fields, &names) {
        None => RankedList::new(),
        Some(names) => {
            // The words determine the order of passages that match the same name.
            let mut clauses = within(&filters, names);
            clauses.extend(words.iter().map(|word| (Occur::Should, word.box_clone())));
            lookup.top(&BooleanQuery::new(clauses))?
        }
    };
    let keyword = if words.is_empty() {
        RankedList::new()
    } else if filters.is_empty() {
        // A plain union of terms: passages that cannot rank first are skipped without scoring.
        lookup.top(&BooleanQuery::union(words))?
    } else {
        let words = Box::new(BooleanQuery::union(words));
        lookup.top(&BooleanQuery::new(within(&filters, words)))?
    };
    Ok(KeywordHits { exact, keyword, covered })
}

/// Bounds of the number of passages that count as few. Comparing so many vectors directly takes 20
/// to 60 ms. With few matches, the HNSW index would have to visit very many vectors to find enough
/// of them, above all if they are similar to each other and far from the query.
const FEW: (usize, usize) = (10_000, 30_000);
/// Divisor of the number of all passages: a fifth of them counts as few, within [`FEW`].
const FEW_SHARE: usize = 5;

/// Returns the number of passages up to which a filter's matches count as few.
pub fn few(
    searcher: &Searcher,
    fields: &Fields,
    filter: &PassageFilter,
) -> Result<usize, TantivyError> {
    let total = searcher.doc_freq(&corpus_term(fields, filter))?;
    let share = usize::try_from(total).unwrap_or(usize::MAX) / FEW_SHARE;
    Ok(share.clamp(FEW.0, FEW.1))
}

/// Returns the number of passages that a filter chooses from.
pub fn size(snapshot: &IndexSnapshot, filter: &PassageFilter) -> Result<u64, TantivyError> {
    snapshot.reader.searcher().doc_freq(&corpus_term(&snapshot.fields, filter))
}

/// Returns the term that all passages of the filter's project and corpus have.
fn corpus_term(fields: &Fields, filter: &PassageFilter) -> Term {
    fields.corpus_term(filter.project, corpus(filter, &DisabledSteps::default()))
}

/// Passages that match a filter.
#[derive(Debug, PartialEq, Eq)]
pub enum FilterMatches {
    /// Ids of all matches.
    Few(Vec<PassageId>),
    /// More than the maximum.
    Many,
}

/// Returns the passages that match the filter, if they are at most `max`. Blocks the thread.
pub fn matches(
    searcher: &Searcher,
    fields: &Fields,
    filter: &PassageFilter,
    reader: Option<UserId>,
    max: usize,
) -> Result<FilterMatches, TantivyError> {
    let scope = Scope::of(filter.project);
    let corpus = Box::new(TermQuery::new(corpus_term(fields, filter), IndexRecordOption::Basic));
    let mut filters = filter::clauses(filter, &scope, fields)?;
    filters.extend(filter::others_private(searcher, &scope, reader, fields)?);
    let query = BooleanQuery::new(within(&filters, corpus));
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let ids = Ids::open(searcher)?;
    let mut matches = Vec::new();
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let mut docs = weight.scorer(reader, 1.0)?;
        while docs.doc() != TERMINATED {
            if reader.alive_bitset().is_none_or(|alive| alive.is_alive(docs.doc())) {
                if matches.len() == max {
                    return Ok(FilterMatches::Many);
                }
                matches.push(ids.get(DocAddress::new(segment, docs.doc()))?);
            }
            docs.advance();
        }
    }
    Ok(FilterMatches::Few(matches))
}

/// Text without the words that are common in the project's records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistinctiveText {
    /// Remaining text.
    pub text: String,
    /// Whether only stop words were removed (`the`, `of`), so that the meaning is the same.
    pub has_same_meaning: bool,
}

/// Removes the words that are common in the project's records, above all its own name, which
/// describe the project. Returns `None` if no word is removed or too few remain.
pub fn distinctive_text(
    snapshot: &IndexSnapshot,
    project: ProjectId,
    text: &str,
) -> Result<Option<DistinctiveText>, TantivyError> {
    let searcher = snapshot.reader.searcher();
    let scope = Scope::of(project);
    let records = searcher.doc_freq(&snapshot.fields.corpus_term(project, Corpus::Records))?;
    let threshold = (records as f32 * COMMON_SHARE).max(COMMON_RECORDS);
    let is_common = |word: &str| {
        let terms = significant_terms(word);
        let mut counts = terms.iter().map(|term| {
            Ok(searcher.doc_freq(&scope.term(snapshot.fields.record, &term.text))? as f32)
        });
        let common = counts.try_fold(false, |common, count: Result<f32, TantivyError>| {
            Ok::<_, TantivyError>(common || count? >= threshold)
        });
        common.map(|common| common && !terms.is_empty())
    };
    let (mut distinctive, mut common) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        if is_common(word)? { &mut common } else { &mut distinctive }.push(word);
    }
    let text = distinctive.join(" ");
    let words = significant_terms(&text).iter().filter(|term| !is_stop_word(&term.text)).count();
    let has_same_meaning = common.iter().all(|word| has_only_stop_words(word));
    let is_distinctive = !common.is_empty() && words >= MIN_DISTINCTIVE_WORDS;
    Ok(is_distinctive.then_some(DistinctiveText { text, has_same_meaning }))
}

/// Returns the corpus that a filter selects: commits or records if it selects only these.
pub fn corpus(filter: &PassageFilter, disabled_steps: &DisabledSteps) -> Corpus {
    match filter.sources.as_slice() {
        [SourceKind::Change] => Corpus::Changes,
        [SourceKind::Memory] if disabled_steps.allows(Step::Record) => Corpus::Records,
        _ => Corpus::Passages,
    }
}

/// Index restricted to one project, for one search.
struct Lookup<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    scope: &'a Scope,
    corpus: Corpus,
    statistics: ProjectStatistics<'a>,
    limit: usize,
}

impl Lookup<'_> {
    /// Returns one query for each term in each field.
    fn words(
        &self,
        terms: Vec<QueryTerm>,
        disabled_steps: &DisabledSteps,
    ) -> Result<Vec<Box<dyn Query>>, TantivyError> {
        let terms = if terms.len() > MAX_TERMS { self.rarest(terms)? } else { terms };
        let passage_fields = [
            (Step::Body, self.fields.body, BODY_WEIGHT),
            (Step::Window, self.fields.window, WINDOW_WEIGHT),
            (Step::Path, self.fields.path, PATH_WEIGHT),
        ];
        let record_fields = [(Step::Record, self.fields.record, 1.0)];
        let change_fields = [(Step::Keyword, self.fields.change, 1.0)];
        let weighted: &[_] = match self.corpus {
            Corpus::Passages => &passage_fields,
            Corpus::Records => &record_fields,
            Corpus::Changes => &change_fields,
        };
        let fields = weighted.iter().filter(|(step, ..)| disabled_steps.allows(*step));
        let queries = fields.flat_map(|&(_, field, weight)| {
            let query = move |term: &QueryTerm| {
                word(self.scope.term(field, &term.text), weight * term.weight)
            };
            terms.iter().map(query)
        });
        Ok(queries.collect())
    }

    /// Replaces the terms of another script by their English words, if no passage contains such a
    /// term. Of several English words, the one in most passages is used.
    fn readable(
        &self,
        mut terms: Vec<QueryTerm>,
        gloss: Vec<Vec<String>>,
    ) -> Result<Vec<QueryTerm>, TantivyError> {
        for foreign in terms.iter().filter(|term| is_foreign(&term.text)) {
            if self.frequency(foreign)? > 0 {
                return Ok(terms);
            }
        }
        terms.retain(|term| !is_foreign(&term.text));
        for meanings in gloss {
            let mut best: Option<(u64, QueryTerm)> = None;
            for term in meanings.iter().filter_map(|word| word_term(word)) {
                let frequency = self.frequency(&term)?;
                if best.as_ref().is_none_or(|(highest, _)| *highest < frequency) {
                    best = Some((frequency, term));
                }
            }
            let is_new = |term: &QueryTerm| terms.iter().all(|other| other.text != term.text);
            terms.extend(best.map(|(_, term)| term).filter(is_new));
        }
        Ok(terms)
    }

    /// Returns the terms that some passage contains.
    fn existing(&self, terms: Vec<QueryTerm>) -> Result<Vec<QueryTerm>, TantivyError> {
        let mut existing = Vec::with_capacity(terms.len());
        for term in terms {
            if self.frequency(&term)? > 0 {
                existing.push(term);
            }
        }
        Ok(existing)
    }

    /// Returns the number of passages of the corpus that contain a term.
    fn frequency(&self, term: &QueryTerm) -> Result<u64, TantivyError> {
        let all_words = match self.corpus {
            Corpus::Passages => self.fields.window,
            Corpus::Records => self.fields.record,
            Corpus::Changes => self.fields.change,
        };
        self.searcher.doc_freq(&self.scope.term(all_words, &term.text))
    }

    /// Returns the share of the terms in each record, weighted by rarity. The frequency of a term
    /// in the record and the length of the record have no effect.
    fn covered(
        &self,
        terms: &[QueryTerm],
        filters: &[(Occur, Box<dyn Query>)],
    ) -> Result<RankedList, TantivyError> {
        let (mut total, mut words): (f32, Vec<Box<dyn Query>>) = (0.0, Vec::new());
        for term in terms {
            let record_term = self.scope.term(self.fields.record, &term.text);
            let weight = term.weight * self.statistics.idf(&record_term)?;
            total += weight;
            let query = TermQuery::new(record_term, IndexRecordOption::Basic);
            words.push(Box::new(ConstScoreQuery::new(Box::new(query), weight)));
        }
        let total = total.max(ATTAINABLE_MIN);
        let words = Box::new(BooleanQuery::union(words));
        let found = self.top(&BooleanQuery::new(within(filters, words)))?;
        Ok(found.into_iter().map(|(id, weight)| (id, weight / total)).collect())
    }

    /// Returns the [`MAX_TERMS`] terms that are rarest in the project, weighted as in the query.
    fn rarest(&self, terms: Vec<QueryTerm>) -> Result<Vec<QueryTerm>, TantivyError> {
        let docs = self.statistics.docs() as f32;
        let mut weighted = Vec::with_capacity(terms.len());
        for term in terms {
            let frequency = self.frequency(&term)?;
            if frequency > 0 {
                let rarity = (1.0_f32 + docs / frequency as f32).ln();
                weighted.push((rarity * term.weight, term));
            }
        }
        weighted.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(weighted.into_iter().take(MAX_TERMS).map(|(_, term)| term).collect())
    }

    fn top(&self, query: &dyn Query) -> Result<RankedList, TantivyError> {
        let best = TopDocs::with_limit(self.limit.max(1)).order_by_score();
        let found =
            self.searcher.search_with_statistics_provider(query, &best, &self.statistics)?;
        let ids = Ids::open(self.searcher)?;
        found.into_iter().map(|(score, address)| Ok((ids.get(address)?, score))).collect()
    }
}

/// Returns the clauses that require both the filters and the query.
fn within(
    filters: &[(Occur, Box<dyn Query>)],
    query: Box<dyn Query>,
) -> Vec<(Occur, Box<dyn Query>)> {
    let filters = filters.iter().map(|(occur, filter)| (*occur, filter.box_clone()));
    filters.chain([(Occur::Must, query)]).collect()
}

/// Returns whether a term has letters of a script other than Latin.
fn is_foreign(term: &str) -> bool {
    term.chars().any(|c| c.is_alphabetic() && c >= LATIN_END)
}

fn word(term: Term, weight: f32) -> Box<dyn Query> {
    let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(query), weight))
}

/// Columns of passage ids, by segment.
struct Ids(Vec<(Column<u64>, Column<u64>)>);

impl Ids {
    fn open(searcher: &Searcher) -> Result<Self, TantivyError> {
        let columns = searcher.segment_readers().iter().map(|segment| {
            let columns = segment.fast_fields();
            Ok((columns.u64(ID_HIGH)?, columns.u64(ID_LOW)?))
        });
        Ok(Self(columns.collect::<Result<_, TantivyError>>()?))
    }

    fn get(&self, address: DocAddress) -> Result<PassageId, TantivyError> {
        let damaged = || TantivyError::InternalError("a document of the index has no id".into());
        let (high, low) = self.0.get(address.segment_ord as usize).ok_or_else(damaged)?;
        match (high.first(address.doc_id), low.first(address.doc_id)) {
            (Some(high), Some(low)) => Ok(Uuid::from_u64_pair(high, low).into()),
            _ => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests;
