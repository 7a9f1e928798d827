//! `/projects/{key}/connections` and `/connectors`: which other systems are asked on a project's behalf, and how that
//! goes. Where a system is, and with which credential it is asked, the operator's configuration says alone.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_connectors::PlainGit;
use mc_connectors::client::{self, System};
use mc_domain::{Ability, Act, Action, ConnectionId, ProjectId, ProjectKey};
use mc_store::audit::{self, NewEvent};
use mc_store::connections::{self, Change, Connection, Health, NewConnection, Round};
use mc_store::repositories;
use mc_store::{Store, Tx};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::entry::Here;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;
use crate::wire::{Ability as AbilityView, SystemKind as SystemKindView, whole};

/// How often a system is asked when the caller says nothing else.
const DEFAULT_MINUTES: i64 = 15;

/// A connection, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ConnectionPath {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    key: String,
    /// The connection's id.
    id: Uuid,
}

impl Check for ConnectionPath {
    type Checked = (ProjectKey, ConnectionId);

    fn check(self) -> Result<(ProjectKey, ConnectionId), Invalid> {
        Ok((check::project_key("key", &self.key)?, ConnectionId(self.id)))
    }
}

/// A connection to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"system": "our-jira", "what": "CS", "every_minutes": 15}))]
pub struct ConnectionRequest {
    /// The operator's name for the system, as `GET /connectors` lists it; `git` for a repository that is asked by git
    /// alone.
    #[schema(value_type = shapes::Word)]
    system: String,
    /// What of it: a repository (`owner/name`; for `git` as the project has indexed it), a project's key or
    /// identifier, a space's key.
    #[schema(value_type = shapes::ExternalId)]
    what: String,
    /// What it is asked for; when absent, the first that such systems have.
    ability: Option<AbilityView>,
    /// How often it is asked: every 5 to 1,440 minutes; 15 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<shapes::EveryMinutes>)]
    every_minutes: Option<i64>,
    /// Whether what people say about issues is taken in, where the policy lets it
    /// (`trackers.comments`); yes when absent.
    with_comments: Option<bool>,
}

/// A [`ConnectionRequest`] as checked.
#[derive(Debug)]
pub struct CheckedConnection {
    system: String,
    what: String,
    ability: Option<Ability>,
    every_minutes: i32,
    with_comments: bool,
}

impl Check for ConnectionRequest {
    type Checked = CheckedConnection;

    fn check(self) -> Result<CheckedConnection, Invalid> {
        let minutes = self.every_minutes.unwrap_or(DEFAULT_MINUTES);
        Ok(CheckedConnection {
            system: check::identifier("system", &self.system, limits::WORD)?,
            what: check::identifier("what", &self.what, limits::EXTERNAL_ID)?,
            ability: self.ability.map(Into::into),
            every_minutes: every_minutes(minutes)?,
            with_comments: self.with_comments.unwrap_or(true),
        })
    }
}

/// What is to be otherwise of a connection; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"is_paused": true}))]
pub struct ConnectionChange {
    /// How often it is asked: every 5 to 1,440 minutes.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<shapes::EveryMinutes>)]
    every_minutes: Option<i64>,
    /// Whether what people say about issues is taken in.
    with_comments: Option<bool>,
    /// Whether it is asked at all.
    is_paused: Option<bool>,
}

impl Check for ConnectionChange {
    type Checked = Change;

    fn check(self) -> Result<Change, Invalid> {
        Ok(Change {
            every_minutes: self.every_minutes.map(every_minutes).transpose()?,
            with_comments: self.with_comments,
            is_paused: self.is_paused,
        })
    }
}

fn every_minutes(minutes: i64) -> Result<i32, Invalid> {
    check::range("every_minutes", minutes, &limits::EVERY_MINUTES)
}

/// What becomes of what came by a connection.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemovalQuery {
    /// Whether it is forgotten: documents, and what was told of tasks. It stays when absent, as nobody brings it up
    /// to date.
    forget: Option<bool>,
}

impl Check for RemovalQuery {
    type Checked = bool;

    fn check(self) -> Result<bool, Invalid> {
        Ok(self.forget.unwrap_or(false))
    }
}

/// Whose systems.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SystemQuery {
    /// Those that this project may use; for administrators of the service all, when absent.
    #[param(value_type = Option<shapes::ProjectKey>, inline)]
    project_key: Option<String>,
}

impl Check for SystemQuery {
    type Checked = Option<ProjectKey>;

    fn check(self) -> Result<Option<ProjectKey>, Invalid> {
        check::optional("project_key", self.project_key, |field, key| {
            check::project_key(field, &key)
        })
    }
}

/// What a project hears of another system by asking it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConnectionView {
    id: Uuid,
    /// The operator's name for the system.
    system: String,
    /// What of it.
    what: String,
    ability: AbilityView,
    every_minutes: i32,
    with_comments: bool,
    is_paused: bool,
    /// Who made it, by login; absent where that user is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    created_at: DateTime<Utc>,
    /// When it is asked next, unless it is paused.
    due_at: DateTime<Utc>,
    /// When a sync last came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_ok_at: Option<DateTime<Utc>>,
    /// Why the last one did not; absent where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// How many have failed since.
    failures: i32,
    /// Tasks that came by it.
    tasks: i64,
    /// Documents that came by it.
    documents: i64,
    /// How far it is; absent unless it is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<RoundView>,
    /// What came when it was last at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_round: Option<LastRoundView>,
}

/// A connection at work: from the first page that is asked for to the last. It is not over while the system wants to be
/// left alone until `due_at`.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoundView {
    begun_at: DateTime<Utc>,
    /// Pages that were read so far.
    pages: i64,
    /// Issues and pages of wikis that were taken in, and index runs that were asked for, so far.
    things: i64,
}

/// When a connection was last at work. Where it failed, `last_error` says why, and `due_at` when it is tried again.
#[derive(Debug, Serialize, ToSchema)]
pub struct LastRoundView {
    ended_at: DateTime<Utc>,
    /// Whether it failed.
    has_failed: bool,
    /// Pages that were read.
    pages: i64,
    /// Issues and pages of wikis that were taken in, and index runs that were asked for.
    things: i64,
}

/// A project's connections.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConnectionList {
    connections: Vec<ConnectionView>,
}

/// A system that the operator has named, or git itself, and how the connections to it are.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemView {
    /// The operator's name for it.
    name: String,
    kind: SystemKindView,
    /// What it may be asked for.
    abilities: Vec<AbilityView>,
    /// How many connections there are to it: of the project, or of all.
    connections: i64,
    /// How many of them failed last.
    failing: i64,
    /// When a sync last came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_ok_at: Option<DateTime<Utc>>,
    /// Why one of those that fail does.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// When the next sync is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_due_at: Option<DateTime<Utc>>,
}

/// Systems that may be asked.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemList {
    systems: Vec<SystemView>,
}

/// Have a system asked on the project's behalf, now and from now on.
#[utoipa::path(
    post, path = "/projects/{key}/connections", tag = "connectors", params(ProjectPath),
    request_body = ConnectionRequest,
    responses((status = 201, description = "Its first sync waits for a worker", body = ConnectionView))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson(request): ValidJson<ConnectionRequest>,
) -> Result<(StatusCode, Json<ConnectionView>), Problem> {
    let Here { project, store, .. } = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let new = if request.system == PlainGit::SYSTEM {
        check_indexed(&store, project.id, &request.what).await?;
        with_one_of(&[Ability::Heads], "git", request)?
    } else {
        let system = api.systems.find(&request.system, &key);
        let system = system.ok_or_else(|| unknown_system(&request.system, &key))?;
        fitting(system, request)?
    };
    let mut tx = store.begin().await?;
    connections::create(&mut tx, project.id, &new).await?;
    let detail = json!({ "change": "created", "system": new.system, "ability": new.ability });
    note(&mut tx, new.id, detail);
    tx.commit().await?;
    let made = connections::find(&store, project.id, new.id).await?;
    let made = made.ok_or_else(|| unknown(&key))?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// See which systems are asked on the project's behalf.
#[utoipa::path(
    get, path = "/projects/{key}/connections", tag = "connectors", params(ProjectPath),
    responses((status = 200, description = "In the order they were made", body = ConnectionList))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<ConnectionList>, Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let found = connections::list(&here.store, here.project.id).await?;
    Ok(Json(ConnectionList { connections: found.into_iter().map(Into::into).collect() }))
}

/// See one connection.
#[utoipa::path(
    get, path = "/projects/{key}/connections/{id}", tag = "connectors", params(ConnectionPath),
    responses((status = 200, description = "The connection", body = ConnectionView))
)]
pub async fn show(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ConnectionPath>,
) -> Result<Json<ConnectionView>, Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    found(&here, &key, id).await
}

/// Change a connection: how often the system is asked, for what, or whether at all.
#[utoipa::path(
    patch, path = "/projects/{key}/connections/{id}", tag = "connectors", params(ConnectionPath),
    request_body = ConnectionChange,
    responses((status = 200, description = "As it is now", body = ConnectionView))
)]
pub async fn change(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ConnectionPath>,
    ValidJson(change): ValidJson<ConnectionChange>,
) -> Result<Json<ConnectionView>, Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let mut tx = here.store.begin().await?;
    if !connections::change(&mut tx, here.project.id, id, &change).await? {
        return Err(unknown(&key));
    }
    let Change { every_minutes, with_comments, is_paused } = change;
    let detail = json!({
        "change": "changed", "every_minutes": every_minutes, "with_comments": with_comments,
        "is_paused": is_paused,
    });
    note(&mut tx, id, detail);
    tx.commit().await?;
    found(&here, &key, id).await
}

/// Have a system asked now.
#[utoipa::path(
    post, path = "/projects/{key}/connections/{id}/sync", tag = "connectors", params(ConnectionPath),
    responses((status = 202, description = "The sync waits for a worker", body = ConnectionView))
)]
pub async fn sync(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ConnectionPath>,
) -> Result<(StatusCode, Json<ConnectionView>), Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let Json(view) = found(&here, &key, id).await?;
    let mut tx = here.store.begin().await?;
    if !connections::ask(&mut tx, here.project.id, id).await? {
        return Err(Problem::conflict("the connection is paused")
            .field("id")
            .hint("send {\"is_paused\": false} with PATCH first"));
    }
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Have a system asked no more. What came by the connection stays, or is forgotten.
#[utoipa::path(
    delete, path = "/projects/{key}/connections/{id}", tag = "connectors",
    params(ConnectionPath, RemovalQuery), responses((status = 204, description = "Removed"))
)]
pub async fn remove(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ConnectionPath>,
    ValidQuery(forget): ValidQuery<RemovalQuery>,
) -> Result<StatusCode, Problem> {
    let Here { project, store, .. } = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let (tasks, documents) =
        if forget { connections::forget(&mut tx, project.id, id).await? } else { (0, 0) };
    let removed = connections::remove(&mut tx, project.id, id).await?;
    let removed = removed.ok_or_else(|| unknown(&key))?;
    let detail = json!({
        "change": "removed", "system": removed.system, "tasks_forgotten": tasks,
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
    responses((status = 200, description = "By name", body = SystemList))
)]
pub async fn systems(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(project): ValidQuery<SystemQuery>,
) -> Result<Json<SystemList>, Problem> {
    let Some(key) = project else {
        caller.require_administrator()?;
        let health = connections::health(&api.background, None).await?;
        return Ok(Json(SystemList::of(api.systems.all(), &health)));
    };
    let Here { project, store, .. } = api.enter(&caller, &key, Action::ManagePolicy).await?;
    let health = connections::health(&store, Some(project.id)).await?;
    Ok(Json(SystemList::of(api.systems.of(&key), &health)))
}

/// The connection, where the system can have such a thing.
fn fitting(system: &System, request: CheckedConnection) -> Result<NewConnection, Problem> {
    let new = with_one_of(Ability::of(system.kind()), system.kind().as_str(), request)?;
    let can_be = match new.ability {
        Ability::Issues => system.tracker(&new.what).map(drop),
        Ability::Pages => system.wiki(&new.what).map(drop),
        Ability::Heads => system.git_host(&new.what).map(drop),
    };
    can_be.map_err(|error| unfit(&error))?;
    Ok(new)
}

/// The connection, where what is asked for is one of these, the first unless another is named.
fn with_one_of(
    all: &[Ability],
    kind: &str,
    request: CheckedConnection,
) -> Result<NewConnection, Problem> {
    let CheckedConnection { system, what, ability, every_minutes, with_comments } = request;
    let ability = ability.or(all.first().copied()).filter(|ability| all.contains(ability));
    let Some(ability) = ability else {
        let rule = format!("must be one that a {kind} has: {}", listed(all));
        return Err(Invalid::new("ability", rule).into());
    };
    let id = ConnectionId::generate();
    Ok(NewConnection { id, system, what, ability, every_minutes, with_comments })
}

/// Whether the project has indexed a repository under this name. Where that is, whoever had it indexed has said, by
/// the rules of `POST /ingest/git`.
async fn check_indexed(store: &Store, project: ProjectId, what: &str) -> Result<(), Problem> {
    let Some(PlainGit { owner, name }) = PlainGit::parse(what) else {
        let rule = "must be the owner/name under which the project has indexed a repository";
        return Err(Invalid::new("what", rule).into());
    };
    if repositories::find(store, project, owner, name).await?.is_some() {
        return Ok(());
    }
    Err(Problem::not_found(format!("the project has indexed no repository {what}"))
        .field("what")
        .hint("index it with POST /ingest/git first"))
}

fn listed(abilities: &[Ability]) -> String {
    abilities.iter().map(|ability| ability.as_str()).collect::<Vec<_>>().join(", ")
}

fn unfit(error: &client::Error) -> Problem {
    match error {
        client::Error::Unfit { rule, .. } => Invalid::new("what", *rule).into(),
        other => Problem::invalid(other.to_string()).field("what"),
    }
}

async fn found(
    here: &Here,
    key: &ProjectKey,
    id: ConnectionId,
) -> Result<Json<ConnectionView>, Problem> {
    let found = connections::find(&here.store, here.project.id, id).await?;
    Ok(Json(found.ok_or_else(|| unknown(key))?.into()))
}

fn note(tx: &mut Tx, id: ConnectionId, detail: Value) {
    audit::note(tx, NewEvent::new(Act::ConnectionChanged, id).with(detail));
}

fn unknown(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such connection")
        .field("id")
        .hint(format!("GET /projects/{key}/connections lists them"))
}

fn unknown_system(name: &str, key: &ProjectKey) -> Problem {
    Problem::not_found(format!("there is no system \"{name}\" that \"{key}\" may use")).field("system").hint(
        format!(
            "GET /connectors?project_key={key} lists those that it may use; the service's operator names systems \
             in connectors.systems"
        ),
    )
}

impl SystemList {
    /// Those that the operator has named, and git, which needs none to be named.
    fn of<'a>(systems: impl Iterator<Item = &'a System>, health: &[Health]) -> Self {
        let named = systems.map(|system| {
            let kind = system.kind();
            SystemView::of(system.name(), kind.into(), Ability::of(kind), health)
        });
        let git = SystemView::of(PlainGit::SYSTEM, SystemKindView::Git, &[Ability::Heads], health);
        Self { systems: named.chain([git]).collect() }
    }
}

impl SystemView {
    fn of(name: &str, kind: SystemKindView, abilities: &[Ability], health: &[Health]) -> Self {
        let abilities = abilities.iter().map(|ability| (*ability).into());
        let health = health.iter().find(|health| health.system == name).cloned();
        let failing = health.as_ref().map_or(0, |health| health.failing);
        let connections = health.as_ref().map_or(0, |health| health.connections);
        let (ok_at, error, due_at) =
            health.map_or((None, None, None), |health| (health.ok_at, health.error, health.due_at));
        Self {
            name: name.to_owned(),
            kind,
            abilities: abilities.collect(),
            connections,
            failing,
            last_ok_at: ok_at,
            last_error: error,
            next_due_at: due_at,
        }
    }
}

impl From<Connection> for ConnectionView {
    fn from(connection: Connection) -> Self {
        let has_failed = connection.failures > 0;
        Self {
            id: connection.id.into(),
            system: connection.system,
            what: connection.what,
            ability: connection.ability.into(),
            every_minutes: connection.every_minutes,
            with_comments: connection.with_comments,
            is_paused: connection.is_paused,
            created_by: connection.created_by,
            created_at: connection.created_at,
            due_at: connection.due_at,
            last_ok_at: connection.ok_at,
            last_error: connection.error,
            failures: connection.failures,
            tasks: connection.tasks,
            documents: connection.documents,
            round: connection.round.map(Into::into),
            last_round: connection.last_round.map(|round| LastRoundView::of(round, has_failed)),
        }
    }
}

impl From<Round> for RoundView {
    fn from(round: Round) -> Self {
        Self { begun_at: round.at, pages: round.pages, things: round.things }
    }
}

impl LastRoundView {
    fn of(round: Round, has_failed: bool) -> Self {
        Self { ended_at: round.at, has_failed, pages: round.pages, things: round.things }
    }
}
