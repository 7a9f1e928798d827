//! Questions that are the name of a symbol. The first match has to show where it is defined.
//!
//! `mc-bench identifiers` and a test of the crate `mc-rag` share this.

use std::collections::BTreeSet;

use mc_contract::operations::rag::RagMatch;
use mc_domain::RepositoryId;
use mc_store::{Store, testing};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

/// A definition in an indexed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Path of the file.
    pub path: String,
    /// Qualified name.
    pub name: String,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
}

/// Which name of a symbol is the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As the index stores it, such as `Trigger::delay`.
    Qualified,
    /// Its last part, such as `delay`, which several definitions may have.
    Plain,
}

/// What the first match shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No definition of the name.
    Missed,
    /// A file that defines the name, but other lines.
    File,
    /// The first line of a definition, which goes on after the match.
    Start,
    /// A whole definition.
    Complete,
}

/// Returns all symbols of a repository, in a fixed order.
pub async fn symbols(store: &Store, repository: RepositoryId) -> mc_store::Result<Vec<Symbol>> {
    let sql = format!(
        "select coalesce(json_agg(json_build_array(f.path, s.name, s.line_start, s.line_end)
             order by f.path, s.line_start, s.name), '[]')::text
         from code_symbols s join files f on f.id = s.file_id
         where f.repository_id = '{repository}'"
    );
    let text = testing::text(store, &sql).await?;
    let rows: Vec<(String, String, i32, i32)> =
        serde_json::from_str(&text).expect("the array of the statement");
    let symbol = |(path, name, line_start, line_end)| Symbol { path, name, line_start, line_end };
    Ok(rows.into_iter().map(symbol).collect())
}

/// Returns the names of at most `count` symbols, chosen by `seed`.
pub fn questions(symbols: &[Symbol], form: Form, count: usize, seed: u64) -> Vec<String> {
    let names: BTreeSet<&str> = symbols.iter().map(|symbol| form.of(&symbol.name)).collect();
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.shuffle(&mut StdRng::seed_from_u64(seed));
    names.truncate(count);
    names
}

impl Form {
    /// Returns this form of a qualified name.
    pub fn of(self, name: &str) -> &str {
        match self {
            Self::Qualified => name,
            Self::Plain => name.rsplit([':', '.', '#', '/']).next().unwrap_or(name),
        }
    }
}

/// Judges the first match of a question.
pub fn judge(symbols: &[Symbol], form: Form, name: &str, first: Option<&RagMatch>) -> Verdict {
    let Some(first) = first else { return Verdict::Missed };
    let (from, to) = (first.metadata.line_start, first.metadata.line_end);
    let definitions = symbols.iter().filter(|symbol| form.of(&symbol.name) == name);
    let verdict = |symbol: &Symbol| {
        let has_start = (from..=to).contains(&symbol.line_start);
        match symbol.path == first.path {
            false => Verdict::Missed,
            true if !has_start => Verdict::File,
            true if symbol.line_end > to => Verdict::Start,
            true => Verdict::Complete,
        }
    };
    definitions.map(verdict).max().unwrap_or(Verdict::Missed)
}
