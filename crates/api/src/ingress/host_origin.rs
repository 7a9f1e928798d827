//! Protection against DNS rebinding. A site can make its own name resolve to this machine, so that
//! its scripts call the service as their own origin. Their requests have that name as `Host`, those
//! of other pages an `Origin` or `Sec-Fetch-Site`; pages can forge none of them. All are checked
//! here alone, for REST, `/mcp`, pages and probes.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Uri, header};

use super::client_info::ClientInfo;
use super::{Authority, Ingress, Origin, fetch_site};
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;

/// Rejects requests for other hosts, and those of pages that may not call the service.
pub async fn check_host_and_origin(
    State(ingress): State<Ingress>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Err(problem) = ingress.check_request_host(&request) {
        drain_unauthenticated(request.into_body()).await;
        return Err(problem);
    }
    Ok(next.run(request).await)
}

impl Ingress {
    fn check_request_host(&self, request: &Request) -> Result<(), Problem> {
        let client = request.extensions().get::<ClientInfo>().ok_or_else(Problem::internal)?;
        let host = self.check_host(request.uri(), request.headers(), client)?;
        self.check_origin(request.headers(), &host, client)?;
        fetch_site::check(request)
    }

    fn check_host(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        client: &ClientInfo,
    ) -> Result<Authority, Problem> {
        let host = Authority::requested(uri, headers, client.is_https)?;
        // An address was not resolved from a name, so it can't be a rebound name.
        let is_own = host.is_loopback() || host.is_address(client.local);
        let mut listed = self.0.settings.allowed_hosts.iter();
        if is_own || listed.any(|listed| listed.allows(&host, client.is_https)) {
            return Ok(host);
        }
        Err(Problem::misdirected(format!("this service is not \"{host}\""))
            .field("Host")
            .hint("if it is the service's name, add it to server.allowed_hosts"))
    }

    fn check_origin(
        &self,
        headers: &HeaderMap,
        host: &Authority,
        client: &ClientInfo,
    ) -> Result<(), Problem> {
        let own = Origin::own(host, client.is_https);
        let is_allowed = |sent: &HeaderValue| {
            self.allows_origin(sent) || own.is_some() && read(sent).as_ref() == own.as_ref()
        };
        // A request without an origin is from no page, from one of this service, or one that
        // `fetch_site` decides about.
        if headers.get_all(header::ORIGIN).iter().all(is_allowed) {
            return Ok(());
        }
        Err(Problem::forbidden("pages of that origin may not call this service")
            .field("Origin")
            .hint("to allow it, add the origin to server.allowed_origins"))
    }

    /// Whether the settings allow a header `Origin`.
    pub(super) fn allows_origin(&self, sent: &HeaderValue) -> bool {
        read(sent).is_some_and(|origin| self.0.settings.allowed_origins.contains(&origin))
    }
}

fn read(sent: &HeaderValue) -> Option<Origin> {
    sent.to_str().ok()?.parse().ok()
}
