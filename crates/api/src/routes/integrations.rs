//! `/projects/{key}/integrations` and `/connectors`: which other systems are asked on a project's behalf, and how that
//! goes. Where a system is, and with which credential it is asked, the operator's configuration says alone.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_connectors::PlainGit;
use mc_connectors::client::{self};
use mc_domain::{AuditAction, Capability, IntegrationId, Permission, ProjectId, ProjectKey};
use mc_store::audit::{self, NewEvent};
use mc_store::integrations::{self, ConnectorHealth, IntegrationUpdate, NewIntegration};
use mc_store::repositories;
use mc_store::{Store, Tx};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{Capability as AbilityView, Provider as SystemKindView, whole};

/// How often a system is asked when the caller says nothing else.
const DEFAULT_MINUTES: i64 = 15;

/// A connection, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct IntegrationPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The connection's id.
    id: Uuid,
}

impl Validate for IntegrationPath {
    type Checked = (ProjectKey, IntegrationId);

    fn check(self) -> Result<(ProjectKey, IntegrationId), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, IntegrationId(self.id)))
    }
}

/// A connection to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"system": "our-jira", "what": "CS", "interval_minutes": 15}))]
pub struct CreateIntegration {
    /// The operator's name for the system, as `GET /connectors` lists it; `git` for a repository that is asked by git
    /// alone.
    #[schema(value_type = schemas::Word)]
    connector: String,
    /// What of it: a repository (`owner/name`; for `git` as the project has indexed it), a project's key or
    /// identifier, a space's key.
    #[schema(value_type = schemas::ExternalId)]
    resource: String,
    /// What it is asked for; when absent, the first that such systems have.
    capability: Option<AbilityView>,
    /// How often it is asked: every 5 to 1,440 minutes; 15 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::EveryMinutes>)]
    interval_minutes: Option<i64>,
    /// Whether what people say about issues is taken in, where the policy lets it
    /// (`trackers.import_comments`); yes when absent.
    include_comments: Option<bool>,
}

/// A [`ConnectionRequest`] as checked.
#[derive(Debug)]
pub struct ValidatedConnection {
    connector: String,
    resource: String,
    capability: Option<Capability>,
    interval_minutes: i32,
    include_comments: bool,
}

impl Validate for CreateIntegration {
    type Checked = ValidatedConnection;

    fn check(self) -> Result<ValidatedConnection, ValidationError> {
        let minutes = self.interval_minutes.unwrap_or(DEFAULT_MINUTES);
        Ok(ValidatedConnection {
            connector: validate::identifier("connector", &self.connector, limits::WORD)?,
            resource: validate::identifier("resource", &self.resource, limits::EXTERNAL_ID)?,
            capability: self.capability.map(Into::into),
            interval_minutes: interval_minutes(minutes)?,
            include_comments: self.include_comments.unwrap_or(true),
        })
    }
}

/// What is to be otherwise of a connection; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"is_paused": true}))]
pub struct UpdateIntegration {
    /// How often it is asked: every 5 to 1,440 minutes.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::EveryMinutes>)]
    interval_minutes: Option<i64>,
    /// Whether what people say about issues is taken in.
    include_comments: Option<bool>,
    /// Whether it is asked at all.
    is_paused: Option<bool>,
}

impl Validate for UpdateIntegration {
    type Checked = IntegrationUpdate;

    fn check(self) -> Result<IntegrationUpdate, ValidationError> {
        Ok(IntegrationUpdate {
            interval_minutes: self.interval_minutes.map(interval_minutes).transpose()?,
            include_comments: self.include_comments,
            is_paused: self.is_paused,
        })
    }
}

fn interval_minutes(minutes: i64) -> Result<i32, ValidationError> {
    validate::range("interval_minutes", minutes, &limits::EVERY_MINUTES)
}

/// What becomes of what came by a connection.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteIntegrationQuery {
    /// Whether it is forgotten: documents, and what was told of tasks. It stays when absent, as nobody brings it up
    /// to date.
    forget: Option<bool>,
}

impl Validate for DeleteIntegrationQuery {
    type Checked = bool;

    fn check(self) -> Result<bool, ValidationError> {
        Ok(self.forget.unwrap_or(false))
    }
}

/// Whose systems.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SystemQuery {
    /// Those that this project may use; for administrators of the service all, when absent.
    #[param(value_type = Option<schemas::ProjectKey>, inline)]
    project_key: Option<String>,
}

impl Validate for SystemQuery {
    type Checked = Option<ProjectKey>;

    fn check(self) -> Result<Option<ProjectKey>, ValidationError> {
        validate::optional("project_key", self.project_key, |field, key| {
            validate::project_key(field, &key)
        })
    }
}

/// What a project hears of another system by asking it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Integration {
    id: Uuid,
    /// The operator's name for the system.
    connector: String,
    /// What of it.
    resource: String,
    capability: AbilityView,
    interval_minutes: i32,
    include_comments: bool,
    is_paused: bool,
    /// Who made it, by login; absent where that user is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    created_at: DateTime<Utc>,
    /// When it is asked next, unless it is paused.
    next_sync_at: DateTime<Utc>,
    /// When a sync last came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_success_at: Option<DateTime<Utc>>,
    /// Why the last one did not; absent where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// How many have failed since.
    consecutive_failures: i32,
    /// Tasks that came by it.
    task_count: i64,
    /// Documents that came by it.
    document_count: i64,
    /// How far it is; absent unless it is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    current_run: Option<SyncRun>,
    /// What came when it was last at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<LastSyncRun>,
}

/// A connection at work: from the first page that is asked for to the last. It is not over while the system wants to be
/// left alone until `due_at`.
#[derive(Debug, Serialize, ToSchema)]
pub struct SyncRun {
    started_at: DateTime<Utc>,
    /// Pages that were read so far.
    pages_fetched: i64,
    /// Issues and pages of wikis that were taken in, and index runs that were asked for, so far.
    items_synced: i64,
}

/// When a connection was last at work. Where it failed, `last_error` says why, and `due_at` when it is tried again.
#[derive(Debug, Serialize, ToSchema)]
pub struct LastSyncRun {
    completed_at: DateTime<Utc>,
    /// Whether it failed.
    has_failed: bool,
    /// Pages that were read.
    pages_fetched: i64,
    /// Issues and pages of wikis that were taken in, and index runs that were asked for.
    items_synced: i64,
}

/// A system that the operator has named, or git itself, and how the connections to it are.
#[derive(Debug, Serialize, ToSchema)]
pub struct Connector {
    /// The operator's name for it.
    name: String,
    provider: SystemKindView,
    /// What it may be asked for.
    capabilities: Vec<AbilityView>,
    /// How many connections there are to it: of the project, or of all.
    integration_count: i64,
    /// How many of them failed last.
    failing_count: i64,
    /// When a sync last came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_success_at: Option<DateTime<Utc>>,
    /// Why one of those that fail does.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// When the next sync is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_sync_at: Option<DateTime<Utc>>,
}

/// Have a system asked on the project's behalf, now and from now on.
#[utoipa::path(
    post, path = "/projects/{key}/integrations", tag = "connectors", params(ProjectPath),
    request_body = CreateIntegration,
    responses((status = 201, description = "Its first sync waits for a worker", body = Integration))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson(request): ValidJson<CreateIntegration>,
) -> Result<(StatusCode, Json<Integration>), Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let new = if request.connector == PlainGit::SYSTEM {
        check_indexed(&store, project.id, &request.resource).await?;
        with_one_of(&[Capability::Refs], "git", request)?
    } else {
        let system = api.connectors.find(&request.connector, &key);
        let system = system.ok_or_else(|| unknown_system(&request.connector, &key))?;
        fitting(system, request)?
    };
    let mut tx = store.begin().await?;
    integrations::create(&mut tx, project.id, &new).await?;
    let detail = json!({ "change": "created", "system": new.connector, "ability": new.capability });
    note(&mut tx, new.id, detail);
    tx.commit().await?;
    let made = integrations::find(&store, project.id, new.id).await?;
    let made = made.ok_or_else(|| unknown(&key))?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// See which systems are asked on the project's behalf.
#[utoipa::path(
    get, path = "/projects/{key}/integrations", tag = "connectors", params(ProjectPath),
    responses((status = 200, description = "In the order they were made", body = Page<Integration>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<Page<Integration>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let found = integrations::list(&here.store, here.project.id).await?;
    Ok(Json(Page::complete(found)))
}

/// See one connection.
#[utoipa::path(
    get, path = "/projects/{key}/integrations/{id}", tag = "connectors", params(IntegrationPath),
    responses((status = 200, description = "The connection", body = Integration))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<IntegrationPath>,
) -> Result<Json<Integration>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    found(&here, &key, id).await
}

/// Change a connection: how often the system is asked, for what, or whether at all.
#[utoipa::path(
    patch, path = "/projects/{key}/integrations/{id}", tag = "connectors", params(IntegrationPath),
    request_body = UpdateIntegration,
    responses((status = 200, description = "As it is now", body = Integration))
)]
pub async fn update(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<IntegrationPath>,
    ValidJson(update): ValidJson<UpdateIntegration>,
) -> Result<Json<Integration>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = here.store.begin().await?;
    if !integrations::change(&mut tx, here.project.id, id, &update).await? {
        return Err(unknown(&key));
    }
    let IntegrationUpdate { interval_minutes, include_comments, is_paused } = update;
    let detail = json!({
        "change": "changed", "interval_minutes": interval_minutes, "include_comments": include_comments,
        "is_paused": is_paused,
    });
    note(&mut tx, id, detail);
    tx.commit().await?;
    found(&here, &key, id).await
}

/// Have a system asked now.
#[utoipa::path(
    post, path = "/projects/{key}/integrations/{id}/sync", tag = "connectors", params(IntegrationPath),
    responses((status = 202, description = "The sync waits for a worker", body = Integration))
)]
pub async fn sync(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<IntegrationPath>,
) -> Result<(StatusCode, Json<Integration>), Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let Json(view) = found(&here, &key, id).await?;
    let mut tx = here.store.begin().await?;
    if !integrations::request_sync(&mut tx, here.project.id, id).await? {
        return Err(Problem::conflict("the connection is paused")
            .field("id")
            .hint("send {\"is_paused\": false} with PATCH first"));
    }
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Have a system asked no more. What came by the connection stays, or is forgotten.
#[utoipa::path(
    delete, path = "/projects/{key}/integrations/{id}", tag = "connectors",
    params(IntegrationPath, DeleteIntegrationQuery), responses((status = 204, description = "Removed"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<IntegrationPath>,
    ValidQuery(forget): ValidQuery<DeleteIntegrationQuery>,
) -> Result<StatusCode, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let (tasks, documents) =
        if forget { integrations::forget(&mut tx, project.id, id).await? } else { (0, 0) };
    let removed = integrations::remove(&mut tx, project.id, id).await?;
    let removed = removed.ok_or_else(|| unknown(&key))?;
    let detail = json!({
        "change": "removed", "system": removed.connector, "tasks_forgotten": tasks,
        "documents_forgotten": documents,
    });
    note(&mut tx, id, detail);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// See which systems a project may be connected to, and how its connections are.
///
/// For the project's maintainers; without a project for administrators of the service, who see all.
#[utoipa::path(
    get, path = "/connectors", tag = "connectors", params(SystemQuery),
    responses((status = 200, description = "By name", body = Page<Connector>))
)]
pub async fn list_connectors(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(project): ValidQuery<SystemQuery>,
) -> Result<Json<Page<Connector>>, Problem> {
    let Some(key) = project else {
        caller.require_service_admin()?;
        let health = integrations::health(&api.background, None).await?;
        return Ok(Json(with_git(api.connectors.all(), &health)));
    };
    let ProjectContext { project, store, .. } =
        api.authorize(&caller, &key, Permission::ManagePolicy).await?;
    let health = integrations::health(&store, Some(project.id)).await?;
    Ok(Json(with_git(api.connectors.of(&key), &health)))
}

/// The connection, where the system can have such a thing.
fn fitting(
    system: &client::Connector,
    request: ValidatedConnection,
) -> Result<NewIntegration, Problem> {
    let new = with_one_of(Capability::of(system.kind()), system.kind().as_str(), request)?;
    let can_be = match new.capability {
        Capability::Issues => system.tracker(&new.resource).map(drop),
        Capability::Pages => system.wiki(&new.resource).map(drop),
        Capability::Refs => system.git_host(&new.resource).map(drop),
    };
    can_be.map_err(|error| unfit(&error))?;
    Ok(new)
}

/// The connection, where what is asked for is one of these, the first unless another is named.
fn with_one_of(
    all: &[Capability],
    kind: &str,
    request: ValidatedConnection,
) -> Result<NewIntegration, Problem> {
    let ValidatedConnection {
        connector: system,
        resource: what,
        capability: ability,
        interval_minutes,
        include_comments,
    } = request;
    let ability = ability.or(all.first().copied()).filter(|ability| all.contains(ability));
    let Some(ability) = ability else {
        let rule = format!("must be one that a {kind} has: {}", listed(all));
        return Err(ValidationError::new("capability", rule).into());
    };
    let id = IntegrationId::generate();
    Ok(NewIntegration {
        id,
        connector: system,
        resource: what,
        capability: ability,
        interval_minutes,
        include_comments,
    })
}

/// Whether the project has indexed a repository under this name. Where that is, whoever had it indexed has said, by
/// the rules of `POST /ingest/git`.
async fn check_indexed(store: &Store, project: ProjectId, what: &str) -> Result<(), Problem> {
    let Some(PlainGit { owner, name }) = PlainGit::parse(what) else {
        let rule = "must be the owner/name under which the project has indexed a repository";
        return Err(ValidationError::new("resource", rule).into());
    };
    if repositories::find(store, project, owner, name).await?.is_some() {
        return Ok(());
    }
    Err(Problem::not_found(format!("the project has indexed no repository {what}"))
        .field("resource")
        .hint("index it with POST /ingest/git first"))
}

fn listed(capabilities: &[Capability]) -> String {
    capabilities.iter().map(|ability| ability.as_str()).collect::<Vec<_>>().join(", ")
}

fn unfit(error: &client::Error) -> Problem {
    match error {
        client::Error::Unfit { rule, .. } => ValidationError::new("resource", *rule).into(),
        other => Problem::invalid(other.to_string()).field("resource"),
    }
}

async fn found(
    here: &ProjectContext,
    key: &ProjectKey,
    id: IntegrationId,
) -> Result<Json<Integration>, Problem> {
    let found = integrations::find(&here.store, here.project.id, id).await?;
    Ok(Json(found.ok_or_else(|| unknown(key))?.into()))
}

fn note(tx: &mut Tx, id: IntegrationId, detail: Value) {
    audit::record(tx, NewEvent::new(AuditAction::IntegrationChanged, id).with(detail));
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such connection")
        .field("id")
        .hint(format!("GET /projects/{key}/integrations lists them"))
}

fn unknown_system(name: &str, key: &ProjectKey) -> Problem {
    Problem::not_found(format!("there is no system \"{name}\" that \"{key}\" may use")).field("connector").hint(
        format!(
            "GET /connectors?project_key={key} lists those that it may use; the service's operator names systems \
             in connectors"
        ),
    )
}

/// Lists the configured connectors, and git, which needs no configuration.
fn with_git<'a>(
    connectors: impl Iterator<Item = &'a client::Connector>,
    health: &[ConnectorHealth],
) -> Page<Connector> {
    let configured = connectors.map(|connector| {
        let kind = connector.kind();
        Connector::of(connector.name(), kind.into(), Capability::of(kind), health)
    });
    let git = Connector::of(PlainGit::SYSTEM, SystemKindView::Git, &[Capability::Refs], health);
    Page::complete(configured.chain([git]))
}

impl Connector {
    fn of(
        name: &str,
        kind: SystemKindView,
        capabilities: &[Capability],
        health: &[ConnectorHealth],
    ) -> Self {
        let capabilities = capabilities.iter().map(|ability| (*ability).into());
        let health = health.iter().find(|health| health.connector == name).cloned();
        let failing = health.as_ref().map_or(0, |health| health.failing_count);
        let connections = health.as_ref().map_or(0, |health| health.integration_count);
        let (ok_at, error, due_at) = health.map_or((None, None, None), |health| {
            (health.last_success_at, health.last_error, health.next_sync_at)
        });
        Self {
            name: name.to_owned(),
            provider: kind,
            capabilities: capabilities.collect(),
            integration_count: connections,
            failing_count: failing,
            last_success_at: ok_at,
            last_error: error,
            next_sync_at: due_at,
        }
    }
}

impl From<integrations::Integration> for Integration {
    fn from(connection: integrations::Integration) -> Self {
        let has_failed = connection.consecutive_failures > 0;
        Self {
            id: connection.id.into(),
            connector: connection.connector,
            resource: connection.resource,
            capability: connection.capability.into(),
            interval_minutes: connection.interval_minutes,
            include_comments: connection.include_comments,
            is_paused: connection.is_paused,
            created_by: connection.created_by,
            created_at: connection.created_at,
            next_sync_at: connection.next_sync_at,
            last_success_at: connection.last_success_at,
            last_error: connection.last_error,
            consecutive_failures: connection.consecutive_failures,
            task_count: connection.task_count,
            document_count: connection.document_count,
            current_run: connection.current_run.map(Into::into),
            last_run: connection.last_run.map(|round| LastSyncRun::of(round, has_failed)),
        }
    }
}

impl From<integrations::SyncRun> for SyncRun {
    fn from(round: integrations::SyncRun) -> Self {
        Self { started_at: round.at, pages_fetched: round.pages, items_synced: round.items }
    }
}

impl LastSyncRun {
    fn of(round: integrations::SyncRun, has_failed: bool) -> Self {
        Self {
            completed_at: round.at,
            has_failed,
            pages_fetched: round.pages,
            items_synced: round.items,
        }
    }
}
