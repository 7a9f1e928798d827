//! `/quarantine`: what a policy holds back until a maintainer has decided.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{
    AuditAction, Permission, ProjectKey, QuarantineItemId, QuarantineState, Visibility,
};
use mc_memory::documents::NewDocument;
use mc_memory::{ReviewStatus, SaveDialog, SaveDialogOutcome, SaveRequest, quarantine as held};
use mc_sanitizer::Sanitized;
use mc_store::projects::ProjectResource;
use mc_store::quarantine::{self};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::ingest_docs;
use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::QuarantineState as HoldStateView;

/// Something in quarantine, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HoldPath {
    /// Its id.
    id: Uuid,
}

impl Validate for HoldPath {
    type Checked = QuarantineItemId;

    fn check(self) -> Result<QuarantineItemId, ValidationError> {
        Ok(QuarantineItemId(self.id))
    }
}

/// What of the quarantine, and how much.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuarantineQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// Only what is in this state.
    state: Option<HoldStateView>,
    /// Only what came before this: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

/// A [`HoldQuery`] as checked.
#[derive(Debug)]
pub struct ValidatedQuery {
    project: ProjectKey,
    state: Option<QuarantineState>,
    cursor: Option<QuarantineItemId>,
    limit: i64,
}

impl Validate for QuarantineQuery {
    type Checked = ValidatedQuery;

    fn check(self) -> Result<ValidatedQuery, ValidationError> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(ValidatedQuery {
            project: validate::project_key("project_key", &self.project_key)?,
            state: self.state.map(Into::into),
            cursor: self.cursor.map(QuarantineItemId),
            limit: validate::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// Something in quarantine. Its beginning is shown masked.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuarantineItem {
    id: Uuid,
    /// `save`, `dialog` or `document`.
    kind: String,
    /// Categories of the sanitizer (`jwt`), and ways in which it addresses a model (`override`).
    reasons: Vec<String>,
    /// Its beginning, masked, until it is decided. It may address a model: show it to people.
    excerpt: String,
    /// Who sent it, by login.
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_by: Option<String>,
    state: HoldStateView,
    created_at: DateTime<Utc>,
    /// When it is thrown away if nobody decides.
    expires_at: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<DateTime<Utc>>,
}

/// Something in quarantine with what it says.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuarantineItemWithContent {
    #[serde(flatten)]
    hold: QuarantineItem,
    /// The whole request as JSON, secrets and personal data masked; absent once it was decided. It may
    /// address a model: show it to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// What became of something that was released.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleaseResponse {
    /// What was done with it: `created`, `merged`, `superseded`, `proposed`, `known`, `rejected`,
    /// `updated`, `unchanged` or `kept`.
    outcome: &'static str,
    /// The record, dialog or document that holds it now; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    /// Why.
    reason: String,
}

/// See what is in a project's quarantine, or was.
#[utoipa::path(
    get, path = "/quarantine", tag = "quarantine", params(QuarantineQuery),
    responses((status = 200, description = "Newest first", body = Page<QuarantineItem>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<QuarantineQuery>,
) -> Result<Json<Page<QuarantineItem>>, Problem> {
    let here = api.authorize(&caller, &query.project, Permission::Curate).await?;
    let (state, before, limit) = (query.state, query.cursor, query.limit);
    let held = quarantine::list(&here.store, here.project.id, state, before, limit).await?;
    Ok(Json(Page::of(held, limit, |hold| hold.id)))
}

/// See one thing in quarantine.
#[utoipa::path(
    get, path = "/quarantine/{id}", tag = "quarantine", params(HoldPath),
    responses((status = 200, description = "With what it says, masked", body = QuarantineItemWithContent))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<HoldPath>,
) -> Result<Json<QuarantineItemWithContent>, Problem> {
    let here = entered(&api, &caller, id).await?;
    let hold = quarantine::find(&here.store, id).await?.ok_or_else(|| unknown(id))?;
    let content = held::show(&here.memory, id).await?.map(Sanitized::into_string);
    Ok(Json(QuarantineItemWithContent { hold: hold.into(), content }))
}

/// Let something out of quarantine: it is taken in as if it came now, secrets masked as ever.
#[utoipa::path(
    post, path = "/quarantine/{id}/release", tag = "quarantine", params(HoldPath),
    responses((status = 200, description = "What became of it", body = ReleaseResponse))
)]
pub async fn release(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<HoldPath>,
) -> Result<Json<ReleaseResponse>, Problem> {
    let here = entered(&api, &caller, id).await?;
    let hold = quarantine::find(&here.store, id).await?.ok_or_else(|| unknown(id))?;
    let sealed = quarantine::sealed(&here.store, id).await?;
    let sealed = sealed.ok_or(mc_memory::Error::QuarantineItemNotPending(id))?;
    // Each settles it in the transaction that takes it in; what fails, or is not taken, stays held.
    let answer = match hold.kind.as_str() {
        "dialog" => released_dialog(&here, id, held::open(&here.memory, id, &sealed)?).await?,
        "document" => {
            // Whoever releases a document answers for it, as for a record.
            api.require(&caller, &here.project, Permission::Ingest)?;
            released_document(&here, id, held::open(&here.memory, id, &sealed)?).await?
        }
        _ => released_save(&here, id, held::open(&here.memory, id, &sealed)?).await?,
    };
    if answer.id.is_none() {
        let detail = format!("it was not taken in, and is still held: {}", answer.reason);
        return Err(Problem::conflict(detail).field("id"));
    }
    Ok(Json(answer))
}

/// Throw something in quarantine away, for good.
#[utoipa::path(
    delete, path = "/quarantine/{id}", tag = "quarantine", params(HoldPath),
    responses((status = 204, description = "Nothing of it is left but that it was there"))
)]
pub async fn destroy(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<HoldPath>,
) -> Result<StatusCode, Problem> {
    let here = entered(&api, &caller, id).await?;
    let mut tx = here.store.begin().await?;
    held::decide(&mut tx, id, QuarantineState::Deleted, AuditAction::QuarantineItemDeleted).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn entered(
    api: &ApiState,
    caller: &Principal,
    id: QuarantineItemId,
) -> Result<ProjectContext, Problem> {
    let here =
        api.authorize_resource(caller, ProjectResource::Hold(id), Permission::Curate).await?;
    here.ok_or_else(|| unknown(id))
}

/// Whoever releases a record answers for it: where they may not save for the team, it is a proposal.
async fn released_save(
    here: &ProjectContext,
    id: QuarantineItemId,
    request: SaveRequest,
) -> Result<ReleaseResponse, Problem> {
    let decides = here.project.role >= here.project.policy.min_roles.save;
    let is_for_the_team = request.visibility == Visibility::Team;
    let visibility =
        if is_for_the_team && !decides { Visibility::Proposed } else { request.visibility };
    // An end that came while it was held is no end that anybody would name now.
    let ttl = request.ttl.filter(|end| *end > Utc::now());
    let request = SaveRequest { visibility, ttl, ..request };
    let saved =
        mc_memory::save_reviewed(&here.memory, &request, ReviewStatus::Released(id)).await?;
    Ok(ReleaseResponse {
        outcome: saved.decision.as_str(),
        id: saved.decision.record().map(Into::into),
        reason: saved.reason,
    })
}

async fn released_dialog(
    here: &ProjectContext,
    id: QuarantineItemId,
    request: SaveDialog,
) -> Result<ReleaseResponse, Problem> {
    let kept = mc_memory::save_dialog(&here.memory, &request, ReviewStatus::Released(id)).await?;
    let dialog = match kept {
        SaveDialogOutcome::Kept(id) => Some(id.into()),
        SaveDialogOutcome::Quarantined(_) => None,
    };
    Ok(ReleaseResponse { outcome: "kept", id: dialog, reason: "a maintainer released it".into() })
}

async fn released_document(
    here: &ProjectContext,
    id: QuarantineItemId,
    held: NewDocument,
) -> Result<ReleaseResponse, Problem> {
    let (doc, outcome) = ingest_docs::take(here, id, held).await?;
    Ok(ReleaseResponse { outcome, id: Some(doc), reason: "a maintainer released it".into() })
}

fn unknown(id: QuarantineItemId) -> Problem {
    Problem::not_found(format!("there is nothing {id} in quarantine, or it is not yours to see"))
        .field("id")
        .hint("GET /quarantine lists what is in that of a project, for its maintainers")
}

impl From<quarantine::QuarantineItem> for QuarantineItem {
    fn from(hold: quarantine::QuarantineItem) -> Self {
        Self {
            id: hold.id.into(),
            kind: hold.kind,
            reasons: hold.reasons,
            excerpt: hold.excerpt,
            submitted_by: hold.sender,
            state: hold.state.into(),
            created_at: hold.created_at,
            expires_at: hold.expires_at,
            decided_by: hold.decided_by,
            decided_at: hold.decided_at,
        }
    }
}
