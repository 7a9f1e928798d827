//! Redirects: followed within the system alone, so that the credential stays there, and by those who read alone.

use reqwest::header::LOCATION;
use reqwest::{Method, StatusCode};
use url::Url;

use super::{Answer, Http, Request};
use crate::client::Error;

/// How many are followed, one after the other.
pub(super) const MOST: usize = 3;

/// Where the answer sends the client; `None` where it is no redirect. Fails where nobody should follow.
pub(super) fn target(
    http: &Http,
    answer: &Answer,
    request: &Request<'_>,
    from: &Url,
) -> Result<Option<Url>, Error> {
    let status = answer.status;
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    // Whoever agreed to something being written agreed to one place, and to no other that a system has in its stead.
    if request.method != Method::GET {
        return Err(http.moved(request.action));
    }
    let to = answer.header(LOCATION).and_then(|place| from.join(place).ok());
    match to {
        Some(to) if to.origin() == from.origin() => Ok(Some(to)),
        Some(to) => {
            let reason = format!("a redirect to {}, which is another host", host(&to));
            Err(http.odd(request.action, reason))
        }
        None => Err(http.odd(request.action, "a redirect to nowhere".to_owned())),
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or("nowhere").chars().take(100).collect()
}
