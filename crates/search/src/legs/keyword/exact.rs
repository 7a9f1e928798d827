//! Look-ups of the names in a query.

use tantivy::Term;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use crate::index::schema::Fields;
use crate::query::{Certainty, Name, Understood};

/// Scores far above what BM25 gives to the words beside them.
const NAMED_SCORE: f32 = 10_000.0;
const MENTIONED_SCORE: f32 = 1_000.0;

/// A query for passages that define one of the symbols or lie at one of the paths; `None` where no
/// name was understood. A passage that several names point at scores their sum.
pub(super) fn names(fields: &Fields, names: &Understood) -> Option<Box<dyn Query>> {
    let symbols = names.symbols.iter().map(|name| look_up(fields.symbol_key, name));
    let paths = names.paths.iter().map(|name| look_up(fields.path_key, name));
    let queries: Vec<Box<dyn Query>> = symbols.chain(paths).collect();
    (!queries.is_empty()).then(|| Box::new(BooleanQuery::union(queries)) as Box<dyn Query>)
}

fn look_up(field: Field, name: &Name) -> Box<dyn Query> {
    let score = match name.certainty {
        Certainty::Named => NAMED_SCORE,
        Certainty::Mentioned => MENTIONED_SCORE,
    };
    let term = TermQuery::new(Term::from_field_text(field, &name.key), IndexRecordOption::Basic);
    Box::new(ConstScoreQuery::new(Box::new(term), score))
}
