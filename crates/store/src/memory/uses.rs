//! Evidence that items of bundles were used, once per bundle and kind. A recall without feedback is
//! no evidence either way.

use mc_domain::{DocId, ProjectId, RecordId};

use crate::row::uuids;
use crate::{Result, Store, Tx};

/// Hours after a recall in which an opened or saved item is attributed to it.
const SESSION_HOURS: i32 = 12;
/// Days after a recall in which a merged pull request is attributed to it.
const PULL_REQUEST_DAYS: i32 = 14;

/// An opened item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// A record, by its id.
    Record(RecordId),
    /// A document.
    Doc(DocId),
}

/// A location in the code: path, qualified name, first and last line.
pub type CitedPlace = (String, Option<String>, Option<(i32, i32)>);

/// The references in a save.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cites {
    /// Ids of records, documents or passages.
    pub ids: Vec<uuid::Uuid>,
    /// URLs in the note, as written.
    pub urls: Vec<String>,
    /// Cited locations.
    pub places: Vec<CitedPlace>,
}

impl Cites {
    /// Returns whether there are no references.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.urls.is_empty() && self.places.is_empty()
    }
}

/// Records that the store's principal opened an item, in the newest of their bundles that has it.
pub async fn record_opened(store: &Store, project: ProjectId, item: Opened) -> Result<()> {
    // Only users have bundles, the background has none.
    let Some(user) = store.principal() else { return Ok(()) };
    let (record, doc) = match item {
        Opened::Record(id) => (Some(id.0), None),
        Opened::Doc(id) => (None, Some(id.0)),
    };
    let mut tx = store.begin().await?;
    tx.run(sqlx::query!(
        "with held as (
             select i.bundle_id from bundle_items i join bundles b on b.id = i.bundle_id
             where i.project_id = $1 and (i.record_id = $2 or i.doc_id = $3) and b.user_id = $4
                 and not b.is_control and b.created_at > now() - make_interval(hours => $5)
             order by b.created_at desc limit 1),
         seen as (
             insert into bundle_uses (project_id, bundle_id, record_id, doc_id, kind)
             select $1, bundle_id, $2, $3, 'opened' from held
             on conflict do nothing returning record_id)
         update memory_records r set open_count = open_count + 1, last_used_at = now() from seen
             where r.id = seen.record_id",
        project.0,
        record,
        doc,
        user.0,
        SESSION_HOURS
    ))
    .await?;
    tx.commit().await
}

/// Records that a save of the store's principal refers to items of their bundles, in the newest
/// bundle of each. `excluded` are the saved record and those that it superseded; they did not help.
pub async fn record_cited(
    store: &Store,
    project: ProjectId,
    excluded: &[RecordId],
    cites: &Cites,
) -> Result<()> {
    let Some(user) = store.principal() else { return Ok(()) };
    let files: Vec<_> = cites.places.iter().map(|place| place.0.clone()).collect();
    let symbols: Vec<_> = cites.places.iter().map(|place| place.1.clone()).collect();
    let first: Vec<_> = cites.places.iter().map(|place| place.2.map(|lines| lines.0)).collect();
    let last: Vec<_> = cites.places.iter().map(|place| place.2.map(|lines| lines.1)).collect();
    let mut tx = store.begin().await?;
    tx.run(sqlx::query!(
        "with item as (
             select i.bundle_id, i.record_id, case when i.record_id is null then i.doc_id
                 end as doc_id,
                    i.passage_id, b.created_at
             from bundles b join bundle_items i on i.bundle_id = b.id
             where b.project_id = $1 and b.user_id = $2 and not b.is_control
                 and b.created_at > now() - make_interval(hours => $3)
                 and coalesce(i.record_id, i.doc_id) is not null
                 and (i.record_id is null or i.record_id <> all($4))),
         place as (
             select * from unnest($7::text[], $8::text[], $9::int[], $10::int[]) as p (file,
                 symbol, first, last)),
         named as (
             select i.* from item i
             where i.record_id = any($5) or i.doc_id = any($5) or i.passage_id = any($5)
             union
             select i.* from item i join docs d on d.id = i.doc_id where d.url = any($6)
             union
             select i.* from item i
             join record_citations c on c.record_id = i.record_id
             join place p on p.file = c.file_path
                 and (p.symbol = c.symbol or (p.first <= c.line_end and p.last >= c.line_start))),
         newest as (
             select distinct on (coalesce(record_id, doc_id)) bundle_id, record_id, doc_id
             from named order by coalesce(record_id, doc_id), created_at desc),
         seen as (
             insert into bundle_uses (project_id, bundle_id, record_id, doc_id, kind)
             select $1, bundle_id, record_id, doc_id, 'cited' from newest
             on conflict do nothing returning record_id),
         held as materialized (
             select r.id from memory_records r join seen on seen.record_id = r.id order by r.id
                 for no key update of r)
         update memory_records r set cite_count = cite_count + 1, last_used_at = now() from held
             where r.id = held.id",
        project.0,
        user.0,
        SESSION_HOURS,
        &uuids(excluded),
        &cites.ids,
        &cites.urls,
        &files,
        &symbols as &[Option<String>],
        &first as &[Option<i32>],
        &last as &[Option<i32>]
    ))
    .await?;
    tx.commit().await
}

/// Records that a merged pull request touched files cited by recalled records: the files whose text
/// was indexed at the merge commit. The event and the indexing may come in either order. A commit
/// at which all of a repository was read is no evidence.
pub(crate) async fn record_merged(tx: &mut Tx, project: ProjectId, sha: &str) -> Result<()> {
    tx.run(sqlx::query!(
        "with touched as (
             select distinct f.path from files f
             where f.project_id = $1 and f.source_ref = $2
                 and exists (select from pull_requests c
                             where c.project_id = $1 and c.merge_sha = $2 and c.state = 'merged')
                 and exists (select from files o
                             where o.repository_id = f.repository_id and o.source_ref <> $2)),
         held as (
             select distinct on (i.record_id) i.record_id, i.bundle_id
             from touched t
             join record_citations c on c.project_id = $1 and c.file_path = t.path
             join bundle_items i on i.record_id = c.record_id
             join bundles b on b.id = i.bundle_id
             where not b.is_control and b.created_at > now() - make_interval(days => $3)
             order by i.record_id, b.created_at desc),
         seen as (
             insert into bundle_uses (project_id, bundle_id, record_id, kind)
             select $1, bundle_id, record_id, 'merged' from held
             on conflict do nothing returning record_id),
         locked as materialized (
             select r.id from memory_records r join seen on seen.record_id = r.id order by r.id
                 for no key update of r)
         update memory_records r set pull_request_count = pull_request_count + 1,
             last_used_at = now() from locked where r.id = locked.id",
        project.0,
        sha,
        PULL_REQUEST_DAYS
    ))
    .await
}
