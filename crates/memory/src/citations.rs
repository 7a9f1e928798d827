//! Checking citations against the indexed code: at save, at recall and after a re-index.

mod check;
mod unknown;

use std::collections::{HashMap, HashSet};

use mc_contract::operations::save::{CitationInput, UnknownCitation};
use mc_contract::text::Sha256;
use mc_domain::{CitationId, CitationVerdict, ProjectId, RecordId, RecordState};
use mc_store::Store;
use mc_store::citations::{self, Citation};
use mc_store::records;

use serde::{Deserialize, Serialize};

pub use check::{CodeView, check, hash_lines};

use crate::Error;

/// A citation as its sender states it: a place in the code.
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

impl From<&CitationInput> for NewCitation {
    fn from(citation: &CitationInput) -> Self {
        Self {
            file: citation.file.as_str().to_owned(),
            symbol: citation.symbol.as_ref().map(|symbol| symbol.as_str().to_owned()),
            lines: citation.lines(),
            commit: citation.commit.as_ref().map(|commit| commit.as_str().to_owned()),
            content_hash: citation.content_hash.as_ref().map(Sha256::to_bytes),
        }
    }
}

/// Report of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecheckReport {
    /// Records whose citations were checked.
    pub records: usize,
    /// Records that turned stale.
    pub turned_stale: usize,
    /// Records that turned active again.
    pub turned_active: usize,
}

/// New citations, checked against the indexed code.
#[derive(Debug, Default)]
pub(crate) struct CheckedNew {
    /// Citations that exist, and those that the index cannot decide yet.
    pub citations: Vec<Citation>,
    /// Citations of places that no indexed repository has.
    pub unknown: Vec<UnknownCitation>,
}

/// Checks new citations against the indexed code without writing anything.
pub(crate) async fn check_new(
    store: &Store,
    project: ProjectId,
    new: &[NewCitation],
) -> Result<CheckedNew, Error> {
    let mut code = Code::new(store, project);
    let mut checked = CheckedNew::default();
    let mut is_indexed: Option<bool> = None;
    for draft in new.iter().map(draft) {
        let found = code.check(&draft).await?;
        if found.verdict != CitationVerdict::Fresh {
            let known = match is_indexed {
                Some(known) => known,
                None => *is_indexed.insert(citations::is_indexed(store, project).await?),
            };
            if known {
                match code.resolve_unknown(&draft, found).await? {
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

fn draft(new: &NewCitation) -> Citation {
    Citation {
        id: CitationId::generate(),
        record: RecordId::generate(),
        file_path: plain_path(&new.file),
        symbol: new.symbol.clone(),
        lines: new.lines,
        commit: new.commit.clone(),
        content_hash: new.content_hash.clone(),
        verdict: CitationVerdict::Unchecked,
        checked_at: None,
        outdated: true,
    }
}

/// Normalizes a path as the indexer does: `/` between parts, no leading separator.
fn plain_path(path: &str) -> String {
    path.replace('\\', "/").trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// Checks citations whose code may have changed since their last check, stores the verdicts and
/// updates the records' states. Returns all citations of the records as they are now.
pub async fn recheck_records(
    store: &Store,
    project: ProjectId,
    ids: &[RecordId],
) -> Result<(HashMap<RecordId, Vec<Citation>>, RecheckReport), Error> {
    let (by_record, checked) = check_outdated(store, project, ids).await?;
    let mut report = RecheckReport { records: by_record.len(), ..RecheckReport::default() };
    write(store, &checked, &mut report).await?;
    Ok((by_record, report))
}

/// Returns what [`recheck_records`] would change, without writing anything.
pub async fn preview_recheck(
    store: &Store,
    project: ProjectId,
    ids: &[RecordId],
) -> Result<RecheckReport, Error> {
    let (by_record, _) = check_outdated(store, project, ids).await?;
    let mut report = RecheckReport { records: by_record.len(), ..RecheckReport::default() };
    for record in records::by_ids(store, ids).await? {
        let cited = by_record.get(&record.id).map_or(&[][..], Vec::as_slice);
        match (record.state, is_stale(cited)) {
            (RecordState::Active, Some(true)) => report.turned_stale += 1,
            (RecordState::Stale, Some(false)) => report.turned_active += 1,
            _ => {}
        }
    }
    Ok(report)
}

/// Returns all citations of the records as they are now, and those that were checked for that.
async fn check_outdated(
    store: &Store,
    project: ProjectId,
    ids: &[RecordId],
) -> Result<(HashMap<RecordId, Vec<Citation>>, Vec<Citation>), Error> {
    let mut code = Code::new(store, project);
    let mut checked = Vec::new();
    let mut by_record: HashMap<RecordId, Vec<Citation>> = HashMap::new();
    for mut citation in citations::of_records(store, ids).await? {
        if citation.outdated {
            citation = code.check(&citation).await?;
            checked.push(citation.clone());
        }
        by_record.entry(citation.record).or_default().push(citation);
    }
    Ok((by_record, checked))
}

/// Returns the citations of records with the verdicts of the last check.
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

/// Checks all records that cite one of these files, which a re-index changed, added or deleted.
pub async fn recheck_files(
    store: &Store,
    project: ProjectId,
    paths: &[String],
) -> Result<RecheckReport, Error> {
    let ids = citations::records_citing(store, project, paths).await?;
    Ok(recheck_records(store, project, &ids).await?.1)
}

/// Stores the verdicts. States are derived from the citations in the transaction, as a save may
/// have replaced them since they were read.
async fn write(
    store: &Store,
    checked: &[Citation],
    report: &mut RecheckReport,
) -> Result<(), Error> {
    if checked.is_empty() {
        return Ok(());
    }
    let records: HashSet<_> = checked.iter().map(|citation| citation.record).collect();
    let records = Vec::from_iter(records);
    let mut tx = store.begin().await?;
    records::lock(&mut tx, &records).await?;
    for citation in checked {
        citations::record_check(&mut tx, citation).await?;
    }
    for (_, stale) in citations::derive_states(&mut tx, &records).await? {
        report.turned_stale += usize::from(stale);
        report.turned_active += usize::from(!stale);
    }
    tx.commit().await?;
    Ok(())
}

/// Whether cited code changed or is gone.
pub(crate) fn has_changed(verdict: CitationVerdict) -> bool {
    matches!(verdict, CitationVerdict::Drifted | CitationVerdict::Orphaned)
}

/// Whether a record with these citations is stale; `None` if they do not decide it.
pub(crate) fn is_stale(citations: &[Citation]) -> Option<bool> {
    if citations.iter().any(|citation| has_changed(citation.verdict)) {
        return Some(true);
    }
    let all_fresh = citations.iter().all(|c| c.verdict == CitationVerdict::Fresh);
    (all_fresh && !citations.is_empty()).then_some(false)
}

/// Indexed code of a project, of which each path is read once.
struct Code<'a> {
    store: &'a Store,
    project: ProjectId,
    files: HashMap<String, Vec<Vec<String>>>,
}

impl<'a> Code<'a> {
    fn new(store: &'a Store, project: ProjectId) -> Self {
        Self { store, project, files: HashMap::new() }
    }

    async fn check(&mut self, citation: &Citation) -> Result<Citation, Error> {
        let Self { store, project, files } = self;
        let path = &citation.file_path;
        if !files.contains_key(path) {
            files.insert(path.clone(), citations::file_lines(store, *project, path).await?);
        }
        let hash = citation.content_hash.as_deref();
        let spans = match &citation.symbol {
            Some(symbol) => citations::symbol_spans(store, *project, symbol, path, hash).await?,
            None => Vec::new(),
        };
        Ok(check(citation, &CodeView { files: &files[path], spans: &spans }))
    }

    /// Resolves a citation that the index lacks: as meant if that is clear, else as it is or
    /// unknown.
    async fn resolve_unknown(
        &mut self,
        draft: &Citation,
        found: Citation,
    ) -> Result<Result<Citation, UnknownCitation>, Error> {
        let Some(unknown) = unknown::describe(self.store, self.project, draft, &found).await?
        else {
            return Ok(Ok(found));
        };
        if let Some(meant) = unknown::resolve(self.store, self.project, draft).await? {
            let found = self.check(&meant).await?;
            if found.verdict == CitationVerdict::Fresh {
                return Ok(Ok(found));
            }
        }
        Ok(Err(unknown))
    }
}
