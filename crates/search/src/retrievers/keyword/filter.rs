//! Filters of a search as clauses that every hit must match and that do not score.

use mc_domain::UserId;
use mc_store::passages::PassageFilter;
use tantivy::query::{
    BooleanQuery, ConstScoreQuery, Occur, Query, RegexQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};

use crate::index::schema::{Fields, Scope};

/// Clause of a boolean query.
pub(super) type Clause = (Occur, Box<dyn Query>);

/// Returns the clauses of a filter. The project needs none, because its terms have a prefix.
pub(super) fn clauses(
    filter: &PassageFilter,
    scope: &Scope,
    fields: &Fields,
) -> Result<Vec<Clause>, TantivyError> {
    let sources: Vec<&str> = filter.sources.iter().map(|source| source.as_str()).collect();
    let repositories: Vec<String> = filter.repositories.iter().map(ToString::to_string).collect();
    let kinds: Vec<&str> = filter.record_kinds.iter().map(|kind| kind.as_str()).collect();
    let sets = [
        (fields.source, sources),
        (fields.record_kind, kinds),
        (fields.scope, strs(&filter.scope)),
        (fields.tags, strs(&filter.tags)),
        (fields.repository, strs(&repositories)),
        (fields.language, strs(&filter.languages)),
    ];
    let mut clauses: Vec<Clause> = sets
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(field, values)| any_of(scope, field, values))
        .collect();
    if let Some(regex) = &filter.path_regex {
        clauses.push(unscored(RegexQuery::from_pattern(&scope.regex(regex), fields.location)?));
    }
    Ok(clauses)
}

/// Returns the clause that excludes private passages of others; `None` if there are none.
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
    let visible = scope.term(fields.private_to, &reader.to_string());
    let visible: Box<dyn Query> = Box::new(TermQuery::new(visible, IndexRecordOption::Basic));
    let others = BooleanQuery::new(vec![(Occur::Must, hidden), (Occur::MustNot, visible)]);
    Ok(Some((Occur::MustNot, Box::new(others))))
}

fn any_of(scope: &Scope, field: Field, values: Vec<&str>) -> Clause {
    let terms: Vec<Term> = values.into_iter().map(|value| scope.term(field, value)).collect();
    match <[Term; 1]>::try_from(terms) {
        // Faster for one term: a set query collects all postings first.
        Ok([term]) => unscored(TermQuery::new(term, IndexRecordOption::Basic)),
        Err(terms) => unscored(TermSetQuery::new(terms)),
    }
}

fn unscored(query: impl Query) -> Clause {
    (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(query), 0.0)))
}

fn strs(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}
