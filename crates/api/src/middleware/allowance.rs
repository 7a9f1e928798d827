//! How much one caller may ask for, whatever address it calls from.

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Extensions;

use super::drain_stranger;
use crate::auth::Principal;
use crate::problem::Problem;
use crate::rates::Limiter;

/// What every request costs.
const ANY: u32 = 1;
/// What reads the whole index or writes with a model's help costs.
const THOUGHT: u32 = 4;
/// What is cut, embedded or synchronised by the hundred costs.
const BATCH: u32 = 16;

/// The callers' allowances; cheap to clone.
#[derive(Clone)]
pub struct Allowances(Option<Arc<Limiter<Arc<str>>>>);

impl Allowances {
    /// Allows each caller `units` a minute; 0 is no limit.
    pub fn new(units: u32) -> Self {
        Self(Limiter::per_minute(units).map(Arc::new))
    }
}

/// Takes what the request costs from its caller's allowance. Stands inside of authentication.
pub async fn limit_caller(
    State(allowances): State<Allowances>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(limiter) = &allowances.0 else { return Ok(next.run(request).await) };
    let caller = rate_key(request.extensions()).ok_or_else(Problem::unauthenticated)?;
    if let Err(wait) = limiter.spend(&caller, cost(request.extensions())) {
        drain_stranger(request.into_body()).await;
        return Err(Problem::rate_limited("too many requests by this caller", wait)
            .hint("the operator sets what is allowed with server.limits.units_per_caller"));
    }
    Ok(next.run(request).await)
}

/// Who pays: whoever the layer of authentication says it is.
fn rate_key(extensions: &Extensions) -> Option<Arc<str>> {
    extensions.get::<Principal>().map(|principal| principal.name().into())
}

fn cost(extensions: &Extensions) -> NonZeroU32 {
    let route = extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let units = match route {
        "/recall" | "/search" | "/save" | "/dialogs" => THOUGHT,
        "/ingest/git" | "/ingest/docs" | "/tasks/sync" => BATCH,
        _ => ANY,
    };
    NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN)
}
