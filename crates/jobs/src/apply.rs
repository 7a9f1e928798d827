//! Storage of what providers report, by webhook or by sync: tasks, pull requests and documents.

pub mod doc_parts;
pub(crate) mod pull_request;
pub(crate) mod task;

use chrono::{DateTime, Utc};

/// Returns the time of a reported state: the provider's, or the time of receipt if that is missing
/// or earlier. The time of a provider whose clock is ahead would suppress later updates.
pub(crate) fn source_time(
    reported: Option<DateTime<Utc>>,
    received_at: DateTime<Utc>,
) -> DateTime<Utc> {
    reported.map_or(received_at, |reported| reported.min(received_at))
}
