//! Requests for the files of a workspace reach the node that has them.
//!
//! A workspace is on one node. Another node that gets a request for its files sends the request on,
//! with the caller's credential, and returns the response unchanged. It never sends on a request
//! that another node has sent on.

use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use mc_domain::{NavigationId, WorkspaceId};
use mc_store::navigations;
use mc_store::nodes::{self, Node};
use mc_store::projects::{self, ProjectResource};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::ingress::{ClientInfo, X_FORWARDED_FOR, X_FORWARDED_PROTO};
use crate::problem::Problem;

/// Header with the id of the node that sends on a request.
const FORWARDED_BY: HeaderName = HeaderName::from_static("memory-copilot-forwarded-by");
/// Route of one workspace. What is below it needs its files, and so does its deletion.
const WORKSPACE: &str = "/workspaces/{id}";
/// Start of the routes of one navigation.
const NAVIGATION: &str = "/navigations/{id}";
/// Maximum size of a request that is sent on; bodies have been limited before.
const MAX_BODY: usize = usize::MAX;
/// Headers of a connection, which the other one has its own of.
const OF_CONNECTION: [HeaderName; 8] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
];

static CLIENT: LazyLock<Result<reqwest::Client, String>> = LazyLock::new(|| {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(5))
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())
});

/// Sends a request for the files of a workspace of another node on to that node.
pub async fn forward(State(api): State<ApiState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let node = match node_of(&api, &mut parts).await {
        Ok(Some(node)) => node,
        Ok(None) => return next.run(Request::from_parts(parts, body)).await,
        Err(problem) => return problem.into_response(),
    };
    let is_deletion = parts.method == Method::DELETE && route(&parts) == WORKSPACE;
    let sent = send(&api, &node, Request::from_parts(parts.clone(), body)).await;
    if is_deletion && sent.is_err() {
        // Its collector deletes the files.
        return next.run(Request::from_parts(parts, Body::empty())).await;
    }
    sent.unwrap_or_else(|error| {
        tracing::warn!(node.name = node.name, error, "a node did not respond");
        let detail = format!("the node {} has the files and did not respond", node.name);
        let hint =
            "try again; if it stays unavailable, fetch the repository into another workspace";
        Problem::unavailable(detail).hint(hint).into_response()
    })
}

/// Returns the other node to which a request is sent on. All errors of the request are those of its
/// handler.
async fn node_of(
    api: &ApiState,
    parts: &mut http::request::Parts,
) -> Result<Option<Node>, Problem> {
    let route = route(parts);
    let is_navigation = route.starts_with(NAVIGATION);
    let needs_files = match route.strip_prefix(WORKSPACE) {
        Some("") => parts.method == Method::DELETE,
        Some(below) => below.starts_with('/'),
        None => is_navigation,
    };
    if !needs_files || parts.headers.contains_key(FORWARDED_BY) {
        return Ok(None);
    }
    let id = parts.uri.path().split('/').nth(2).unwrap_or_default().to_owned();
    let Ok(caller) = Principal::from_request_parts(parts, api).await else { return Ok(None) };
    let workspace = if is_navigation {
        let Ok(id) = id.parse::<NavigationId>() else { return Ok(None) };
        workspace_of(api, &caller, id).await?
    } else {
        id.parse::<WorkspaceId>().ok()
    };
    let Some(workspace) = workspace else { return Ok(None) };
    let resource = ProjectResource::Workspace(workspace);
    let project = projects::find_by_resource(&api.store, caller.user, resource).await?;
    let Some(project) = project else { return Ok(None) };
    let store = api.store.for_project(caller.user, project.id);
    let node = nodes::of_workspace(&store, workspace).await?;
    let is_other = |node: &Node| {
        node.id != api.workbench.settings.node && node.is_alive && !node.url.is_empty()
    };
    Ok(node.filter(is_other))
}

fn route(parts: &http::request::Parts) -> &str {
    parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str)
}

async fn workspace_of(
    api: &ApiState,
    caller: &Principal,
    id: NavigationId,
) -> Result<Option<WorkspaceId>, Problem> {
    let resource = ProjectResource::Navigation(id);
    let project = projects::find_by_resource(&api.store, caller.user, resource).await?;
    let Some(project) = project else { return Ok(None) };
    let store = api.store.for_project(caller.user, project.id);
    let found = navigations::find(&store, id, api.workbench.settings.max_idle).await?;
    Ok(found.map(|navigation| navigation.workspace))
}

async fn send(api: &ApiState, node: &Node, request: Request) -> Result<Response, String> {
    let client = CLIENT.as_ref().map_err(String::clone)?;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{}{path}", node.url.trim_end_matches('/'));
    let body = axum::body::to_bytes(body, MAX_BODY).await.map_err(|error| error.to_string())?;
    let caller = parts.extensions.get::<ClientInfo>();
    let mut headers = with_client(without_connection(parts.headers), caller)?;
    headers.insert(FORWARDED_BY, value(&api.workbench.settings.node.to_string())?);
    let sent = client
        .request(parts.method, url)
        .headers(headers)
        .timeout(api.settings.request_timeout)
        .body(body)
        .send()
        .await
        .map_err(|error| error.without_url().to_string())?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = sent.status();
    *response.headers_mut() = without_connection(sent.headers().clone());
    *response.body_mut() = Body::from_stream(sent.bytes_stream());
    Ok(response)
}

fn value(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text).map_err(|error| error.to_string())
}

/// Replaces what the client itself claims of its address, since this node may be a trusted proxy at
/// the other one.
fn with_client(mut headers: HeaderMap, client: Option<&ClientInfo>) -> Result<HeaderMap, String> {
    for name in [header::FORWARDED, X_FORWARDED_FOR, X_FORWARDED_PROTO] {
        headers.remove(name);
    }
    if let Some(client) = client {
        headers.insert(X_FORWARDED_FOR, value(&client.network.address().to_string())?);
        let scheme = if client.is_https { "https" } else { "http" };
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(scheme));
    }
    Ok(headers)
}

fn without_connection(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::ingress::ClientNetwork;

    #[test]
    fn claims_of_the_client_about_its_address_are_not_sent_on() {
        let mut headers = HeaderMap::new();
        for (name, claim) in [
            (header::FORWARDED, "for=203.0.113.9;proto=https"),
            (X_FORWARDED_FOR, "203.0.113.9"),
            (X_FORWARDED_PROTO, "https"),
        ] {
            headers.insert(name, HeaderValue::from_static(claim));
        }
        let address = IpAddr::from([192, 0, 2, 7]);
        let local = Ipv4Addr::LOCALHOST.into();
        let client = ClientInfo { network: ClientNetwork::of(address), local, is_https: false };
        let sent = with_client(headers.clone(), Some(&client)).expect("headers");
        assert_eq!(sent.get(header::FORWARDED), None);
        assert_eq!(sent[X_FORWARDED_FOR], "192.0.2.7");
        assert_eq!(sent[X_FORWARDED_PROTO], "http");
        assert!(with_client(headers, None).expect("headers").is_empty());
    }
}
