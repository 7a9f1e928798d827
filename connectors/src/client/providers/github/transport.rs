//! `octocrab`'s requests over the HTTP of this crate, whose bounds and patience it has none of.

use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use octocrab::OctoBody;
use tower::Service;

use crate::client::Error;
use crate::client::http::{Http, Request};

#[derive(Clone)]
pub(super) struct Transport(pub(super) Http);

/// An error on its way through `octocrab`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct TransportError(Error);

impl Service<http::Request<OctoBody>> for Transport {
    type Response = http::Response<Full<Bytes>>;
    type Error = TransportError;
    type Future = BoxFuture<'static, Result<Self::Response, TransportError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<OctoBody>) -> Self::Future {
        let http = self.0.clone();
        Box::pin(async move { exchange(&http, request).await.map_err(TransportError) })
    }
}

async fn exchange(
    http: &Http,
    request: http::Request<OctoBody>,
) -> Result<http::Response<Full<Bytes>>, Error> {
    let (parts, body) = request.into_parts();
    let action = format!("to answer {} {}", parts.method, parts.uri.path());
    let body = body.collect().await;
    let body = body.map_err(|error| http.odd(&action, error.to_string()))?.to_bytes();
    let url = http.below(parts.uri.path(), parts.uri.query());
    let body = (!body.is_empty()).then_some(body);
    let request = Request { method: parts.method, url, body, action: &action };
    let answer = http.send(&request).await?;
    let mut response = http::Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}

/// What `octocrab` says as one of this crate's errors.
pub(super) fn told(http: &Http, error: octocrab::Error) -> Error {
    let what = "what it was asked for";
    match error {
        octocrab::Error::Service { source, .. } => match source.downcast::<TransportError>() {
            Ok(carried) => carried.0,
            Err(_) => http.unavailable("the client has come to its end"),
        },
        octocrab::Error::Json { source, .. } => {
            let inner = source.inner();
            let place = format!("line {}, column {}", inner.line(), inner.column());
            http.odd(
                what,
                if inner.is_data() {
                    format!("another type than expected in {} ({place})", source.path())
                } else {
                    format!("JSON that breaks off or is none ({place})")
                },
            )
        }
        _ => http.odd(what, "something that its client can't read".to_owned()),
    }
}
