//! Bundles: the results of recalls, their callers, and the items that were used.

use mc_domain::{
    AuditAction, BundleId, BundleSection, ClientSession, DialogId, DocId, Handle, PassageId,
    ProjectId, RecordId,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::audit::NewEvent;
use crate::error::retry_on_deadlock;
use crate::records::{self, DEFAULT_TTL_DAYS, NO_END};
use crate::row::uuids;
use crate::{Result, Store, Tx, audit};

/// A bundle to store.
#[derive(Debug, Clone)]
pub struct NewBundle {
    /// Identifier, as returned to the caller.
    pub id: BundleId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// The caller's login.
    pub principal: String,
    /// Session of the recall, which is stored with its first bundle in the project.
    pub session: Option<ClientSession>,
    /// Whether the recall is of a control group: the caller shows it to no model.
    pub is_control: bool,
    /// Version of the system prompt that the caller has.
    pub prompt_version: Option<i32>,
    /// The sanitized request.
    pub request: serde_json::Value,
    /// Confidence of the result, 0 to 1.
    pub confidence: f32,
    /// Size of the returned text in tokens.
    pub token_count: i32,
    /// Retrievers that were left out.
    pub degraded: Vec<String>,
    /// Contents in the order shown.
    pub items: Vec<BundleItem>,
    /// The handle of each item in this bundle.
    pub handles: Vec<Handle>,
}

/// A recalled record, document or passage in a bundle.
#[derive(Debug, Clone)]
pub struct BundleItem {
    /// Part of the bundle.
    pub section: BundleSection,
    /// The record, if the item is one.
    pub record: Option<RecordId>,
    /// The document, if the item is one.
    pub doc: Option<DocId>,
    /// The passage that the search found.
    pub passage: PassageId,
    /// Final score.
    pub score: f32,
}

/// Stores bundles of one caller and project with their items and sessions. Counts a recall of each
/// record in them, and extends the expiry of records without an explicit one, except for bundles of
/// a control group. Call it once per transaction.
///
/// Repeating the call with stored bundles changes nothing. Nothing is stored for a deleted project;
/// a deleted record or document only loses its reference.
pub async fn insert(tx: &mut Tx, project: ProjectId, all: &[&NewBundle]) -> Result<()> {
    let rows = all.iter().map(|bundle| row(bundle)).collect();
    let items = all.iter().flat_map(|bundle| item_rows(bundle)).collect();
    let records = all.iter().flat_map(|bundle| &bundle.items).filter_map(|item| item.record);
    let records: Vec<_> = records.map(|record| record.0).collect();
    let stored = insert_rows(tx, project, rows, items, &records).await?;
    for bundle in all.iter().filter(|bundle| stored.contains(&bundle.id.0)) {
        audit::record(tx, recalled(bundle));
    }
    Ok(())
}

/// Inserts the rows of [`insert`]; returns the ids of the new bundles.
async fn insert_rows(
    tx: &mut Tx,
    project: ProjectId,
    bundles: Vec<Value>,
    items: Vec<Value>,
    records: &[Uuid],
) -> Result<Vec<Uuid>> {
    // The user whose handles these are.
    let caller = tx.principal().map(|user| user.0);
    // All statements lock records in one order before they change any, and the items' references,
    // which lock the records too, are checked at the end: two recalls of the same records can't
    // deadlock. `ttl` is indexed; it moves by whole days, so that most recalls leave the indexes
    // alone. Records and documents deleted since the response are looked up by key: a deletion
    // during this statement fails it, and the retry finds the row gone.
    Ok(sqlx::query_scalar!(
        r#"with kept as (
             insert into bundles (id, project_id, principal, request, confidence, token_count,
                 degraded, user_id, session_id, is_control, prompt_version)
             select new.id, p.id, new.principal, new.request, new.confidence, new.token_count,
                 new.degraded, $6, new.session_id, new.is_control, new.prompt_version
             from projects p, jsonb_to_recordset($2) as new (
                 id uuid, principal text, request jsonb, confidence real, token_count int,
                 degraded text[], session_id uuid, is_control boolean, prompt_version int)
             where p.id = $1
             on conflict (id) do nothing returning id, session_id, is_control),
         session as (
             insert into client_sessions (project_id, user_id, id, started_at)
             select $1, $6, kept.session_id, min(new.session_started_at)
             from kept join jsonb_to_recordset($2) as new (id uuid, session_started_at timestamptz)
                 on new.id = kept.id
             where kept.session_id is not null and $6::uuid is not null
             group by kept.session_id order by kept.session_id
             on conflict (project_id, user_id, id) do nothing),
         item as materialized (
             select item.*, kept.is_control from kept join jsonb_to_recordset($3) as item (
                 bundle_id uuid, position int, section text, record_id uuid, doc_id uuid,
                 passage_id uuid, score real, handle text) on item.bundle_id = kept.id),
         recalled as materialized (
             select record_id, count(distinct bundle_id)::int as hits from item
             where record_id is not null and not is_control group by record_id),
         held as materialized (
             select r.id, recalled.hits,
                    coalesce((p.policy #>> array['ttl_days', r.kind])::int,
                             case when r.kind in ('fact', 'fewshot') then $4::int end) as days
             from recalled join memory_records r on r.id = recalled.record_id, projects p
             where r.id = any($7) and p.id = $1
                 -- The expiry of a proposal does not move.
                 and r.visibility <> 'proposed'
             order by r.id for no key update of r),
         hit as (
             update memory_records r set recall_count = r.recall_count + held.hits,
                 last_recalled_at = now(),
                 ttl = case when is_ttl_explicit
                     or ttl > now() + make_interval(days => held.days - 1) then ttl
                       else coalesce(now() + make_interval(days => held.days), $5) end
             from held where r.id = held.id),
         items as (
             insert into bundle_items (bundle_id, project_id, position, section, record_id, doc_id,
                 passage_id, score, handle)
             select bundle_id, $1, position, section,
                    (select r.id from memory_records r where r.id = item.record_id),
                    (select d.id from docs d where d.id = item.doc_id), passage_id, score, handle
             from item)
         select id from kept"#,
        project.0,
        Value::Array(bundles),
        Value::Array(items),
        DEFAULT_TTL_DAYS,
        NO_END,
        caller,
        records
    )
    .fetch_all(&mut *tx.0)
    .await?)
}

/// A bundle by the names of its columns.
fn row(bundle: &NewBundle) -> Value {
    json!({
        "id": bundle.id,
        "principal": bundle.principal,
        "request": bundle.request,
        "confidence": bundle.confidence,
        "token_count": bundle.token_count,
        "degraded": bundle.degraded,
        "session_id": bundle.session.map(|session| session.id),
        "session_started_at": bundle.session.map(|session| session.started_at),
        "is_control": bundle.is_control,
        "prompt_version": bundle.prompt_version,
    })
}

/// The bundle's items by the names of their columns.
fn item_rows(bundle: &NewBundle) -> impl Iterator<Item = Value> {
    debug_assert_eq!(bundle.items.len(), bundle.handles.len(), "each item has its handle");
    let numbered = bundle.items.iter().zip(&bundle.handles).enumerate();
    numbered.map(|(position, (item, handle))| {
        json!({
            "bundle_id": bundle.id,
            "position": position,
            "section": item.section.as_str(),
            "record_id": item.record,
            "doc_id": item.doc,
            "passage_id": item.passage,
            "score": item.score,
            "handle": handle.to_string(),
        })
    })
}

/// The audit event of a recall, with the items that may now be in a prompt.
fn recalled(bundle: &NewBundle) -> NewEvent {
    let part = |item: &BundleItem| {
        let of = item.record.map(|id| id.0).or(item.doc.map(|id| id.0)).unwrap_or(item.passage.0);
        json!([item.section.as_str(), of])
    };
    let items: Vec<_> = bundle.items.iter().map(part).collect();
    let mut detail =
        json!({ "items": items, "token_count": bundle.token_count, "by": bundle.principal });
    if bundle.is_control {
        detail["is_control"] = true.into();
    }
    NewEvent::new(AuditAction::Recalled, bundle.id).with(detail)
}

/// An item of a bundle with its handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedItem {
    /// The handle in the bundle.
    pub handle: Handle,
    /// The record, if the item is one that still exists.
    pub record: Option<RecordId>,
    /// The document, if the item is one that still exists.
    pub doc: Option<DocId>,
    /// The dialog, if the item is a passage of one that still exists.
    pub dialog: Option<DialogId>,
    /// The passage that the search found; it may be deleted.
    pub passage: Option<PassageId>,
}

/// Returns a bundle with its items in the order shown: the bundle with this id, or else the newest
/// one with items that is not of a control group. Only bundles of the store's principal in the
/// project count; `None` if there is none.
pub async fn named_items(
    store: &Store,
    project: ProjectId,
    bundle: Option<BundleId>,
) -> Result<Option<(BundleId, Vec<NamedItem>)>> {
    let caller = store.principal().map(|user| user.0);
    let rows = sqlx::query!(
        r#"with b as (
             select id from bundles
             where project_id = $1 and user_id = $2 and ($3::uuid is null or id = $3)
               and ($3 is not null or not is_control and exists (
                   select from bundle_items i where i.bundle_id = bundles.id))
             order by id desc limit 1)
           select b.id, i.handle as "handle?", i.record_id, i.doc_id, i.passage_id,
                  p.dialog_id as "dialog_id?"
           from b left join bundle_items i on i.bundle_id = b.id
               left join passages p on p.id = i.passage_id
           order by i.position"#,
        project.0,
        caller,
        bundle.map(|id| id.0)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let Some(id) = rows.first().map(|row| BundleId(row.id)) else { return Ok(None) };
    let item = |handle: Option<String>| handle.and_then(|handle| handle.parse().ok());
    let items = rows.into_iter().filter_map(|row| {
        Some(NamedItem {
            handle: item(row.handle)?,
            record: row.record_id.map(RecordId),
            doc: row.doc_id.map(DocId),
            dialog: row.dialog_id.map(DialogId),
            passage: row.passage_id.map(PassageId),
        })
    });
    Ok(Some((id, items.collect())))
}

/// Marks items of a bundle as used, by the id of their record, document or passage, and counts a
/// use of each record that was not marked before. Returns the `ids` that are in the bundle; `None`
/// if there is no such bundle. Retried on a deadlock with the deletion of the project.
pub async fn mark_used(store: &Store, bundle: BundleId, ids: &[Uuid]) -> Result<Option<Vec<Uuid>>> {
    retry_on_deadlock(|| mark(store, bundle, ids)).await
}

async fn mark(store: &Store, bundle: BundleId, ids: &[Uuid]) -> Result<Option<Vec<Uuid>>> {
    let mut tx = store.begin().await?;
    let bundle_id =
        sqlx::query_scalar!("select id from bundles where id = $1 for no key update", bundle.0)
            .fetch_optional(&mut *tx.0)
            .await?;
    if bundle_id.is_none() {
        return Ok(None);
    }
    let items = sqlx::query!(
        r#"select position, record_id, doc_id, passage_id, is_used is true as "used!"
           from bundle_items
           where bundle_id = $1
             and (record_id = any($2) or doc_id = any($2) or passage_id = any($2))"#,
        bundle.0,
        ids
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let positions: Vec<_> = items.iter().map(|i| i.position).collect();
    let newly_used: Vec<_> =
        items.iter().filter(|i| !i.used).filter_map(|i| i.record_id.map(RecordId)).collect();
    count_used(&mut tx, bundle, &positions, &newly_used).await?;
    // Ids outside the bundle were not used, and the audit does not repeat arbitrary input.
    let found: Vec<_> = ids
        .iter()
        .copied()
        .filter(|id| {
            let id = Some(*id);
            items.iter().any(|i| i.record_id == id || i.doc_id == id || i.passage_id == id)
        })
        .collect();
    let event = NewEvent::new(AuditAction::FeedbackRecorded, bundle).with(json!({ "ids": found }));
    audit::record(&mut tx, event);
    tx.commit().await?;
    Ok(Some(found))
}

/// Counts the used records of a bundle. The first feedback about a bundle counts its other records
/// as skipped; later feedback can take that back.
async fn count_used(
    tx: &mut Tx,
    bundle: BundleId,
    positions: &[i32],
    newly_used: &[RecordId],
) -> Result<()> {
    let items = sqlx::query_scalar!(
        r#"select record_id as "id!" from bundle_items where bundle_id = $1
               and record_id is not null"#,
        bundle.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    // Before the items: the deletion of a record or document locks it first, and then removes it
    // from the items.
    records::lock(tx, &items.iter().map(|id| RecordId(*id)).collect::<Vec<_>>()).await?;
    tx.run(sqlx::query!(
        "select from docs where id in (select doc_id from bundle_items where bundle_id = $1)
         order by id for key share",
        bundle.0
    ))
    .await?;
    tx.run(sqlx::query!(
        "update bundle_items set is_used = true, used_at = now()
         where bundle_id = $1 and position = any($2) and is_used is not true",
        bundle.0,
        positions
    ))
    .await?;
    tx.run(sqlx::query!(
        "insert into bundle_uses (project_id, bundle_id, record_id, doc_id, kind)
         select project_id, bundle_id, record_id, case when record_id is null then doc_id
             end, 'feedback'
         from bundle_items
         where bundle_id = $1 and position = any($2) and coalesce(record_id, doc_id) is not null
         on conflict do nothing",
        bundle.0,
        positions
    ))
    .await?;
    let is_first = sqlx::query!(
        "update bundles set feedback_at = now() where id = $1 and feedback_at is null",
        bundle.0
    )
    .execute(&mut *tx.0)
    .await?
    .rows_affected()
        == 1;
    tx.run(sqlx::query!(
        "update memory_records r set
             use_count = use_count + case when r.id = any($2) then 1 else 0 end,
             last_used_at = case when r.id = any($2) then now() else last_used_at end,
             skip_count = case when not $3 then greatest(skip_count - 1, 0)
                                when r.id = any($2) then skip_count else skip_count + 1 end
         where r.id = any($1) and (r.id = any($2) or $3)",
        &items,
        &uuids(newly_used),
        is_first
    ))
    .await
}
