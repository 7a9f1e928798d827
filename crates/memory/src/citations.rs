//! Whether what a record cites is still there: at save, at recall and after a re-index.

mod check;
mod unknown;

use std::collections::{HashMap, HashSet};

use mc_domain::{CitationId, ProjectId, RecordId, RecordState, Verdict};
use mc_store::Store;
use mc_store::citations::{self, Citation};
use mc_store::records;

use serde::{Deserialize, Serialize};

pub use check::{CodeView, check, hash_lines};
pub use unknown::UnknownCitation;

use crate::Error;

/// A place in the code that a record is about, as its sender names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCitation {
    /// Path within the repository.
    pub file: String,
    /// Qualified name of a definition.
    pub symbol: Option<String>,
    /// First and last line, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Commit at which the record was true.
    pub commit: Option<String>,
    /// sha256 of the cited lines (joined by line feeds), of the definition, or of the file.
    pub content_hash: Option<Vec<u8>>,
}

/// What a check changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecheckReport {
    /// Records whose citations were looked at.
    pub records: usize,
    /// Records that turned stale.
    pub turned_stale: usize,
    /// Records that turned active again.
    pub turned_active: usize,
}

/// New citations, held against the indexed code.
#[derive(Debug, Default)]
pub(crate) struct CheckedNew {
    /// Those that hold, and those that nothing is known of yet.
    pub citations: Vec<Citation>,
    /// Those of what is in no indexed repository.
    pub unknown: Vec<UnknownCitation>,
}

/// Holds new citations against the indexed code; nothing is written.
pub(crate) async fn check_new(
    store: &Store,
    project: ProjectId,
    new: &[NewCitation],
) -> Result<CheckedNew, Error> {
    let mut code = Code::default();
    let mut checked = CheckedNew::default();
    let mut is_indexed: Option<bool> = None;
    for draft in new.iter().map(draft) {
        let found = code.check(store, project, &draft).await?;
        if found.verdict != Verdict::Fresh {
            let known = match is_indexed {
                Some(known) => known,
                None => *is_indexed.insert(citations::is_indexed(store, project).await?),
            };
            if known {
                match second_look(&mut code, store, project, &draft, found).await? {
                    Ok(citation) => checked.citations.push(citation),
                    Err(unknown) => checked.unknown.push(unknown),
                }
                continue;
            }
        }
        checked.citations.push(found);
    }
    Ok(checked)
}

/// A citation that the index does not bear out as it was written: as it was meant, where that is
/// plain, else as it is kept, or left out.
async fn second_look(
    code: &mut Code,
    store: &Store,
    project: ProjectId,
    draft: &Citation,
    found: Citation,
) -> Result<Result<Citation, UnknownCitation>, Error> {
    let Some(unknown) = unknown::tell(store, project, draft, &found).await? else {
        return Ok(Ok(found));
    };
    if let Some(meant) = unknown::meant(store, project, draft).await? {
        let found = code.check(store, project, &meant).await?;
        if found.verdict == Verdict::Fresh {
            return Ok(Ok(found));
        }
    }
    Ok(Err(unknown))
}

fn draft(new: &NewCitation) -> Citation {
    Citation {
        id: CitationId::generate(),
        record: RecordId::generate(),
        file_path: plain_path(&new.file),
        symbol: new.symbol.clone(),
        lines: new.lines,
        commit: new.commit.clone(),
        content_hash: new.content_hash.clone(),
        verdict: Verdict::Unchecked,
        checked_at: None,
        outdated: true,
    }
}

/// A path as the indexer writes it: `/` between parts, nothing before the first.
fn plain_path(path: &str) -> String {
    path.replace('\\', "/").trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// Re-checks those of the citations whose code may have changed since their last check, notes what
/// was found, and sets the records stale or active accordingly. Answers all citations of the
/// records as they are now.
pub async fn recheck_records(
    store: &Store,
    project: ProjectId,
    ids: &[RecordId],
) -> Result<(HashMap<RecordId, Vec<Citation>>, RecheckReport), Error> {
    let (by_record, looked_at) = look(store, project, ids).await?;
    let mut done = RecheckReport { records: by_record.len(), ..RecheckReport::default() };
    write(store, &looked_at, &mut done).await?;
    Ok((by_record, done))
}

/// What [`recheck_records`] would change; nothing is written.
pub async fn preview_recheck(
    store: &Store,
    project: ProjectId,
    ids: &[RecordId],
) -> Result<RecheckReport, Error> {
    let (by_record, _) = look(store, project, ids).await?;
    let mut would = RecheckReport { records: by_record.len(), ..RecheckReport::default() };
    for record in records::by_ids(store, ids).await? {
        let cited = by_record.get(&record.id).map_or(&[][..], Vec::as_slice);
        match (record.state, is_stale(cited)) {
            (RecordState::Active, Some(true)) => would.turned_stale += 1,
            (RecordState::Stale, Some(false)) => would.turned_active += 1,
            _ => {}
        }
    }
    Ok(would)
}

/// All citations of the records as they are now, and those that were checked for that.
async fn look(
    store: &Store,
    project: ProjectId,
    ids: &[RecordId],
) -> Result<(HashMap<RecordId, Vec<Citation>>, Vec<Citation>), Error> {
    let mut code = Code::default();
    let mut looked_at = Vec::new();
    let mut by_record: HashMap<RecordId, Vec<Citation>> = HashMap::new();
    for mut citation in citations::of_records(store, ids).await? {
        if citation.outdated {
            citation = code.check(store, project, &citation).await?;
            looked_at.push(citation.clone());
        }
        by_record.entry(citation.record).or_default().push(citation);
    }
    Ok((by_record, looked_at))
}

/// What records cite, with the verdicts of the last check.
pub(crate) async fn last_known(
    store: &Store,
    ids: &[RecordId],
) -> Result<HashMap<RecordId, Vec<Citation>>, Error> {
    let mut by_record: HashMap<RecordId, Vec<Citation>> = HashMap::new();
    for citation in citations::of_records(store, ids).await? {
        by_record.entry(citation.record).or_default().push(citation);
    }
    Ok(by_record)
}

/// Re-checks every record that cites one of these files: to be called with the paths that a
/// re-index changed, added or deleted.
pub async fn recheck_files(
    store: &Store,
    project: ProjectId,
    paths: &[String],
) -> Result<RecheckReport, Error> {
    let ids = citations::records_citing(store, project, paths).await?;
    Ok(recheck_records(store, project, &ids).await?.1)
}

/// Notes the checks. The states follow from the citations as the transaction finds them: someone
/// may have saved others since they were read.
async fn write(store: &Store, checked: &[Citation], done: &mut RecheckReport) -> Result<(), Error> {
    if checked.is_empty() {
        return Ok(());
    }
    let records: HashSet<_> = checked.iter().map(|citation| citation.record).collect();
    let records: Vec<_> = records.into_iter().collect();
    let mut tx = store.begin().await?;
    records::lock(&mut tx, &records).await?;
    for citation in checked {
        citations::record_check(&mut tx, citation).await?;
    }
    for (_, stale) in citations::derive_states(&mut tx, &records).await? {
        *(if stale { &mut done.turned_stale } else { &mut done.turned_active }) += 1;
    }
    tx.commit().await?;
    Ok(())
}

/// Whether a record with these citations is stale; `None` when they don't decide it.
pub(crate) fn is_stale(citations: &[Citation]) -> Option<bool> {
    let is_bad = |c: &Citation| matches!(c.verdict, Verdict::Drifted | Verdict::Orphaned);
    if citations.iter().any(is_bad) {
        return Some(true);
    }
    let all_fresh = citations.iter().all(|c| c.verdict == Verdict::Fresh);
    (all_fresh && !citations.is_empty()).then_some(false)
}

/// Indexed code, each path read once.
#[derive(Default)]
struct Code {
    files: HashMap<String, Vec<Vec<String>>>,
}

impl Code {
    async fn check(
        &mut self,
        store: &Store,
        project: ProjectId,
        citation: &Citation,
    ) -> Result<Citation, Error> {
        let path = &citation.file_path;
        if !self.files.contains_key(path) {
            let files = citations::file_lines(store, project, path).await?;
            self.files.insert(path.clone(), files);
        }
        let hash = citation.content_hash.as_deref();
        let spans = match &citation.symbol {
            Some(symbol) => citations::symbol_spans(store, project, symbol, path, hash).await?,
            None => Vec::new(),
        };
        Ok(check(citation, &CodeView { files: &self.files[path], spans: &spans }))
    }
}
