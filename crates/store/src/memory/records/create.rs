//! Creation of records with their passages and vectors.

use chrono::{DateTime, Utc};
use mc_domain::{PassageId, ProjectId, RecordId, RecordKind, RecordMeta, Visibility};
use serde::Serialize;
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use super::{NO_END, Record, RecordAccess, RecordBody, RecordSource, Row};
use crate::passages::{NewPassage, content_hash};
use crate::row::bytea;
use crate::vectors::Model;
use crate::{Error, Result, Tx};

/// A record to add.
#[derive(Debug, Clone, Copy)]
pub struct NewRecord<'a> {
    /// Identifier.
    pub id: RecordId,
    /// Its content.
    pub body: &'a RecordBody,
    /// Audience and trust. A proposal gets no passage: recall does not find it before it is
    /// accepted.
    pub access: RecordAccess,
    /// For a proposal to change a record: that record.
    pub amends_record_id: Option<RecordId>,
    /// Author and source.
    pub origin: &'a RecordSource,
    /// The searchable passage of the record.
    pub passage: &'a NewPassage,
    /// The vector of the passage.
    pub vector: Option<(&'a Model, &'a [f32])>,
}

impl<'a> NewRecord<'a> {
    /// Returns a record that all members see.
    pub fn of_the_team(
        body: &'a RecordBody,
        origin: &'a RecordSource,
        passage: &'a NewPassage,
        vector: Option<(&'a Model, &'a [f32])>,
    ) -> Self {
        Self {
            id: RecordId::generate(),
            body,
            access: RecordAccess::TEAM,
            amends_record_id: None,
            origin,
            passage,
            vector,
        }
    }
}

/// Creates one record; see [`create_all`].
pub async fn create(tx: &mut Tx, project: ProjectId, new: NewRecord<'_>) -> Result<Record> {
    create_all(tx, project, &[new]).await?.pop().ok_or(Error::DeletedConcurrently)
}

/// Creates records with their passages and vectors, and returns them in the same order. It is one
/// statement, so that a passage that comes with its vector never enters the embedding queue. Either
/// all records have a vector of one model, or none has.
pub async fn create_all(
    tx: &mut Tx,
    project: ProjectId,
    all: &[NewRecord<'_>],
) -> Result<Vec<Record>> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let vectors: Option<Vec<_>> = all.iter().map(|new| new.vector).collect();
    let model = vectors.as_ref().and_then(|all| all.first()).map(|(model, _)| *model);
    // One array, since arrays of arrays can't be unnested by one level.
    let numbers = vectors.map(|all| all.iter().flat_map(|(_, vector)| *vector).copied().collect());
    let rows = (1..).zip(all).map(|(n, new)| Values::of(n, new)).collect();
    insert(tx, project, rows, model, numbers).await?.into_iter().map(Row::into_record).collect()
}

/// Inserts the rows of [`create_all`] and returns the records in the same order; `vectors` has the
/// dimensions of all vectors one after the other.
async fn insert(
    tx: &mut Tx,
    project: ProjectId,
    rows: Vec<Values<'_>>,
    model: Option<&Model>,
    vectors: Option<Vec<f32>>,
) -> Result<Vec<Row>> {
    Ok(sqlx::query_as!(
        Row,
        r#"with new as materialized (
               select * from jsonb_to_recordset($2) as new (
                   n int, id uuid, task_id uuid, dialog_id uuid, kind text, title text,
                       content text,
                   scope text[], tags text[], owner text, ttl timestamptz, is_ttl_explicit bool,
                       quality jsonb,
                   meta jsonb, content_hash bytea, simhash bigint, visibility text, private_to uuid,
                   trust text, amends_record_id uuid, saved_by uuid, source text, passage_id uuid,
                   passage_kind text, passage_title text, location text, symbols text[],
                   passage_scope text[], passage_tags text[], language text, author text,
                       context text,
                   passage_text text, text_hash bytea, is_searchable bool)),
           record as (
               insert into memory_records (id, project_id, task_id, dialog_id, kind, title, content,
                   scope, tags, owner, ttl, is_ttl_explicit, quality, meta, content_hash, simhash,
                   visibility, private_to, trust, amends_record_id)
               select id, $1, task_id, dialog_id, kind, title, content, scope, tags, owner, ttl,
                   is_ttl_explicit, quality, meta, content_hash, simhash, visibility, private_to,
                       trust, amends_record_id
               from new
               returning *),
           origin as (
               insert into record_contributions (project_id, record_id, version, saved_by, source,
                   private_to)
               select $1, id, 1, saved_by, source, private_to from new),
           passage as (
               insert into passages (id, project_id, record_id, record_kind, title, location,
                   symbols,
                   scope, tags, language, author, context, text, content_hash, private_to)
               select passage_id, $1, id, passage_kind, passage_title, location, symbols,
                   passage_scope,
                   passage_tags, language, author, context, passage_text, text_hash, private_to
               from new where is_searchable),
           vector as (
               insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash,
                   embedding, private_to)
               select $3, passage_id, $1, 'memory', text_hash,
                   ($4::real[])[(n - 1) * $5 + 1 : n * $5]::halfvec, private_to
               from new where $3::smallint is not null and is_searchable)
           select r.id, r.project_id, r.task_id,
                  (select external_id from tasks t where t.id = r.task_id) as external_id,
                  r.dialog_id, r.kind, r.title, r.content, r.scope, r.tags, r.owner, r.ttl,
                  r.is_ttl_explicit, r.quality, r.meta, r.state, r.visibility, r.private_to,
                      r.trust,
                  r.amends_record_id, r.superseded_by, r.version, r.recall_count, r.use_count,
                      r.created_at, r.updated_at,
                  case when r.patch_sha is not null then mc.patch_ci_status(r.project_id,
                      r.patch_sha) end as ci_status
           from record r join new on new.id = r.id order by new.n"#,
        project.0,
        Json(rows) as Json<Vec<Values<'_>>>,
        model.map(|model| model.id),
        vectors as Option<Vec<f32>>,
        model.map(|model| model.dimensions)
    )
    .fetch_all(&mut *tx.0)
    .await?)
}

/// A record, its contribution and its passage, by the names of the columns.
#[derive(Debug, Serialize)]
struct Values<'a> {
    n: i32,
    id: Uuid,
    task_id: Option<Uuid>,
    dialog_id: Option<Uuid>,
    kind: &'static str,
    title: &'a str,
    content: &'a str,
    scope: &'a [String],
    tags: &'a [String],
    owner: Option<&'a str>,
    ttl: DateTime<Utc>,
    is_ttl_explicit: bool,
    quality: &'a Value,
    meta: &'a RecordMeta,
    content_hash: String,
    simhash: i64,
    visibility: &'static str,
    private_to: Option<Uuid>,
    trust: &'static str,
    amends_record_id: Option<Uuid>,
    saved_by: Option<Uuid>,
    source: &'a str,
    passage_id: Uuid,
    passage_kind: &'static str,
    passage_title: &'a str,
    location: &'a str,
    symbols: &'a [String],
    passage_scope: &'a [String],
    passage_tags: &'a [String],
    language: &'a str,
    author: &'a str,
    context: &'a str,
    passage_text: &'a str,
    text_hash: String,
    is_searchable: bool,
}

impl<'a> Values<'a> {
    fn of(n: i32, new: &NewRecord<'a>) -> Self {
        let NewRecord { id, body, access, amends_record_id: amends, origin, passage, .. } = *new;
        Self {
            n,
            id: id.0,
            task_id: body.task.map(|task| task.0),
            dialog_id: body.dialog.map(|dialog| dialog.0),
            kind: body.kind.as_str(),
            title: body.title.as_str(),
            content: body.content.as_str(),
            scope: &body.scope,
            tags: &body.tags,
            owner: body.owner.as_deref(),
            // JSON can't represent a later year.
            ttl: body.ttl.min(NO_END),
            is_ttl_explicit: body.is_ttl_explicit,
            quality: &body.quality,
            meta: &body.meta,
            content_hash: bytea(&body.content_hash),
            simhash: body.simhash.cast_signed(),
            visibility: access.visibility.as_str(),
            private_to: access.private_to.map(|user| user.0),
            trust: access.trust.as_str(),
            amends_record_id: amends.map(|record| record.0),
            saved_by: origin.saved_by.map(|user| user.0),
            source: &origin.source,
            passage_id: PassageId::generate().0,
            passage_kind: passage.record_kind.map_or("", RecordKind::as_str),
            passage_title: passage.title.as_str(),
            location: passage.location.as_str(),
            symbols: &passage.symbols,
            passage_scope: &passage.scope,
            passage_tags: &passage.tags,
            language: &passage.language,
            author: passage.author.as_str(),
            context: passage.context.as_str(),
            passage_text: passage.text.as_str(),
            text_hash: bytea(&content_hash(passage)),
            is_searchable: access.visibility != Visibility::Proposed,
        }
    }
}
