//! Limits of requests, in one place. Texts are measured in characters unless a name says bytes.

use std::ops::RangeInclusive;

/// A command of a policy.
pub const COMMAND: usize = 200;
/// Commands of a policy.
pub const COMMANDS: usize = 100;
/// A title.
pub const TITLE: usize = 300;
/// A tracker's id of an issue, a source's id of a document.
pub const EXTERNAL_ID: usize = 200;
/// The name of a person, of a tracker's status or of a source.
pub const NAME: usize = 120;
/// An e-mail address (RFC 5321).
pub const EMAIL: usize = 254;
/// A qualified symbol.
pub const SYMBOL: usize = 512;
/// A path inside a repository.
pub const PATH: usize = 1024;
/// A URL.
pub const URL: usize = 2048;
/// The query of a search or recall.
pub const QUERY: usize = 4_000;
/// The text of a save.
pub const CONTENT: usize = 32_000;
/// The text of a record.
pub const STATEMENT: usize = 4_000;
/// One step of a worked example, one comment.
pub const FREE_TEXT: usize = 4_000;
/// One message of a dialog.
pub const MESSAGE: usize = 200_000;
/// The text of one document.
pub const DOCUMENT: usize = 1_000_000;
/// One error signal: the message, or the trace with it.
pub const SIGNAL: usize = 2_000;
/// One tag, scope, label or language.
pub const SHORT_TEXT: usize = 120;
/// The id of a job.
pub const JOB_ID: usize = 64;
/// Characters of a list of handles, commas included.
pub const HANDLES: usize = 1_000;

/// Tags, scopes, labels, signals or symbols in one list.
pub const SHORT_TEXTS: usize = 64;
/// Steps of a worked example.
pub const STEPS: usize = 32;
/// Citations of one record.
pub const CITATIONS: usize = 32;
/// Ids in one list.
pub const IDS: usize = 200;
/// Messages of one dialog.
pub const MESSAGES: usize = 500;
/// Tasks of one request.
pub const TASKS: usize = 500;
/// Links of one task.
pub const LINKS: usize = 32;
/// Documents of one request.
pub const DOCUMENTS: usize = 200;

/// Bytes of a record's `meta`, as JSON.
pub const META_BYTES: usize = 16 * 1024;
/// Levels of nesting in `meta`.
pub const META_DEPTH: usize = 8;

/// Tokens of a bundle.
pub const LIMIT_TOKENS: RangeInclusive<i64> = 96..=32_000;
/// Milliseconds that a recall or search may take.
pub const TIME_BUDGET_MS: RangeInclusive<i64> = 1..=20_000;
/// Results of a search.
pub const SEARCH_LIMIT: RangeInclusive<i64> = 1..=100;
/// Items of a page.
pub const PAGE_LIMIT: RangeInclusive<i64> = 1..=200;
/// Items of a page by default.
pub const DEFAULT_PAGE_LIMIT: i64 = 50;
/// Lines of a file.
pub const LINE_NUMBER: RangeInclusive<i64> = 1..=10_000_000;
/// Characters of a webhook's secret.
pub const WEBHOOK_SECRET: RangeInclusive<usize> = 16..=256;
/// Hours for which a webhook's previous secret stays valid.
pub const SECRET_TTL_HOURS: RangeInclusive<i64> = 0..=168;
/// Minutes between two syncs of an integration.
pub const INTERVAL_MINUTES: RangeInclusive<i64> = 5..=1_440;
/// Days until a personal access token expires.
pub const TOKEN_DAYS: RangeInclusive<i64> = 1..=366;
/// Days until a personal access token expires by default.
pub const DEFAULT_TOKEN_DAYS: i64 = 90;
/// Days from now until a record expires.
pub const TTL_DAYS: i64 = 3_653;
