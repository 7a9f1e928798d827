//! Faults of single requests.

use std::io;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use futures::stream;

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum GitHubFault {
    /// The request is carried out, and the connection breaks before the response is complete.
    LostResponse,
    /// The request is not carried out. The response has this status and body.
    Response(u16, String),
    /// The request is not carried out: the secondary rate limit holds, with this `Retry-After`, in
    /// seconds, if any.
    SecondaryRateLimit(Option<u64>),
}

impl GitHubFault {
    /// Returns whether the request is carried out all the same.
    pub(super) fn is_carried_out(&self) -> bool {
        matches!(self, Self::LostResponse)
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        match self {
            Self::LostResponse => {
                let broken = io::Error::other("the connection breaks");
                *response.body_mut() = Body::from_stream(stream::iter([Err::<String, _>(broken)]));
            }
            Self::Response(status, body) => {
                *response.status_mut() = StatusCode::from_u16(status).expect("a status");
                *response.body_mut() = body.into();
            }
            Self::SecondaryRateLimit(retry_after) => {
                *response.status_mut() = StatusCode::FORBIDDEN;
                if let Some(seconds) = retry_after {
                    response.headers_mut().insert("retry-after", seconds.into());
                }
                let message = r#"{"message":"You have exceeded a secondary rate limit."}"#;
                *response.body_mut() = message.into();
            }
        }
        response
    }
}
