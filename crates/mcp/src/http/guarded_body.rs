//! Response bodies that keep a value alive until they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::response::Response;
use futures::Stream;

/// Returns a response that keeps `guard` alive until it is sent or its client disconnects.
pub fn hold_until_sent<T: Send + Unpin + 'static>(response: Response, guard: T) -> Response {
    if response.body().is_end_stream() {
        return response;
    }
    response
        .map(|body| Body::from_stream(GuardedBody { data: body.into_data_stream(), _guard: guard }))
}

/// Data of a response body, and the value that it keeps alive.
struct GuardedBody<T> {
    data: BodyDataStream,
    _guard: T,
}

impl<T: Unpin> Stream for GuardedBody<T> {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.data).poll_next(cx)
    }
}
