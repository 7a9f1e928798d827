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
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, TantivyError, Term};
use uuid::Uuid;

use super::RankedList;
use crate::analyzer::is_stop_word;
use crate::index::generation::IndexSnapshot;
use crate::index::schema::{Corpus, Fields, ID_HIGH, ID_LOW, Scope};
use crate::index::statistics::ProjectStatistics;
use crate::query::{ParsedQuery, QueryTerm, is_of_stop_words, telling_terms, word_term};
use crate::rank::step::{DisabledSteps, Step};

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
/// A question that says less than this says little, however much of it a record has: two rare
/// words.
const ATTAINABLE_MIN: f32 = 8.0;
/// First letter after the Latin scripts.
const LATIN_END: char = '\u{250}';
/// Terms that a query must keep after its common words are removed; fewer say too little.
const TELLING_WORDS: usize = 2;
/// Maximum number of terms in a query; a longer text keeps its rarest, which decide anyway.
const MAX_TERMS: usize = 48;

/// Results of the exact and the BM25 retriever.
#[derive(Debug, Default)]
pub struct KeywordHits {
    /// Passages that match a name in the query.
    pub exact: RankedList,
    /// Passages by BM25.
    pub keyword: RankedList,
    /// The share of the query's words that a record has, each counted by its rarity among records;
    /// empty where not only records were sought.
    pub covered: RankedList,
}

/// Input of [`search`].
#[derive(Debug)]
pub struct Wanted {
    /// Words of the query.
    pub terms: Vec<QueryTerm>,
    /// Ids of one thing each. One that nothing names is no word of the query, and says nothing of
    /// what lacks it.
    pub ids: Vec<QueryTerm>,
    /// What those of another script may be called in English ([`crate::query::gloss`]).
    pub gloss: Vec<Vec<String>>,
    /// Symbols, paths and other names of the query.
    pub names: ParsedQuery,
    /// Passages that are searched.
    pub filter: PassageFilter,
    /// User whose query it is; private passages of others are left out.
    pub reader: Option<UserId>,
    /// Maximum number of hits in each list.
    pub limit: usize,
    /// Steps to leave out; fields are steps too.
    pub disabled_steps: DisabledSteps,
}

/// Runs both retrievers. Blocks the thread.
pub fn search(view: &IndexSnapshot, wanted: Wanted) -> Result<KeywordHits, TantivyError> {
    let Wanted { terms, ids, gloss, names, filter, reader, limit, disabled_steps: without } =
        wanted;
    let searcher = view.reader.searcher();
    let corpus = corpus(&filter, &without);
    let statistics = view.statistics.of(&searcher, &view.fields, filter.project, corpus)?;
    let lookup = Lookup { searcher: &searcher, fields: &view.fields, corpus, statistics, limit };
    let scope = Scope::of(filter.project);
    let mut terms = lookup.readable(&scope, terms, gloss)?;
    terms.extend(lookup.known(&scope, ids)?);
    let mut filters = filter::clauses(&filter, &scope, &view.fields)?;
    filters.extend(filter::others_private(&searcher, &scope, reader, &view.fields)?);
    let has_words = corpus == Corpus::Records && without.takes(Step::Keyword) && !terms.is_empty();
    let covered =
        if has_words { lookup.covered(&scope, &terms, &filters)? } else { RankedList::new() };
    let words = lookup.words(&scope, terms, &without)?;
    let exact = match exact::names(&scope, &view.fields, &names) {
        None => RankedList::new(),
        Some(names) => {
            // The words settle the order among passages that share a name.
            let mut clauses = within(&filters, names);
            clauses.extend(words.iter().map(|word| (Occur::Should, word.box_clone())));
            lookup.top(&BooleanQuery::new(clauses))?
        }
    };
    let keyword = if words.is_empty() {
        RankedList::new()
    } else if filters.is_empty() {
        // A bare union of terms: passages that can't come first any more are skipped unscored.
        lookup.top(&BooleanQuery::union(words))?
    } else {
        let words = Box::new(BooleanQuery::union(words));
        lookup.top(&BooleanQuery::new(within(&filters, words)))?
    };
    Ok(KeywordHits { exact, keyword, covered })
}

/// Those that a filter lets through are few, beside the vectors in a graph, up to this number, and
/// up to a share of all and the larger number. So many are compared in 20 to 60 ms. The graph would
/// hand out very many until it comes by enough of so few, above all where they are alike and far
/// from what is sought.
const FEW: (usize, usize) = (10_000, 30_000);
const FEW_SHARE: usize = 5;

/// Returns the number of passages up to which a filter's matches count as few.
pub fn few(
    searcher: &Searcher,
    fields: &Fields,
    filter: &PassageFilter,
) -> Result<usize, TantivyError> {
    let all = searcher.doc_freq(&all_of(fields, filter))?;
    let share = usize::try_from(all).unwrap_or(usize::MAX) / FEW_SHARE;
    Ok(share.clamp(FEW.0, FEW.1))
}

/// Returns the number of passages that a filter chooses from.
pub fn size(view: &IndexSnapshot, filter: &PassageFilter) -> Result<u64, TantivyError> {
    view.reader.searcher().doc_freq(&all_of(&view.fields, filter))
}

/// Returns the term that all passages of the filter's project and corpus have.
fn all_of(fields: &Fields, filter: &PassageFilter) -> Term {
    fields.corpus_term(filter.project, corpus(filter, &DisabledSteps::default()))
}

/// The passages that a filter lets through.
#[derive(Debug, PartialEq, Eq)]
pub enum Passing {
    /// All of them.
    Few(Vec<PassageId>),
    /// More than were asked for.
    Many,
}

/// What the filter lets through, by its own terms, for someone who looks no further than `most`;
/// blocks.
pub fn passing(
    searcher: &Searcher,
    fields: &Fields,
    filter: &PassageFilter,
    reader: Option<UserId>,
    most: usize,
) -> Result<Passing, TantivyError> {
    let scope = Scope::of(filter.project);
    let all = Box::new(TermQuery::new(all_of(fields, filter), IndexRecordOption::Basic));
    let mut filters = filter::clauses(filter, &scope, fields)?;
    filters.extend(filter::others_private(searcher, &scope, reader, fields)?);
    let query = BooleanQuery::new(within(&filters, all));
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let ids = Ids::of_all(searcher)?;
    let mut passing = Vec::new();
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let mut docs = weight.scorer(reader, 1.0)?;
        while docs.doc() != TERMINATED {
            if reader.alive_bitset().is_none_or(|alive| alive.is_alive(docs.doc())) {
                if passing.len() == most {
                    return Ok(Passing::Many);
                }
                passing.push(ids.of(DocAddress::new(segment, docs.doc()))?);
            }
            docs.advance();
        }
    }
    Ok(Passing::Few(passing))
}

/// A text without the words that many of the project's records have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// What is left.
    pub text: String,
    /// Only words that any text has are missing (`the`, `of`): what is left says what the whole
    /// does.
    pub says_all: bool,
}

/// The text without the words that many of the project's records have (its own name, above all):
/// those say what the project is about, not what the question is. `None` where that leaves all of
/// it, or next to nothing.
pub fn telling(
    view: &IndexSnapshot,
    project: ProjectId,
    text: &str,
) -> Result<Option<Telling>, TantivyError> {
    let searcher = view.reader.searcher();
    let scope = Scope::of(project);
    let records = searcher.doc_freq(&view.fields.corpus_term(project, Corpus::Records))?;
    let most = (records as f32 * COMMON_SHARE).max(COMMON_RECORDS);
    let is_common = |word: &str| {
        let terms = telling_terms(word);
        let mut counts = terms
            .iter()
            .map(|term| Ok(searcher.doc_freq(&scope.term(view.fields.record, &term.text))? as f32));
        let common = counts.try_fold(false, |common, count: Result<f32, TantivyError>| {
            Ok::<_, TantivyError>(common || count? >= most)
        });
        common.map(|common| common && !terms.is_empty())
    };
    let (mut kept, mut common) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        if is_common(word)? { &mut common } else { &mut kept }.push(word);
    }
    let text = kept.join(" ");
    let words = telling_terms(&text).iter().filter(|term| !is_stop_word(&term.text)).count();
    let says_all = common.iter().all(|word| is_of_stop_words(word));
    Ok((!common.is_empty() && words >= TELLING_WORDS).then_some(Telling { text, says_all }))
}

/// What is searched: commits or records where they are asked for alone.
pub fn corpus(filter: &PassageFilter, without: &DisabledSteps) -> Corpus {
    match filter.sources.as_slice() {
        [SourceKind::Change] => Corpus::Changes,
        [SourceKind::Memory] if without.takes(Step::Record) => Corpus::Records,
        _ => Corpus::Passages,
    }
}

/// One project's part of the index, for one search.
struct Lookup<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    corpus: Corpus,
    statistics: ProjectStatistics<'a>,
    limit: usize,
}

impl Lookup<'_> {
    /// One query for each term in each field.
    fn words(
        &self,
        scope: &Scope,
        terms: Vec<QueryTerm>,
        without: &DisabledSteps,
    ) -> Result<Vec<Box<dyn Query>>, TantivyError> {
        let terms = if terms.len() > MAX_TERMS { self.rarest(scope, terms)? } else { terms };
        let of_passages = [
            (Step::Body, self.fields.body, BODY_WEIGHT),
            (Step::Window, self.fields.window, WINDOW_WEIGHT),
            (Step::Path, self.fields.path, PATH_WEIGHT),
        ];
        let of_records = [(Step::Record, self.fields.record, 1.0)];
        let of_changes = [(Step::Keyword, self.fields.change, 1.0)];
        let weighed: &[_] = match self.corpus {
            Corpus::Passages => &of_passages,
            Corpus::Records => &of_records,
            Corpus::Changes => &of_changes,
        };
        let fields = weighed.iter().filter(|(step, ..)| without.takes(*step));
        let queries = fields.flat_map(|&(_, field, weight)| {
            let query =
                move |term: &QueryTerm| word(scope.term(field, &term.text), weight * term.weight);
            terms.iter().map(query)
        });
        Ok(queries.collect())
    }

    /// The terms, those of another script in the words of English where no passage has any of them
    /// as it is: of several words for one the one that most passages have.
    fn readable(
        &self,
        scope: &Scope,
        mut terms: Vec<QueryTerm>,
        gloss: Vec<Vec<String>>,
    ) -> Result<Vec<QueryTerm>, TantivyError> {
        let frequency =
            |term: &QueryTerm| self.searcher.doc_freq(&scope.term(self.text(), &term.text));
        for foreign in terms.iter().filter(|term| is_foreign(&term.text)) {
            if frequency(foreign)? > 0 {
                return Ok(terms);
            }
        }
        terms.retain(|term| !is_foreign(&term.text));
        for meanings in gloss {
            let mut best: Option<(u64, QueryTerm)> = None;
            for term in meanings.iter().filter_map(|word| word_term(word)) {
                let frequency = frequency(&term)?;
                if best.as_ref().is_none_or(|(most, _)| *most < frequency) {
                    best = Some((frequency, term));
                }
            }
            let is_new = |term: &QueryTerm| terms.iter().all(|own| own.text != term.text);
            terms.extend(best.map(|(_, term)| term).filter(is_new));
        }
        Ok(terms)
    }

    /// Those of the terms that something has.
    fn known(&self, scope: &Scope, terms: Vec<QueryTerm>) -> Result<Vec<QueryTerm>, TantivyError> {
        let mut known = Vec::with_capacity(terms.len());
        for term in terms {
            if self.searcher.doc_freq(&scope.term(self.text(), &term.text))? > 0 {
                known.push(term);
            }
        }
        Ok(known)
    }

    /// The field that holds every word of a passage of the corpus.
    fn text(&self) -> Field {
        match self.corpus {
            Corpus::Passages => self.fields.window,
            Corpus::Records => self.fields.record,
            Corpus::Changes => self.fields.change,
        }
    }

    /// The share of the terms that records have, each as heavy as it is rare. How often a record
    /// says a word, and how long it is, tells nothing of that.
    fn covered(
        &self,
        scope: &Scope,
        terms: &[QueryTerm],
        filters: &[(Occur, Box<dyn Query>)],
    ) -> Result<RankedList, TantivyError> {
        let (mut all, mut words): (f32, Vec<Box<dyn Query>>) = (0.0, Vec::new());
        for term in terms {
            let own = scope.term(self.fields.record, &term.text);
            let weight = term.weight * self.statistics.idf(&own)?;
            all += weight;
            let has_it = TermQuery::new(own, IndexRecordOption::Basic);
            words.push(Box::new(ConstScoreQuery::new(Box::new(has_it), weight)));
        }
        let all = all.max(ATTAINABLE_MIN);
        let words = Box::new(BooleanQuery::union(words));
        let found = self.top(&BooleanQuery::new(within(filters, words)))?;
        Ok(found.into_iter().map(|(id, weight)| (id, weight / all)).collect())
    }

    /// Keeps the terms that tell most: rare in the project, heavy in the query, and there at all.
    fn rarest(&self, scope: &Scope, terms: Vec<QueryTerm>) -> Result<Vec<QueryTerm>, TantivyError> {
        let all = self.statistics.docs() as f32;
        let mut weighed = Vec::with_capacity(terms.len());
        for term in terms {
            let frequency = self.searcher.doc_freq(&scope.term(self.text(), &term.text))?;
            if frequency > 0 {
                let rarity = (1.0_f32 + all / frequency as f32).ln();
                weighed.push((rarity * term.weight, term));
            }
        }
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(weighed.into_iter().take(MAX_TERMS).map(|(_, term)| term).collect())
    }

    fn top(&self, query: &dyn Query) -> Result<RankedList, TantivyError> {
        let best = TopDocs::with_limit(self.limit.max(1)).order_by_score();
        let found =
            self.searcher.search_with_statistics_provider(query, &best, &self.statistics)?;
        let ids = Ids::of_all(self.searcher)?;
        found.into_iter().map(|(score, at)| Ok((ids.of(at)?, score))).collect()
    }
}

/// What has to match, behind the filters.
fn within(
    filters: &[(Occur, Box<dyn Query>)],
    query: Box<dyn Query>,
) -> Vec<(Occur, Box<dyn Query>)> {
    let filters = filters.iter().map(|(occur, filter)| (*occur, filter.box_clone()));
    filters.chain([(Occur::Must, query)]).collect()
}

/// Whether a term is of another script than Latin.
fn is_foreign(term: &str) -> bool {
    term.chars().any(|c| c.is_alphabetic() && c >= LATIN_END)
}

fn word(term: Term, weight: f32) -> Box<dyn Query> {
    let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(query), weight))
}

/// The ids of passages, by segment.
struct Ids(Vec<(Column<u64>, Column<u64>)>);

impl Ids {
    fn of_all(searcher: &Searcher) -> Result<Self, TantivyError> {
        let columns = searcher.segment_readers().iter().map(|segment| {
            let columns = segment.fast_fields();
            Ok((columns.u64(ID_HIGH)?, columns.u64(ID_LOW)?))
        });
        Ok(Self(columns.collect::<Result<_, TantivyError>>()?))
    }

    fn of(&self, at: DocAddress) -> Result<PassageId, TantivyError> {
        let damaged = || TantivyError::InternalError("a document of the index has no id".into());
        let (high, low) = self.0.get(at.segment_ord as usize).ok_or_else(damaged)?;
        match (high.first(at.doc_id), low.first(at.doc_id)) {
            (Some(high), Some(low)) => Ok(Uuid::from_u64_pair(high, low).into()),
            _ => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests;
