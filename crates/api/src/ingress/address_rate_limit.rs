//! How often one address may ask, whoever it claims to be.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};

use super::Ingress;
use super::client_info::{ClientInfo, ClientNetwork};
use crate::middleware::drain_unauthenticated;
use crate::problem::Problem;
use crate::routes::is_probe;
use crate::webhook_receiver::is_delivery;

/// Refuses addresses that ask too often, or failed to authenticate too often. Probes always pass.
pub async fn limit_address(
    State(door): State<Ingress>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if is_probe(request.uri().path()) {
        return Ok(next.run(request).await);
    }
    let visit = request.extensions().get::<ClientInfo>().copied().ok_or_else(Problem::internal)?;
    let aim = RequestClass::of(&request);
    let admitted = door.check(visit.network, aim).await;
    if let Err(refusal) = admitted {
        drain_unauthenticated(request.into_body()).await;
        return Err(refusal);
    }
    let response = next.run(request).await;
    let has_failed = response.status() == StatusCode::UNAUTHORIZED
        || response.extensions().get::<AuthFailed>().is_some();
    if let (true, Some(guesses)) = (has_failed, &door.0.guesses) {
        guesses.failed(visit.network).await;
    }
    Ok(response)
}

/// Marks an answer that says in other words than 401 that a credential was wrong.
#[derive(Debug, Clone, Copy)]
pub struct AuthFailed;

/// What a request is for, as far as it is counted apart.
#[derive(Clone, Copy)]
enum RequestClass {
    /// To tell what happened elsewhere.
    Delivery,
    /// To begin a login: that writes a row, whoever asks.
    Login,
    /// Anything else.
    Other,
}

impl RequestClass {
    fn of(request: &Request) -> Self {
        if is_delivery(request.method(), request.uri()) {
            Self::Delivery
        } else if begins_login(request) {
            Self::Login
        } else {
            Self::Other
        }
    }
}

fn begins_login(request: &Request) -> bool {
    let path = request.uri().path();
    (request.method() == Method::POST && path == "/auth/device")
        || (path.starts_with("/auth/oauth/") && path.ends_with("/start"))
}

impl Ingress {
    async fn check(&self, network: ClientNetwork, aim: RequestClass) -> Result<(), Problem> {
        match aim {
            RequestClass::Delivery => self.admit_sender(network).await,
            RequestClass::Login => {
                self.admit_caller(network).await?;
                self.admit_login(network).await
            }
            RequestClass::Other => self.admit_caller(network).await,
        }
    }

    async fn admit_login(&self, network: ClientNetwork) -> Result<(), Problem> {
        let Some(logins) = &self.0.logins else { return Ok(()) };
        logins.spend(&network, NonZeroU32::MIN).await.map_err(|wait| {
            Problem::rate_limited("too many logins are begun from this address", wait)
                .hint("finish one of them; the operator raises server.limits.auth_failures_per_minute_per_address")
        })
    }

    async fn admit_caller(&self, network: ClientNetwork) -> Result<(), Problem> {
        if let Some(wait) = self.0.guesses.as_ref().and_then(|guesses| guesses.retry_after(network))
        {
            return Err(Problem::rate_limited("too many requests without a valid token", wait)
                .hint("first mend the token of every client at this address"));
        }
        self.spend(network).await.map_err(|wait| {
            Problem::rate_limited("too many requests from this address", wait).hint(
                "for many people behind one address the operator raises \
                 server.limits.requests_per_minute_per_address, or names their proxy in server.trusted_proxies",
            )
        })
    }

    /// Those who send webhooks have no token to guess, and share addresses with the whole world: nobody is kept
    /// out for what others sent. Where it is too much the fault is said to be the service's, or some would send
    /// nothing ever again.
    async fn admit_sender(&self, network: ClientNetwork) -> Result<(), Problem> {
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
