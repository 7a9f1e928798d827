//! How often one address may ask, whoever it claims to be.

use std::num::NonZeroU32;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;

use super::Door;
use super::visit::{Network, Visit};
use crate::middleware::drain_stranger;
use crate::problem::Problem;
use crate::routes::is_probe;

/// Refuses addresses that ask too often, or failed to authenticate too often. Probes always pass.
pub async fn limit_address(
    State(door): State<Door>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if is_probe(request.uri().path()) {
        return Ok(next.run(request).await);
    }
    let visit = request.extensions().get::<Visit>().copied().ok_or_else(Problem::internal)?;
    if let Err(refusal) = door.admit(visit.network) {
        drain_stranger(request.into_body()).await;
        return Err(refusal);
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED
        && let Some(guesses) = &door.0.guesses
    {
        guesses.failed(visit.network);
    }
    Ok(response)
}

impl Door {
    fn admit(&self, network: Network) -> Result<(), Problem> {
        if let Some(wait) = self.0.guesses.as_ref().and_then(|guesses| guesses.wait_of(network)) {
            return Err(Problem::rate_limited("too many requests without a valid token", wait)
                .hint("first mend the token of every client at this address"));
        }
        let Some(requests) = &self.0.requests else { return Ok(()) };
        requests.spend(&network, NonZeroU32::MIN).map_err(|wait| {
            Problem::rate_limited("too many requests from this address", wait).hint(
                "for many people behind one address the operator raises \
                 server.limits.requests_per_address, or names their proxy in server.trusted_proxies",
            )
        })
    }
}
