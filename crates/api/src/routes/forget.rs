//! `/forget`: erasure of the contributions of a user or a source.

use axum::Json;
use axum::extract::State;
use mc_accounts::users;
use mc_domain::{Permission, ProjectKey, RecordId};
use mc_memory::review::{self, ErasureReport};
use mc_store::records::Contributor;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidJson;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use mc_contract::limits;

/// The user or the source whose contributions are erased: one of `saved_by` and `source`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop", "source": "https://wiki.example.org/x/1", "dry_run": true
}))]
pub struct ForgetRequest {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// A user's login.
    #[schema(value_type = Option<schemas::Login>)]
    saved_by: Option<String>,
    /// A `source` of contributions or documents, or the `namespace` of a repository.
    #[schema(value_type = Option<schemas::SourceReference>)]
    source: Option<String>,
    /// Whether to only report what would be erased.
    #[serde(default)]
    dry_run: bool,
}

/// A validated [`ForgetRequest`].
#[derive(Debug)]
pub struct ValidatedForget {
    project: ProjectKey,
    target: ErasureTarget,
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
        let target = match (self.saved_by, self.source) {
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
        Ok(ValidatedForget { project, target, dry_run: self.dry_run })
    }
}

/// What was erased, or would be in a dry run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "dry_run": true, "deleted": ["019a0000-0000-7000-8000-000000000002"], "rolled_back": [],
    "reattributed": [], "restored": [], "dialogs": 0, "documents": 1, "files": 0,
    "quarantine_items": 0
}))]
pub struct ForgetResponse {
    dry_run: bool,
    /// Deleted records, which had no other contributions.
    deleted: Vec<Uuid>,
    /// Records with other contributions: rolled back to the last version of those.
    rolled_back: Vec<Uuid>,
    /// Records whose text is of others: only the contributions were erased.
    reattributed: Vec<Uuid>,
    /// Records of others that a deleted record had replaced: restored.
    restored: Vec<Uuid>,
    /// Deleted dialogs.
    dialogs: u64,
    /// Deleted documents.
    documents: u64,
    /// Files of the deleted repository.
    files: u64,
    /// Deleted quarantine items of the user. Always 0 for a source: the source of an item is
    /// encrypted with it.
    quarantine_items: u64,
}

/// Erase the contributions of a user or a source, or a repository with all its files.
///
/// Texts of others are restored, also those that a deleted record had superseded. The user's
/// quarantine items are deleted. Quarantine items of a *source* are not found, since the source is
/// encrypted with the item: look through `GET /quarantine` for them.
#[utoipa::path(
    post, path = "/forget", tag = "review", request_body = ForgetRequest,
    responses((status = 200, description = "What was erased, or would be", body = ForgetResponse))
)]
pub async fn forget(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<ForgetRequest>,
) -> Result<Json<ForgetResponse>, Problem> {
    let ctx = api.authorize(&caller, &request.project, Permission::Curate).await?;
    let contributor = match &request.target {
        ErasureTarget::User(login) => Contributor::User(users::filter_id(&api.store, login).await?),
        ErasureTarget::Source(source) => Contributor::Source(source.clone()),
    };
    let (project, dry_run) = (ctx.project.id, request.dry_run);
    let report = review::forget(&ctx.memory, project, &contributor, dry_run).await?;
    Ok(Json(ForgetResponse::of(report, dry_run)))
}

impl ForgetResponse {
    fn of(report: ErasureReport, dry_run: bool) -> Self {
        let ids = |records: Vec<RecordId>| records.into_iter().map(Into::into).collect();
        Self {
            dry_run,
            deleted: ids(report.deleted),
            rolled_back: ids(report.rolled_back),
            reattributed: ids(report.reattributed),
            restored: ids(report.restored),
            dialogs: report.dialogs,
            documents: report.docs,
            files: report.files,
            quarantine_items: report.quarantine_items,
        }
    }
}
