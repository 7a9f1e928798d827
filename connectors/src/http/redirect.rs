//! Redirects. Only reads follow them, and only on the same host, so that the credential stays
//! there.

use reqwest::header::LOCATION;
use reqwest::{Method, StatusCode};
use url::Url;

use super::{Http, Request, Response};
use crate::error::Error;

/// Redirects of one request.
pub(super) const MAX_REDIRECTS: usize = 3;

/// Returns the target of a redirect; `None` if the response is none. Fails if the client must not
/// follow it.
pub(super) fn target(
    http: &Http,
    response: &Response,
    request: &Request<'_>,
    from: &Url,
) -> Result<Option<Url>, Error> {
    let status = response.status;
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    // A write was approved for one resource and for no other.
    if request.method != Method::GET {
        return Err(http.resource_moved(request.action));
    }
    let reason = match response.header(LOCATION).and_then(|location| from.join(location).ok()) {
        Some(to) if to.origin() == from.origin() => return Ok(Some(to)),
        Some(to) => format!("a redirect to another host, {}", host(&to)),
        None => "a redirect without a target".to_owned(),
    };
    Err(http.unexpected_response(request.action, reason))
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or("unnamed").chars().take(100).collect()
}
