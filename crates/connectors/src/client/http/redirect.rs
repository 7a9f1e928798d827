//! Redirects: followed within the system alone, so that the credential stays there.

use reqwest::header::LOCATION;
use reqwest::{Method, StatusCode};
use url::Url;

use super::{Answer, Request};

/// How many are followed, one after the other.
pub(super) const MOST: usize = 3;

/// Where the answer sends the client; `None` where it is no redirect. Fails where nobody should follow.
pub(super) fn target(
    answer: &Answer,
    request: &Request<'_>,
    from: &Url,
) -> Result<Option<Url>, String> {
    let status = answer.status;
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let keeps_method =
        matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if request.method != Method::GET && !keeps_method {
        return Err("a redirect of what was to be written; give the name it has now".to_owned());
    }
    let to = answer.header(LOCATION).and_then(|place| from.join(place).ok());
    match to {
        Some(to) if to.origin() == from.origin() => Ok(Some(to)),
        Some(to) => Err(format!("a redirect to {}, which is another host", host(&to))),
        None => Err("a redirect to nowhere".to_owned()),
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or("nowhere").chars().take(100).collect()
}
