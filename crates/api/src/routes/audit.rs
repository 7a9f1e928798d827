//! `/audit`: the audit of a project, or of the service.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::{BoxError, Json};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::stream;
use http::{HeaderValue, header};
use mc_accounts::{audit as use_cases, users};
use mc_domain::{AuditAction, Permission, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::audit::{self, Chain, Event, EventFilter};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidQuery;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use mc_contract::limits;

/// Events that an export reads at once.
const EXPORT_PAGE: i64 = 1_000;

/// Query of an audit.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChainQuery {
    /// The project's key. By default it is the service's audit, with logins, users, teams, and
    /// created and deleted projects; for service administrators.
    #[param(value_type = Option<schemas::ProjectKey>, inline)]
    project_key: Option<String>,
    /// The id of a deleted project, as in the event `project.deleted`; for service administrators.
    project_id: Option<Uuid>,
}

/// The audit that a request names.
#[derive(Debug)]
pub enum AuditScope {
    /// A project's.
    Project(ProjectKey),
    /// A deleted project's.
    Deleted(ProjectId),
    /// The service's.
    Service,
    /// None: the request names a project twice, by key and by id.
    Ambiguous,
}

impl Validate for ChainQuery {
    type Checked = AuditScope;

    fn check(self) -> Result<AuditScope, ValidationError> {
        scope(self.project_key.as_deref(), self.project_id)
    }
}

fn scope(key: Option<&str>, id: Option<Uuid>) -> Result<AuditScope, ValidationError> {
    match (key, id) {
        (Some(key), None) => Ok(AuditScope::Project(validate::project_key("project_key", key)?)),
        (None, Some(id)) => Ok(AuditScope::Deleted(ProjectId(id))),
        (None, None) => Ok(AuditScope::Service),
        (Some(_), Some(_)) => Ok(AuditScope::Ambiguous),
    }
}

/// Query of a list of audit events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// The project's key. By default it is the service's audit; for service administrators.
    #[param(value_type = Option<schemas::ProjectKey>, inline)]
    project_key: Option<String>,
    /// The id of a deleted project, as in the event `project.deleted`; for service administrators.
    project_id: Option<Uuid>,
    /// Only events of this user.
    #[param(value_type = Option<schemas::Login>, inline)]
    actor: Option<String>,
    /// Only events of this action, such as `record.saved`.
    #[param(value_type = Option<schemas::AuditActionName>, inline)]
    action: Option<String>,
    /// Only events with this target: an id or a key.
    #[param(value_type = Option<schemas::ExternalId>, inline)]
    target: Option<String>,
    /// Only events at or after this time (RFC 3339).
    since: Option<DateTime<Utc>>,
    /// Only events before this time (RFC 3339).
    until: Option<DateTime<Utc>>,
    /// The `next_cursor` of the previous page.
    #[param(minimum = 1)]
    cursor: Option<i64>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

/// A validated [`AuditQuery`].
#[derive(Debug)]
pub struct ValidatedQuery {
    scope: AuditScope,
    actor: Option<String>,
    filter: EventFilter,
    cursor: Option<i64>,
    limit: i64,
}

impl Validate for AuditQuery {
    type Checked = ValidatedQuery;

    fn check(self) -> Result<ValidatedQuery, ValidationError> {
        let act = validate::optional("action", self.action, |field, action| {
            action.parse::<AuditAction>().map_err(|error| ValidationError::new(field, error))
        })?;
        let filter = EventFilter {
            actor: None,
            act,
            target: validate::optional_line("target", self.target, limits::EXTERNAL_ID)?,
            since: self.since,
            until: self.until,
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(ValidatedQuery {
            scope: scope(self.project_key.as_deref(), self.project_id)?,
            actor: validate::optional("actor", self.actor, |field, login| {
                validate::login(field, &login)
            })?,
            filter,
            cursor: validate::optional("cursor", self.cursor, |field, before| {
                validate::range(field, before, &(1..=i64::MAX))
            })?,
            limit: validate::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// An event of the audit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "seq": 42, "occurred_at": "2026-11-20T10:00:00Z", "actor": "vera",
    "actor_id": "019a0000-0000-7000-8000-000000000010", "action": "record.saved",
    "target": "019a0000-0000-7000-8000-000000000002",
    "details": {"outcome": "created", "kind": "fact", "visibility": "team", "replaced": []},
    "mac": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
}))]
pub struct AuditEvent {
    /// Its number in the chain, from 1, without gaps.
    seq: i64,
    occurred_at: DateTime<Utc>,
    /// Login of the actor; absent for unauthenticated callers and the service itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_id: Option<Uuid>,
    /// Such as `record.saved`.
    action: String,
    /// The target: an id or a key.
    target: String,
    #[schema(value_type = Object)]
    details: serde_json::Value,
    /// MAC of the event and the one before it, under a key outside the database; hexadecimal.
    mac: String,
}

/// The result of verifying an audit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"is_valid": true, "events": 42, "first_seq": 1, "last_seq": 42}))]
pub struct Verification {
    /// Whether every event is unchanged and in its place.
    is_valid: bool,
    /// Number of valid events before the first invalid one.
    events: i64,
    /// Number of the first event; above 1 if the policy deleted older ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_seq: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seq: Option<i64>,
    /// The first fault, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// List audit events.
///
/// Returns a page of the events, newest first. A project's audit is for its maintainers, the
/// service's for service administrators.
#[utoipa::path(
    get, path = "/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, description = "Newest first", body = Page<AuditEvent>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<AuditQuery>,
) -> Result<Json<Page<AuditEvent>>, Problem> {
    let (store, chain) = open(&api, &caller, &query.scope).await?;
    let mut filter = query.filter;
    if let Some(login) = &query.actor {
        filter.actor = Some(users::filter_id(&api.store, login).await?);
    }
    let events = audit::newest(&store, chain, &filter, query.cursor, query.limit).await?;
    Ok(Json(Page::of(events, query.limit, |event| event.seq)))
}

/// Export an audit.
///
/// Returns all events as JSON Lines, one event per line, oldest first. A connection that is aborted
/// means that the export is not complete.
#[utoipa::path(
    get, path = "/audit/export", tag = "audit", params(ChainQuery),
    responses((status = 200, description = "Events, each as in `GET /audit`", body = String,
               content_type = "application/x-ndjson"))
)]
pub async fn export(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(scope): ValidQuery<ChainQuery>,
) -> Result<Response, Problem> {
    let (store, chain) = open(&api, &caller, &scope).await?;
    // An export that ends before this event is not complete.
    let end = use_cases::start_export(&store, chain).await?;
    let pages = stream::unfold(Some(0), move |from| {
        let store = store.clone();
        async move { page(&store, chain, from?, end).await }
    });
    let mut response = Response::new(Body::from_stream(pages));
    let json_lines = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, json_lines);
    Ok(response)
}

/// Verify an audit.
///
/// Recomputes the chain of events and returns the number of valid events and the first fault: an
/// event that was changed, deleted or moved. The verification is recorded as an event itself.
#[utoipa::path(
    get, path = "/audit/verification", tag = "audit", params(ChainQuery),
    responses((status = 200, description = "Whether the audit is unchanged", body = Verification))
)]
pub async fn verify(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(scope): ValidQuery<ChainQuery>,
) -> Result<Json<Verification>, Problem> {
    let (store, chain) = open(&api, &caller, &scope).await?;
    let report = use_cases::verify(&store, chain).await?;
    Ok(Json(Verification {
        is_valid: report.error.is_none(),
        events: report.events,
        first_seq: report.first_seq,
        last_seq: report.last_seq,
        error: report.error.map(|fault| fault.to_string()),
    }))
}

/// Opens the audit that a request names, if the caller may read it.
async fn open(
    api: &ApiState,
    caller: &Principal,
    scope: &AuditScope,
) -> Result<(Store, Chain), Problem> {
    let deleted_project = match scope {
        AuditScope::Project(key) => {
            let ctx = api.authorize(caller, key, Permission::Audit).await?;
            return Ok((ctx.store, Chain::Project(ctx.project.id)));
        }
        AuditScope::Ambiguous => {
            let detail = "a deleted project has no key; give one of `project_key` and `project_id`";
            return Err(Problem::not_found(detail).field("project_id"));
        }
        AuditScope::Service => None,
        AuditScope::Deleted(project) => Some(*project),
    };
    Ok(use_cases::open_service_chain(&api.store, caller, deleted_project).await?)
}

/// Returns the events after `from` as lines, and the number after which the next page starts. An
/// export that fails, or whose reader lost access, aborts the connection, so that it is not taken
/// for complete.
async fn page(
    store: &Store,
    chain: Chain,
    from: i64,
    end: i64,
) -> Option<(Result<Bytes, BoxError>, Option<i64>)> {
    let events = match audit::after(store, chain, from, EXPORT_PAGE).await {
        Ok(events) => events,
        Err(error) => return Some((Err(error.into()), None)),
    };
    let Some(last) = events.last().map(|event| event.seq) else {
        let rest = format!("the events from {} to {end} can no longer be read", from + 1);
        return (from < end).then(|| (Err(rest.into()), None));
    };
    let mut lines = Vec::new();
    for event in events {
        // Fails only for maps whose keys are not strings.
        let _ = serde_json::to_writer(&mut lines, &AuditEvent::from(event));
        lines.push(b'\n');
    }
    Some((Ok(lines.into()), Some(last)))
}

impl From<Event> for AuditEvent {
    fn from(event: Event) -> Self {
        Self {
            seq: event.seq,
            occurred_at: event.occurred_at,
            actor: event.login,
            actor_id: event.actor.map(Into::into),
            action: event.action,
            target: event.target,
            details: event.details,
            mac: hex::encode(event.mac),
        }
    }
}
