//! Limits of webhook deliveries, by address. A delivery gets a permit for the lookup of its
//! webhook, and another once its body is received: a client that sends slowly, or never ends, holds
//! none.

use std::sync::Arc;
use std::thread::available_parallelism;

use axum::extract::Request;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mc_domain::WebhookId;
use mc_processor_time::Meter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::{BodyReader, Reserved};
use super::client_key::ClientKey;
use super::concurrency_limit::{ConcurrencyLimit, RequestPermit, acquire_permit};
use super::request_limits::reject_declared;
use crate::ApiSettings;
use crate::limits::DELIVERY_QUEUE_TIMEOUT;
use crate::problem::Problem;
use crate::rate_limit::processor_time::ProcessorTimeLimit;

/// Limits of webhook deliveries; cheap to clone.
#[derive(Clone)]
pub struct DeliveryLimits {
    concurrency: ConcurrencyLimit,
    reader: BodyReader,
    /// One for each core: a body may take many times its size while it is parsed.
    processing_permits: Arc<Semaphore>,
    /// By webhook: providers send the deliveries of many projects from the same addresses.
    processor_time: Option<Arc<ProcessorTimeLimit<WebhookId>>>,
}

/// A received delivery.
pub struct Admitted {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: DeliveryBody,
    /// Its permit, to be dropped once it is stored.
    pub permit: RequestPermit,
}

/// A body with its memory and the permit to process it, until it is dropped.
pub struct DeliveryBody {
    bytes: Bytes,
    _memory: Option<Reserved>,
    _processor: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for DeliveryBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DeliveryLimits {
    /// Creates the limits of the settings.
    pub fn new(settings: &ApiSettings) -> Self {
        let max = settings.max_concurrent_requests;
        Self {
            concurrency: ConcurrencyLimit::with_timeout(max, DELIVERY_QUEUE_TIMEOUT),
            reader: BodyReader::for_deliveries(settings.request_timeout),
            processing_permits: Arc::new(Semaphore::new(
                available_parallelism().map_or(1, usize::from),
            )),
            processor_time: ProcessorTimeLimit::per_minute(
                settings.processor_time_per_minute_per_caller,
            )
            .map(Arc::new),
        }
    }

    /// Returns the meter of the work for an existing webhook. Rejects a delivery whose webhook has
    /// used too much processor time.
    pub fn meter(&self, webhook: WebhookId) -> Result<Option<Meter>, Problem> {
        let Some(time) = &self.processor_time else { return Ok(None) };
        time.check(&webhook).map_err(|wait| {
            Problem::overloaded_for("this webhook has used too much processor time", wait).hint(
                "the operator sets the limit with \
                 server.limits.processor_seconds_per_minute_per_caller",
            )
        })?;
        Ok(Some(time.meter(webhook)))
    }

    /// Rejects a delivery that declares more than `max` bytes. Returns any other with a permit to
    /// look its webhook up, which is to be dropped before the body is read.
    pub async fn permit_lookup(
        &self,
        request: Request,
        max: usize,
    ) -> Result<(Request, RequestPermit), Problem> {
        let request = reject_declared(request, max).await?;
        acquire_permit(&self.concurrency, request).await.map_err(as_overload)
    }

    /// Reads a delivery to an existing webhook, of at most `max` bytes, and waits until it may be
    /// processed.
    pub async fn read(&self, request: Request, max: usize) -> Result<Admitted, Problem> {
        let (request, memory) = self.reader.read(request, max).await.map_err(as_overload)?;
        let (parts, bytes) = request.into_parts();
        let permit = self.concurrency.acquire_for(ClientKey::of(&parts.extensions)).await;
        let permit = permit.map_err(as_overload)?;
        let processor = Arc::clone(&self.processing_permits).acquire_owned().await.ok();
        let body = DeliveryBody { bytes, _memory: memory, _processor: processor };
        Ok(Admitted { headers: parts.headers, body, permit })
    }
}

/// Returns the error of a client above its share as that of an overloaded service: some providers
/// disable a webhook permanently after a 4xx.
fn as_overload(problem: Problem) -> Problem {
    if problem.status() != StatusCode::TOO_MANY_REQUESTS {
        return problem;
    }
    Problem::overloaded("too many deliveries from this address at once").hint(
        "if that happens often, the operator raises server.limits.max_concurrent_requests, or \
             lists the proxy in server.trusted_proxies",
    )
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::limits::MAX_DELIVERIES_PER_CLIENT;

    fn limits(max_concurrent_requests: usize) -> DeliveryLimits {
        DeliveryLimits::new(&ApiSettings { max_concurrent_requests, ..ApiSettings::default() })
    }

    fn delivery() -> Request {
        Request::new(Body::from("{}"))
    }

    #[track_caller]
    fn assert_overloaded<T>(result: Result<T, Problem>) {
        let problem = result.err().expect("a rejection");
        assert_eq!(problem.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(problem.message().contains("from this address"), "{problem:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_gets_half_of_the_permits_of_deliveries() {
        let limits = limits(16);
        let mut lookups = Vec::new();
        for _ in 0..8 {
            lookups.push(limits.permit_lookup(delivery(), 2).await.expect("half of them"));
        }
        assert_overloaded(limits.permit_lookup(delivery(), 2).await);
        assert_overloaded(limits.read(delivery(), 2).await);
        lookups.pop();
        assert!(limits.read(delivery(), 2).await.is_ok());
    }

    #[tokio::test]
    async fn an_address_has_a_limit_of_unfinished_deliveries() {
        let limits = limits(16);
        let never = || {
            let never = futures::stream::pending::<Result<Bytes, axum::Error>>();
            Request::new(Body::from_stream(never))
        };
        let mut unfinished = Vec::new();
        for _ in 0..MAX_DELIVERIES_PER_CLIENT {
            let mut reading = Box::pin(limits.read(never(), 2));
            assert!(futures::poll!(&mut reading).is_pending());
            unfinished.push(reading);
        }
        assert_overloaded(limits.read(delivery(), 2).await);
        unfinished.pop();
        assert!(limits.read(delivery(), 2).await.is_ok(), "they hold no permit");
    }
}
