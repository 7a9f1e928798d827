//! `/audit`: who did what, in a project or to what belongs to none.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::{BoxError, Json};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::stream;
use http::{HeaderValue, header};
use mc_domain::{Act, Action, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::audit::{self, Chain, Event, EventFilter, NewEvent};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::page;
use super::users;
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::extract::ValidQuery;
use crate::limits;
use crate::problem::Problem;
use crate::shapes;

/// Events that are read at once for an export.
const EXPORT_PAGE: i64 = 1_000;

/// Whose audit.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChainQuery {
    /// The project's key; the service's own audit (logins, users, teams, projects that come and go) when
    /// absent, for administrators of the service.
    #[param(value_type = Option<shapes::ProjectKey>, inline)]
    project_key: Option<String>,
    /// The id of a project that was removed, as the event `project.deleted` has it; for administrators of
    /// the service.
    project_id: Option<Uuid>,
}

/// Whose audit is asked for.
#[derive(Debug)]
pub enum Whose {
    /// A project's.
    Project(ProjectKey),
    /// That of a project that was removed.
    Removed(ProjectId),
    /// The service's.
    Service,
    /// That of a project that is removed and has a key all the same.
    Nobody,
}

impl Check for ChainQuery {
    type Checked = Whose;

    fn check(self) -> Result<Whose, Invalid> {
        whose(self.project_key.as_deref(), self.project_id)
    }
}

fn whose(key: Option<&str>, id: Option<Uuid>) -> Result<Whose, Invalid> {
    match (key, id) {
        (Some(key), None) => Ok(Whose::Project(check::project_key("project_key", key)?)),
        (None, Some(id)) => Ok(Whose::Removed(ProjectId(id))),
        (None, None) => Ok(Whose::Service),
        (Some(_), Some(_)) => Ok(Whose::Nobody),
    }
}

/// Which events, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// The project's key; the service's own audit when absent, for administrators of the service.
    #[param(value_type = Option<shapes::ProjectKey>, inline)]
    project_key: Option<String>,
    /// The id of a project that was removed, as the event `project.deleted` has it; for administrators of
    /// the service.
    project_id: Option<Uuid>,
    /// Only what this user did.
    #[param(value_type = Option<shapes::Login>, inline)]
    actor: Option<String>,
    /// Only this action, such as `record.saved`.
    #[param(value_type = Option<shapes::ActName>, inline)]
    action: Option<String>,
    /// Only what was done to this: an id or a key.
    #[param(value_type = Option<shapes::ExternalId>, inline)]
    subject: Option<String>,
    /// Not before this time (RFC 3339).
    since: Option<DateTime<Utc>>,
    /// Before this time (RFC 3339).
    until: Option<DateTime<Utc>>,
    /// Only events before this one: the `next` of the page before.
    #[param(minimum = 1)]
    before: Option<i64>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

/// An [`AuditQuery`] as checked.
#[derive(Debug)]
pub struct CheckedQuery {
    whose: Whose,
    actor: Option<String>,
    filter: EventFilter,
    before: Option<i64>,
    limit: i64,
}

impl Check for AuditQuery {
    type Checked = CheckedQuery;

    fn check(self) -> Result<CheckedQuery, Invalid> {
        let act = check::optional("action", self.action, |field, action| {
            action.parse::<Act>().map_err(|error| Invalid::new(field, error))
        })?;
        let filter = EventFilter {
            actor: None,
            act,
            subject: check::optional_line("subject", self.subject, limits::EXTERNAL_ID)?,
            since: self.since,
            until: self.until,
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(CheckedQuery {
            whose: whose(self.project_key.as_deref(), self.project_id)?,
            actor: check::optional("actor", self.actor, |field, login| {
                check::login(field, &login)
            })?,
            filter,
            before: check::optional("before", self.before, |field, before| {
                check::range(field, before, &(1..=i64::MAX))
            })?,
            limit: check::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// An event of the audit.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventView {
    /// Its place in the chain, from 1, without gaps.
    seq: i64,
    at: DateTime<Utc>,
    /// Who did it, by login; absent for strangers and the service itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_id: Option<Uuid>,
    /// Such as `record.saved`.
    action: String,
    /// What it was done to: an id or a key.
    subject: String,
    #[schema(value_type = Object)]
    detail: serde_json::Value,
    /// Covers the event and the one before it, under a key that is not in the database; hexadecimal.
    mac: String,
}

/// A page of events.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditPage {
    events: Vec<EventView>,
    /// What to send as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i64>,
}

/// Whether an audit is as it was written.
#[derive(Debug, Serialize, ToSchema)]
pub struct Verification {
    /// Whether every event holds.
    intact: bool,
    /// Events that hold, up to the first that does not.
    events: i64,
    /// The first of them; higher than 1 where older ones were dropped, as the policy has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    /// What is wrong, and where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// See who did what.
#[utoipa::path(
    get, path = "/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, description = "Newest first", body = AuditPage))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<AuditQuery>,
) -> Result<Json<AuditPage>, Problem> {
    let (store, chain) = chain(&api, &caller, &query.whose).await?;
    let mut filter = query.filter;
    if let Some(login) = &query.actor {
        filter.actor = Some(users::called(&api.store, login).await?);
    }
    let events = audit::newest(&store, chain, &filter, query.before, query.limit).await?;
    let next = page::next(&events, query.limit, |event| event.seq);
    Ok(Json(AuditPage { events: events.into_iter().map(Into::into).collect(), next }))
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
    if let Some(fault) = &report.fault {
        tracing::error!(audit.chain = %chain.id(), %fault, "the audit is not as it was written");
    }
    Ok(Json(Verification {
        intact: report.fault.is_none(),
        events: report.events,
        first: report.first,
        last: report.last,
        fault: report.fault.map(|fault| fault.to_string()),
    }))
}

/// The audit that is asked for, as far as the caller may see it.
async fn chain(
    api: &ApiState,
    caller: &Principal,
    whose: &Whose,
) -> Result<(Store, Chain), Problem> {
    let project = match whose {
        Whose::Project(key) => {
            let here = api.enter(caller, key, Action::Audit).await?;
            return Ok((here.store, Chain::Project(here.project.id)));
        }
        Whose::Nobody => {
            let detail = "what is removed has no key; give one of `project_key` and `project_id`";
            return Err(Problem::not_found(detail).field("project_id"));
        }
        Whose::Service => None,
        Whose::Removed(project) => Some(*project),
    };
    caller.require_administrator()?;
    let chain = project.map_or(Chain::Service, Chain::Project);
    let store = api.store.auditor(caller.user, chain);
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
        let _ = serde_json::to_writer(&mut lines, &EventView::from(event));
        lines.push(b'\n');
    }
    Some((Ok(lines.into()), Some(last)))
}

/// Notes that a chain was read as a whole: in the project's own, or the service's for what is its
/// administrators'.
async fn read_of(store: &Store, chain: Chain, how: &str) -> Result<(), Problem> {
    let event = NewEvent::new(Act::AuditRead, chain.id());
    let mut tx = store.begin().await?;
    audit::note(&mut tx, event.with(serde_json::json!({ "how": how })));
    Ok(tx.commit().await?)
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        Self {
            seq: event.seq,
            at: event.at,
            actor: event.login,
            actor_id: event.actor.map(Into::into),
            action: event.action,
            subject: event.subject,
            detail: event.detail,
            mac: hex::encode(event.mac),
        }
    }
}
