//! Citations of places that no indexed repository has. They are left out, as a kept one would turn
//! the record stale later, and similar places are suggested. A project without an index has none.

use mc_contract::operations::save::UnknownCitation;
use mc_domain::{CitationVerdict, ProjectId};
use mc_store::Store;
use mc_store::citations::{self, Citation};
use strsim::osa_distance;

use crate::Error;

/// Most suggested paths and most suggested names.
const NEAR_MAX: usize = 3;
/// Most names or paths compared for suggestions.
const CANDIDATES: u8 = 200;

/// What the index lacks of a citation.
enum Missing {
    File,
    Symbol,
    Elsewhere,
    Lines,
}

/// Returns what the index lacks of a citation checked for the first time. `None` if the place
/// exists, even if its code differs from what the sender saw.
fn missing(draft: &Citation, checked: &Citation) -> Option<Missing> {
    match checked.verdict {
        CitationVerdict::Fresh => None,
        CitationVerdict::Unchecked | CitationVerdict::Orphaned if draft.symbol.is_some() => {
            Some(Missing::Symbol)
        }
        CitationVerdict::Unchecked => Some(Missing::File),
        CitationVerdict::Orphaned => Some(Missing::Lines),
        // The sender sent a hash of the code, which has changed since.
        CitationVerdict::Drifted if draft.content_hash.is_some() => None,
        CitationVerdict::Drifted => draft.symbol.is_some().then_some(Missing::Elsewhere),
    }
}

/// Describes a citation that the index lacks; `None` for others.
pub(super) async fn describe(
    store: &Store,
    project: ProjectId,
    draft: &Citation,
    checked: &Citation,
) -> Result<Option<UnknownCitation>, Error> {
    let Some(missing) = missing(draft, checked) else { return Ok(None) };
    let path = &draft.file_path;
    let name = draft.symbol.as_deref().unwrap_or_default();
    let (what, near) = match missing {
        Missing::File => (
            "the file is not indexed (absent, generated, or too large)".to_owned(),
            near_paths(store, project, path).await?,
        ),
        Missing::Lines => {
            ("the file does not have these lines as it is indexed".to_owned(), Vec::new())
        }
        Missing::Symbol => {
            let mut near = near_symbols(store, project, name, path).await?;
            if near.is_empty() {
                near = near_paths(store, project, path).await?;
            }
            (format!("no indexed file defines `{name}`"), near)
        }
        Missing::Elsewhere => {
            let places = citations::symbol_spans(store, project, name, path, None).await?;
            let near = places.iter().take(NEAR_MAX).map(|place| format!("{}#{name}", place.path));
            (
                format!("the file does not define `{name}` as it is indexed, others do"),
                near.collect(),
            )
        }
    };
    Ok(Some(UnknownCitation {
        file: path.clone(),
        symbol: draft.symbol.clone(),
        line_start: draft.lines.map(|(start, _)| start),
        line_end: draft.lines.map(|(_, end)| end),
        reason: format!("{what}: {}", advice(&missing, &near)),
        near,
    }))
}

/// Returns what the sender can do.
fn advice(missing: &Missing, near: &[String]) -> &'static str {
    match missing {
        Missing::Lines => "cite lines that it has, or save again once it is reindexed",
        _ if near.is_empty() => "save again once it is indexed",
        _ => "cite one of `near`, or save again once it is indexed",
    }
}

/// Resolves a citation to the one name or path of the index that it can mean: a name with other
/// separators (`Cart#total` for `Cart.total`) or without its namespaces, a path without its first
/// directories. `None` if none or several match, or if there are too many candidates.
pub(super) async fn resolve(
    store: &Store,
    project: ProjectId,
    draft: &Citation,
) -> Result<Option<Citation>, Error> {
    let path = &draft.file_path;
    let Some(name) = &draft.symbol else {
        let end = format!("/{path}");
        let like = paths_like(store, project, path).await?;
        if like.len() >= usize::from(CANDIDATES) {
            return Ok(None);
        }
        let found = like.into_iter().filter(|path| path.ends_with(&end));
        return Ok(only(found).map(|file_path| Citation { file_path, ..draft.clone() }));
    };
    let (wanted, end) = (plain_name(name), format!("::{}", plain_name(name)));
    let like = symbols_like(store, project, name, path).await?;
    let is_all = like.len() < usize::from(CANDIDATES);
    // Candidates in the file come first: if others follow them, all of the file are here.
    let is_all_of_file = is_all || like.last().is_some_and(|(_, file)| file != path);
    let is_match = |symbol: &str| {
        let plain = plain_name(symbol);
        plain == wanted || plain.ends_with(&end)
    };
    let found = like.into_iter().filter(|(symbol, _)| is_match(symbol));
    let (here, elsewhere): (Vec<_>, Vec<_>) = found.partition(|(_, file)| file == path);
    let (found, is_complete) =
        if here.is_empty() { (elsewhere, is_all) } else { (here, is_all_of_file) };
    let resolve = if is_complete { only(found.into_iter()) } else { None };
    Ok(resolve.map(|(symbol, file_path)| Citation {
        symbol: Some(symbol),
        file_path,
        ..draft.clone()
    }))
}

/// Returns the item if there is exactly one.
fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Returns a qualified name with the same separator for all languages.
fn plain_name(name: &str) -> String {
    let parts = name.split(['#', '.', ':', '/']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("::")
}

fn last_part(name: &str) -> &str {
    name.rsplit(['#', '.', ':', '/']).find(|part| !part.is_empty()).unwrap_or(name)
}

async fn paths_like(store: &Store, project: ProjectId, path: &str) -> Result<Vec<String>, Error> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    Ok(citations::paths_like(store, project, directory, stem, i64::from(CANDIDATES)).await?)
}

async fn symbols_like(
    store: &Store,
    project: ProjectId,
    name: &str,
    path: &str,
) -> Result<Vec<(String, String)>, Error> {
    Ok(citations::symbols_like(store, project, last_part(name), path, i64::from(CANDIDATES))
        .await?)
}

async fn near_paths(store: &Store, project: ProjectId, path: &str) -> Result<Vec<String>, Error> {
    Ok(nearest(paths_like(store, project, path).await?, path, Clone::clone))
}

async fn near_symbols(
    store: &Store,
    project: ProjectId,
    name: &str,
    path: &str,
) -> Result<Vec<String>, Error> {
    let found = symbols_like(store, project, name, path).await?;
    let near = nearest(found, name, |(symbol, _)| symbol.clone());
    Ok(near.into_iter().map(|(symbol, path)| format!("{path}#{symbol}")).collect())
}

/// Returns the items spelled most like `wanted`, the nearest first.
fn nearest<T>(found: Vec<T>, wanted: &str, spelling: impl Fn(&T) -> String) -> Vec<T> {
    let wanted = wanted.to_lowercase();
    let mut found: Vec<_> = found
        .into_iter()
        .map(|one| (osa_distance(&spelling(&one).to_lowercase(), &wanted), one))
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(NEAR_MAX).map(|(_, one)| one).collect()
}
