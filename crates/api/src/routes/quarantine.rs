//! `/quarantine`: what a policy holds back until a maintainer has decided.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{Act, Action, HoldId, HoldState, ProjectKey, Visibility};
use mc_memory::documents::Incoming;
use mc_memory::{DialogKept, Looked, SaveDialog, SaveRequest, quarantine as held};
use mc_sanitizer::Sanitized;
use mc_store::projects::Belonging;
use mc_store::quarantine::{self, Hold};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::ingest_docs;
use super::page;
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::entry::Here;
use crate::extract::{ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;
use crate::wire::HoldState as HoldStateView;

/// Something in quarantine, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HoldPath {
    /// Its id.
    id: Uuid,
}

impl Check for HoldPath {
    type Checked = HoldId;

    fn check(self) -> Result<HoldId, Invalid> {
        Ok(HoldId(self.id))
    }
}

/// What of the quarantine, and how much.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HoldQuery {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    project_key: String,
    /// Only what is in this state.
    state: Option<HoldStateView>,
    /// Only what came before this: the `next` of the page before.
    before: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

/// A [`HoldQuery`] as checked.
#[derive(Debug)]
pub struct CheckedQuery {
    project: ProjectKey,
    state: Option<HoldState>,
    before: Option<HoldId>,
    limit: i64,
}

impl Check for HoldQuery {
    type Checked = CheckedQuery;

    fn check(self) -> Result<CheckedQuery, Invalid> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(CheckedQuery {
            project: check::project_key("project_key", &self.project_key)?,
            state: self.state.map(Into::into),
            before: self.before.map(HoldId),
            limit: check::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// Something in quarantine. Its beginning is shown masked.
#[derive(Debug, Serialize, ToSchema)]
pub struct HoldView {
    id: Uuid,
    /// `save`, `dialog` or `document`.
    kind: String,
    /// Categories of the sanitizer (`jwt`), and ways in which it addresses a model (`override`).
    reasons: Vec<String>,
    /// Its beginning, masked, until it is decided. It may address a model: show it to people.
    summary: String,
    /// Who sent it, by login.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_by: Option<String>,
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
pub struct HoldDetails {
    #[serde(flatten)]
    hold: HoldView,
    /// The whole request as JSON, secrets and personal data masked; absent once it was decided. It may
    /// address a model: show it to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// A page of the quarantine.
#[derive(Debug, Serialize, ToSchema)]
pub struct HoldPage {
    held: Vec<HoldView>,
    /// What to send as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Uuid>,
}

/// What became of something that was released.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleaseAnswer {
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
    get, path = "/quarantine", tag = "quarantine", params(HoldQuery),
    responses((status = 200, description = "Newest first", body = HoldPage))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<HoldQuery>,
) -> Result<Json<HoldPage>, Problem> {
    let here = api.enter(&caller, &query.project, Action::Curate).await?;
    let (state, before, limit) = (query.state, query.before, query.limit);
    let held = quarantine::list(&here.store, here.project.id, state, before, limit).await?;
    let next = page::next(&held, limit, |hold| hold.id.into());
    Ok(Json(HoldPage { held: held.into_iter().map(Into::into).collect(), next }))
}

/// See one thing in quarantine.
#[utoipa::path(
    get, path = "/quarantine/{id}", tag = "quarantine", params(HoldPath),
    responses((status = 200, description = "With what it says, masked", body = HoldDetails))
)]
pub async fn show(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<HoldPath>,
) -> Result<Json<HoldDetails>, Problem> {
    let here = entered(&api, &caller, id).await?;
    let hold = quarantine::find(&here.store, id).await?.ok_or_else(|| unknown(id))?;
    let content = held::show(&here.memory, id).await?.map(Sanitized::into_string);
    Ok(Json(HoldDetails { hold: hold.into(), content }))
}

/// Let something out of quarantine: it is taken in as if it came now, secrets masked as ever.
#[utoipa::path(
    post, path = "/quarantine/{id}/release", tag = "quarantine", params(HoldPath),
    responses((status = 200, description = "What became of it", body = ReleaseAnswer))
)]
pub async fn release(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<HoldPath>,
) -> Result<Json<ReleaseAnswer>, Problem> {
    let here = entered(&api, &caller, id).await?;
    let hold = quarantine::find(&here.store, id).await?.ok_or_else(|| unknown(id))?;
    let sealed = quarantine::sealed(&here.store, id).await?;
    let sealed = sealed.ok_or(mc_memory::Error::NotHeld(id))?;
    // Each settles it in the transaction that takes it in; what fails, or is not taken, stays held.
    let answer = match hold.kind.as_str() {
        "dialog" => released_dialog(&here, id, held::open(&here.memory, id, &sealed)?).await?,
        "document" => {
            // Whoever releases a document answers for it, as for a record.
            api.require(&caller, &here.project, Action::Ingest)?;
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
    held::decide(&mut tx, id, HoldState::Destroyed, Act::Destroyed).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn entered(api: &ApiState, caller: &Principal, id: HoldId) -> Result<Here, Problem> {
    let here = api.enter_holding(caller, Belonging::Hold(id), Action::Curate).await?;
    here.ok_or_else(|| unknown(id))
}

/// Whoever releases a record answers for it: where they may not save for the team, it is a proposal.
async fn released_save(
    here: &Here,
    id: HoldId,
    request: SaveRequest,
) -> Result<ReleaseAnswer, Problem> {
    let decides = here.project.role >= here.project.policy.roles.save;
    let is_for_the_team = request.visibility == Visibility::Team;
    let visibility =
        if is_for_the_team && !decides { Visibility::Proposed } else { request.visibility };
    // An end that came while it was held is no end that anybody would name now.
    let ttl = request.ttl.filter(|end| *end > Utc::now());
    let request = SaveRequest { visibility, ttl, ..request };
    let saved = mc_memory::save_looked(&here.memory, &request, Looked::Released(id)).await?;
    Ok(ReleaseAnswer {
        outcome: saved.decision.as_str(),
        id: saved.decision.record().map(Into::into),
        reason: saved.reason,
    })
}

async fn released_dialog(
    here: &Here,
    id: HoldId,
    request: SaveDialog,
) -> Result<ReleaseAnswer, Problem> {
    let kept = mc_memory::save_dialog(&here.memory, &request, Looked::Released(id)).await?;
    let dialog = match kept {
        DialogKept::Kept(id) => Some(id.into()),
        DialogKept::Quarantined(_) => None,
    };
    Ok(ReleaseAnswer { outcome: "kept", id: dialog, reason: "a maintainer released it".into() })
}

async fn released_document(
    here: &Here,
    id: HoldId,
    held: Incoming,
) -> Result<ReleaseAnswer, Problem> {
    let (doc, outcome) = ingest_docs::take(here, id, held).await?;
    Ok(ReleaseAnswer { outcome, id: Some(doc), reason: "a maintainer released it".into() })
}

fn unknown(id: HoldId) -> Problem {
    Problem::not_found(format!("there is nothing {id} in quarantine, or it is not yours to see"))
        .field("id")
        .hint("GET /quarantine lists what is in that of a project, for its maintainers")
}

impl From<Hold> for HoldView {
    fn from(hold: Hold) -> Self {
        Self {
            id: hold.id.into(),
            kind: hold.kind,
            reasons: hold.reasons,
            summary: hold.summary,
            sent_by: hold.sender,
            state: hold.state.into(),
            created_at: hold.created_at,
            expires_at: hold.expires_at,
            decided_by: hold.decided_by,
            decided_at: hold.decided_at,
        }
    }
}
