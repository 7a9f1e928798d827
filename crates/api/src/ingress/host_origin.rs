//! DNS rebinding: a page of any site may make its own name point to this machine, and its scripts
//! then call the service as their own origin. Their requests carry that site's name as `Host`, and
//! those of other pages an `Origin`; neither can be forged by a page. Both are judged here and
//! nowhere else, for REST, `/mcp`, the pages and the probes alike.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Uri, header};

use super::client_info::ClientInfo;
use super::{Authority, Ingress, Origin};
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;

/// Refuses names that are not the service's, and pages that may not call it.
pub async fn check_host_and_origin(
    State(door): State<Ingress>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Err(refusal) = door.judge(&request) {
        drain_unauthenticated(request.into_body()).await;
        return Err(refusal);
    }
    Ok(next.run(request).await)
}

impl Ingress {
    fn judge(&self, request: &Request) -> Result<(), Problem> {
        let visit = request.extensions().get::<ClientInfo>().ok_or_else(Problem::internal)?;
        let host = self.judge_host(request.uri(), request.headers(), visit)?;
        self.judge_origin(request.headers(), &host, visit)
    }

    fn judge_host(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        visit: &ClientInfo,
    ) -> Result<Authority, Problem> {
        let host = Authority::requested(uri, headers, visit.is_https)?;
        // An address in the header was not resolved from a name, so it can't be a rebound one.
        let is_own = host.is_loopback() || host.is_address(visit.local);
        let mut listed = self.0.settings.allowed_hosts.iter();
        if is_own || listed.any(|listed| listed.allows(&host, visit.is_https)) {
            return Ok(host);
        }
        Err(Problem::misdirected(format!("this service does not answer as \"{host}\""))
            .field("Host")
            .hint("if that is its name, add it to server.allowed_hosts"))
    }

    fn judge_origin(
        &self,
        headers: &HeaderMap,
        host: &Authority,
        visit: &ClientInfo,
    ) -> Result<(), Problem> {
        let own = Origin::own(host, visit.is_https);
        let is_welcome = |sent: &HeaderValue| {
            self.names_origin(sent) || own.is_some() && read(sent).as_ref() == own.as_ref()
        };
        // A request without one comes from no page, or from one of this service.
        if headers.get_all(header::ORIGIN).iter().all(is_welcome) {
            return Ok(());
        }
        Err(Problem::forbidden("pages of that origin may not call this service")
            .field("Origin")
            .hint("if they are meant to, add the origin to server.allowed_origins"))
    }

    /// Whether a header `Origin` is one of those in the settings.
    pub(super) fn names_origin(&self, sent: &HeaderValue) -> bool {
        read(sent).is_some_and(|origin| self.0.settings.allowed_origins.contains(&origin))
    }
}

fn read(sent: &HeaderValue) -> Option<Origin> {
    sent.to_str().ok()?.parse().ok()
}
