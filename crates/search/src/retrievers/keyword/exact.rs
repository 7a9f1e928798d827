//! Lookups of the names in a query.

use tantivy::query::{BooleanQuery, ConstScoreQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use crate::index::schema::{Fields, Scope};
use crate::query::{Certainty, Name, ParsedQuery};

/// Score of a requested name, far above BM25 scores.
const NAMED_SCORE: f32 = 10_000.0;
/// Score of a mentioned name, far above BM25 scores.
const MENTIONED_SCORE: f32 = 1_000.0;

/// Returns a query for passages that define one of the symbols or have one of the paths; `None`
/// without names. A passage that matches several names gets the sum of their scores.
pub(super) fn names(scope: &Scope, fields: &Fields, names: &ParsedQuery) -> Option<Box<dyn Query>> {
    let symbols = names.symbols.iter().map(|name| lookup(scope, fields.symbol_key, name));
    let paths = names.paths.iter().map(|name| lookup(scope, fields.path_key, name));
    let queries: Vec<Box<dyn Query>> = symbols.chain(paths).collect();
    (!queries.is_empty()).then(|| Box::new(BooleanQuery::union(queries)) as Box<dyn Query>)
}

fn lookup(scope: &Scope, field: Field, name: &Name) -> Box<dyn Query> {
    let weight = match name.certainty {
        Certainty::Named => NAMED_SCORE,
        Certainty::Mentioned => MENTIONED_SCORE,
    };
    let term = TermQuery::new(scope.term(field, &name.key), IndexRecordOption::Basic);
    Box::new(ConstScoreQuery::new(Box::new(term), weight))
}
