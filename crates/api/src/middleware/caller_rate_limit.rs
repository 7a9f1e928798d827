//! Limits of the rate and the processor time of callers, for all addresses that they call from.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Extensions;
use mc_domain::{Caller, TokenId, UserId};
use mc_processor_time::{Meter, measure};
use mc_redis::SharedRateLimits;

use super::{drain_unauthenticated, metered_body};
use crate::ApiSettings;
use crate::authenticate::Principal;
use crate::problem::Problem;
use crate::rate_limit::processor_time::ProcessorTimeLimit;
use crate::rate_limit::shared::SharedLimiter;

/// How many times a caller's limit a user has for all of their tokens and sessions.
const CALLERS_PER_USER: u32 = 4;
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
    /// Of requests that write texts.
    writing: Option<Arc<ProcessorTime>>,
    /// Of all others. They are counted separately, so that a caller that imports documents can
    /// still recall.
    reading: Option<Arc<ProcessorTime>>,
    /// Whether requests are only charged. Messages to `/mcp` are not rejected: the requests of
    /// their tool calls are.
    charges_only: bool,
}

/// Limits of processor time.
struct ProcessorTime {
    callers: ProcessorTimeLimit<TokenId>,
    users: ProcessorTimeLimit<UserId>,
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
        let time = settings.processor_time_per_minute_per_caller;
        let [writing, reading] = [(); 2].map(|()| ProcessorTime::per_minute(time).map(Arc::new));
        Self { buckets: buckets.map(Arc::new), writing, reading, charges_only: false }
    }

    /// Returns the limits for messages to `/mcp`.
    pub fn for_messages(&self) -> Self {
        Self { charges_only: true, ..self.clone() }
    }

    /// Admits a request of a caller to a route. Returns the meter of its processor time.
    async fn admit(
        &self,
        caller: &mc_accounts::Principal,
        route: &str,
    ) -> Result<Option<Meter>, Problem> {
        let time = if writes_texts(route) { &self.writing } else { &self.reading };
        if let (Some(time), false) = (time, self.charges_only) {
            time.check(caller.caller()).map_err(too_much_processor_time)?;
        }
        self.spend(caller, cost(route)).await?;
        Ok(time.as_ref().map(|time| time.meter(caller.caller())))
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
        "send requests more slowly; the operator sets the limit with \
         server.limits.processor_seconds_per_minute_per_caller",
    )
}

impl ProcessorTime {
    fn per_minute(time: Duration) -> Option<Self> {
        let callers = ProcessorTimeLimit::per_minute(time);
        let users = ProcessorTimeLimit::per_minute(time.saturating_mul(CALLERS_PER_USER));
        callers.zip(users).map(|(callers, users)| Self { callers, users })
    }

    fn check(&self, caller: Caller) -> Result<(), Duration> {
        self.callers.check(&caller.credential)?;
        self.users.check(&caller.user)
    }

    /// Returns the meter that charges work to a caller and its user.
    fn meter(self: &Arc<Self>, caller: Caller) -> Meter {
        let this = Arc::clone(self);
        Meter::new(move |used| {
            this.callers.charge(caller.credential, used);
            this.users.charge(caller.user, used);
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

/// Takes the units of a request from its caller's limit, and charges its processor time to the
/// caller. Rejects it if the caller has used too much of either. Stays inside of authentication.
pub async fn limit_caller(
    State(limit): State<CallerRateLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = request.extensions().get::<Principal>().cloned();
    let caller = caller.ok_or_else(Problem::unauthenticated)?;
    match limit.admit(&caller, route(request.extensions())).await {
        Ok(meter) => {
            let response = measure(meter.clone(), next.run(request)).await;
            Ok(metered_body::measure_body(response, meter))
        }
        Err(problem) => {
            drain_unauthenticated(request.into_body()).await;
            Err(problem)
        }
    }
}

fn route(extensions: &Extensions) -> &str {
    extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str)
}

/// Whether requests to a route process texts to write them: they mask, split and embed them.
fn writes_texts(route: &str) -> bool {
    let routes = ["/save", "/dialogs", "/ingest/docs", "/tasks/sync"];
    routes.contains(&route) || route.starts_with("/quarantine/") || route.ends_with("/comment")
}

fn cost(route: &str) -> NonZeroU32 {
    let units = match route {
        "/recall"
        | "/search"
        | "/rag/search"
        | "/save"
        | "/dialogs"
        | "/records/{id}/judgment-questions"
        | "/records/{id}/judgment" => SEARCH_COST,
        "/ingest/git" | "/ingest/docs" | "/tasks/sync" | "/rag/search/global" => BATCH_COST,
        _ => DEFAULT_COST,
    };
    NonZeroU32::new(units).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use mc_processor_time::{add_helper_time, measure_blocking};

    use super::*;

    #[test]
    fn users_have_four_times_the_processor_time_of_a_caller() {
        const SECOND: Duration = Duration::from_secs(1);
        let time = ProcessorTime::per_minute(SECOND).map(Arc::new).expect("a limit");
        let user = UserId::generate();
        let caller = |user| Caller { user, credential: TokenId::generate() };
        for _ in 0..4 {
            let caller = caller(user);
            let meter = time.meter(caller);
            measure_blocking(Some(meter), || add_helper_time(SECOND * 11 / 10));
            assert!(time.check(caller).is_err(), "its own limit");
        }
        assert!(time.check(caller(user)).is_err(), "the limit of its user");
        assert_eq!(time.check(caller(UserId::generate())), Ok(()));
    }
}
