//! `/projects/{key}/policy`, its versions, and `/projects/{key}/notification-settings`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use mc_accounts::{Error, policies as use_cases};
use mc_contract::ValidationError;
use mc_contract::number::VersionNumber;
use mc_contract::operations::page::Page;
use mc_contract::operations::policy::{
    NotificationSettings, PolicyVersion, ProjectPolicy, SetPolicy, VersionQuery,
};
use mc_contract::operations::project::ProjectPath;
use mc_domain::{Permission, Policy, ProjectKey};
use mc_store::policies::{self, Version};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::notifications;
use crate::openapi::Access;
use crate::problem::Problem;

/// Get a project's policy.
///
/// Returns all settings, also those that have their defaults, and the version as `ETag`. The
/// notification URL is only shown to those who may change the policy.
#[utoipa::path(
    get, path = "/projects/{key}/policy", tag = "projects", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The current policy; `ETag` is its version",
               body = ProjectPolicy))
)]
pub async fn get_policy(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Response, Problem> {
    let ProjectContext { mut project, .. } =
        api.authorize_path(&caller, &key, Permission::Read).await?;
    if project.role < project.policy.min_role(Permission::ManagePolicy) {
        // Who knows the URL can often post to it.
        project.policy.notifications.webhook_url = None;
    }
    Ok(response(project.policy_version, project.policy))
}

/// Replace a project's policy.
///
/// Settings that are left out get their defaults. The policy applies at once; repositories that it
/// masks differently are indexed again. `If-Match` has to name the version that it replaces.
#[utoipa::path(
    put, path = "/projects/{key}/policy", tag = "projects",
    params(
        ProjectPath,
        ("If-Match" = String, Header,
         description = "The `ETag` of the policy that this one replaces; `*` replaces any"),
    ),
    request_body = Policy,
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses(
        (status = 200, description = "The new policy; `ETag` is its version", body = ProjectPolicy),
        (status = 412, description = "The policy has changed since it was read"),
        (status = 428, description = "`If-Match` is missing"),
    )
)]
pub async fn update_policy(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SetPolicy>,
) -> Result<Response, Problem> {
    let policy = request.into_inner();
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    if let Some(url) = &policy.notifications.webhook_url {
        notifications::check_url(url, api.settings.allow_private_networks)
            .map_err(|rule| ValidationError::new("notifications.webhook_url", rule))?;
    }
    let expected = expected_version(&headers, &key)?;
    let version = use_cases::set(&ctx.store, &ctx.project, expected, &policy).await;
    let version = version.map_err(|error| match error {
        Error::PolicyChanged => policy_changed(&key),
        other => other.into(),
    })?;
    Ok(response(version, policy))
}

/// List the versions of a project's policy.
///
/// Returns a page of the versions, newest first, each with the settings that differ from the
/// version before. For those who may change the policy.
#[utoipa::path(
    get, path = "/projects/{key}/policy/versions", tag = "projects",
    params(ProjectPath, VersionQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "Newest first", body = Page<PolicyVersion>))
)]
pub async fn list_policy_versions(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<VersionQuery>,
) -> Result<Json<Page<PolicyVersion>>, Problem> {
    let ProjectContext { project, store, .. } =
        api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    let cursor = query.cursor.map(VersionNumber::get);
    let limit = query.limit.unwrap_or_default().get();
    // One more than the page has: its last version is compared with it.
    let found = policies::versions(&store, project.id, cursor, limit + 1).await?;
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let next = found.get(page.saturating_sub(1)).filter(|_| found.len() > page);
    let next_cursor = next.map(|version| version.version.to_string());
    let versions =
        (0..found.len().min(page)).map(|at| policy_version(&found[at], found.get(at + 1)));
    Ok(Json(Page::new(versions.collect(), next_cursor)))
}

/// Get the key that signs a project's notifications.
///
/// Returns the secret key and the URL to which notifications are sent. The receiver verifies the
/// signature with the key. For those who may change the policy.
#[utoipa::path(
    get, path = "/projects/{key}/notification-settings", tag = "projects", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "The key that verifies notifications",
               body = NotificationSettings))
)]
pub async fn get_notification_settings(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<NotificationSettings>, Problem> {
    let ProjectContext { project, memory, .. } =
        api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    let secret = notifications::secret(&memory.encryptor, project.id);
    Ok(Json(NotificationSettings { secret, webhook_url: project.policy.notifications.webhook_url }))
}

/// Returns the version that the caller read; `None` replaces any.
fn expected_version(headers: &HeaderMap, key: &ProjectKey) -> Result<Option<i32>, Problem> {
    let Some(sent) = headers.get(header::IF_MATCH) else {
        let detail = "send the header `If-Match` with the `ETag` of the policy that you read";
        return Err(Problem::precondition_required(detail)
            .field("If-Match")
            .hint(format!("GET /projects/{key}/policy returns it; `*` replaces any policy")));
    };
    let sent = sent.to_str().unwrap_or_default().trim();
    if sent == "*" {
        return Ok(None);
    }
    let version = sent.strip_prefix('"').and_then(|sent| sent.strip_suffix('"'));
    // A tag that the service never sent matches no version.
    version.and_then(|digits| digits.parse().ok()).map(Some).ok_or_else(|| policy_changed(key))
}

fn policy_changed(key: &ProjectKey) -> Problem {
    Problem::precondition_failed("the policy has changed since you read it")
        .field("If-Match")
        .hint(format!("GET /projects/{key}/policy, apply your change to it, and send the result"))
}

fn response(version: i32, policy: Policy) -> Response {
    let mut response = Json(ProjectPolicy { version, policy }).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn policy_version(version: &Version, before: Option<&Version>) -> PolicyVersion {
    let first = Policy::default();
    let before = before.map_or(&first, |before| &before.policy);
    PolicyVersion {
        version: version.version,
        changes: version.policy.changes_from(before),
        policy: version.policy.clone(),
        changed_by: version.changed_by.clone(),
        changed_at: version.changed_at,
    }
}
