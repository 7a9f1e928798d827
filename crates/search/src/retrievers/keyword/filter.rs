//! The filter as clauses that every hit must satisfy and that score nothing.

use mc_domain::UserId;
use mc_store::passages::PassageFilter;
use tantivy::query::{
    BooleanQuery, ConstScoreQuery, Occur, Query, RegexQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};

use crate::index::schema::{Fields, Scope};

/// A part of a boolean query.
pub(super) type Clause = (Occur, Box<dyn Query>);

/// Everything but the project, by which all terms are kept apart already.
pub(super) fn clauses(
    filter: &PassageFilter,
    scope: &Scope,
    fields: &Fields,
) -> Result<Vec<Clause>, TantivyError> {
    let sources: Vec<&str> = filter.sources.iter().map(|source| source.as_str()).collect();
    let kinds: Vec<&str> = filter.record_kinds.iter().map(|kind| kind.as_str()).collect();
    let sets = [
        (fields.source, sources),
        (fields.record_kind, kinds),
        (fields.scope, strs(&filter.scope)),
        (fields.tags, strs(&filter.tags)),
        (fields.language, strs(&filter.languages)),
    ];
    let mut clauses: Vec<Clause> = sets
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(field, values)| any_of(scope, field, values))
        .collect();
    if let Some(regex) = &filter.path_regex {
        clauses.push(silent(RegexQuery::from_pattern(&scope.regex(regex), fields.location)?));
    }
    Ok(clauses)
}

/// Leaves out what only others may find; `None` where the project has nothing of the sort.
pub(super) fn others_private(
    searcher: &Searcher,
    scope: &Scope,
    reader: Option<UserId>,
    fields: &Fields,
) -> Result<Option<Clause>, TantivyError> {
    let hidden = scope.term(fields.hidden, "");
    if searcher.doc_freq(&hidden)? == 0 {
        return Ok(None);
    }
    let hidden: Box<dyn Query> = Box::new(TermQuery::new(hidden, IndexRecordOption::Basic));
    let Some(reader) = reader else { return Ok(Some((Occur::MustNot, hidden))) };
    let own = scope.term(fields.private_to, &reader.to_string());
    let own: Box<dyn Query> = Box::new(TermQuery::new(own, IndexRecordOption::Basic));
    let others = BooleanQuery::new(vec![(Occur::Must, hidden), (Occur::MustNot, own)]);
    Ok(Some((Occur::MustNot, Box::new(others))))
}

fn any_of(scope: &Scope, field: Field, values: Vec<&str>) -> Clause {
    let terms: Vec<Term> = values.into_iter().map(|value| scope.term(field, value)).collect();
    match <[Term; 1]>::try_from(terms) {
        // Walks the term's postings beside the other clauses; a set collects them all first.
        Ok([term]) => silent(TermQuery::new(term, IndexRecordOption::Basic)),
        Err(terms) => silent(TermSetQuery::new(terms)),
    }
}

fn silent(query: impl Query) -> Clause {
    (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(query), 0.0)))
}

fn strs(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}
