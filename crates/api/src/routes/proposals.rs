//! `/proposals`, and what a person decides about records: share, confirm, roll back, forget.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_domain::{Permission, ProjectKey, RecordId};
use mc_memory::review::{self, Amendment, Edit, ErasureReport, ReviewedVersions};
use mc_store::citations::Citation;
use mc_store::hygiene::usage::DemotionReason;
use mc_store::projects::ProjectResource;
use mc_store::records::{self, Contributor};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::{self, Page};
use super::records::{RecordPath, cited, contribution, record, unknown};
use super::users;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{Visibility, whole, whole_one};
use mc_contract::operations::record::{CitedRecord, Contribution, Record};

/// Whose proposals, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProposalQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// Only proposals after this one: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
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

/// What a reviewer looked at, and what it is to say instead.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 1, "amends_version": 3}))]
pub struct AcceptProposal {
    /// The proposal's `version`, as it was looked at.
    #[serde(deserialize_with = "whole_one")]
    #[schema(value_type = schemas::Ordinal)]
    version: i64,
    /// The `version` of the record that it would change; for a proposal that would change one.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::Ordinal>)]
    amends_version: Option<i64>,
    /// As proposed when absent.
    #[schema(value_type = Option<schemas::Title>)]
    title: Option<String>,
    /// As proposed when absent; at most 4,000 characters.
    #[schema(value_type = Option<schemas::StatementText>)]
    content: Option<String>,
}

impl Validate for AcceptProposal {
    type Checked = (ReviewedVersions, Edit);

    fn check(self) -> Result<(ReviewedVersions, Edit), ValidationError> {
        let seen = ReviewedVersions {
            version: version("version", self.version)?,
            amends_version: validate::optional("amends_version", self.amends_version, version)?,
        };
        let edit = Edit {
            title: validate::optional_line("title", self.title, limits::TITLE)?,
            content: validate::optional_text("content", self.content, limits::STATEMENT)?,
        };
        Ok((seen, edit))
    }
}

/// Which version of a record somebody looked at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmRecord {
    /// The record's `version`, as it was looked at.
    #[serde(deserialize_with = "whole_one")]
    #[schema(value_type = schemas::Ordinal)]
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

/// Why a proposal is turned down.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectProposal {
    /// For the audit.
    #[schema(value_type = schemas::Remark)]
    reason: String,
}

impl Validate for RejectProposal {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        validate::text("reason", &self.reason, limits::REMARK)
    }
}

/// What a record is to say again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackRecord {
    /// One of its versions; when absent the one before, or as it was taken out.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::Ordinal>)]
    version: Option<i64>,
}

impl Validate for RollbackRecord {
    type Checked = Option<i32>;

    fn check(self) -> Result<Option<i32>, ValidationError> {
        validate::optional("version", self.version, version)
    }
}

/// Whose, or what's, contributions are to be forgotten: one of `saved_by` and `source`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "source": "https://wiki.example.org/x/1", "dry_run": true}))]
pub struct ForgetRequest {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// A user's login.
    #[schema(value_type = Option<schemas::Login>)]
    saved_by: Option<String>,
    /// As `GET /records/{id}` names it, the `source` of documents, or the `namespace` of a repository.
    #[schema(value_type = Option<schemas::Reference>)]
    source: Option<String>,
    /// Only say what would be taken out.
    #[serde(default)]
    dry_run: bool,
}

/// A [`ForgetEntry`] as checked.
#[derive(Debug)]
pub struct ValidatedForget {
    project: ProjectKey,
    whose: ErasureTarget,
    dry_run: bool,
}

#[derive(Debug)]
enum ErasureTarget {
    User(String),
    Source(String),
}

impl Validate for ForgetRequest {
    type Checked = ValidatedForget;

    fn check(self) -> Result<ValidatedForget, ValidationError> {
        let whose = match (self.saved_by, self.source) {
            (Some(login), None) => ErasureTarget::User(validate::login("saved_by", &login)?),
            (None, Some(source)) => {
                ErasureTarget::Source(validate::line("source", &source, limits::URL)?)
            }
            _ => {
                return Err(ValidationError::new(
                    "saved_by",
                    "give one of `saved_by` and `source`",
                ));
            }
        };
        let project = validate::project_key("project_key", &self.project_key)?;
        Ok(ValidatedForget { project, whose, dry_run: self.dry_run })
    }
}

/// A proposal, what it would change, and what speaks for it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Proposal {
    #[serde(flatten)]
    record: CitedRecord,
    /// Who proposed it, and from what.
    contributions: Vec<Contribution>,
    /// The record that would say this instead, as it is; absent where it would be a record of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    amends_record_id: Option<Record>,
    /// What it changes of that: a unified diff of title, tags, scope, citations and content.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Why it waits that was the team's: hygiene found that it helps nobody. Accepted, it is found again.
    #[serde(skip_serializing_if = "Option::is_none")]
    demotion: Option<Demotion>,
}

/// What speaks against a record of the team.
#[derive(Debug, Serialize, ToSchema)]
pub struct Demotion {
    /// What the ranking multiplied it by, whatever was asked; absent for what was not found at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank_factor: Option<f64>,
    /// What that was made of: steps of the ranking, each with its factor.
    factors: BTreeMap<String, f64>,
    /// Why it helps nobody.
    reasons: Vec<String>,
}

impl From<DemotionReason> for Demotion {
    fn from(DemotionReason { standing, factors, reasons }: DemotionReason) -> Self {
        Self { rank_factor: standing, factors, reasons }
    }
}

/// Who a private record is for from now on.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShareResponse {
    id: Uuid,
    /// `team`; `proposed` where somebody else has to decide that it counts.
    visibility: Visibility,
}

/// What was forgotten, or would be.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForgetResponse {
    dry_run: bool,
    /// Records that came from there alone: taken out.
    deleted: Vec<Uuid>,
    /// Records that others had contributed to: they say what those said last.
    rolled_back: Vec<Uuid>,
    /// Records that say what others said: only where they came from was changed.
    reattributed: Vec<Uuid>,
    /// Records of others that one of the removed had replaced: they are there again.
    restored: Vec<Uuid>,
    /// Dialogs that were deleted.
    dialogs: u64,
    /// Documents that were deleted.
    documents: u64,
    /// Files of the repository that was taken out.
    files: u64,
    /// What the person had sent that was held in quarantine: destroyed. None for a source: where something held
    /// came from is sealed with it.
    quarantine_items: u64,
}

/// See what waits for a person of the team.
#[utoipa::path(
    get, path = "/proposals", tag = "review", params(ProposalQuery),
    responses((status = 200, description = "Oldest first", body = Page<Proposal>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((key, after, limit)): ValidQuery<ProposalQuery>,
) -> Result<Json<Page<Proposal>>, Problem> {
    let here = api.authorize(&caller, &key, Permission::Read).await?;
    let found = records::proposals(&here.store, here.project.id, after, limit).await?;
    let next_cursor = pagination::next_cursor(&found, limit, |record| record.id);
    let mut proposals = Vec::with_capacity(found.len());
    for proposal in review::proposals(&here.memory, found).await? {
        proposals.push(view(&here, proposal).await?);
    }
    Ok(Json(Page::new(proposals, next_cursor)))
}

/// Make a proposal count, as it is or as the reviewer would have it.
#[utoipa::path(
    post, path = "/proposals/{id}/accept", tag = "review", params(RecordPath),
    request_body = AcceptProposal,
    responses((status = 200, description = "The record that says it now", body = Record))
)]
pub async fn accept(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson((seen, edit)): ValidJson<AcceptProposal>,
) -> Result<Json<Record>, Problem> {
    let here = holding(&api, &caller, id, Permission::Accept).await?;
    let accepted = review::accept(&here.memory, id, seen, &edit, caller.name()).await?;
    Ok(Json(record(accepted)))
}

/// Turn a proposal down.
#[utoipa::path(
    post, path = "/proposals/{id}/reject", tag = "review", params(RecordPath),
    request_body = RejectProposal, responses((status = 204, description = "It does not wait any more"))
)]
pub async fn reject(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson(reason): ValidJson<RejectProposal>,
) -> Result<StatusCode, Problem> {
    let here = holding(&api, &caller, id, Permission::Accept).await?;
    review::reject(&here.memory, id, &reason).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Let the team see a private record. From those who may not save for the team it becomes a proposal.
#[utoipa::path(
    post, path = "/records/{id}/share", tag = "review", params(RecordPath),
    responses((status = 200, description = "Who it is for now", body = ShareResponse))
)]
pub async fn share(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
) -> Result<Json<ShareResponse>, Problem> {
    let here = holding(&api, &caller, id, Permission::Propose).await?;
    let decides = here.project.role >= here.project.policy.min_roles.save;
    let to = if decides { mc_domain::Visibility::Team } else { mc_domain::Visibility::Proposed };
    let record = review::share(&here.memory, id, to).await?;
    Ok(Json(ShareResponse { id: record.id.into(), visibility: record.access.visibility.into() }))
}

/// Say that a record of the team holds: it is trusted most from now on, until its text changes.
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
    let here = holding(&api, &caller, id, Permission::Accept).await?;
    Ok(Json(record(review::confirm(&here.memory, id, version).await?)))
}

/// Have a record say again what it said before, or bring one back that was taken out or replaced.
#[utoipa::path(
    post, path = "/records/{id}/rollback", tag = "review", params(RecordPath),
    request_body = RollbackRecord,
    responses((status = 200, description = "The record as it is now", body = Record))
)]
pub async fn rollback(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<RecordPath>,
    ValidJson(version): ValidJson<RollbackRecord>,
) -> Result<Json<Record>, Problem> {
    let here = holding(&api, &caller, id, Permission::Curate).await?;
    let restored = review::roll_back(&here.memory, id, version, caller.name()).await?;
    Ok(Json(record(restored)))
}

/// Take out everything that came from one person or one source, or a repository with all its files.
///
/// What others had said is there again, also where a record that is taken out had replaced it. What the person
/// has in quarantine is destroyed. What is held of a *source* is not found so, since where it came from is
/// sealed with it: look through `GET /quarantine` for that.
#[utoipa::path(
    post, path = "/forget", tag = "review", request_body = ForgetRequest,
    responses((status = 200, description = "What was taken out, or would be", body = ForgetResponse))
)]
pub async fn forget(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<ForgetRequest>,
) -> Result<Json<ForgetResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Curate).await?;
    let contributor = match &request.whose {
        ErasureTarget::User(login) => Contributor::User(users::called(&api.store, login).await?),
        ErasureTarget::Source(source) => Contributor::Source(source.clone()),
    };
    let (project, dry_run) = (here.project.id, request.dry_run);
    let forgotten = review::forget(&here.memory, project, &contributor, dry_run).await?;
    Ok(Json(ForgetResponse::of(forgotten, dry_run)))
}

async fn holding(
    api: &ApiState,
    caller: &Principal,
    id: RecordId,
    action: Permission,
) -> Result<ProjectContext, Problem> {
    let here = api.authorize_resource(caller, ProjectResource::Record(id), action).await?;
    here.ok_or_else(|| unknown(id))
}

async fn view(here: &ProjectContext, proposal: review::Proposal) -> Result<Proposal, Problem> {
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
    let sources = records::contributions(&here.store, id).await?;
    let proposed = cited(&here.store, vec![proposal.record]).await?.pop();
    Ok(Proposal {
        record: proposed.ok_or_else(|| unknown(id))?,
        contributions: sources.into_iter().map(contribution).collect(),
        amends_record_id: proposal.amends_record_id.map(|amendment| record(amendment.now)),
        diff,
        demotion: proposal.demotion.map(Into::into),
    })
}

/// What a record says, in lines.
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

impl ForgetResponse {
    fn of(forgotten: ErasureReport, dry_run: bool) -> Self {
        let ids = |records: Vec<RecordId>| records.into_iter().map(Into::into).collect();
        Self {
            dry_run,
            deleted: ids(forgotten.deleted),
            rolled_back: ids(forgotten.rolled_back),
            reattributed: ids(forgotten.reattributed),
            restored: ids(forgotten.restored),
            dialogs: forgotten.dialogs,
            documents: forgotten.docs,
            files: forgotten.files,
            quarantine_items: forgotten.quarantine_items,
        }
    }
}
