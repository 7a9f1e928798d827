//! BM25 and exact look-ups in the keyword index. Queries are built from analysed terms; nothing a
//! user types is ever parsed as query syntax.

mod exact;
mod filter;

use mc_domain::PassageId;
use mc_store::passages::PassageFilter;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Searcher, TantivyError, Term};

use super::Ranked;
use crate::index::generation::View;
use crate::index::schema::Fields;
use crate::query::{QueryTerm, Understood};

/// What a match in a field counts beside one in the body.
const TITLE_WEIGHT: f32 = 2.0;
const SYMBOL_WEIGHT: f32 = 2.5;
const PATH_WEIGHT: f32 = 1.2;
const BODY_WEIGHT: f32 = 1.0;
/// What the fields other than the best one add to a term's score.
const TIE_BREAKER: f32 = 0.3;
/// Terms of one query; of a longer text the rarest ones are kept, which decide anyway.
const MAX_TERMS: usize = 48;

/// What both look-ups found.
#[derive(Debug, Default)]
pub struct Found {
    /// Passages that a name of the query points at.
    pub exact: Ranked,
    /// Passages by BM25.
    pub keyword: Ranked,
}

/// Searches; blocks. `limit` is that of each list.
pub fn search(
    view: &View,
    terms: Vec<QueryTerm>,
    names: &Understood,
    filter: &PassageFilter,
    limit: usize,
) -> Result<Found, TantivyError> {
    let searcher = view.reader.searcher();
    let fields = &view.fields;
    let filters = filter::clauses(filter, fields)?;
    let words = words(&searcher, fields, terms)?;
    let exact = match exact::names(fields, names) {
        None => Ranked::new(),
        Some(look_ups) => {
            // The words settle the order among passages that share a name.
            let mut clauses = filters.iter().map(|(o, q)| (*o, q.box_clone())).collect::<Vec<_>>();
            clauses.push((Occur::Must, look_ups));
            clauses.extend(words.iter().map(|word| (Occur::Should, word.box_clone())));
            top(&searcher, &BooleanQuery::new(clauses), limit)?
        }
    };
    let keyword = if words.is_empty() {
        Ranked::new()
    } else {
        let mut clauses = filters;
        clauses.push((Occur::Must, Box::new(BooleanQuery::union(words))));
        top(&searcher, &BooleanQuery::new(clauses), limit)?
    };
    Ok(Found { exact, keyword })
}

/// One query a term: its best field, and a little of the others.
fn words(
    searcher: &Searcher,
    fields: &Fields,
    terms: Vec<QueryTerm>,
) -> Result<Vec<Box<dyn Query>>, TantivyError> {
    let terms = if terms.len() > MAX_TERMS { rarest(searcher, fields, terms)? } else { terms };
    Ok(terms.iter().map(|term| word(fields, term)).collect())
}

fn word(fields: &Fields, term: &QueryTerm) -> Box<dyn Query> {
    let in_field = |field: Field, weight: f32| -> Box<dyn Query> {
        let query =
            TermQuery::new(Term::from_field_text(field, &term.text), IndexRecordOption::WithFreqs);
        Box::new(BoostQuery::new(Box::new(query), weight * term.weight))
    };
    let disjuncts = vec![
        in_field(fields.title, TITLE_WEIGHT),
        in_field(fields.symbol, SYMBOL_WEIGHT),
        in_field(fields.path, PATH_WEIGHT),
        in_field(fields.body, BODY_WEIGHT),
    ];
    Box::new(DisjunctionMaxQuery::with_tie_breaker(disjuncts, TIE_BREAKER))
}

/// Keeps the terms that tell most: rare in the index, heavy in the query, and there at all.
fn rarest(
    searcher: &Searcher,
    fields: &Fields,
    terms: Vec<QueryTerm>,
) -> Result<Vec<QueryTerm>, TantivyError> {
    let mut weighed = Vec::with_capacity(terms.len());
    let all = count(searcher.num_docs());
    for term in terms {
        let mut frequency = 0;
        for field in [fields.body, fields.title, fields.symbol, fields.path] {
            frequency += searcher.doc_freq(&Term::from_field_text(field, &term.text))?;
        }
        if frequency > 0 {
            let rarity = (1.0 + all / count(frequency)).ln();
            weighed.push((rarity * term.weight, term));
        }
    }
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(weighed.into_iter().take(MAX_TERMS).map(|(_, term)| term).collect())
}

fn count(n: u64) -> f32 {
    n as f32
}

fn top(searcher: &Searcher, query: &dyn Query, limit: usize) -> Result<Ranked, TantivyError> {
    let docs = searcher.search(query, &TopDocs::with_limit(limit.max(1)).order_by_score())?;
    docs.into_iter().map(|(score, at)| Ok((id_of(searcher, at)?, score))).collect()
}

/// Reads a hit's id; nothing else of it is in the index to be read.
fn id_of(searcher: &Searcher, at: DocAddress) -> Result<PassageId, TantivyError> {
    let damaged = || TantivyError::InternalError("a document of the index has no id".into());
    let readers = searcher.segment_reader(at.segment_ord).fast_fields();
    let column = readers.bytes("id")?.ok_or_else(damaged)?;
    let ord = column.term_ords(at.doc_id).next().ok_or_else(damaged)?;
    let mut bytes = Vec::with_capacity(16);
    column.ord_to_bytes(ord, &mut bytes)?;
    let id = uuid::Uuid::from_slice(&bytes).map_err(|_| damaged())?;
    Ok(id.into())
}
