//! Limits that several types share. Texts are measured in characters unless a name says bytes. The
//! other limits are in the tables of [`text`](crate::text) and [`number`](crate::number), and at
//! the lists.

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
/// A path inside a repository.
pub const PATH: usize = 1024;
/// A URL.
pub const URL: usize = 2048;
/// The text of a record.
pub const STATEMENT: usize = 4_000;
/// One tag, scope, label or language.
pub const SHORT_TEXT: usize = 120;
/// Characters of a list of handles, commas included.
pub const HANDLES: usize = 1_000;

/// Tags, scopes, labels, signals or symbols in one list.
pub const SHORT_TEXTS: usize = 64;
/// Ids in one list.
pub const IDS: usize = 200;

/// Bytes of a record's `meta`, as JSON.
pub const META_BYTES: usize = 16 * 1024;
/// Levels of nesting in `meta`.
pub const META_DEPTH: usize = 8;

/// Characters of a webhook's secret.
pub const WEBHOOK_SECRET: RangeInclusive<usize> = 16..=256;
/// Days from now until a record expires.
pub const TTL_DAYS: i64 = 3_653;
