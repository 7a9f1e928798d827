//! The session of a client.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Version;

use crate::ClientSessionId;

/// The requests of one client from its start to its end: of an IDE with its MCP server, or of a
/// script. The client names it in the header [`ClientSession::HEADER`]; without the header, the
/// service makes one session of the requests of a credential that follow each other closely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSession {
    /// Identifier, unique for a user.
    pub id: ClientSessionId,
    /// When the client started it.
    pub started_at: DateTime<Utc>,
}

/// A session whose id has an older time started with this request: no client runs for longer.
const MAX_AGE: TimeDelta = TimeDelta::days(30);

impl ClientSession {
    /// The header with the id of the session.
    pub const HEADER: &str = "x-memory-copilot-session";

    /// Returns the session with this id. It started at the time in the id, if the id is a `UUIDv7`
    /// with a plausible time, and else at `now`, the time of the request.
    pub fn new(id: ClientSessionId, now: DateTime<Utc>) -> Self {
        let has_time = id.0.get_version() == Some(Version::SortRand);
        let time = id.0.get_timestamp().filter(|_| has_time).and_then(|time| {
            let (seconds, nanoseconds) = time.to_unix();
            DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanoseconds)
        });
        let is_plausible = |time: &DateTime<Utc>| *time <= now && *time > now - MAX_AGE;
        Self { id, started_at: time.filter(is_plausible).unwrap_or(now) }
    }
}

#[cfg(test)]
mod tests {
    use uuid::{NoContext, Timestamp, Uuid};

    use super::*;

    #[test]
    fn session_started_at_the_time_of_its_id() {
        let now: DateTime<Utc> = "2026-11-20T10:00:00Z".parse().expect("a time");
        let started = |time: DateTime<Utc>| {
            let seconds = u64::try_from(time.timestamp()).expect("after 1970");
            let id = Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, 0));
            ClientSession::new(id.into(), now).started_at
        };
        let earlier = now - TimeDelta::hours(3);
        assert_eq!(started(earlier), earlier);
        assert_eq!(started(now + TimeDelta::hours(1)), now, "a clock that is ahead");
        assert_eq!(started(now - TimeDelta::days(31)), now);
        let without_a_time = Uuid::from_u128(0x1234_5678_1234_4678_9234_5678_1234_5678);
        assert_eq!(ClientSession::new(without_a_time.into(), now).started_at, now);
    }
}
