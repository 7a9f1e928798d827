//! Which definition within a passage of code a query names, and on which lines it stands.

use std::cmp::Reverse;

use mc_contract::operations::search::SymbolMatch;
use mc_domain::FileId;
use mc_search::query::{Name, parse};
use mc_search::{Hit, Query, names};
use mc_store::Store;
use mc_store::files::{self, Definition};

use crate::problem::Problem;

/// For each hit the definition that `query` names, if there is one.
pub async fn matches(
    store: &Store,
    query: &Query,
    hits: &[Hit],
) -> Result<Vec<Option<SymbolMatch>>, Problem> {
    let named = parse(query).symbols;
    let wanted: Vec<Option<(FileId, &str)>> = hits.iter().map(|hit| wanted(&named, hit)).collect();
    let present: Vec<(FileId, &str)> = wanted.iter().copied().flatten().collect();
    if present.is_empty() {
        return Ok(vec![None; hits.len()]);
    }
    let definitions = files::definitions(store, &present).await?;
    let pairs = hits.iter().zip(wanted);
    Ok(pairs.map(|(hit, wanted)| place(hit, wanted?, &definitions)).collect())
}

/// The file and the name of the definition that one of the names means most likely.
fn wanted<'a>(named: &[Name], hit: &'a Hit) -> Option<(FileId, &'a str)> {
    let file = hit.passage.code.as_ref()?.file_id;
    let symbols = hit.passage.indexed.symbols.iter();
    let fits = symbols.filter_map(|symbol| Some((fit(named, symbol)?, symbol.as_str())));
    // Of two that fit alike the first, which encloses the other or stands above it.
    fits.min_by_key(|(fit, _)| Reverse(*fit)).map(|(_, symbol)| (file, symbol))
}

/// How well a symbol is named: surely over in passing, whole over by its tail, in the same capitals
/// over others.
fn fit(named: &[Name], symbol: &str) -> Option<(mc_search::query::Certainty, bool, bool)> {
    let key = names::symbol_key(symbol)?;
    let fits = named.iter().filter(|name| names::is_tail(&name.key, &key, '.'));
    fits.map(|name| (name.certainty, name.key == key, symbol.ends_with(&name.written))).max()
}

fn place(
    hit: &Hit,
    (file, name): (FileId, &str),
    definitions: &[Definition],
) -> Option<SymbolMatch> {
    let code = hit.passage.code.as_ref()?;
    let own = code.line_start + code.overlap_lines..=code.line_end;
    definitions
        .iter()
        .find(|found| found.file == file && found.name == name && own.contains(&found.line_start))
        .map(|found| SymbolMatch {
            symbol: found.name.clone(),
            line_start: found.line_start,
            line_end: found.line_end,
        })
}
