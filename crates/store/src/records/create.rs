//! A new record, with all that search sees of it.

use mc_domain::{PassageId, ProjectId, RecordId, RecordKind, Visibility};

use super::{Origin, Record, RecordBody, Row, Standing};
use crate::passages::{NewPassage, content_hash};
use crate::vectors::Model;
use crate::{Error, Tx};

/// A record to add.
#[derive(Debug, Clone, Copy)]
pub struct NewRecord<'a> {
    /// What it says.
    pub body: &'a RecordBody,
    /// Who it is for. A proposal has no passage: nobody recalls it until it was accepted.
    pub standing: Standing,
    /// The record that it would change, where it is a proposal for one.
    pub amends: Option<RecordId>,
    /// Where it came from.
    pub origin: &'a Origin,
    /// What search sees of it.
    pub passage: &'a NewPassage,
    /// The vector of the passage's text.
    pub vector: Option<(&'a Model, &'a [f32])>,
}

impl<'a> NewRecord<'a> {
    /// A record for the team, of which it is not known where it came from.
    pub fn of_the_team(
        body: &'a RecordBody,
        origin: &'a Origin,
        passage: &'a NewPassage,
        vector: Option<(&'a Model, &'a [f32])>,
    ) -> Self {
        Self { body, standing: Standing::TEAM, amends: None, origin, passage, vector }
    }
}

/// Adds a record with its passage and, where there is one, the vector of that passage's text: one
/// statement, so that the passage of a record that brings its vector never waits in the queue.
pub async fn create(tx: &mut Tx, project: ProjectId, new: &NewRecord<'_>) -> Result<Record, Error> {
    let NewRecord { body, standing, passage, .. } = *new;
    let (model, vector) = new.vector.map_or((None, None), |(m, v)| (Some(m.id), Some(v)));
    let is_found = standing.visibility != Visibility::Proposed;
    let row = sqlx::query_as!(
        Row,
        r#"with record as (
               insert into memory_records (id, project_id, task_id, dialog_id, kind, title, content,
                   scope, tags, owner, ttl, ttl_given, quality, meta, content_hash, simhash,
                   visibility, private_to, trust, amends)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                   $31, $32, $33, $34)
               returning *),
           origin as (
               insert into record_sources (project_id, record_id, version, saved_by, source, private_to)
               values ($2, $1, 1, $35, $36, $32)),
           passage as (
               insert into passages (id, project_id, record_id, record_kind, title, place, symbols,
                   scope, tags, language, author, context, text, content_hash, private_to)
               select $17, $2, $1, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $32
               where $37),
           vector as (
               insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash,
                   embedding, private_to)
               select $29, $17, $2, 'memory', $28, $30::real[]::vector, $32
               where $29::smallint is not null and $37)
           select r.id, r.project_id, r.task_id,
                  (select external_id from tasks t where t.id = r.task_id) as external_id,
                  r.dialog_id, r.kind, r.title, r.content, r.scope, r.tags, r.owner, r.ttl,
                  r.ttl_given, r.quality, r.meta, r.state, r.visibility, r.private_to, r.trust,
                  r.amends, r.superseded_by, r.version, r.hits, r.used, r.created_at, r.updated_at,
                  case when r.patch_sha is not null then mc.ci_of_patch(r.project_id, r.patch_sha) end as ci
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
        vector as Option<&[f32]>,
        standing.visibility.as_str(),
        standing.private_to.map(|user| user.0),
        standing.trust.as_str(),
        new.amends.map(|record| record.0),
        new.origin.saved_by.map(|user| user.0),
        new.origin.source,
        is_found
    )
    .fetch_one(&mut *tx.0)
    .await?;
    row.into_record()
}
