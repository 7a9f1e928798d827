//! Rate limits by client address, before any credential is read.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};
use mc_processor_time::{Meter, measure};

use super::Ingress;
use super::client_info::{ClientInfo, ClientNetwork};
use crate::authenticate::bearer;
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;
use crate::rate_limit::processor_time::ProcessorTimeLimit;
use crate::routes::is_probe;
use crate::webhook_receiver::is_delivery;

/// Rejects requests of addresses that send too many, or that failed to authenticate too often.
/// Health probes always pass.
///
/// Charges the processor time of a request to its address, until the request is known to be of a
/// caller or for a webhook, which have limits of their own.
pub async fn limit_address(
    State(ingress): State<Ingress>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if is_probe(request.uri().path()) {
        return Ok(next.run(request).await);
    }
    let client = request.extensions().get::<ClientInfo>().copied().ok_or_else(Problem::internal)?;
    let checked = ingress.check_rate(client.network, RequestClass::of(&request)).await;
    if let Err(problem) = checked {
        drain_unauthenticated(request.into_body()).await;
        return Err(problem);
    }
    let has_token = bearer(request.headers()).is_some();
    let time = ingress.0.processor_time.clone();
    let time = time.map(|limit| AddressTime { limit, network: client.network });
    let meter = time.as_ref().map(AddressTime::meter);
    if let Some(time) = time {
        request.extensions_mut().insert(time);
    }
    let response = measure(meter, next.run(request)).await;
    // A request without a token is no guess: any page can have a browser send one.
    let has_failed = (has_token && response.status() == StatusCode::UNAUTHORIZED)
        || response.extensions().get::<AuthFailed>().is_some();
    if let (true, Some(failures)) = (has_failed, &ingress.0.auth_failures) {
        failures.record(client.network).await;
    }
    Ok(response)
}

/// Rejects requests of an address that used too much processor time. For the routes without
/// authentication, whose work is charged to no caller.
pub async fn limit_unauthenticated(request: Request, next: Next) -> Result<Response, Problem> {
    let time = request.extensions().get::<AddressTime>();
    if let Some(Err(problem)) = time.map(AddressTime::check) {
        drain_unauthenticated(request.into_body()).await;
        return Err(problem);
    }
    Ok(next.run(request).await)
}

/// The limit of the processor time of a client's address. Health probes have none.
#[derive(Clone)]
struct AddressTime {
    limit: Arc<ProcessorTimeLimit<ClientNetwork>>,
    network: ClientNetwork,
}

impl AddressTime {
    fn meter(&self) -> Meter {
        self.limit.meter(self.network)
    }

    fn check(&self) -> Result<(), Problem> {
        self.limit.check(&self.network).map_err(|wait| {
            Problem::rate_limited("requests of this address used too much processor time", wait)
                .hint(
                    "send requests more slowly; the operator sets the limit with \
                     server.limits.processor_seconds_per_minute_per_address",
                )
        })
    }
}

/// Marks a response to an invalid credential whose status is not 401.
#[derive(Debug, Clone, Copy)]
pub struct AuthFailed;

/// Kinds of requests with limits of their own.
#[derive(Clone, Copy)]
enum RequestClass {
    /// A webhook delivery.
    Delivery,
    /// The start of a login, which inserts a row without authentication.
    Login,
    /// Any other request.
    Other,
}

impl RequestClass {
    fn of(request: &Request) -> Self {
        if is_delivery(request.method(), request.uri()) {
            Self::Delivery
        } else if starts_login(request) {
            Self::Login
        } else {
            Self::Other
        }
    }
}

fn starts_login(request: &Request) -> bool {
    let path = request.uri().path();
    (request.method() == Method::POST && path == "/auth/device")
        || (path.starts_with("/auth/oauth/") && path.ends_with("/start"))
}

impl Ingress {
    async fn check_rate(&self, network: ClientNetwork, class: RequestClass) -> Result<(), Problem> {
        match class {
            RequestClass::Delivery => self.check_delivery(network).await,
            RequestClass::Login => {
                self.check_request(network).await?;
                self.check_login(network).await
            }
            RequestClass::Other => self.check_request(network).await,
        }
    }

    async fn check_login(&self, network: ClientNetwork) -> Result<(), Problem> {
        let Some(logins) = &self.0.logins else { return Ok(()) };
        logins.spend(&network, NonZeroU32::MIN).await.map_err(|wait| {
            Problem::rate_limited("too many logins were started from this address", wait).hint(
                "finish one of them, or have the operator raise \
                 server.limits.auth_failures_per_minute_per_address",
            )
        })
    }

    async fn check_request(&self, network: ClientNetwork) -> Result<(), Problem> {
        let failures = self.0.auth_failures.as_ref();
        if let Some(wait) = failures.and_then(|failures| failures.retry_after(network)) {
            return Err(Problem::rate_limited("too many requests with an invalid token", wait)
                .hint("correct the token of every client at this address first"));
        }
        self.spend(network).await.map_err(|wait| {
            Problem::rate_limited("too many requests from this address", wait).hint(
                "for many people behind one address the operator raises \
                 server.limits.requests_per_minute_per_address, or lists their proxy in \
                 server.trusted_proxies",
            )
        })
    }

    /// Checks a delivery. Providers have no token to guess and share addresses with others, so
    /// failures do not block them. The status is 503, because some providers disable a webhook for
    /// good after a 4xx.
    async fn check_delivery(&self, network: ClientNetwork) -> Result<(), Problem> {
        self.spend(network).await.map_err(|_wait| {
            Problem::overloaded("too many deliveries from this address at once")
                .hint("the operator raises server.limits.requests_per_minute_per_address")
        })
    }

    async fn spend(&self, network: ClientNetwork) -> Result<(), Duration> {
        let Some(requests) = &self.0.requests else { return Ok(()) };
        requests.spend(&network, NonZeroU32::MIN).await
    }
}
