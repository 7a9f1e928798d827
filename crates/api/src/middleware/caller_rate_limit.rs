//! How much one caller may ask for, whatever address it calls from.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Extensions;
use mc_domain::{TokenId, UserId};
use mc_redis::SharedRateLimits;

use super::drain_unauthenticated;
use crate::authenticate::Principal;
use crate::problem::Problem;
use crate::rate_limit::shared::SharedLimiter;

/// What every request costs.
const ANY: u32 = 1;
/// What reads the whole index or writes with a model's help costs.
const THOUGHT: u32 = 4;
/// What is cut, embedded or synchronised by the hundred costs.
const BATCH: u32 = 16;

/// How many callers' worth one user has for all that they come in by: there may be any number of tokens.
const CALLERS_OF_A_USER: u32 = 4;

/// The callers' allowances; cheap to clone.
#[derive(Clone)]
pub struct CallerRateLimit(Option<Arc<Buckets>>);

struct Buckets {
    /// Of each personal access token and each session.
    callers: SharedLimiter<TokenId>,
    /// Of all that are one user's.
    users: SharedLimiter<UserId>,
}

impl CallerRateLimit {
    /// Allows each caller `units` a minute, and all those of one user four times as much; 0 is no limit. At all
    /// nodes together, where they share `rates`.
    pub fn new(units: u32, rates: Option<&SharedRateLimits>) -> Self {
        let of_users = units.saturating_mul(CALLERS_OF_A_USER);
        let callers = SharedLimiter::per_minute("rates.callers", units, rates);
        let users = SharedLimiter::per_minute("rates.users", of_users, rates);
        Self(callers.zip(users).map(|(callers, users)| Arc::new(Buckets { callers, users })))
    }
}

impl Buckets {
    /// From the caller's own first: one that asks for too much takes nothing more from its user's others.
    async fn spend(&self, caller: &Principal, units: NonZeroU32) -> Result<(), Duration> {
        self.callers.spend(&caller.credential(), units).await?;
        self.users.spend(&caller.user, units).await
    }
}

/// Takes what the request costs from its caller's allowance. Stands inside of authentication.
pub async fn limit_caller(
    State(allowances): State<CallerRateLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(buckets) = &allowances.0 else { return Ok(next.run(request).await) };
    let caller = request.extensions().get::<Principal>().cloned();
    let caller = caller.ok_or_else(Problem::unauthenticated)?;
    let units = cost(request.extensions());
    if let Err(wait) = buckets.spend(&caller, units).await {
        drain_unauthenticated(request.into_body()).await;
        return Err(Problem::rate_limited("too many requests by this caller", wait).hint(
            "the operator sets what is allowed with server.limits.units_per_minute_per_caller",
        ));
    }
    Ok(next.run(request).await)
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
