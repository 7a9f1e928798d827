//! Limits of the rate and the processor time of callers, for all addresses that they call from.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Extensions;
use mc_domain::{TokenId, UserId};
use mc_memory::{CALLERS_PER_USER, Initiator, ProcessorTimeLimit};
use mc_redis::SharedRateLimits;

use super::{Admission, drain_unauthenticated};
use crate::ApiSettings;
use crate::authenticate::Principal;
use crate::problem::Problem;
use crate::rate_limit::shared::SharedLimiter;

/// Units of any other request.
const DEFAULT_COST: u32 = 1;
/// Units of a request that searches the index or computes vectors.
const SEARCH_COST: u32 = 4;
/// Units of a request with hundreds of items.
const BATCH_COST: u32 = 16;

/// Rate limits by caller and by user, and limits of their processor time; cheap to clone.
#[derive(Clone)]
pub struct CallerRateLimit {
    buckets: Option<Arc<Buckets>>,
    processor_time: ProcessorTimeLimit,
}

struct Buckets {
    /// By personal access token or session.
    callers: SharedLimiter<TokenId>,
    /// By user.
    users: SharedLimiter<UserId>,
}

impl CallerRateLimit {
    /// Allows each caller the units and the processor time of the settings per minute, and each
    /// user four times as much. All nodes count units together if they share `rates`.
    pub fn new(settings: &ApiSettings, rates: Option<&SharedRateLimits>) -> Self {
        let units = settings.units_per_minute_per_caller;
        let user_units = units.saturating_mul(CALLERS_PER_USER);
        let callers = SharedLimiter::per_minute("rates.callers", units, rates);
        let users = SharedLimiter::per_minute("rates.users", user_units, rates);
        let buckets = callers.zip(users).map(|(callers, users)| Buckets { callers, users });
        let processor_time =
            ProcessorTimeLimit::per_minute(settings.processor_time_per_minute_per_caller);
        Self { buckets: buckets.map(Arc::new), processor_time }
    }

    /// Admits a request of a caller to a route.
    async fn admit(&self, caller: &mc_accounts::Principal, route: &str) -> Result<(), Problem> {
        if is_time_counted(route) {
            self.processor_time.check(caller.caller()).map_err(too_much_processor_time)?;
        }
        self.spend(caller, cost(route)).await
    }

    /// Takes `units` from the limit of a caller.
    pub async fn spend(
        &self,
        caller: &mc_accounts::Principal,
        units: NonZeroU32,
    ) -> Result<(), Problem> {
        let Some(buckets) = &self.buckets else { return Ok(()) };
        buckets.spend(caller, units).await.map_err(|wait| {
            Problem::rate_limited("too many requests by this caller", wait)
                .hint("the operator sets the limit with server.limits.units_per_minute_per_caller")
        })
    }
}

fn too_much_processor_time(wait: Duration) -> Problem {
    Problem::rate_limited("this caller or its user has used too much processor time", wait).hint(
        "send long texts and documents more slowly; the operator sets the limit with \
         server.limits.processor_seconds_per_minute_per_caller",
    )
}

impl Admission {
    /// Returns a caller as the initiator of work, whose processor time is charged to its limit.
    pub fn initiator(&self, caller: &mc_accounts::Principal) -> Initiator {
        Initiator::Caller(caller.caller(), self.callers.processor_time.clone())
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

/// Takes the units of a request from its caller's limit. Rejects a request whose processor time is
/// counted if the caller has used too much. Stays inside of authentication.
pub async fn limit_caller(
    State(limit): State<CallerRateLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = request.extensions().get::<Principal>().cloned();
    let caller = caller.ok_or_else(Problem::unauthenticated)?;
    if let Err(problem) = limit.admit(&caller, route(request.extensions())).await {
        drain_unauthenticated(request.into_body()).await;
        return Err(problem);
    }
    Ok(next.run(request).await)
}

fn route(extensions: &Extensions) -> &str {
    extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str)
}

/// Whether the processor time of the requests to a route is counted.
fn is_time_counted(route: &str) -> bool {
    let routes = ["/save", "/dialogs", "/ingest/docs", "/tasks/sync"];
    routes.contains(&route) || route.starts_with("/quarantine/")
}

fn cost(route: &str) -> NonZeroU32 {
    let units = match route {
        "/recall" | "/search" | "/save" | "/dialogs" => SEARCH_COST,
        "/ingest/git" | "/ingest/docs" | "/tasks/sync" => BATCH_COST,
        _ => DEFAULT_COST,
    };
    NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN)
}
