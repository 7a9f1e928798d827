//! Every limit of the API in one place. Texts are measured in characters unless a name says bytes.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Largest request body.
pub const BODY_BYTES: usize = 2 * 1024 * 1024;
/// Largest body of a git host's webhook: GitHub sends none above 25 MB. Trackers have [`BODY_BYTES`].
pub const DELIVERY_BYTES: usize = 25 * 1024 * 1024;
/// All bodies of webhooks that are held at once. Of the usual ones, of some kilobytes, that is as many as there
/// are places.
pub const DELIVERIES_BYTES: usize = 512 * 1024 * 1024;
/// Largest message to `/mcp`. Far above what a tool takes, so that an argument that is too large is
/// answered with its name.
pub const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Levels of nesting in a body. The deepest that is asked for has five, and [`META_DEPTH`] in one of
/// them; messages of MCP carry schemas, which nest a few more.
pub const JSON_DEPTH: usize = 32;
/// Path and query of a URL.
pub const TARGET_BYTES: usize = 8 * 1024;
/// Request line and headers together.
pub const HEAD_BYTES: usize = 64 * 1024;
/// Headers of one request.
pub const HEADERS: usize = 64;
/// How long the head of a request may take, counted from the answer before it.
pub const HEAD_TIME: Duration = Duration::from_secs(20);
/// How long a connection may be without a byte either way. Requests end before, and streams send a
/// sign of life every 15 seconds.
pub const IDLE_TIME: Duration = Duration::from_secs(75);
/// How long the keys of an encrypted connection may take to be agreed on.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Requests that are open at once on one HTTP/2 connection.
pub const STREAMS_PER_CONNECTION: u32 = 100;
/// How long a request waits for its turn when the service is full.
pub const QUEUE_TIME: Duration = Duration::from_secs(1);
/// How long one request may take before it is given up.
pub const REQUEST_TIME: Duration = Duration::from_secs(30);
/// How long open requests may go on after the service was told to stop.
pub const DRAIN_TIME: Duration = Duration::from_secs(10);

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
/// The text of a memory as it is sent.
pub const CONTENT: usize = 32_000;
/// What a record says, or what a dialog comes to, where it has to fit.
pub const STATEMENT: usize = mc_memory::CONTENT_MAX_CHARS;
/// One step of a worked example, one comment on a bundle.
pub const REMARK: usize = 4_000;
/// One message of a dialog.
pub const MESSAGE: usize = 200_000;
/// The text of one document.
pub const DOCUMENT: usize = 1_000_000;
/// One mark of the trouble: an error's line, or the trace below it.
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
/// Letters in a list of handles, commas included.
pub const HANDLES: usize = 1_000;
/// Messages of one dialog.
pub const MESSAGES: usize = 500;
/// Tasks in one synchronisation.
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
/// Tokens in a recall's bundle when the caller names no limit.
pub const DEFAULT_LIMIT_TOKENS: i64 = 2_000;
/// Milliseconds that a recall or search may take; well below [`REQUEST_TIME`], so that it is
/// answered with what it found, and not given up.
pub const TIME_BUDGET_MS: RangeInclusive<i64> = 1..=20_000;
/// Milliseconds for a recall when the caller names none.
pub const DEFAULT_TIME_BUDGET_MS: i64 = 300;
/// Milliseconds for a search when the caller names none: people wait for it, a prompt does not.
pub const DEFAULT_SEARCH_BUDGET_MS: i64 = 2_000;
/// Results of a search.
pub const SEARCH_LIMIT: RangeInclusive<i64> = 1..=100;
/// Results of a search when the caller names no limit.
pub const DEFAULT_SEARCH_LIMIT: i64 = 10;
/// The id of a piece of background work.
pub const JOB_ID: usize = 64;
/// Rows of one page of a list.
pub const PAGE_LIMIT: RangeInclusive<i64> = 1..=200;
/// Rows of one page when the caller names no limit.
pub const DEFAULT_PAGE_LIMIT: i64 = 50;
/// 1-based line numbers.
pub const LINE_NUMBER: RangeInclusive<i64> = 1..=10_000_000;
/// Characters of a webhook's secret.
pub const WEBHOOK_SECRET: RangeInclusive<usize> = 16..=256;
/// Hours for which the secret before the present one counts.
pub const KEEP_HOURS: RangeInclusive<i64> = 0..=168;
/// Minutes after which another system is asked again.
pub const EVERY_MINUTES: RangeInclusive<i64> = 5..=1_440;
/// Days that a personal access token lives.
pub const TOKEN_DAYS: RangeInclusive<i64> = 1..=366;
/// And when its maker names none.
pub const DEFAULT_TOKEN_DAYS: i64 = 90;
/// Days from today that a record may live.
pub const TTL_DAYS: i64 = 3_653;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_request_is_cut_off_as_idle() {
        assert!(REQUEST_TIME + QUEUE_TIME + Duration::from_secs(30) < IDLE_TIME);
    }

    #[test]
    fn the_largest_time_budget_leaves_time_to_answer() {
        let budget = Duration::from_millis((*TIME_BUDGET_MS.end()).unsigned_abs());
        assert!(budget + Duration::from_secs(5) <= REQUEST_TIME, "{budget:?}");
    }
}
