//! Reading of request bodies, before a request gets a permit: a client that sends slowly, or never
//! ends, delays no other client.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;

use super::body_memory::{BodyMemory, ReservedMemory, UNIT_BYTES};
use super::client_key::ClientKey;
use super::concurrency_limit::hold_until_sent;
use super::request_limits::{drain_unauthenticated, reject_declared};
use crate::json_limits;
use crate::limits::{
    DELIVERY_QUEUE_TIMEOUT, MAX_BODIES_PER_CLIENT, MAX_BODY_MEMORY_BYTES,
    MAX_BODY_MEMORY_PER_CLIENT_BYTES, MAX_DELIVERIES_PER_CLIENT, MAX_DELIVERY_MEMORY_BYTES,
    MAX_DELIVERY_MEMORY_PER_CLIENT_BYTES, MAX_MESSAGE_BYTES,
};
use crate::problem::Problem;
use crate::shares::{Share, Shares};

/// Memory of one value of a parsed message: 14 MiB of empty arrays took 920 MiB.
const VALUE_BYTES: usize = 192;
/// When a client above one of its limits may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Limits of reading bodies: of all clients, and of each. Cheap to clone.
#[derive(Clone)]
pub struct BodyReader {
    timeout: Duration,
    /// How long a body waits for memory.
    memory_timeout: Duration,
    memory: BodyMemory,
    /// Units of memory of each client.
    of_client: Shares<ClientKey>,
    /// Bodies of each client that are being read.
    unfinished: Shares<ClientKey>,
}

/// Memory of a body, until it is dropped.
pub struct Reserved {
    of_client: Share<ClientKey>,
    memory: ReservedMemory,
}

impl BodyReader {
    /// Returns the limits of requests and messages. Each body must be read within `timeout`, and is
    /// rejected if there is no memory for it.
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            memory_timeout: Duration::ZERO,
            memory: BodyMemory::new(MAX_BODY_MEMORY_BYTES),
            of_client: Shares::new(MAX_BODY_MEMORY_PER_CLIENT_BYTES / UNIT_BYTES),
            unfinished: Shares::new(MAX_BODIES_PER_CLIENT),
        }
    }

    /// Returns the limits of webhook deliveries. They wait for memory, since a provider may not
    /// send them again.
    pub fn for_deliveries(timeout: Duration) -> Self {
        Self {
            timeout,
            memory_timeout: DELIVERY_QUEUE_TIMEOUT,
            memory: BodyMemory::new(MAX_DELIVERY_MEMORY_BYTES),
            of_client: Shares::new(MAX_DELIVERY_MEMORY_PER_CLIENT_BYTES / UNIT_BYTES),
            unfinished: Shares::new(MAX_DELIVERIES_PER_CLIENT),
        }
    }

    /// Returns the request with its whole body, of at most `max` bytes, and the memory of that.
    pub async fn read(
        &self,
        request: Request,
        max: usize,
    ) -> Result<(http::Request<Bytes>, Option<Reserved>), Problem> {
        let request = reject_declared(request, max).await?;
        if request.body().is_end_stream() {
            return Ok((request.map(|_| Bytes::new()), None));
        }
        let client = ClientKey::of(request.extensions());
        let Some(_unfinished) = self.unfinished.take(client, 1) else {
            drain_unauthenticated(request.into_body()).await;
            return Err(too_many_bodies());
        };
        let (parts, mut body) = request.into_parts();
        match tokio::time::timeout(self.timeout, self.collect(&mut body, max, client)).await {
            Ok(Ok((bytes, memory))) => Ok((http::Request::from_parts(parts, bytes), Some(memory))),
            Ok(Err(problem)) => {
                drain_unauthenticated(body).await;
                Err(problem)
            }
            Err(_elapsed) => {
                tracing::warn!(limit_ms = self.timeout.as_millis(), "body not received in time");
                Err(Problem::timeout())
            }
        }
    }

    /// Reads a body. Memory is reserved for what has been received, not for what is declared.
    async fn collect(
        &self,
        body: &mut Body,
        max: usize,
        client: ClientKey,
    ) -> Result<(Bytes, Reserved), Problem> {
        let of_client = self.of_client.take(client, 0).ok_or_else(too_much_memory)?;
        let mut reserved = Reserved { of_client, memory: self.memory.reserve_none()? };
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Problem::invalid("the body is incomplete"))?;
            let Ok(data) = frame.into_data() else { continue };
            if data.len() > max - read.len() {
                return Err(Problem::too_large(max));
            }
            reserved.grow_to(read.len() + data.len(), self.memory_timeout).await?;
            read.extend_from_slice(&data);
        }
        Ok((read.freeze(), reserved))
    }
}

impl Reserved {
    /// Reserves the memory that a body of `bytes` needs, at once or within `timeout`.
    async fn grow_to(&mut self, bytes: usize, timeout: Duration) -> Result<(), Problem> {
        let more = self.memory.missing_units(bytes);
        if more == 0 {
            return Ok(());
        }
        if !self.of_client.grow_within(more, timeout).await {
            return Err(too_much_memory());
        }
        self.memory.grow(more, timeout).await
    }
}

fn too_many_bodies() -> Problem {
    Problem::rate_limited("this client has too many unfinished requests", RETRY_AFTER)
        .hint("send fewer requests at once, and finish each")
}

fn too_much_memory() -> Problem {
    Problem::rate_limited("the request bodies of this client take too much memory", RETRY_AFTER)
        .hint("wait for the responses of earlier requests, or send smaller bodies")
}

/// Reads the body of a request, of at most `max` bytes, and keeps its memory reserved until the
/// response.
pub async fn read_body(
    State((reader, max)): State<(BodyReader, usize)>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (request, _memory) = reader.read(request, max).await?;
    Ok(next.run(request.map(Body::from)).await)
}

/// Reads a message to `/mcp`, rejects JSON that would take too much to parse, and keeps its memory
/// reserved until the response is sent: it may be an endless stream.
pub async fn read_message(
    State(reader): State<BodyReader>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (request, mut memory) = reader.read(request, MAX_MESSAGE_BYTES).await?;
    let values = json_limits::check(request.body())?;
    if let Some(memory) = &mut memory {
        // The text may be much shorter than what is parsed from it.
        memory.grow_to(values * VALUE_BYTES, reader.memory_timeout).await?;
    }
    let response = next.run(request.map(Body::from)).await;
    Ok(hold_until_sent(response, memory))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use tower::ServiceExt as _;

    use super::*;

    fn body(chunks: usize) -> Body {
        let chunks = std::iter::repeat_n(Bytes::from(vec![0; UNIT_BYTES]), chunks);
        Body::from_stream(futures::stream::iter(chunks.map(Ok::<_, std::convert::Infallible>)))
    }

    fn reader(all: usize, of_client: usize) -> BodyReader {
        BodyReader {
            memory: BodyMemory::new(all * UNIT_BYTES),
            of_client: Shares::new(of_client),
            ..BodyReader::new(Duration::from_mins(1))
        }
    }

    #[tokio::test]
    async fn memory_is_limited_for_all_and_for_each() {
        let reader = reader(4, 3);
        let collect = async |chunks, client| {
            reader.collect(&mut body(chunks), MAX_MESSAGE_BYTES, client).await
        };
        let read = async |chunks| collect(chunks, ClientKey::Process).await;
        let status = |problem: Problem| problem.status().as_u16();
        let (bytes, first) = read(2).await.expect("two of three");
        assert_eq!(bytes.len(), 2 * UNIT_BYTES);
        let refused = read(2).await.map(drop).expect_err("four of three");
        assert!(refused.message().contains("take too much memory"), "{refused:?}");
        assert_eq!(status(refused), 429);
        assert!(read(1).await.is_ok(), "the memory of the failed one is free");
        let caller = ClientKey::Caller(mc_domain::TokenId(uuid::Uuid::nil()));
        assert_eq!(collect(3, caller).await.map(drop).map_err(status), Err(503));
        drop(first);
        assert_eq!(reader.memory.free_units(), 4);
        assert!(reader.of_client.is_unused());
    }

    #[tokio::test]
    async fn a_delivery_waits_for_the_memory_of_its_client() {
        let reader = BodyReader { memory_timeout: Duration::MAX, ..reader(4, 3) };
        let collect = async |chunks| {
            reader.collect(&mut body(chunks), MAX_MESSAGE_BYTES, ClientKey::Process).await
        };
        let (_, first) = collect(2).await.expect("two of three");
        let mut waiting = Box::pin(collect(2));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(first);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn memory_of_a_message_is_reserved_until_its_response_is_sent() {
        let reader = reader(4, 3);
        let endless =
            async || Body::from_stream(futures::stream::pending::<Result<&str, axum::Error>>());
        let streams = Router::new()
            .route("/mcp", post(endless))
            .layer(from_fn_with_state(reader.clone(), read_message));
        let text = serde_json::to_vec(&"x".repeat(UNIT_BYTES)).expect("JSON");
        let values = format!("[{}]", "[],".repeat(UNIT_BYTES / VALUE_BYTES));
        for (message, free) in [(text, 2), (values.into_bytes(), 1)] {
            let request = Request::post("/mcp").body(Body::from(message)).expect("a request");
            let response = streams.clone().oneshot(request).await.expect("a response");
            assert_eq!(response.status(), http::StatusCode::OK);
            assert_eq!(reader.memory.free_units(), free);
            drop(response);
            assert_eq!(reader.memory.free_units(), 4);
            assert!(reader.of_client.is_unused());
        }
    }
}
