//! The service that sends the requests of `octocrab` over this crate's HTTP layer.

use std::task::{Context, Poll};

use ::http::{Request, Response};
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use octocrab::OctoBody;
use tower::Service;

use crate::error::Error;
use crate::http::{self, Http};

#[derive(Clone)]
pub(super) struct Transport(pub(super) Http);

/// An error of this crate that passes through `octocrab`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct TransportError(Error);

impl Service<Request<OctoBody>> for Transport {
    type Response = Response<Full<Bytes>>;
    type Error = TransportError;
    type Future = BoxFuture<'static, Result<Self::Response, TransportError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<OctoBody>) -> Self::Future {
        let http = self.0.clone();
        Box::pin(async move { send(&http, request).await.map_err(TransportError) })
    }
}

async fn send(http: &Http, request: Request<OctoBody>) -> Result<Response<Full<Bytes>>, Error> {
    let (parts, body) = request.into_parts();
    let action = format!("to {} {}", parts.method, parts.uri.path());
    let body = body.collect().await;
    let body = body.map_err(|error| http.unexpected_response(&action, error.to_string()))?;
    let body = body.to_bytes();
    let url = http.encoded_url(parts.uri.path(), parts.uri.query());
    let body = (!body.is_empty()).then_some(body);
    let request = http::Request { method: parts.method, url, body, action: &action };
    let sent = http.send(&request).await?;
    let mut response = Response::new(Full::new(sent.body));
    *response.status_mut() = sent.status;
    *response.headers_mut() = sent.headers;
    Ok(response)
}

/// Converts an error of `octocrab` to one of this crate's.
pub(super) fn convert_error(http: &Http, error: octocrab::Error) -> Error {
    let action = "to the API";
    match error {
        octocrab::Error::Service { source, .. } => match source.downcast::<TransportError>() {
            Ok(error) => error.0,
            Err(_) => http.unavailable("the client was closed"),
        },
        octocrab::Error::Json { source, .. } => {
            let inner = source.inner();
            let position = format!("line {}, column {}", inner.line(), inner.column());
            let reason = if inner.is_data() {
                format!("an unexpected type in {} ({position})", source.path())
            } else {
                format!("incomplete or invalid JSON ({position})")
            };
            http.unexpected_response(action, reason)
        }
        _ => http.unexpected_response(action, "a response that its client cannot read".to_owned()),
    }
}
