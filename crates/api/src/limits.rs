//! Every limit of the API. Texts are measured in characters unless the name has bytes.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Size of a request body.
pub const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Size of a delivery of a git host: GitHub sends at most 25 MB. Trackers have [`MAX_BODY_BYTES`].
pub const MAX_DELIVERY_BYTES: usize = 25 * 1024 * 1024;
/// Size of all deliveries in memory. Usual ones have some kilobytes and never reach it.
pub const MAX_DELIVERY_MEMORY_BYTES: usize = 512 * 1024 * 1024;
/// Size of a message to `/mcp`. It is far above that of valid arguments, so that the error for one
/// that is too large can name it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Levels of nesting in a body. Valid ones have at most five, and [`META_DEPTH`] in one of them;
/// messages of MCP have schemas, which nest a few more.
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
/// Time after which a request is aborted.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that open requests have when the service stops.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A command of a policy.
pub const COMMAND: usize = 200;
/// A title or a name.
pub const TITLE: usize = 300;
/// A tracker's issue id, a document's id in its source.
pub const EXTERNAL_ID: usize = 200;
/// A person, a tracker's status, a source's name.
pub const NAME: usize = 120;
/// An e-mail address (RFC 5321).
pub const EMAIL: usize = 254;
/// A qualified symbol.
pub const SYMBOL: usize = 512;
/// A path inside a repository.
pub const PATH: usize = 1024;
/// A URL.
pub const URL: usize = 2048;
/// A search or recall query.
pub const QUERY: usize = 4_000;
/// The text of a save.
pub const CONTENT: usize = 32_000;
/// The content of a record, or the summary of a dialog.
pub const STATEMENT: usize = mc_memory::CONTENT_MAX_CHARS;
/// One step of a worked example, one comment on a bundle.
pub const REMARK: usize = 4_000;
/// One message of a dialog.
pub const MESSAGE: usize = 200_000;
/// The text of one document.
pub const DOCUMENT: usize = 1_000_000;
/// One signal: a line of an error, or its stack trace.
pub const SIGNAL: usize = 2_000;
/// One tag, scope, label or language.
pub const WORD: usize = 120;

/// Tags, scopes, labels, signals, symbols or languages in one list.
pub const WORDS: usize = 64;
/// Steps of a worked example.
pub const STEPS: usize = 32;
/// Citations of one record.
pub const CITATIONS: usize = 32;
/// Ids or handles in one list (feedback, links to a task).
pub const IDS: usize = 200;
/// Characters of a list of handles, including commas.
pub const HANDLES: usize = 1_000;
/// Messages of one dialog.
pub const MESSAGES: usize = 500;
/// Tasks in one sync request.
pub const TASKS: usize = 500;
/// Links of one task.
pub const LINKS: usize = 32;
/// Documents in one batch.
pub const DOCUMENTS: usize = 200;

/// The free-form `meta` of a record, as JSON.
pub const META_BYTES: usize = 16 * 1024;
/// Levels of nesting in `meta`.
pub const META_DEPTH: usize = 8;

/// Tokens in a recall's bundle.
pub const LIMIT_TOKENS: RangeInclusive<i64> = 96..=32_000;
/// Tokens in a recall's bundle by default.
pub const DEFAULT_LIMIT_TOKENS: i64 = 2_000;
/// Milliseconds that a recall or search may take. It is well below [`REQUEST_TIMEOUT`], so that the
/// search returns its results so far and is not aborted.
pub const TIME_BUDGET_MS: RangeInclusive<i64> = 1..=20_000;
/// Milliseconds for a recall by default.
pub const DEFAULT_TIME_BUDGET_MS: i64 = 300;
/// Milliseconds for a search by default: people wait for it, prompts do not.
pub const DEFAULT_SEARCH_BUDGET_MS: i64 = 2_000;
/// Results of a search.
pub const SEARCH_LIMIT: RangeInclusive<i64> = 1..=100;
/// Results of a search by default.
pub const DEFAULT_SEARCH_LIMIT: i64 = 10;
/// The id of a job.
pub const JOB_ID: usize = 64;
/// Items of a page.
pub const PAGE_LIMIT: RangeInclusive<i64> = 1..=200;
/// Items of a page by default.
pub const DEFAULT_PAGE_LIMIT: i64 = 50;
/// 1-based line numbers.
pub const LINE_NUMBER: RangeInclusive<i64> = 1..=10_000_000;
/// Characters of a webhook's secret.
pub const WEBHOOK_SECRET: RangeInclusive<usize> = 16..=256;
/// Hours for which a webhook's previous secret stays valid.
pub const KEEP_HOURS: RangeInclusive<i64> = 0..=168;
/// Minutes between the syncs of an integration.
pub const EVERY_MINUTES: RangeInclusive<i64> = 5..=1_440;
/// Days until a personal access token expires.
pub const TOKEN_DAYS: RangeInclusive<i64> = 1..=366;
/// Days until a personal access token expires by default.
pub const DEFAULT_TOKEN_DAYS: i64 = 90;
/// Days from today until the latest expiry of a record.
pub const TTL_DAYS: i64 = 3_653;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_before_the_idle_timeout() {
        assert!(REQUEST_TIMEOUT + QUEUE_TIMEOUT + Duration::from_secs(30) < IDLE_TIMEOUT);
    }

    #[test]
    fn the_largest_time_budget_leaves_time_to_respond() {
        let budget = Duration::from_millis((*TIME_BUDGET_MS.end()).unsigned_abs());
        assert!(budget + Duration::from_secs(5) <= REQUEST_TIMEOUT, "{budget:?}");
    }
}
