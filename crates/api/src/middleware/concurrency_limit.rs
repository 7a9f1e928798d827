//! How much is under way at once. What is more waits a moment, and is then refused while it is cheap
//! to refuse: a service that takes on everything ends up answering nobody in time.

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

use super::drain_unauthenticated;
use crate::limits::QUEUE_TIME;
use crate::problem::Problem;

/// A number of places, and as many to wait in for one of them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    free: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    patience: Duration,
}

impl ConcurrencyLimit {
    /// `number` places; 0 is no limit.
    pub fn new(number: usize) -> Self {
        Self::with_patience(number, QUEUE_TIME)
    }

    fn with_patience(number: usize, patience: Duration) -> Self {
        let number = if number == 0 { Semaphore::MAX_PERMITS } else { number };
        let places = || Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        Self { free: places(), queue: places(), patience }
    }

    /// A place, at once or soon. `None` when the service is full.
    async fn take(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = self.free.clone().try_acquire_owned() {
            return Some(place);
        }
        let _waiting = self.queue.try_acquire().ok()?;
        let place = tokio::time::timeout(self.patience, self.free.clone().acquire_owned()).await;
        place.ok()?.ok()
    }
}

/// Memory for bodies, in parts of [`PART`], and turns to look at one. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BodyMemory {
    free: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    patience: Duration,
}

/// Bytes of the least that is taken of a [`Room`].
const PART: usize = 16 * 1024;

impl BodyMemory {
    /// So many bytes, and a turn for each core: what a body becomes while it is read may be many times its size.
    pub fn new(bytes: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let [free, turns] = [bytes / PART, cores].map(|number| Arc::new(Semaphore::new(number)));
        Self { free, turns, patience: QUEUE_TIME }
    }

    /// A turn, when it comes.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.turns.clone().acquire_owned().await.ok()
    }

    /// Room for so many bytes until the answer is dropped, at once or soon.
    pub async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let parts = u32::try_from(bytes.div_ceil(PART).max(1)).unwrap_or(u32::MAX);
        let taken = self.free.clone().acquire_many_owned(parts);
        match tokio::time::timeout(self.patience, taken).await {
            Ok(Ok(room)) => Ok(room),
            _ => Err(full()),
        }
    }
}

/// Runs a request in one of the places, until its handler is done.
pub async fn limit_requests(
    State(places): State<ConcurrencyLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(_place) = places.take().await else { return Err(turn_away(request).await) };
    Ok(next.run(request).await)
}

/// Runs a request in one of the places, until the last of its answer is sent or its client is gone.
pub async fn limit_streams(
    State(places): State<ConcurrencyLimit>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(place) = places.take().await else { return Err(turn_away(request).await) };
    let response = next.run(request).await;
    Ok(response.map(|body| Body::new(Holding { body, _place: place })))
}

async fn turn_away(request: Request) -> Problem {
    tracing::warn!("the service is full; a request was turned away");
    drain_unauthenticated(request.into_body()).await;
    full()
}

fn full() -> Problem {
    Problem::overloaded("the service has as much to do as it takes on at once")
        .hint("if that happens often, the operator looks at server.limits in the configuration")
}

/// A body that keeps its request's place.
struct Holding {
    body: Body,
    _place: OwnedSemaphorePermit,
}

impl HttpBody for Holding {
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
    async fn when_all_places_are_taken_one_waits_and_then_gives_up() {
        let places = ConcurrencyLimit::with_patience(1, Duration::ZERO);
        let place = places.take().await;
        assert!(place.is_some());
        assert!(places.take().await.is_none());
        drop(place);
        assert!(places.take().await.is_some());
    }

    #[tokio::test]
    async fn who_waits_gets_the_place_that_becomes_free() {
        let places = ConcurrencyLimit::with_patience(1, Duration::MAX);
        let place = places.take().await;
        let waiting = tokio::spawn({
            let places = places.clone();
            async move { places.take().await.is_some() }
        });
        while places.queue.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(places.take().await.is_none(), "only as many wait as there are places");
        drop(place);
        assert!(waiting.await.expect("a place"));
    }

    #[tokio::test]
    async fn a_room_holds_so_many_bytes_and_then_no_more() {
        let room = BodyMemory { patience: Duration::ZERO, ..BodyMemory::new(4 * PART) };
        let large = room.take(2 * PART + 1).await.expect("room");
        let small = room.take(0).await.expect("room for the least");
        assert!(room.take(1).await.is_err());
        drop((large, small));
        assert!(room.take(4 * PART).await.is_ok());
    }

    #[tokio::test]
    async fn none_is_no_limit() {
        let places = ConcurrencyLimit::with_patience(0, Duration::ZERO);
        let mut taken = Vec::new();
        for _ in 0..1_000 {
            taken.push(places.take().await.expect("a place"));
        }
    }
}
