//! Citations of what is in no indexed repository: left out with what may have been meant, rather
//! than kept to be blamed for it later. Where a project has no index yet, nothing is unknown.

use mc_domain::{ProjectId, Verdict};
use mc_store::Store;
use mc_store::citations::{self, Citation};

use crate::Error;
use crate::judge::compare::slips;

/// Near paths and near names that are told, of each.
const NEAR_MAX: usize = 3;
/// Names and paths that are looked at for that.
const CANDIDATES: u8 = 200;

/// A citation that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCitation {
    /// Path, as it was cited.
    pub file: String,
    /// Qualified name, as it was cited.
    pub symbol: Option<String>,
    /// Lines, as they were cited.
    pub lines: Option<(i32, i32)>,
    /// What there is not, and what to do about it, in words.
    pub reason: String,
    /// What may have been meant: `path`, or `path#name` where a name was cited; the nearest first.
    pub near: Vec<String>,
}

/// Why a citation is unknown, judged from what its check found.
enum Missing {
    File,
    Symbol,
    Elsewhere,
    Lines,
}

/// What is wrong with a citation that was checked for the first time: `None` where it holds, or
/// where what it cites is there and merely other than its sender saw it.
fn missing(draft: &Citation, checked: &Citation) -> Option<Missing> {
    match checked.verdict {
        Verdict::Fresh => None,
        Verdict::Unchecked | Verdict::Orphaned if draft.symbol.is_some() => Some(Missing::Symbol),
        Verdict::Unchecked => Some(Missing::File),
        Verdict::Orphaned => Some(Missing::Lines),
        // The text that was seen is sent along: it changed.
        Verdict::Drifted if draft.content_hash.is_some() => None,
        Verdict::Drifted => draft.symbol.is_some().then_some(Missing::Elsewhere),
    }
}

/// What is said of a citation that the index does not bear out; `None` for one that it does.
pub(super) async fn tell(
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
        lines: draft.lines,
        reason: format!("{what}: {}", way_out(&missing, &near)),
        near,
    }))
}

/// What whoever sent the citation can do.
fn way_out(missing: &Missing, near: &[String]) -> &'static str {
    match missing {
        Missing::Lines => "cite lines that it has, or save again once it is indexed anew",
        _ if near.is_empty() => "save again once it is indexed",
        _ => "cite one of `near`, or save again once it is indexed",
    }
}

/// The citation with the one name or path of the index that it can mean: a name with other
/// separators (`Cart#total` for `Cart.total`) or without its namespaces, a path without its first
/// folders. `None` where none or several can be meant, or there are so many like it that not all
/// were looked at.
pub(super) async fn meant(
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
    // Those of the file come first: where others follow them, they are all here.
    let is_all_of_file = is_all || like.last().is_some_and(|(_, file)| file != path);
    let is_meant = |symbol: &str| {
        let plain = plain_name(symbol);
        plain == wanted || plain.ends_with(&end)
    };
    let found = like.into_iter().filter(|(symbol, _)| is_meant(symbol));
    let (here, elsewhere): (Vec<_>, Vec<_>) = found.partition(|(_, file)| file == path);
    let (found, is_complete) =
        if here.is_empty() { (elsewhere, is_all) } else { (here, is_all_of_file) };
    let meant = if is_complete { only(found.into_iter()) } else { None };
    Ok(meant.map(|(symbol, file_path)| Citation {
        symbol: Some(symbol),
        file_path,
        ..draft.clone()
    }))
}

/// The one of several that is the only one.
fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// A qualified name whose parts are joined alike in all languages.
fn plain_name(name: &str) -> String {
    let parts = name.split(['#', '.', ':', '/']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("::")
}

fn last_part(name: &str) -> &str {
    name.rsplit(['#', '.', ':', '/']).find(|part| !part.is_empty()).unwrap_or(name)
}

async fn paths_like(store: &Store, project: ProjectId, path: &str) -> Result<Vec<String>, Error> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    Ok(citations::paths_like(store, project, folder, stem, i64::from(CANDIDATES)).await?)
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

/// Those of `found` that are spelled most like `wanted`, the nearest first.
fn nearest<T>(found: Vec<T>, wanted: &str, spelling: impl Fn(&T) -> String) -> Vec<T> {
    let wanted = wanted.to_lowercase();
    let mut found: Vec<_> = found
        .into_iter()
        .map(|one| (slips(&spelling(&one).to_lowercase(), &wanted), one))
        .collect();
    found.sort_by_key(|(slips, _)| *slips);
    found.into_iter().take(NEAR_MAX).map(|(_, one)| one).collect()
}
