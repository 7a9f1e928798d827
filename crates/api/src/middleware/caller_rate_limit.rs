//! Rate limits of callers, for all addresses that they call from.

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

/// Units of any other request.
const DEFAULT_COST: u32 = 1;
/// Units of a request that searches the index or computes vectors.
const SEARCH_COST: u32 = 4;
/// Units of a request with hundreds of items.
const BATCH_COST: u32 = 16;

/// How many times a caller's limit a user has for all of their tokens and sessions.
const CALLERS_PER_USER: u32 = 4;

/// Rate limits by caller and by user; cheap to clone.
#[derive(Clone)]
pub struct CallerRateLimit(Option<Arc<Buckets>>);

struct Buckets {
    /// By personal access token or session.
    callers: SharedLimiter<TokenId>,
    /// By user.
    users: SharedLimiter<UserId>,
}

impl CallerRateLimit {
    /// Allows each caller `units` per minute, and each user four times as many; 0 is no limit. All
    /// nodes count together if they share `rates`.
    pub fn new(units: u32, rates: Option<&SharedRateLimits>) -> Self {
        let user_units = units.saturating_mul(CALLERS_PER_USER);
        let callers = SharedLimiter::per_minute("rates.callers", units, rates);
        let users = SharedLimiter::per_minute("rates.users", user_units, rates);
        Self(callers.zip(users).map(|(callers, users)| Arc::new(Buckets { callers, users })))
    }

    /// Takes `units` from the limit of a caller.
    pub async fn spend(
        &self,
        caller: &mc_accounts::Principal,
        units: NonZeroU32,
    ) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        buckets.spend(caller, units).await.map_err(|wait| {
            Problem::rate_limited("too many requests by this caller", wait)
                .hint("the operator sets the limit with server.limits.units_per_minute_per_caller")
        })
    }
}

impl Buckets {
    /// Takes units of the caller first, so that a caller over its limit takes none of its user's
    /// other callers.
    async fn spend(
        &self,
        caller: &mc_accounts::Principal,
        units: NonZeroU32,
    ) -> Result<(), Duration> {
        self.callers.spend(&caller.credential(), units).await?;
        self.users.spend(&caller.user, units).await
    }
}

/// Takes the units of a request from its caller's limit. Stays inside of authentication.
pub async fn limit_caller(
    State(limit): State<CallerRateLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = request.extensions().get::<Principal>().cloned();
    let caller = caller.ok_or_else(Problem::unauthenticated)?;
    let units = cost(request.extensions());
    if let Err(problem) = limit.spend(&caller, units).await {
        drain_unauthenticated(request.into_body()).await;
        return Err(problem);
    }
    Ok(next.run(request).await)
}

fn cost(extensions: &Extensions) -> NonZeroU32 {
    let route = extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let units = match route {
        "/recall" | "/search" | "/save" | "/dialogs" => SEARCH_COST,
        "/ingest/git" | "/ingest/docs" | "/tasks/sync" => BATCH_COST,
        _ => DEFAULT_COST,
    };
    NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN)
}
