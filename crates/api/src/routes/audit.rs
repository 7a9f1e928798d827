//! `/audit`: the audit of a project, or of the service.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::{BoxError, Json};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, header};
use mc_accounts::{audit as use_cases, users};
use mc_contract::number::EventNumber;
use mc_contract::operations::audit::{AuditEvent, AuditQuery, ChainQuery, Verification};
use mc_contract::operations::page::{Page, page};
use mc_domain::{Permission, ProjectId, ProjectKey};
use mc_store::Store;
use mc_store::audit::{self, Chain, EventFilter};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::QueryString;
use crate::openapi::Access;
use crate::problem::Problem;

/// Events that an export reads at once.
const EXPORT_PAGE: i64 = 1_000;

/// List audit events.
///
/// Returns a page of the events, newest first. A project's audit is for its maintainers, the
/// service's for service administrators.
#[utoipa::path(
    get, path = "/audit", tag = "audit", params(AuditQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Audit)))),
    responses((status = 200, description = "Newest first", body = Page<AuditEvent>))
)]
pub async fn list_audit_events(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<AuditQuery>,
) -> Result<Json<Page<AuditEvent>>, Problem> {
    let key = query.project_key.as_deref();
    let (store, chain) = open(&api, &caller, key, query.project_id).await?;
    let actor = match &query.actor {
        Some(login) => Some(users::filter_id(&api.store, login.as_str()).await?),
        None => None,
    };
    let filter = EventFilter {
        actor,
        act: query.action,
        target: query.target.map(String::from),
        since: query.since,
        until: query.until,
    };
    let limit = query.limit.unwrap_or_default().get();
    let cursor = query.cursor.map(EventNumber::get);
    let events = audit::newest(&store, chain, &filter, cursor, limit).await?;
    Ok(Json(page(events, limit, |event| event.seq)))
}

/// Export an audit.
///
/// Returns all events as JSON Lines, one event per line, oldest first. A connection that is aborted
/// means that the export is not complete.
#[utoipa::path(
    get, path = "/audit/export", tag = "audit", params(ChainQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Audit)))),
    responses((status = 200, description = "Events, each as in `GET /audit`", body = String,
               content_type = "application/x-ndjson"))
)]
pub async fn export_audit_events(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<ChainQuery>,
) -> Result<Response, Problem> {
    let key = query.project_key.as_deref();
    let (store, chain) = open(&api, &caller, key, query.project_id).await?;
    // An export that ends before this event is not complete.
    let end = use_cases::start_export(&store, chain).await?;
    let pages = stream::unfold(Some(0), move |from| {
        let store = store.clone();
        async move { export_page(&store, chain, from?, end).await }
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
    extensions(("x-access" = json!(Access::Permission(Permission::Audit)))),
    responses((status = 200, description = "The result of the verification", body = Verification))
)]
pub async fn verify_audit_chain(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<ChainQuery>,
) -> Result<Json<Verification>, Problem> {
    let key = query.project_key.as_deref();
    let (store, chain) = open(&api, &caller, key, query.project_id).await?;
    let report = use_cases::verify(&store, chain).await?;
    Ok(Json(Verification {
        is_valid: report.error.is_none(),
        events: report.events,
        first_seq: report.first_seq,
        last_seq: report.last_seq,
        error: report.error.map(|fault| fault.to_string()),
    }))
}

/// Opens the audit of the project with `key`, of a deleted project, or of the service, if the
/// caller may read it.
async fn open(
    api: &ApiState,
    caller: &Principal,
    key: Option<&ProjectKey>,
    deleted_project: Option<ProjectId>,
) -> Result<(Store, Chain), Problem> {
    let Some(key) = key else {
        return Ok(use_cases::open_service_chain(&api.store, caller, deleted_project).await?);
    };
    if deleted_project.is_some() {
        let detail = "a deleted project has no key; give one of `project_key` and `project_id`";
        return Err(Problem::not_found(detail).field("project_id"));
    }
    let ctx = api.authorize(caller, key, Permission::Audit).await?;
    Ok((ctx.store, Chain::Project(ctx.project.id)))
}

/// Returns the events after `from` as lines, and the number after which the next page starts. An
/// export that fails, or whose reader lost access, aborts the connection, so that it is not taken
/// for complete.
async fn export_page(
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
        let _ = serde_json::to_writer(&mut lines, &event);
        lines.push(b'\n');
    }
    Some((Ok(lines.into()), Some(last)))
}
