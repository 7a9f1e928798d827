//! `/projects/{key}/integrations` and `/connectors`: the resources of providers that a project
//! syncs. The address and the credential of a provider are the operator's configuration alone.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_connectors::PlainGit;
use mc_connectors::client::{self};
use mc_contract::ValidationError;
use mc_contract::number::IntervalMinutes;
use mc_contract::operations::integration::{
    Connector, ConnectorProvider, ConnectorQuery, CreateIntegration, DeleteIntegrationQuery,
    Integration, IntegrationPath, LastSyncRun, SyncRun, UpdateIntegration,
};
use mc_contract::operations::page::Page;
use mc_domain::{
    AuditAction, Capability, IntegrationId, Permission, ProjectId, ProjectKey, Provider,
};
use mc_store::audit::{self, NewEvent};
use mc_store::integrations::{self, ConnectorHealth, IntegrationUpdate, NewIntegration};
use mc_store::repositories;
use mc_store::{Store, Tx};
use serde_json::{Value, json};

use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString, ValidPath};
use crate::problem::Problem;

/// Create an integration.
///
/// Subscribes the project to a resource of a connector, and enqueues its first sync.
#[utoipa::path(
    post, path = "/projects/{key}/integrations", tag = "connectors", params(ProjectPath),
    request_body = CreateIntegration,
    responses((status = 201, description = "Created; its first sync is enqueued",
               body = Integration))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    JsonBody(request): JsonBody<CreateIntegration>,
) -> Result<(StatusCode, Json<Integration>), Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let name = request.connector.as_str();
    let new = if name == PlainGit::CONNECTOR_NAME {
        check_indexed(&store, project.id, request.resource.as_str()).await?;
        with_capability(&[Capability::Refs], "git", request)?
    } else {
        let connector = api.connectors.find(name, &key);
        let connector = connector.ok_or_else(|| unknown_connector(name, &key))?;
        supported(connector, request)?
    };
    let mut tx = store.begin().await?;
    integrations::create(&mut tx, project.id, &new).await?;
    let details = json!({
        "change": "created", "connector": new.connector, "capability": new.capability,
    });
    record_event(&mut tx, new.id, details);
    tx.commit().await?;
    let created = integrations::find(&store, project.id, new.id).await?;
    let created = created.ok_or_else(|| unknown(&key))?;
    Ok((StatusCode::CREATED, Json(integration(created))))
}

/// List integrations.
///
/// Returns the project's integrations, in the order of their creation, with the state of their
/// syncs.
#[utoipa::path(
    get, path = "/projects/{key}/integrations", tag = "connectors", params(ProjectPath),
    responses((status = 200, description = "In the order of their creation",
               body = Page<Integration>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<Page<Integration>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let found = integrations::list(&here.store, here.project.id).await?;
    Ok(Json(Page::new(found.into_iter().map(integration).collect(), None)))
}

/// Get an integration.
///
/// Returns the integration, the state of its last sync and the progress of a running one.
#[utoipa::path(
    get, path = "/projects/{key}/integrations/{id}", tag = "connectors", params(IntegrationPath),
    responses((status = 200, description = "The integration", body = Integration))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
) -> Result<Json<Integration>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    found(&here, &key, id).await
}

/// Update an integration.
///
/// Changes its interval or the import of comments, or pauses and resumes it.
#[utoipa::path(
    patch, path = "/projects/{key}/integrations/{id}", tag = "connectors", params(IntegrationPath),
    request_body = UpdateIntegration,
    responses((status = 200, description = "The integration as it is now", body = Integration))
)]
pub async fn update(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
    JsonBody(request): JsonBody<UpdateIntegration>,
) -> Result<Json<Integration>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let update = IntegrationUpdate {
        interval_minutes: request.interval_minutes.map(IntervalMinutes::get),
        include_comments: request.include_comments,
        is_paused: request.is_paused,
    };
    let mut tx = here.store.begin().await?;
    if !integrations::update(&mut tx, here.project.id, id, &update).await? {
        return Err(unknown(&key));
    }
    let IntegrationUpdate { interval_minutes, include_comments, is_paused } = update;
    let details = json!({
        "change": "updated", "interval_minutes": interval_minutes,
        "include_comments": include_comments, "is_paused": is_paused,
    });
    record_event(&mut tx, id, details);
    tx.commit().await?;
    found(&here, &key, id).await
}

/// Sync an integration now.
///
/// Enqueues a sync, whatever the interval.
#[utoipa::path(
    post, path = "/projects/{key}/integrations/{id}/sync", tag = "connectors",
    params(IntegrationPath),
    responses((status = 202, description = "Enqueued", body = Integration))
)]
pub async fn sync(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
) -> Result<(StatusCode, Json<Integration>), Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let Json(integration) = found(&here, &key, id).await?;
    let mut tx = here.store.begin().await?;
    if !integrations::request_sync(&mut tx, here.project.id, id).await? {
        return Err(Problem::conflict("the integration is paused")
            .field("id")
            .hint("resume it first: PATCH it with {\"is_paused\": false}"));
    }
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(integration)))
}

/// Delete an integration.
///
/// Ends its syncs. Its documents and the data of its tasks stay unless `purge` is true.
#[utoipa::path(
    delete, path = "/projects/{key}/integrations/{id}", tag = "connectors",
    params(IntegrationPath, DeleteIntegrationQuery),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(IntegrationPath { key, id }): PathParams<IntegrationPath>,
    QueryString(query): QueryString<DeleteIntegrationQuery>,
) -> Result<StatusCode, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let (tasks, documents) =
        if query.purge { integrations::purge(&mut tx, project.id, id).await? } else { (0, 0) };
    let deleted = integrations::delete(&mut tx, project.id, id).await?;
    let deleted = deleted.ok_or_else(|| unknown(&key))?;
    let details = json!({
        "change": "deleted", "connector": deleted.connector, "tasks_purged": tasks,
        "documents_purged": documents,
    });
    record_event(&mut tx, id, details);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List connectors.
///
/// Returns the connectors that a project may use, and the state of its integrations with each.
/// Without a project, service administrators see all.
#[utoipa::path(
    get, path = "/connectors", tag = "connectors", params(ConnectorQuery),
    responses((status = 200, description = "By name", body = Page<Connector>))
)]
pub async fn list_connectors(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<ConnectorQuery>,
) -> Result<Json<Page<Connector>>, Problem> {
    let Some(key) = query.project_key else {
        caller.require_service_admin()?;
        let health = integrations::health(&api.background, None).await?;
        return Ok(Json(with_git(api.connectors.all(), &health)));
    };
    let ProjectContext { project, store, .. } =
        api.authorize(&caller, &key, Permission::ManagePolicy).await?;
    let health = integrations::health(&store, Some(project.id)).await?;
    Ok(Json(with_git(api.connectors.of(&key), &health)))
}

/// The integration, if the connector can have such a resource.
fn supported(
    connector: &client::Connector,
    request: CreateIntegration,
) -> Result<NewIntegration, Problem> {
    let provider = connector.kind();
    let new = with_capability(Capability::of(provider), provider.as_str(), request)?;
    let checked = match new.capability {
        Capability::Issues => connector.tracker(&new.resource).map(drop),
        Capability::Pages => connector.wiki(&new.resource).map(drop),
        Capability::Refs => connector.git_host(&new.resource).map(drop),
    };
    checked.map_err(|error| invalid_resource(&error))?;
    Ok(new)
}

/// The integration, if its capability is one of these; the first one when it names none.
fn with_capability(
    all: &[Capability],
    provider: &str,
    request: CreateIntegration,
) -> Result<NewIntegration, Problem> {
    let capability = request.capability.or(all.first().copied());
    let Some(capability) = capability.filter(|capability| all.contains(capability)) else {
        let rule = format!("must be one that a {provider} has: {}", listed(all));
        return Err(ValidationError::new("capability", rule).into());
    };
    Ok(NewIntegration {
        id: IntegrationId::generate(),
        connector: request.connector.into(),
        resource: request.resource.into(),
        capability,
        interval_minutes: request.interval_minutes.get(),
        include_comments: request.include_comments.unwrap_or(true),
    })
}

/// Checks that the project has indexed a repository under this name. Where the repository is was
/// decided by the rules of `POST /ingest/git`.
async fn check_indexed(store: &Store, project: ProjectId, resource: &str) -> Result<(), Problem> {
    let Some(PlainGit { owner, name }) = PlainGit::parse(resource) else {
        let rule = "must be the owner/name under which the project has indexed a repository";
        return Err(ValidationError::new("resource", rule).into());
    };
    if repositories::find(store, project, owner, name).await?.is_some() {
        return Ok(());
    }
    Err(Problem::not_found(format!("the project has indexed no repository {resource}"))
        .field("resource")
        .hint("index it with POST /ingest/git first"))
}

fn listed(capabilities: &[Capability]) -> String {
    capabilities.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ")
}

fn invalid_resource(error: &client::Error) -> Problem {
    match error {
        client::Error::InvalidResource { rule, .. } => {
            ValidationError::new("resource", *rule).into()
        }
        other => Problem::invalid(other.to_string()).field("resource"),
    }
}

async fn found(
    here: &ProjectContext,
    key: &ProjectKey,
    id: IntegrationId,
) -> Result<Json<Integration>, Problem> {
    let found = integrations::find(&here.store, here.project.id, id).await?;
    Ok(Json(integration(found.ok_or_else(|| unknown(key))?)))
}

fn record_event(tx: &mut Tx, id: IntegrationId, details: Value) {
    audit::record(tx, NewEvent::new(AuditAction::IntegrationChanged, id).with(details));
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such integration")
        .field("id")
        .hint(format!("GET /projects/{key}/integrations lists them"))
}

fn unknown_connector(name: &str, key: &ProjectKey) -> Problem {
    let detail = format!("there is no connector \"{name}\" that \"{key}\" may use");
    Problem::not_found(detail).field("connector").hint(format!(
        "GET /connectors?project_key={key} lists those that it may use; the operator configures \
         others in `connectors`"
    ))
}

/// Lists the configured connectors, and git, which needs no configuration.
fn with_git<'a>(
    connectors: impl Iterator<Item = &'a client::Connector>,
    health: &[ConnectorHealth],
) -> Page<Connector> {
    let configured = connectors.map(|one| {
        let provider = one.kind();
        connector(one.name(), named(provider), Capability::of(provider), health)
    });
    let git =
        connector(PlainGit::CONNECTOR_NAME, ConnectorProvider::Git, &[Capability::Refs], health);
    Page::new(configured.chain([git]).collect(), None)
}

fn named(provider: Provider) -> ConnectorProvider {
    match provider {
        Provider::Github => ConnectorProvider::Github,
        Provider::Gitlab => ConnectorProvider::Gitlab,
        Provider::Jira => ConnectorProvider::Jira,
        Provider::Youtrack => ConnectorProvider::Youtrack,
        Provider::Redmine => ConnectorProvider::Redmine,
        Provider::Confluence => ConnectorProvider::Confluence,
    }
}

fn connector(
    name: &str,
    provider: ConnectorProvider,
    capabilities: &[Capability],
    health: &[ConnectorHealth],
) -> Connector {
    let health = health.iter().find(|health| health.connector == name);
    Connector {
        name: name.to_owned(),
        provider,
        capabilities: capabilities.to_vec(),
        integration_count: health.map_or(0, |health| health.integration_count),
        failing_count: health.map_or(0, |health| health.failing_count),
        last_success_at: health.and_then(|health| health.last_success_at),
        last_error: health.and_then(|health| health.last_error.clone()),
        next_sync_at: health.and_then(|health| health.next_sync_at),
    }
}

fn integration(row: integrations::Integration) -> Integration {
    let has_failed = row.consecutive_failures > 0;
    Integration {
        id: row.id,
        connector: row.connector,
        resource: row.resource,
        capability: row.capability,
        interval_minutes: row.interval_minutes,
        include_comments: row.include_comments,
        is_paused: row.is_paused,
        created_by: row.created_by,
        created_at: row.created_at,
        next_sync_at: row.next_sync_at,
        last_success_at: row.last_success_at,
        last_error: row.last_error,
        consecutive_failures: row.consecutive_failures,
        task_count: row.task_count,
        document_count: row.document_count,
        current_run: row.current_run.map(|run| SyncRun {
            started_at: run.at,
            pages_fetched: run.pages,
            items_synced: run.items,
        }),
        last_run: row.last_run.map(|run| LastSyncRun {
            completed_at: run.at,
            has_failed,
            pages_fetched: run.pages,
            items_synced: run.items,
        }),
    }
}
