//! `/projects/{key}/policy`: what a project keeps, masks and lets happen.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, header};
use mc_domain::{AuditAction, Permission, ProjectKey};
use mc_sanitizer::Sanitizer;
use mc_store::audit::{self, NewEvent};
use mc_store::policies::{self, Version};
use mc_store::{ingest_runs, repositories};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::notifications;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Which versions of a policy.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionQuery {
    /// Only versions before this one: the `next_cursor` of the page before.
    #[param(value_type = Option<schemas::Ordinal>, inline)]
    cursor: Option<i64>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for VersionQuery {
    type Checked = (Option<i32>, i64);

    fn check(self) -> Result<(Option<i32>, i64), ValidationError> {
        let versions = 1..=i64::from(i32::MAX);
        let before = validate::optional("cursor", self.cursor, |field, before| {
            validate::range(field, before, &versions)
        })?;
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((before, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

impl Validate for mc_domain::Policy {
    type Checked = Self;

    fn check(mut self) -> Result<Self, ValidationError> {
        for (at, command) in self.allowed_commands.iter_mut().enumerate() {
            *command =
                validate::line(&format!("allowed_commands[{at}]"), command, limits::COMMAND)?;
            // It would rest in every version, and be shown to everybody in the project.
            if !mc_sanitizer::find(command, &mc_sanitizer::Policy::strict()).is_empty() {
                let rule = "holds a secret or personal data; have the command read it from a file";
                return Err(ValidationError::new(format!("allowed_commands[{at}]"), rule));
            }
        }
        Self::check(&self).map_err(|invalid| ValidationError::new(invalid.field, invalid.rule))?;
        let sanitizer = Sanitizer::default();
        let is_known = |name: &String| sanitizer.categories().any(|known| known == name);
        match self.sanitizer.categories.keys().find(|name| !is_known(name)) {
            Some(name) => {
                let known: std::collections::BTreeSet<_> = sanitizer.categories().collect();
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                let rule = format!("{name:?} is no category of the sanitizer; use one of: {known}");
                Err(ValidationError::new("sanitizer.categories", rule))
            }
            None => Ok(self),
        }
    }
}

/// The policy in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectPolicy {
    /// 0 until somebody sets one; the `ETag` of the answer, and what `If-Match` is to say.
    version: i32,
    policy: mc_domain::Policy,
}

/// A policy that was in force from some time on.
#[derive(Debug, Serialize, ToSchema)]
pub struct PolicyVersion {
    version: i32,
    policy: mc_domain::Policy,
    /// Who set it, by login; absent where that user is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    changed_at: DateTime<Utc>,
    /// What it changed of the one before, setting by setting.
    changes: Vec<SettingChange>,
}

/// A setting that was changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct SettingChange {
    /// Such as `roles.save`.
    field: String,
    /// `null` where there was none.
    #[schema(value_type = Object)]
    before: serde_json::Value,
    /// `null` where there is none.
    #[schema(value_type = Object)]
    after: serde_json::Value,
}

/// How a project's notices are signed.
#[derive(Debug, Serialize, ToSchema)]
pub struct NotificationSettings {
    /// The key of the HMAC-SHA256 over `<X-Memory-Copilot-Timestamp>.<body>` that stands in
    /// `X-Memory-Copilot-Signature` as `sha256=<hexadecimal digits>`.
    secret: String,
    /// Where notices go; nowhere when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_url: Option<String>,
}

/// See a project's policy.
#[utoipa::path(
    get, path = "/projects/{key}/policy", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "The one in force; `ETag` is its version", body = ProjectPolicy))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Response, Problem> {
    let ProjectContext { mut project, .. } = entered(&api, &caller, &key, Permission::Read).await?;
    if project.role < project.policy.min_role(Permission::ManagePolicy) {
        // Whoever knows the address can often post there.
        project.policy.notifications.webhook_url = None;
    }
    Ok(answer(project.policy_version, project.policy))
}

/// Set a project's policy, all of it: what is left out gets its default. Applied at once; where it masks
/// otherwise, the project's repositories are read again.
#[utoipa::path(
    put, path = "/projects/{key}/policy", tag = "projects",
    params(
        ProjectPath,
        ("If-Match" = String, Header, description = "The `ETag` of the policy that this one replaces: \
         set by somebody else meanwhile, it stays"),
    ),
    request_body = mc_domain::Policy,
    responses(
        (status = 200, description = "In force; `ETag` is its version", body = ProjectPolicy),
        (status = 412, description = "Somebody else set it meanwhile"),
        (status = 428, description = "`If-Match` is missing"),
    )
)]
pub async fn set(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    headers: HeaderMap,
    ValidJson(policy): ValidJson<mc_domain::Policy>,
) -> Result<Response, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    if let Some(url) = &policy.notifications.webhook_url {
        notifications::check_url(url, api.settings.local_notices)
            .map_err(|rule| ValidationError::new("notifications.webhook_url", rule))?;
    }
    let expected = expected(&headers, &key)?;
    let mut tx = store.begin().await?;
    let version = policies::set(&mut tx, project.id, expected, &policy).await?;
    let version = version.ok_or_else(|| changed_meanwhile(&key))?;
    // In this transaction: in force without its runs, it would say what is not so, and nobody would know.
    let rules = policies::fingerprint(&policy);
    let masked_otherwise =
        repositories::list_masked_differently(&mut tx, project.id, rules).await?;
    let changes: Vec<_> =
        policy.changes_from(&project.policy).into_iter().map(|change| change.field).collect();
    let detail = json!({ "version": version, "changes": changes });
    audit::record(&mut tx, NewEvent::new(AuditAction::PolicyChanged, &key).with(detail));
    for repository in &masked_otherwise {
        ingest_runs::enqueue_reindex(&mut tx, repository).await?;
    }
    tx.commit().await?;
    Ok(answer(version, policy))
}

/// See how a project's policy came to be: every version with what it changed.
#[utoipa::path(
    get, path = "/projects/{key}/policy/versions", tag = "projects", params(ProjectPath, VersionQuery),
    responses((status = 200, description = "Newest first", body = Page<PolicyVersion>))
)]
pub async fn versions(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((before, limit)): ValidQuery<VersionQuery>,
) -> Result<Json<Page<PolicyVersion>>, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    // One more, which the last of the page is compared with.
    let found = policies::versions(&store, project.id, before, limit + 1).await?;
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let next = found.get(page.saturating_sub(1)).filter(|_| found.len() > page);
    let next_cursor = next.map(|version| version.version.to_string());
    let versions = (0..found.len().min(page)).map(|at| changed(&found[at], found.get(at + 1)));
    Ok(Json(Page::new(versions.collect(), next_cursor)))
}

/// See how a project's notices are signed.
#[utoipa::path(
    get, path = "/projects/{key}/notification-settings", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "A secret: for who receives the notices", body = NotificationSettings))
)]
pub async fn get_signing_key(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<NotificationSettings>, Problem> {
    let ProjectContext { project, memory, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let secret = notifications::secret(&memory.encryptor, project.id);
    Ok(Json(NotificationSettings { secret, webhook_url: project.policy.notifications.webhook_url }))
}

/// The version that the caller read; `None` for any.
fn expected(headers: &HeaderMap, key: &ProjectKey) -> Result<Option<i32>, Problem> {
    let Some(sent) = headers.get(header::IF_MATCH) else {
        let detail = "send the header `If-Match` with the `ETag` of the policy that you read";
        return Err(Problem::precondition_required(detail).field("If-Match").hint(format!(
            "GET /projects/{key}/policy answers it; `*` replaces whatever there is"
        )));
    };
    let sent = sent.to_str().unwrap_or_default().trim();
    if sent == "*" {
        return Ok(None);
    }
    let version = sent.strip_prefix('"').and_then(|sent| sent.strip_suffix('"'));
    // A tag that was never ours matches nothing.
    version.and_then(|digits| digits.parse().ok()).map(Some).ok_or_else(|| changed_meanwhile(key))
}

fn changed_meanwhile(key: &ProjectKey) -> Problem {
    Problem::precondition_failed("the policy is not the one that you read").field("If-Match").hint(
        format!("GET /projects/{key}/policy, put your change into what it answers, and send that"),
    )
}

fn answer(version: i32, policy: mc_domain::Policy) -> Response {
    let mut response = Json(ProjectPolicy { version, policy }).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn changed(version: &Version, before: Option<&Version>) -> PolicyVersion {
    let first = mc_domain::Policy::default();
    let before = before.map_or(&first, |before| &before.policy);
    let changes = version.policy.changes_from(before).into_iter().map(|change| SettingChange {
        field: change.field,
        before: change.before,
        after: change.after,
    });
    PolicyVersion {
        version: version.version,
        changes: changes.collect(),
        policy: version.policy.clone(),
        changed_by: version.changed_by.clone(),
        changed_at: version.changed_at,
    }
}
