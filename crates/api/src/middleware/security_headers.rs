//! Security headers of every response. Responses must not be cached, framed or sniffed.
//! `ingress/client_info.rs` adds HSTS, since it knows whether a request came over HTTPS.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue, header};

/// Policy of API responses, which render nothing and load nothing.
const API_POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Policy of the API page, which loads its own scripts and styles and calls this service. Its icons
/// are `data:` images, and its library generates inline styles.
const PAGE_POLICY: &str = concat!(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; ",
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; ",
    "form-action 'none'; frame-ancestors 'none'",
);

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// Adds the headers to every response, including errors. Caches must not store a team's knowledge.
pub async fn set_security_headers(request: Request, next: Next) -> Response {
    let is_page = is_api_page(request.uri().path());
    let mut response = next.run(request).await;
    let policy = if is_page { PAGE_POLICY } else { API_POLICY };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        // Sign-in pages set their own CSP and Referrer-Policy.
        headers.entry(name).or_insert_with(|| HeaderValue::from_static(value));
    }
    response
}

/// Whether a path or route is that of the API page or one of its files.
pub fn is_api_page(path: &str) -> bool {
    path == "/docs" || path.starts_with("/docs/")
}
