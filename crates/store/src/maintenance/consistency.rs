//! Checks of derived data against its source, with repairs, a part at a time. The caller holds the
//! transaction, and rolls it back in a dry run.

use mc_domain::{DialogId, DocId, FileId, ProjectId, RecordId, RepositoryId};

use crate::docs::{Doc, MessageSpan};
use crate::error::{from_json, word};
use crate::row::{read, uuids};
use crate::{Result, Tx};

/// A searchable dialog without a correct passage.
#[derive(Debug)]
pub struct UnindexedDialog {
    /// Identifier.
    pub id: DialogId,
    /// The distilled text.
    pub distilled: String,
    /// Id of its task at the tracker.
    pub task: Option<String>,
}

/// A document with text and without a passage.
#[derive(Debug)]
pub struct UnindexedDoc {
    /// The document.
    pub doc: Doc,
    /// The messages of the text, if the document is a conversation and they are known.
    pub message_spans: Option<Vec<MessageSpan>>,
}

/// Deletes passages of records that search must not find: deleted, proposed, or expired for longer
/// than cleanup takes. Returns their records, and whether each is visible to others than its owner.
pub async fn delete_orphans(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<(RecordId, bool)>> {
    let rows = sqlx::query!(
        r#"delete from passages where id in (
               select p.id from passages p join memory_records r on r.id = p.record_id
               where p.project_id = $1 and (r.state not in ('active', 'stale')
                   or r.visibility = 'proposed'
                   or r.ttl < now() - interval '1 day')
               limit $2)
           returning record_id as "record!", private_to is null as "is_shared!""#,
        project.0,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(rows.into_iter().map(|row| (row.record.into(), row.is_shared)).collect())
}

/// Returns searchable records without a passage, or whose passage has another text or audience.
pub async fn list_unindexed_records(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<RecordId>> {
    let ids = sqlx::query_scalar!(
        "select r.id from memory_records r left join passages p on p.record_id = r.id
         where r.project_id = $1 and r.state in ('active', 'stale') and r.visibility <> 'proposed'
             and r.ttl > now()
             and (p.id is null or p.text <> r.content or p.private_to is distinct from r.private_to
                  or p.project_id <> r.project_id)
         order by r.id limit $2",
        project.0,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(ids.into_iter().map(RecordId::from).collect())
}

/// Deletes passages of dialogs that are not searchable; returns the dialogs. Undecided dialogs keep
/// theirs.
pub async fn remove_stray_dialogs(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<DialogId>> {
    let ids = sqlx::query_scalar!(
        r#"delete from passages where id in (
               select p.id from passages p join dialogs d on d.id = p.dialog_id
               where p.project_id = $1 and d.is_searchable is false limit $2)
           returning dialog_id as "dialog!""#,
        project.0,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(ids.into_iter().map(DialogId::from).collect())
}

/// Returns searchable dialogs without a passage or with one of another text, locked until the
/// transaction ends.
pub async fn list_unindexed_dialogs(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<UnindexedDialog>> {
    let rows = sqlx::query!(
        r#"select d.id, d.distilled, t.external_id as "task?"
           from dialogs d left join tasks t on t.id = d.task_id
               left join passages p on p.dialog_id = d.id
           where d.project_id = $1 and d.is_searchable
               and (p.id is null or p.text <> d.distilled or p.project_id <> d.project_id)
           order by d.id limit $2 for no key update of d"#,
        project.0,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    read!(each row in rows => UnindexedDialog { id: row.id.into(), distilled, task })
}

/// Returns documents with text and without a passage, locked until the transaction ends.
pub async fn list_unindexed_docs(
    tx: &mut Tx,
    project: ProjectId,
    after: Option<DocId>,
    limit: i64,
) -> Result<Vec<UnindexedDoc>> {
    let rows = sqlx::query!(
        r"select d.id, d.source, d.doc_id, d.title, d.url, d.content, d.scope, d.tags, d.trust,
              d.updated_at,
              d.message_spans
          from docs d
          where d.project_id = $1 and d.content ~ '\w' and d.id > $2
              and not exists (select from passages p where p.doc_id = d.id)
          order by d.id limit $3 for no key update",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let unindexed = rows.into_iter().map(|row| {
        let doc = read!(row => Doc {
            id: row.id.into(), source, doc_id, title, url, content, scope, tags,
            trust: word(&row.trust)?, updated_at
        });
        let spans = row.message_spans.map(|spans| from_json("docs.message_spans", spans));
        let message_spans = spans.transpose()?;
        Ok(UnindexedDoc { doc: doc?, message_spans })
    });
    unindexed.collect()
}

/// Deletes passages of code without a chunk, which has their lines; returns the files.
pub async fn remove_unplaced(tx: &mut Tx, project: ProjectId, limit: i64) -> Result<Vec<FileId>> {
    let ids = sqlx::query_scalar!(
        r#"delete from passages where id in (
               select p.id from passages p
               where p.project_id = $1 and p.file_id is not null
                 and not exists (select from code_chunks c where c.passage_id = p.id)
               limit $2)
           returning file_id as "file!""#,
        project.0,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(ids.into_iter().map(FileId::from).collect())
}

/// Makes the next index run chunk these files again; returns their repositories.
pub async fn mark_for_chunking(tx: &mut Tx, files: &[FileId]) -> Result<Vec<RepositoryId>> {
    let repositories = sqlx::query_scalar!(
        r#"with marked as (
               update files set content_hash = '\x' where id = any($1) returning repository_id)
           select distinct repository_id as "repository!" from marked order by 1"#,
        &uuids(files)
    )
    .fetch_all(&mut *tx.0)
    .await?;
    Ok(repositories.into_iter().map(RepositoryId::from).collect())
}

/// Queues passages without a current vector of any model for each model in use, unless they are
/// queued, except those that a transaction is deleting; returns the number of passages.
pub async fn queue_unembedded(tx: &mut Tx, project: ProjectId, limit: i64) -> Result<u64> {
    let queued = sqlx::query_scalar!(
        r#"with unqueued as (
               select p.id, p.project_id, p.private_to from passages p
               where p.project_id = $1
                   and not exists (select from embeddings e
                                   where e.passage_id = p.id and e.text_hash = p.content_hash)
                   and not exists (select from embedding_queue q where q.passage_id = p.id)
               limit $2
               for key share of p skip locked),
           queued as (
               insert into embedding_queue (passage_id, model_id, project_id, private_to)
               select p.id, m.id, p.project_id, p.private_to
               from unqueued p
               join embedding_models m on m.used_at > now() - interval '10 minutes'
               on conflict do nothing
               returning passage_id)
           select count(distinct passage_id) as "queued!" from queued"#,
        project.0,
        limit
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(queued.unsigned_abs())
}

/// Copies audience, kind of source and repository from passages to their vectors where they differ;
/// returns the number of changed vectors.
pub async fn sync_vector_visibility(tx: &mut Tx, project: ProjectId, limit: i64) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "with wrong as (
             select e.model_id, e.passage_id from embeddings e
                 join passages p on p.id = e.passage_id
             where p.project_id = $1
                 and (e.project_id, e.source_kind, e.repository_id, e.private_to)
                     is distinct from (p.project_id, p.source_kind, p.repository_id, p.private_to)
             limit $2)
         update embeddings e
         set project_id = p.project_id, source_kind = p.source_kind,
             repository_id = p.repository_id, private_to = p.private_to
         from wrong w join passages p on p.id = w.passage_id
         where e.model_id = w.model_id and e.passage_id = w.passage_id",
        project.0,
        limit
    ))
    .await
}
