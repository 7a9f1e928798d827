//! Responses that hold something while they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::response::Response;
use futures::Stream;

/// Returns a response that holds `held` until it is sent or its client disconnects.
pub fn hold_until_sent<T: Send + Unpin + 'static>(response: Response, held: T) -> Response {
    if response.body().is_end_stream() {
        return response;
    }
    response.map(|body| Body::from_stream(Holding { data: body.into_data_stream(), _held: held }))
}

/// The data of a body, with the value that its response holds.
struct Holding<T> {
    data: BodyDataStream,
    _held: T,
}

impl<T: Unpin> Stream for Holding<T> {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.data).poll_next(cx)
    }
}
