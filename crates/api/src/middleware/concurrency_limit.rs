//! Limits of concurrent requests. More requests wait a moment and are then rejected, while that is
//! cheap: a service that accepts everything responds too late to everyone.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client_key::ClientKey;
use super::drain_unauthenticated;
use crate::limits::QUEUE_TIMEOUT;
use crate::problem::Problem;
use crate::shares::{Share, Shares};

/// Permits from which a single client gets no more than half of them.
const SHARED_FROM: usize = 16;

/// A number of permits, and as many requests that may wait for one. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    permits: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    of_client: Shares<ClientKey>,
    timeout: Duration,
}

/// Permit of a request, and its part of its client's share, until it is dropped.
#[derive(Debug)]
pub struct RequestPermit {
    _permit: OwnedSemaphorePermit,
    // Last, since it notifies the requests that wait for it.
    _of_client: Share<ClientKey>,
}

impl ConcurrencyLimit {
    /// Allows `max` requests at once, and each client half of them; 0 is no limit.
    pub fn new(max: usize) -> Self {
        Self::with_timeout(max, QUEUE_TIMEOUT)
    }

    /// Has the limits of [`Self::new`], for which a request waits up to `timeout`.
    pub fn with_timeout(max: usize, timeout: Duration) -> Self {
        let of_client = Shares::new(if max >= SHARED_FROM { max / 2 } else { 0 });
        let max = if max == 0 { Semaphore::MAX_PERMITS } else { max };
        let semaphore = || Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
        Self { permits: semaphore(), queue: semaphore(), of_client, timeout }
    }

    /// Returns a permit for a request of `client`, at once or within the timeout.
    pub async fn acquire_for(&self, client: ClientKey) -> Result<RequestPermit, Problem> {
        let permit = self.acquire_permit(client).await;
        if permit.is_err() {
            tracing::warn!("request rejected: too many concurrent requests");
        }
        permit
    }

    async fn acquire_permit(&self, client: ClientKey) -> Result<RequestPermit, Problem> {
        let of_client = match self.of_client.take(client, 1) {
            Some(of_client) => of_client,
            None => self.wait_for_share(client).await.ok_or_else(too_many_requests)?,
        };
        let permit = self.acquire().await.ok_or_else(overloaded)?;
        Ok(RequestPermit { _permit: permit, _of_client: of_client })
    }

    /// Returns a part of the client's share once another request releases it; `None` on timeout.
    async fn wait_for_share(&self, client: ClientKey) -> Option<Share<ClientKey>> {
        let _waiting = self.queue.try_acquire().ok()?;
        self.of_client.take_within(client, 1, self.timeout).await
    }

    /// Returns a permit, at once or within the timeout; `None` if there is none.
    async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Some(permit);
        }
        let _waiting = self.queue.try_acquire().ok()?;
        let permit = tokio::time::timeout(self.timeout, self.permits.clone().acquire_owned()).await;
        permit.ok()?.ok()
    }
}

/// Runs a request, which holds a permit until its handler returns.
pub async fn limit_requests(
    State(limit): State<ConcurrencyLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (request, _permit) = acquire_permit(&limit, request).await?;
    Ok(next.run(request).await)
}

/// Runs a request, which holds a permit until its response is sent or its client disconnects.
pub async fn limit_streams(
    State(limit): State<ConcurrencyLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (request, permit) = acquire_permit(&limit, request).await?;
    Ok(hold_until_sent(next.run(request).await, permit))
}

/// Returns a permit for a request whose body is not read yet.
pub async fn acquire_permit(
    limit: &ConcurrencyLimit,
    request: Request,
) -> Result<(Request, RequestPermit), Problem> {
    match limit.acquire_for(ClientKey::of(request.extensions())).await {
        Ok(permit) => Ok((request, permit)),
        Err(problem) => {
            drain_unauthenticated(request.into_body()).await;
            Err(problem)
        }
    }
}

fn too_many_requests() -> Problem {
    Problem::rate_limited("this client has too many concurrent requests", QUEUE_TIMEOUT)
        .hint("send fewer requests at once, and wait for their responses")
}

/// Returns the problem of a service at its limit.
pub fn overloaded() -> Problem {
    Problem::overloaded("the service has as many requests as it can process at once")
        .hint("if that happens often, the operator raises server.limits in the configuration")
}

/// Returns a response that holds `held` until it is sent or its client disconnects.
pub fn hold_until_sent<T: Send + Unpin + 'static>(response: Response, held: T) -> Response {
    response.map(|body| Body::new(HoldingBody { body, _held: held }))
}

/// A response body that holds what its request has taken.
struct HoldingBody<T> {
    body: Body,
    _held: T,
}

impl<T: Send + Unpin + 'static> HttpBody for HoldingBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn acquire_times_out_when_all_permits_are_taken() {
        let limit = ConcurrencyLimit::with_timeout(1, Duration::ZERO);
        let permit = limit.acquire().await;
        assert!(permit.is_some());
        assert!(limit.acquire().await.is_none());
        drop(permit);
        assert!(limit.acquire().await.is_some());
    }

    #[tokio::test]
    async fn a_waiting_request_gets_the_released_permit() {
        let limit = ConcurrencyLimit::with_timeout(1, Duration::MAX);
        let permit = limit.acquire().await;
        let waiting = tokio::spawn({
            let limit = limit.clone();
            async move { limit.acquire().await.is_some() }
        });
        while limit.queue.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(limit.acquire().await.is_none(), "only as many wait as there are permits");
        drop(permit);
        assert!(waiting.await.expect("a permit"));
    }

    #[tokio::test]
    async fn a_client_gets_half_of_the_permits() {
        let limit =
            ConcurrencyLimit { timeout: Duration::ZERO, ..ConcurrencyLimit::new(SHARED_FROM) };
        let mut permits = Vec::new();
        for _ in 0..SHARED_FROM / 2 {
            permits.push(limit.acquire_for(ClientKey::Process).await.expect("half of them"));
        }
        let refused = limit.acquire_for(ClientKey::Process).await.expect_err("no more");
        assert_eq!(refused.status().as_u16(), 429);
        let other = ClientKey::Caller(mc_domain::TokenId(uuid::Uuid::nil()));
        assert!(limit.acquire_for(other).await.is_ok());
        permits.pop();
        assert!(limit.acquire_for(ClientKey::Process).await.is_ok());
    }

    #[tokio::test]
    async fn a_request_waits_for_the_share_of_its_client() {
        let limit =
            ConcurrencyLimit { timeout: Duration::MAX, ..ConcurrencyLimit::new(SHARED_FROM) };
        let mut permits = Vec::new();
        for _ in 0..SHARED_FROM / 2 {
            permits.push(limit.acquire_for(ClientKey::Process).await.expect("half of them"));
        }
        let waiting = tokio::spawn({
            let limit = limit.clone();
            async move { limit.acquire_for(ClientKey::Process).await.is_ok() }
        });
        while limit.queue.available_permits() == SHARED_FROM {
            tokio::task::yield_now().await;
        }
        permits.pop();
        assert!(waiting.await.expect("a permit"));
    }

    #[tokio::test]
    async fn zero_is_no_limit() {
        let limit = ConcurrencyLimit::with_timeout(0, Duration::ZERO);
        let mut permits = Vec::new();
        for _ in 0..1_000 {
            permits.push(limit.acquire().await.expect("a permit"));
        }
    }
}
