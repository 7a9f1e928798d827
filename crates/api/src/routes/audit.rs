//! `/audit`: who did what, in a project or to what belongs to none.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::{BoxError, Json};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::stream;
use http::{HeaderValue, header};
use mc_domain::{AuditAction, Permission, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::audit::{self, Chain, Event, EventFilter, NewEvent};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::users;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidQuery;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Events that are read at once for an export.
const EXPORT_PAGE: i64 = 1_000;

/// Whose audit.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChainQuery {
    /// The project's key; the service's own audit (logins, users, teams, projects that come and go) when
    /// absent, for administrators of the service.
    #[param(value_type = Option<schemas::ProjectKey>, inline)]
    project_key: Option<String>,
    /// The id of a project that was removed, as the event `project.deleted` has it; for administrators of
    /// the service.
    project_id: Option<Uuid>,
}

/// Whose audit is asked for.
#[derive(Debug)]
pub enum AuditScope {
    /// A project's.
    Project(ProjectKey),
    /// That of a project that was removed.
    Removed(ProjectId),
    /// The service's.
    Service,
    /// That of a project that is removed and has a key all the same.
    Nobody,
}

impl Validate for ChainQuery {
    type Checked = AuditScope;

    fn check(self) -> Result<AuditScope, ValidationError> {
        whose(self.project_key.as_deref(), self.project_id)
    }
}

fn whose(key: Option<&str>, id: Option<Uuid>) -> Result<AuditScope, ValidationError> {
    match (key, id) {
        (Some(key), None) => Ok(AuditScope::Project(validate::project_key("project_key", key)?)),
        (None, Some(id)) => Ok(AuditScope::Removed(ProjectId(id))),
        (None, None) => Ok(AuditScope::Service),
        (Some(_), Some(_)) => Ok(AuditScope::Nobody),
    }
}

/// Which events, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// The project's key; the service's own audit when absent, for administrators of the service.
    #[param(value_type = Option<schemas::ProjectKey>, inline)]
    project_key: Option<String>,
    /// The id of a project that was removed, as the event `project.deleted` has it; for administrators of
    /// the service.
    project_id: Option<Uuid>,
    /// Only what this user did.
    #[param(value_type = Option<schemas::Login>, inline)]
    actor: Option<String>,
    /// Only this action, such as `record.saved`.
    #[param(value_type = Option<schemas::ActName>, inline)]
    action: Option<String>,
    /// Only what was done to this: an id or a key.
    #[param(value_type = Option<schemas::ExternalId>, inline)]
    target: Option<String>,
    /// Not before this time (RFC 3339).
    since: Option<DateTime<Utc>>,
    /// Before this time (RFC 3339).
    until: Option<DateTime<Utc>>,
    /// Only events before this one: the `next_cursor` of the page before.
    #[param(minimum = 1)]
    cursor: Option<i64>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

/// An [`AuditQuery`] as checked.
#[derive(Debug)]
pub struct ValidatedQuery {
    whose: AuditScope,
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
            whose: whose(self.project_key.as_deref(), self.project_id)?,
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
pub struct AuditEvent {
    /// Its place in the chain, from 1, without gaps.
    seq: i64,
    occurred_at: DateTime<Utc>,
    /// Who did it, by login; absent for strangers and the service itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_id: Option<Uuid>,
    /// Such as `record.saved`.
    action: String,
    /// What it was done to: an id or a key.
    target: String,
    #[schema(value_type = Object)]
    details: serde_json::Value,
    /// Covers the event and the one before it, under a key that is not in the database; hexadecimal.
    mac: String,
}

/// Whether an audit is as it was written.
#[derive(Debug, Serialize, ToSchema)]
pub struct Verification {
    /// Whether every event holds.
    is_valid: bool,
    /// Events that hold, up to the first that does not.
    events: i64,
    /// The first of them; higher than 1 where older ones were dropped, as the policy has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_seq: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seq: Option<i64>,
    /// What is wrong, and where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// See who did what.
#[utoipa::path(
    get, path = "/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, description = "Newest first", body = Page<AuditEvent>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<AuditQuery>,
) -> Result<Json<Page<AuditEvent>>, Problem> {
    let (store, chain) = chain(&api, &caller, &query.whose).await?;
    let mut filter = query.filter;
    if let Some(login) = &query.actor {
        filter.actor = Some(users::called(&api.store, login).await?);
    }
    let events = audit::newest(&store, chain, &filter, query.cursor, query.limit).await?;
    Ok(Json(Page::of(events, query.limit, |event| event.seq)))
}

/// Export an audit as JSON Lines, an event a line, oldest first.
#[utoipa::path(
    get, path = "/audit/export", tag = "audit", params(ChainQuery),
    responses((status = 200, description = "Events, each as in `GET /audit`", body = String,
               content_type = "application/x-ndjson"))
)]
pub async fn export(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(whose): ValidQuery<ChainQuery>,
) -> Result<Response, Problem> {
    let (store, chain) = chain(&api, &caller, &whose).await?;
    read_of(&store, chain, "export").await?;
    // As far as it goes now, at least: one that ends before that was not all of it.
    let end = audit::newest(&store, chain, &EventFilter::default(), None, 1).await?;
    let end = end.first().map_or(0, |event| event.seq);
    let pages = stream::unfold(Some(0), move |from| {
        let store = store.clone();
        async move { page(&store, chain, from?, end).await }
    });
    let mut response = Response::new(Body::from_stream(pages));
    let json_lines = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, json_lines);
    Ok(response)
}

/// Verify an audit: find the first event that was changed, removed or moved.
#[utoipa::path(
    get, path = "/audit/verification", tag = "audit", params(ChainQuery),
    responses((status = 200, description = "Whether it is as it was written", body = Verification))
)]
pub async fn verify(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(whose): ValidQuery<ChainQuery>,
) -> Result<Json<Verification>, Problem> {
    let (store, chain) = chain(&api, &caller, &whose).await?;
    let report = audit::verify(&store, chain).await?;
    read_of(&store, chain, "verify").await?;
    if let Some(fault) = &report.error {
        tracing::error!(audit.chain = %chain.id(), %fault, "the audit is not as it was written");
    }
    Ok(Json(Verification {
        is_valid: report.error.is_none(),
        events: report.events,
        first_seq: report.first_seq,
        last_seq: report.last_seq,
        error: report.error.map(|fault| fault.to_string()),
    }))
}

/// The audit that is asked for, as far as the caller may see it.
async fn chain(
    api: &ApiState,
    caller: &Principal,
    whose: &AuditScope,
) -> Result<(Store, Chain), Problem> {
    let project = match whose {
        AuditScope::Project(key) => {
            let here = api.authorize(caller, key, Permission::Audit).await?;
            return Ok((here.store, Chain::Project(here.project.id)));
        }
        AuditScope::Nobody => {
            let detail = "what is removed has no key; give one of `project_key` and `project_id`";
            return Err(Problem::not_found(detail).field("project_id"));
        }
        AuditScope::Service => None,
        AuditScope::Removed(project) => Some(*project),
    };
    caller.require_administrator()?;
    let chain = project.map_or(Chain::Service, Chain::Project);
    let store = api.store.for_audit(caller.user, chain);
    let Some(project) = project else { return Ok((store, chain)) };
    // That of a live project is answered like one that never was.
    if !audit::is_known(&store, chain).await? {
        let detail = format!("there is no audit of a removed project with the id {project}");
        return Err(Problem::not_found(detail)
            .field("project_id")
            .hint("GET /audit?action=project.deleted lists the projects that were removed"));
    }
    Ok((store, chain))
}

/// The events after a place as lines, and from where the next page goes on. An export that breaks off, or
/// whose reader may not see the rest any more, says so: the connection breaks off too.
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
        let rest = format!("the events from {} to {end} can't be read any more", from + 1);
        return (from < end).then(|| (Err(rest.into()), None));
    };
    let mut lines = Vec::new();
    for event in events {
        // Only a map with keys that are no texts can't be written.
        let _ = serde_json::to_writer(&mut lines, &AuditEvent::from(event));
        lines.push(b'\n');
    }
    Some((Ok(lines.into()), Some(last)))
}

/// Notes that a chain was read as a whole: in the project's own, or the service's for what is its
/// administrators'.
async fn read_of(store: &Store, chain: Chain, how: &str) -> Result<(), Problem> {
    let event = NewEvent::new(AuditAction::AuditRead, chain.id());
    let mut tx = store.begin().await?;
    audit::record(&mut tx, event.with(serde_json::json!({ "how": how })));
    Ok(tx.commit().await?)
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
