//! A new record, with all that search sees of it.

use mc_domain::{PassageId, ProjectId, RecordId, RecordKind};

use super::{Record, RecordBody, Row};
use crate::passages::{NewPassage, content_hash};
use crate::vectors::Model;
use crate::{Error, Tx};

/// Adds a record with its passage and, where there is one, the vector of that passage's text: one
/// statement, so that the passage of a record that brings its vector never waits in the queue.
pub async fn create(
    tx: &mut Tx,
    project: ProjectId,
    body: &RecordBody,
    passage: &NewPassage,
    vector: Option<(&Model, &[f32])>,
) -> Result<Record, Error> {
    let (model, vector) = vector.map_or((None, None), |(m, v)| (Some(m.id), Some(v)));
    let row = sqlx::query_as!(
        Row,
        r#"with record as (
               insert into memory_records (id, project_id, task_id, dialog_id, kind, title, content,
                   scope, tags, owner, ttl, ttl_given, quality, meta, content_hash, simhash)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
               returning *),
           passage as (
               insert into passages (id, project_id, record_id, record_kind, title, place, symbols,
                   scope, tags, language, author, context, text, content_hash)
               values ($17, $2, $1, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)),
           vector as (
               insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash,
                   embedding)
               select $29, $17, $2, 'memory', $28, $30::real[]::vector
               where $29::smallint is not null)
           select r.id, r.project_id, r.task_id,
                  (select external_id from tasks t where t.id = r.task_id) as external_id,
                  r.dialog_id, r.kind, r.title, r.content, r.scope, r.tags, r.owner, r.ttl,
                  r.ttl_given, r.quality, r.meta, r.state, r.superseded_by, r.version, r.hits,
                  r.used, r.created_at, r.updated_at
           from record r"#,
        RecordId::generate().0,
        project.0,
        body.task.map(|t| t.0),
        body.dialog.map(|d| d.0),
        body.kind.as_str(),
        body.title.as_str(),
        body.content.as_str(),
        &body.scope,
        &body.tags,
        body.owner,
        body.ttl,
        body.ttl_given,
        body.quality,
        body.meta,
        body.content_hash,
        body.simhash.cast_signed(),
        PassageId::generate().0,
        passage.record_kind.map_or("", RecordKind::as_str),
        passage.title,
        passage.place,
        &passage.symbols,
        &passage.scope,
        &passage.tags,
        passage.language,
        passage.author,
        passage.context.as_str(),
        passage.text.as_str(),
        content_hash(passage),
        model,
        vector as Option<&[f32]>
    )
    .fetch_one(&mut *tx.0)
    .await?;
    row.into_record()
}
