//! Look-ups of the names in a query.

use tantivy::query::{BooleanQuery, ConstScoreQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use crate::index::schema::{Fields, Scope};
use crate::query::{Certainty, Name, ParsedQuery};

/// Scores far above what BM25 gives to the words beside them.
const NAMED_SCORE: f32 = 10_000.0;
const MENTIONED_SCORE: f32 = 1_000.0;

/// A query for the project's passages that define one of the symbols or lie at one of the paths;
/// `None` where no name was understood. A passage that several names point at scores their sum.
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
