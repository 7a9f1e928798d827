//! Limits of connections and requests. Those of fields are in [`mc_contract`]: `limits`, `text` and
//! `number`.

use std::time::Duration;

/// Size of a request body.
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Size of a body of sign-in, which has no token yet: a form with some fields.
pub const MAX_FORM_BYTES: usize = 64 * 1024;
/// Size of a delivery of a git host: GitHub sends at most 25 MB. Trackers have [`MAX_BODY_BYTES`].
pub const MAX_DELIVERY_BYTES: usize = 25 * 1024 * 1024;
/// Memory for the bodies of all deliveries, while they are read and processed. Usual ones have some
/// kilobytes and never reach it.
pub const MAX_DELIVERY_MEMORY_BYTES: usize = 256 * 1024 * 1024;
/// The part of it that one address may take: five of the largest deliveries.
pub const MAX_DELIVERY_MEMORY_PER_CLIENT_BYTES: usize = MAX_DELIVERY_MEMORY_BYTES / 2;
/// Deliveries that one address may be sending at once: as many as it may have connections by
/// default, since a provider sends those of all its users from few addresses.
pub const MAX_DELIVERIES_PER_CLIENT: usize = 256;
/// Size of a message to `/mcp`. It is far above that of valid arguments, so that the error for one
/// that is too large can name it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Memory for all bodies of requests and messages, except webhook deliveries, while they are read
/// and processed.
pub const MAX_BODY_MEMORY_BYTES: usize = 256 * 1024 * 1024;
/// The part of it that one client may take: two of the largest messages.
pub const MAX_BODY_MEMORY_PER_CLIENT_BYTES: usize = 2 * MAX_MESSAGE_BYTES;
/// Bodies that one client may be sending at once. Usual ones arrive with their header.
pub const MAX_BODIES_PER_CLIENT: usize = 64;
/// Number of values in a JSON body. A value takes up to 200 bytes while it is parsed, however short
/// its text; the largest valid bodies have some thousands.
pub const JSON_VALUES: usize = 100_000;
/// Levels of nesting in a body. Valid ones have at most five, and
/// [`META_DEPTH`](mc_contract::limits::META_DEPTH) in one of them; messages of MCP have schemas,
/// which nest a few more.
pub const JSON_DEPTH: usize = 32;
/// Size of path and query of a URL.
pub const MAX_TARGET_BYTES: usize = 8 * 1024;
/// Size of the request line and headers together.
pub const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Number of headers of a request.
pub const HEADERS: usize = 64;
/// Time for the header of a request, since the previous response.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(20);
/// Time that a connection may be idle. Requests end before, and streams send a keep-alive every 15
/// seconds.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// Time for a TLS handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Concurrent requests on one HTTP/2 connection.
pub const STREAMS_PER_CONNECTION: u32 = 100;
/// Time that a request waits when the service has too many.
pub const QUEUE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which a webhook delivery waits each time that it needs a permit or memory: half of the
/// ten seconds after which GitHub gives up, without sending the delivery again.
pub const DELIVERY_QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a request is aborted.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that open requests have when the service stops.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use mc_contract::limits::STATEMENT;
    use mc_contract::number::TimeBudget;

    use super::*;

    #[test]
    fn requests_end_before_the_idle_timeout() {
        assert!(REQUEST_TIMEOUT + QUEUE_TIMEOUT + Duration::from_secs(30) < IDLE_TIMEOUT);
    }

    #[test]
    fn the_largest_time_budget_leaves_time_to_respond() {
        let budget = Duration::from_millis((*TimeBudget::RANGE.end()).unsigned_abs());
        assert!(budget + Duration::from_secs(5) <= REQUEST_TIMEOUT, "{budget:?}");
    }

    #[test]
    fn a_statement_has_the_length_of_a_records_content() {
        assert_eq!(STATEMENT, mc_memory::CONTENT_MAX_CHARS);
    }
}
