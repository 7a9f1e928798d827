//! How much of what Redis hands out is taken: what may be at work at once.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::Semaphore;
use tokio_util::sync::PollSemaphore;
use tower::{Layer, Service};

/// Lets a worker of the library ask Redis for a job while one more may be at work, so that none waits in its hands while
/// another node is idle. Who begins the job takes the permit: one that is kept while nothing comes would be missing
/// for what is found in PostgreSQL.
#[derive(Debug, Clone)]
pub(super) struct Gate(Arc<Semaphore>);

impl Gate {
    /// One before work that takes these permits.
    pub(super) fn of(free: &Arc<Semaphore>) -> Self {
        Self(Arc::clone(free))
    }
}

impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        Gated { free: PollSemaphore::new(Arc::clone(&self.0)), inner }
    }
}

/// Work behind a gate.
#[derive(Debug)]
pub(super) struct Gated<S> {
    free: PollSemaphore,
    inner: S,
}

impl<S, R> Service<R> for Gated<S>
where
    S: Service<R>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        drop(ready!(self.free.poll_acquire(cx)));
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.inner.call(request)
    }
}
