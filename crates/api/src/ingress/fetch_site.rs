//! Requests that pages of other sites send without an `Origin`, such as by `<img>` or a link.
//! Browsers declare them with `Sec-Fetch-Site`, which a page can't forge; other programs do not
//! send it.

use axum::extract::{MatchedPath, Request};
use http::{HeaderMap, Method};

use crate::problem::Problem;
use crate::router::is_page;

const SITE: &str = "sec-fetch-site";
const MODE: &str = "sec-fetch-mode";
const DESTINATION: &str = "sec-fetch-dest";

/// Rejects a request of a page of another site, unless a person opens one of the pages of this
/// service from there, by a link or an identity provider's redirect. A request with an `Origin` is
/// not checked here, since its origin was.
pub fn check(request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    if !is_from_other_site(headers) || opens_page(request) {
        return Ok(());
    }
    Err(Problem::forbidden("pages of other sites may not call this service")
        .field("Sec-Fetch-Site")
        .hint(
            "links of other sites open `/docs` and `/openapi.json`; paste any other address into \
             the address bar, or call it from a program. A page of your own must use `fetch`, and \
             the operator must add its origin to server.allowed_origins",
        ))
}

/// Same-site is another port or subdomain, and so another origin.
fn is_from_other_site(headers: &HeaderMap) -> bool {
    !headers.contains_key(http::header::ORIGIN)
        && ["cross-site", "same-site"].iter().any(|site| has(headers, SITE, site))
}

/// Whether a person opens a page in a tab. A page can load the same URL as an image or a frame.
fn opens_page(request: &Request) -> bool {
    let headers = request.headers();
    let route = request.extensions().get::<MatchedPath>();
    request.method() == Method::GET
        && has(headers, MODE, "navigate")
        && has(headers, DESTINATION, "document")
        && route.is_some_and(|route| is_page(route.as_str()))
}

fn has(headers: &HeaderMap, name: &str, value: &str) -> bool {
    headers.get_all(name).iter().any(|sent| sent.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
}
