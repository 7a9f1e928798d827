//! `/proposals`, and people's decisions about records: share, confirm, roll back.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::number::VersionNumber;
use mc_contract::operations::page::{Page, next_cursor};
use mc_contract::operations::proposal::{AcceptProposal, Proposal, ProposalQuery, RejectProposal};
use mc_contract::operations::record::{
    ConfirmRecord, Record, RecordPath, RollbackRecord, ShareResponse,
};
use mc_domain::{Permission, Visibility};
use mc_memory::review::{self, Amendment};
use mc_store::citations::Citation;
use mc_store::records;

use super::records::{authorize, cited, contribution, record, unknown};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;
use crate::record_diff;

/// List the proposals that wait for a decision.
///
/// Returns a page of the proposals, oldest first, each with its citations, its contributions and a
/// diff of the record that it would change.
#[utoipa::path(
    get, path = "/proposals", tag = "review", params(ProposalQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Oldest first", body = Page<Proposal>))
)]
pub async fn list_proposals(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<ProposalQuery>,
) -> Result<Json<Page<Proposal>>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let limit = query.limit.unwrap_or_default().get();
    let found = records::proposals(&ctx.store, ctx.project.id, query.cursor, limit).await?;
    let next_cursor = next_cursor(&found, limit, |record| record.id);
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
    extensions(("x-access" = json!(Access::Permission(Permission::Accept)))),
    responses((status = 200, description = "The record with its content", body = Record))
)]
pub async fn accept_proposal(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<AcceptProposal>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Accept).await?;
    let accepted = review::accept(&ctx.memory, id, &request, caller.name()).await?;
    Ok(Json(record(accepted)))
}

/// Reject a proposal.
///
/// Deletes the proposal and records the reason, masked, in the audit.
#[utoipa::path(
    post, path = "/proposals/{id}/reject", tag = "review", params(RecordPath),
    request_body = RejectProposal,
    extensions(("x-access" = json!(Access::Permission(Permission::Accept)))),
    responses((status = 204, description = "Rejected"))
)]
pub async fn reject_proposal(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<RejectProposal>,
) -> Result<StatusCode, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Accept).await?;
    review::reject(&ctx.memory, id, request.reason.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Share a private record with the team.
///
/// Returns its new visibility: `team`, or `proposed` if the caller may not save for the team.
#[utoipa::path(
    post, path = "/records/{id}/share", tag = "review", params(RecordPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses((status = 200, description = "The new visibility", body = ShareResponse))
)]
pub async fn share_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
) -> Result<Json<ShareResponse>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Propose).await?;
    let to = if ctx.allows(Permission::Write) { Visibility::Team } else { Visibility::Proposed };
    let record = review::share(&ctx.memory, id, to).await?;
    Ok(Json(ShareResponse { id: record.id, visibility: record.access.visibility }))
}

/// Confirm a team record.
///
/// Returns the record. It has the highest trust until its content changes. If it has another
/// version than the reviewed one, nothing is changed.
#[utoipa::path(
    post, path = "/records/{id}/confirm", tag = "review", params(RecordPath),
    request_body = ConfirmRecord,
    extensions(("x-access" = json!(Access::Permission(Permission::Accept)))),
    responses((status = 200, description = "The record", body = Record))
)]
pub async fn confirm_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<ConfirmRecord>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Accept).await?;
    Ok(Json(record(review::confirm(&ctx.memory, id, request.version.get()).await?)))
}

/// Restore an earlier version of a record.
///
/// Returns the restored record, which may have been deleted or superseded. Its current version
/// stays in its history. For maintainers.
#[utoipa::path(
    post, path = "/records/{id}/rollback", tag = "review", params(RecordPath),
    request_body = RollbackRecord,
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The restored record", body = Record))
)]
pub async fn rollback_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<RollbackRecord>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Curate).await?;
    let version = request.version.map(VersionNumber::get);
    let restored = review::roll_back(&ctx.memory, id, version, caller.name()).await?;
    Ok(Json(record(restored)))
}

async fn view(ctx: &ProjectContext, proposal: review::Proposal) -> Result<Proposal, Problem> {
    let id = proposal.record.id;
    let diff = proposal.amendment.as_ref().map(|Amendment { now, cited_now, then, cited_then }| {
        let before = text(&now.title, &now.tags, &now.scope, cited_now, &now.content);
        let (title, content) = (then.title.as_str(), then.content.as_str());
        let after = text(title, &then.tags, &then.scope, cited_then, content);
        record_diff::unified(&before, &after)
    });
    let sources = records::contributions(&ctx.store, id).await?;
    let proposed = cited(&ctx.store, vec![proposal.record]).await?.pop();
    Ok(Proposal {
        record: proposed.ok_or_else(|| unknown(id))?,
        contributions: sources.into_iter().map(contribution).collect(),
        amends: proposal.amendment.map(|amendment| record(amendment.now)),
        diff,
        demotion: proposal.demotion,
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
