//! The documents of records: the full texts that records summarize.

use std::collections::HashMap;

use mc_domain::{DocId, ProjectId, RecordId};

use super::NewDoc;
use crate::row::uuids;
use crate::{Result, Store, Tx};

/// Returns the `doc_id` under which a record's document is stored. An existing document of the
/// record keeps its id. A new one gets `doc.doc_id`, followed by the record's id if another record
/// uses it.
pub async fn id_for_record(
    tx: &mut Tx,
    project: ProjectId,
    doc: &NewDoc,
    record: RecordId,
) -> Result<String> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(
               (select d.doc_id from docs d
                where d.record_id = $4 and d.source = $2
                    and (d.doc_id = $3 or starts_with(d.doc_id, $3 || ':'))
                order by d.id desc limit 1),
               case when exists (select from docs d where d.project_id = $1 and d.source = $2
                   and d.doc_id = $3
                                     and d.record_id is not null)
                   then $3 || ':' || $4::uuid else $3 end) as "id!""#,
        project.0,
        doc.source,
        doc.doc_id,
        record.0
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Assigns a document to a record. Search finds it while it finds the record, and it is deleted
/// with the record.
pub async fn assign_to_record(tx: &mut Tx, id: DocId, record: RecordId) -> Result<()> {
    tx.run(sqlx::query!("update docs set record_id = $2 where id = $1", id.0, record.0)).await
}

/// Assigns the documents of a superseded record to its successor. A document whose text the
/// successor already has is deleted.
pub async fn transfer_superseded(tx: &mut Tx, from: RecordId, to: RecordId) -> Result<()> {
    tx.run(sqlx::query!(
        "delete from docs d using docs known
         where d.record_id = $1 and known.record_id = $2 and d.content = known.content",
        from.0,
        to.0
    ))
    .await?;
    tx.run(sqlx::query!("update docs set record_id = $2 where record_id = $1", from.0, to.0)).await
}

/// Returns the newest document of each record that has one.
pub async fn newest_of_records(
    store: &Store,
    records: &[RecordId],
) -> Result<HashMap<RecordId, DocId>> {
    let rows = sqlx::query!(
        r#"select distinct on (record_id) record_id as "record_id!", id from docs
           where record_id = any($1) order by record_id, id desc"#,
        &uuids(records)
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| (row.record_id.into(), row.id.into())).collect())
}
