//! `/proposals`, and people's decisions about records: share, confirm, roll back.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_domain::{Permission, ProjectKey, RecordId};
use mc_memory::review::{self, Amendment, Edit, ReviewedVersions};
use mc_store::citations::Citation;
use mc_store::hygiene::usage::DemotionReason;
use mc_store::records;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::{self, Page};
use super::records::{RecordPath, authorize, cited, contribution, record, unknown};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{Visibility, whole, whole_one};
use mc_contract::limits;
use mc_contract::operations::record::{CitedRecord, Contribution, Record};

/// Query of a list of proposals.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProposalQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// The `next_cursor` of the previous page.
    cursor: Option<Uuid>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for ProposalQuery {
    type Checked = (ProjectKey, Option<RecordId>, i64);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        let project = validate::project_key("project_key", &self.project_key)?;
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        let limit = validate::range("limit", limit, &limits::PAGE_LIMIT)?;
        Ok((project, self.cursor.map(RecordId), limit))
    }
}

/// The reviewed versions, and edits of the proposal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 1, "amends_version": 3}))]
pub struct AcceptProposal {
    /// The reviewed `version` of the proposal.
    #[serde(deserialize_with = "whole_one")]
    #[schema(value_type = schemas::VersionNumber)]
    version: i64,
    /// The reviewed `version` of the record that the proposal would change, if it would change one.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::VersionNumber>)]
    amends_version: Option<i64>,
    /// A new title; the proposed one by default.
    #[schema(value_type = Option<schemas::Title>)]
    title: Option<String>,
    /// A new content of at most 4,000 characters; the proposed one by default.
    #[schema(value_type = Option<schemas::StatementText>)]
    content: Option<String>,
}

impl Validate for AcceptProposal {
    type Checked = (ReviewedVersions, Edit);

    fn check(self) -> Result<(ReviewedVersions, Edit), ValidationError> {
        let reviewed = ReviewedVersions {
            version: version("version", self.version)?,
            amends_version: validate::optional("amends_version", self.amends_version, version)?,
        };
        let edit = Edit {
            title: validate::optional_line("title", self.title, limits::TITLE)?,
            content: validate::optional_text("content", self.content, limits::STATEMENT)?,
        };
        Ok((reviewed, edit))
    }
}

/// The reviewed version of a record.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 2}))]
pub struct ConfirmRecord {
    /// The reviewed `version` of the record.
    #[serde(deserialize_with = "whole_one")]
    #[schema(value_type = schemas::VersionNumber)]
    version: i64,
}

impl Validate for ConfirmRecord {
    type Checked = i32;

    fn check(self) -> Result<i32, ValidationError> {
        version("version", self.version)
    }
}

fn version(field: &str, version: i64) -> Result<i32, ValidationError> {
    validate::range(field, version, &(1..=i64::from(i32::MAX)))
}

/// The reason for rejecting a proposal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "The record about units says so already."}))]
pub struct RejectProposal {
    /// The reason, for the audit.
    #[schema(value_type = schemas::FreeText)]
    reason: String,
}

impl Validate for RejectProposal {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        validate::text("reason", &self.reason, limits::FREE_TEXT)
    }
}

/// The version to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 1}))]
pub struct RollbackRecord {
    /// A version of the record. By default the previous one, or the last one of a deleted record.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::VersionNumber>)]
    version: Option<i64>,
}

impl Validate for RollbackRecord {
    type Checked = Option<i32>;

    fn check(self) -> Result<Option<i32>, ValidationError> {
        validate::optional("version", self.version, version)
    }
}

/// A proposal, with the record that it would change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "citations": [{
        "file": "app/services/cart_sessions/setting.rb",
        "symbol": "CartSessions::Setting#trigger_delay_time_in_minutes", "line_start": 12,
        "line_end": 20, "verdict": "fresh"
    }],
    "contributions": [{
        "version": 1, "saved_by": "vera", "source": "", "saved_at": "2026-11-19T10:00:00Z"
    }],
    "id": "019a0000-0000-7000-8000-000000000002", "kind": "fact",
    "title": "Units must match",
    "content": "The delay is nil when delay_unit and trigger_delay_unit differ.",
    "scope": ["cart_sessions"], "tags": ["unit"], "state": "active",
    "visibility": "proposed", "trust": "untrusted", "owner": "vera", "ttl": "2027-06-01T00:00:00Z",
    "is_ttl_explicit": true, "quality": {"novelty": 0.74, "dup": 0.06, "usefulness": 0.81},
    "meta": {"patch_sha": "abc123"}, "task_external_id": "CS-214", "dialog_id": null,
    "superseded_by": null, "version": 1, "recall_count": 0, "use_count": 0,
    "ci_status": "passed", "created_at": "2026-11-19T10:00:00Z",
    "updated_at": "2026-11-20T10:00:00Z"
}))]
pub struct Proposal {
    #[serde(flatten)]
    record: CitedRecord,
    /// The saves that it is made of.
    contributions: Vec<Contribution>,
    /// The record that it would change, as it is now; absent if it would be a new record.
    #[serde(skip_serializing_if = "Option::is_none")]
    amends_record_id: Option<Record>,
    /// The change as a unified diff of title, tags, scope, citations and content.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Why hygiene demoted a record of the team, if it did. Accepting it restores the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    demotion: Option<Demotion>,
}

/// Why an unused record of the team was demoted.
#[derive(Debug, Serialize, ToSchema)]
pub struct Demotion {
    /// The factor by which ranking multiplied the record; absent if no search found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank_factor: Option<f64>,
    /// The ranking steps that make up the factor, each with its own.
    factors: BTreeMap<String, f64>,
    /// The reasons for the demotion.
    reasons: Vec<String>,
}

impl From<DemotionReason> for Demotion {
    fn from(DemotionReason { standing, factors, reasons }: DemotionReason) -> Self {
        Self { rank_factor: standing, factors, reasons }
    }
}

/// The visibility of a shared record.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000002", "visibility": "team"
}))]
pub struct ShareResponse {
    id: Uuid,
    /// `team`, or `proposed` if another person has to accept it.
    visibility: Visibility,
}

/// List the proposals that wait for a decision.
///
/// Returns a page of the proposals, oldest first, each with its citations, its contributions and a
/// diff of the record that it would change.
#[utoipa::path(
    get, path = "/proposals", tag = "review", params(ProposalQuery),
    responses((status = 200, description = "Oldest first", body = Page<Proposal>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((key, after, limit)): ValidQuery<ProposalQuery>,
) -> Result<Json<Page<Proposal>>, Problem> {
    let ctx = api.authorize(&caller, &key, Permission::Read).await?;
    let found = records::proposals(&ctx.store, ctx.project.id, after, limit).await?;
    let next_cursor = pagination::next_cursor(&found, limit, |record| record.id);
    let mut proposals = Vec::with_capacity(found.len());
    for proposal in review::proposals(&ctx.memory, found).await? {
        proposals.push(view(&ctx, proposal).await?);
    }
    Ok(Json(Page::new(proposals, next_cursor)))
}

/// Accept a proposal, as it is or with edits.
///
/// Returns the record that has the text now, confirmed. If the proposal or the record that it
/// changes has another version than the reviewed one, nothing is changed.
#[utoipa::path(
    post, path = "/proposals/{id}/accept", tag = "review", params(RecordPath),
    request_body = AcceptProposal,
    responses((status = 200, description = "The record with its content", body = Record))
)]
pub async fn accept(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson((reviewed, edit)): ValidJson<AcceptProposal>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Accept).await?;
    let accepted = review::accept(&ctx.memory, id, reviewed, &edit, caller.name()).await?;
    Ok(Json(record(accepted)))
}

/// Reject a proposal.
///
/// Deletes the proposal and records the reason, masked, in the audit.
#[utoipa::path(
    post, path = "/proposals/{id}/reject", tag = "review", params(RecordPath),
    request_body = RejectProposal,
    responses((status = 204, description = "Rejected"))
)]
pub async fn reject(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson(reason): ValidJson<RejectProposal>,
) -> Result<StatusCode, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Accept).await?;
    review::reject(&ctx.memory, id, &reason).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Share a private record with the team.
///
/// Returns its new visibility: `team`, or `proposed` if the caller may not save for the team.
#[utoipa::path(
    post, path = "/records/{id}/share", tag = "review", params(RecordPath),
    responses((status = 200, description = "Its new visibility", body = ShareResponse))
)]
pub async fn share(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
) -> Result<Json<ShareResponse>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Propose).await?;
    let can_save = ctx.project.role >= ctx.project.policy.min_roles.save;
    let to = if can_save { mc_domain::Visibility::Team } else { mc_domain::Visibility::Proposed };
    let record = review::share(&ctx.memory, id, to).await?;
    Ok(Json(ShareResponse { id: record.id.into(), visibility: record.access.visibility }))
}

/// Confirm a team record.
///
/// Returns the record. It has the highest trust until its content changes. If it has another
/// version than the reviewed one, nothing is changed.
#[utoipa::path(
    post, path = "/records/{id}/confirm", tag = "review", params(RecordPath),
    request_body = ConfirmRecord,
    responses((status = 200, description = "The record", body = Record))
)]
pub async fn confirm(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson(version): ValidJson<ConfirmRecord>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Accept).await?;
    Ok(Json(record(review::confirm(&ctx.memory, id, version).await?)))
}

/// Restore an earlier version of a record.
///
/// Returns the restored record, which may have been deleted or superseded. Its current version
/// stays in its history. For maintainers.
#[utoipa::path(
    post, path = "/records/{id}/rollback", tag = "review", params(RecordPath),
    request_body = RollbackRecord,
    responses((status = 200, description = "The restored record", body = Record))
)]
pub async fn rollback(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson(version): ValidJson<RollbackRecord>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Curate).await?;
    let restored = review::roll_back(&ctx.memory, id, version, caller.name()).await?;
    Ok(Json(record(restored)))
}

async fn view(ctx: &ProjectContext, proposal: review::Proposal) -> Result<Proposal, Problem> {
    let id = proposal.record.id;
    let diff =
        proposal.amends_record_id.as_ref().map(|Amendment { now, cited_now, then, cited_then }| {
            let before = text(&now.title, &now.tags, &now.scope, cited_now, &now.content);
            let (title, content) = (then.title.as_str(), then.content.as_str());
            let after = text(title, &then.tags, &then.scope, cited_then, content);
            similar::TextDiff::from_lines(&before, &after)
                .unified_diff()
                .header("now", "proposed")
                .to_string()
        });
    let sources = records::contributions(&ctx.store, id).await?;
    let proposed = cited(&ctx.store, vec![proposal.record]).await?.pop();
    Ok(Proposal {
        record: proposed.ok_or_else(|| unknown(id))?,
        contributions: sources.into_iter().map(contribution).collect(),
        amends_record_id: proposal.amends_record_id.map(|amendment| record(amendment.now)),
        diff,
        demotion: proposal.demotion.map(Into::into),
    })
}

/// Returns the text of a record that the diff compares.
fn text(
    title: &str,
    tags: &[String],
    scope: &[String],
    cited: &[Citation],
    content: &str,
) -> String {
    let mut text = format!("{title}\ntags: {}\nscope: {}\n", tags.join(", "), scope.join(", "));
    for Citation { file_path, symbol, lines, verdict, .. } in cited {
        let symbol = symbol.as_ref().map(|symbol| format!(" {symbol}")).unwrap_or_default();
        let lines = lines.map(|(first, last)| format!(" {first}-{last}")).unwrap_or_default();
        text.push_str(&format!("cites: {file_path}{symbol}{lines} ({verdict})\n"));
    }
    text + "\n" + content + "\n"
}
