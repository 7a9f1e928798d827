//! `/records`: what the team knows, row by row.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_contract::operations::record::{
    Citation, CitedRecord, Contribution, Record, RecordVersion, RecordWithHistory,
};
use mc_domain::{AuditAction, Permission, ProjectKey, RecordId, RecordKind, Visibility};
use mc_memory::uses::Opened;
use mc_store::audit::{self, NewEvent};
use mc_store::citations::{self};
use mc_store::docs;
use mc_store::passages::{self, PassageSource};
use mc_store::projects::ProjectResource;
use mc_store::records::{self, Decided, RecordFilter, Version};
use mc_store::{Store, Tx};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use uuid::Uuid;

use super::pagination::{self, Page};
use super::users;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// A record's id in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RecordPath {
    /// The record's id.
    id: Uuid,
}

impl Validate for RecordPath {
    type Checked = RecordId;

    fn check(self) -> Result<RecordId, ValidationError> {
        Ok(RecordId(self.id))
    }
}

/// Which records, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecordQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// Only this kind.
    kind: Option<RecordKind>,
    /// Only those for these readers; the team's and the caller's own when absent.
    visibility: Option<Visibility>,
    /// Only those to which this user contributed.
    #[param(value_type = Option<schemas::Login>, inline)]
    saved_by: Option<String>,
    /// Only those to which this source contributed.
    #[param(value_type = Option<schemas::Reference>, inline)]
    source: Option<String>,
    /// Only records after this one: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

/// A [`RecordQuery`] as checked.
#[derive(Debug)]
pub struct ValidatedQuery {
    project: ProjectKey,
    kind: Option<RecordKind>,
    visibility: Option<Visibility>,
    saved_by: Option<String>,
    source: Option<String>,
    cursor: Option<RecordId>,
    limit: i64,
}

impl Validate for RecordQuery {
    type Checked = ValidatedQuery;

    fn check(self) -> Result<ValidatedQuery, ValidationError> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(ValidatedQuery {
            project: validate::project_key("project_key", &self.project_key)?,
            kind: self.kind,
            visibility: self.visibility,
            saved_by: validate::optional("saved_by", self.saved_by, |field, login| {
                validate::login(field, &login)
            })?,
            source: validate::optional_line("source", self.source, limits::URL)?,
            cursor: self.cursor.map(RecordId),
            limit: validate::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// Page through a project's live records, oldest first.
#[utoipa::path(
    get, path = "/records", tag = "memory", params(RecordQuery),
    responses((status = 200, description = "A page", body = Page<CitedRecord>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<RecordQuery>,
) -> Result<Json<Page<CitedRecord>>, Problem> {
    let here = api.authorize(&caller, &query.project, Permission::Read).await?;
    let (after, project) = (query.cursor, here.project.id);
    let filter = RecordFilter {
        kind: query.kind,
        visibility: query.visibility,
        saved_by: match &query.saved_by {
            Some(login) => Some(users::called(&api.store, login).await?),
            None => None,
        },
        source: query.source,
    };
    let records = records::list(&here.store, project, &filter, after, query.limit).await?;
    let next_cursor = pagination::next_cursor(&records, query.limit, |record| record.id);
    Ok(Json(Page::new(cited(&here.store, records).await?, next_cursor)))
}

/// See a record, what it cites and what it was before.
#[utoipa::path(
    get, path = "/records/{id}", tag = "memory", params(RecordPath),
    responses((status = 200, description = "The record, whatever its state", body = RecordWithHistory))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
) -> Result<Json<RecordWithHistory>, Problem> {
    let here =
        api.authorize_resource(&caller, ProjectResource::Record(id), Permission::Read).await?;
    let here = here.ok_or_else(|| unknown(id))?;
    let record = records::find(&here.store, id).await?.ok_or_else(|| unknown(id))?;
    here.note_opened(Opened::Record(id));
    let store = here.store;
    let versions = versions(&store, id).await?;
    let contributions =
        records::contributions(&store, id).await?.into_iter().map(contribution).collect();
    let record = cited(&store, vec![record]).await?.pop().ok_or_else(|| unknown(id))?;
    Ok(Json(RecordWithHistory { record, versions, contributions }))
}

/// The earlier versions of a record, each with what it cited.
async fn versions(store: &Store, id: RecordId) -> Result<Vec<RecordVersion>, Problem> {
    let mut by_version: HashMap<i32, Vec<Citation>> = HashMap::new();
    for (version, citation) in citations::of_versions(store, id).await? {
        by_version.entry(version).or_default().push(self::citation(citation));
    }
    let with_citations = |version: Version| {
        let citations = by_version.remove(&version.version).unwrap_or_default();
        record_version(version, citations)
    };
    Ok(records::versions(store, id).await?.into_iter().map(with_citations).collect())
}

/// The records, each with what it cites.
pub(super) async fn cited(
    store: &Store,
    records: Vec<records::Record>,
) -> Result<Vec<CitedRecord>, Problem> {
    let ids: Vec<_> = records.iter().map(|record| record.id).collect();
    let mut by_record: HashMap<RecordId, Vec<Citation>> = HashMap::new();
    for citation in citations::of_records(store, &ids).await? {
        by_record.entry(citation.record).or_default().push(self::citation(citation));
    }
    let documents = docs::newest_of_records(store, &ids).await?;
    let with_citations = |record: records::Record| CitedRecord {
        document_id: documents.get(&record.id).copied(),
        citations: by_record.remove(&record.id).unwrap_or_default(),
        record: self::record(record),
    };
    Ok(records.into_iter().map(with_citations).collect())
}

/// Take a record out of memory. A private one, and a proposal of one's own, take no more than saving them did.
#[utoipa::path(
    delete, path = "/records/{id}", tag = "memory", params(RecordPath),
    responses((status = 204, description = "No longer recalled"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
) -> Result<StatusCode, Problem> {
    let here =
        api.authorize_resource(&caller, ProjectResource::Record(id), Permission::Propose).await?;
    let here = here.ok_or_else(|| unknown(id))?;
    let mut tx = here.store.begin().await?;
    // Held, or it could be shared between the look and the removal.
    records::lock(&mut tx, &[id]).await?;
    let record = records::find_in(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    if records::is_own_proposal(&mut tx, id, caller.user).await? {
        withdraw(&mut tx, id).await?;
        tx.commit().await?;
        return Ok(StatusCode::NO_CONTENT);
    }
    if record.access.private_to != Some(caller.user) {
        api.require(&caller, &here.project, Permission::Write)?;
    }
    if record.access.visibility == Visibility::Proposed {
        let problem = Problem::conflict("it is a proposal, and waits for a decision").field("id");
        return Err(
            problem.hint(format!("turn it down with a reason: POST /proposals/{id}/reject"))
        );
    }
    if !records::delete(&mut tx, id).await? {
        return Err(unknown(id));
    }
    passages::remove(&mut tx, PassageSource::Record(id)).await?;
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordDeleted, id));
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a proposal back, as whoever made it may.
async fn withdraw(tx: &mut Tx, id: RecordId) -> Result<(), Problem> {
    if !records::decide(tx, id, Decided::Rejected).await? {
        return Err(unknown(id));
    }
    let event = NewEvent::new(AuditAction::ProposalRejected, id).with(json!({ "withdrawn": true }));
    audit::record(tx, event);
    Ok(())
}

pub(super) fn unknown(id: RecordId) -> Problem {
    Problem::not_found(format!("there is no such record: {id}"))
        .field("id")
        .hint("GET /records lists those of a project")
}

/// An end that comes.
fn end(ttl: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (ttl < records::NO_END).then_some(ttl)
}

/// The record as it is sent.
pub(super) fn record(record: records::Record) -> Record {
    Record {
        id: record.id,
        kind: record.kind,
        title: record.title,
        content: record.content,
        scope: record.scope,
        tags: record.tags,
        state: record.state,
        visibility: record.access.visibility,
        trust: record.access.trust,
        owner: record.owner,
        ttl: end(record.ttl),
        is_ttl_explicit: record.is_ttl_explicit,
        quality: record.quality,
        meta: record.meta,
        task_external_id: record.task_external_id,
        dialog_id: record.dialog,
        superseded_by: record.superseded_by,
        version: record.version,
        recall_count: record.recall_count,
        use_count: record.use_count,
        ci_status: record.ci_status,
        created_at: record.created_at,
        updated_at: record.updated_at,
    }
}

/// The citation as it is sent.
pub(super) fn citation(citation: citations::Citation) -> Citation {
    Citation {
        file: citation.file_path,
        symbol: citation.symbol,
        line_start: citation.lines.map(|(start, _)| start),
        line_end: citation.lines.map(|(_, end)| end),
        commit: citation.commit,
        content_hash: citation.content_hash.map(hex::encode),
        verdict: citation.verdict,
    }
}

/// The contribution as it is sent.
pub(super) fn contribution(contribution: records::Contribution) -> Contribution {
    Contribution {
        version: contribution.version,
        saved_by: contribution.login,
        source: contribution.source,
        saved_at: contribution.saved_at,
    }
}

fn record_version(version: Version, citations: Vec<Citation>) -> RecordVersion {
    RecordVersion {
        version: version.version,
        kind: version.kind,
        title: version.title,
        content: version.content,
        scope: version.scope,
        tags: version.tags,
        trust: version.trust,
        owner: version.owner,
        ttl: end(version.ttl),
        is_ttl_explicit: version.is_ttl_explicit,
        meta: version.meta,
        citations,
        reason: version.reason,
        changed_by: version.changed_by,
        changed_at: version.changed_at,
    }
}
