//! Sessions of clients: named by a header, or made of requests that follow each other closely.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use mc_domain::{Caller, ClientSession, ClientSessionId};

use crate::problem::Problem;

/// Time without a request after which a credential's next request starts a session.
const IDLE: TimeDelta = TimeDelta::minutes(30);
/// Maximum number of remembered credentials. At this limit, all are forgotten: each credential then
/// starts a new session.
const MAX_CALLERS: usize = 10_000;

/// The present sessions of credentials whose clients name none. Each node has its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientSessions(Arc<Mutex<HashMap<Caller, Current>>>);

#[derive(Debug, Clone, Copy)]
struct Current {
    session: ClientSession,
    last_request_at: DateTime<Utc>,
}

impl ClientSessions {
    /// Returns the session of a caller's request at `now`.
    pub(crate) fn session_of(
        &self,
        caller: Caller,
        named: Option<ClientSessionId>,
        now: DateTime<Utc>,
    ) -> ClientSession {
        if let Some(id) = named {
            return ClientSession::new(id, now);
        }
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&caller) {
            callers.clear();
        }
        let new = || ClientSession { id: ClientSessionId::generate(), started_at: now };
        let known = callers.get(&caller).filter(|known| now - known.last_request_at < IDLE);
        let session = known.map_or_else(new, |known| known.session);
        callers.insert(caller, Current { session, last_request_at: now });
        session
    }
}

/// Returns the session that a request names.
pub(crate) fn named_session(headers: &HeaderMap) -> Result<Option<ClientSessionId>, Problem> {
    let Some(value) = headers.get(ClientSession::HEADER) else { return Ok(None) };
    let id = value.to_str().ok().and_then(|text| text.parse().ok());
    let invalid = || Problem::invalid("must be a UUID").field(ClientSession::HEADER);
    id.map(Some).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use mc_domain::{TokenId, UserId};

    use super::*;

    fn caller() -> Caller {
        Caller { user: UserId::generate(), credential: TokenId::generate() }
    }

    #[test]
    fn requests_that_follow_each_other_are_one_session() {
        let (sessions, ann) = (ClientSessions::default(), caller());
        let start = Utc::now();
        let at = |minutes| sessions.session_of(ann, None, start + TimeDelta::minutes(minutes));
        let first = at(0);
        assert_eq!(first.started_at, start);
        assert_eq!((at(29), at(58)), (first, first), "each request extends it");
        let second = at(88);
        assert_ne!(second.id, first.id);
        assert_eq!(second.started_at, start + TimeDelta::minutes(88));
        let other = sessions.session_of(caller(), None, start + TimeDelta::minutes(88));
        assert_ne!(other.id, second.id, "another credential");
    }

    #[test]
    fn named_session_is_kept_and_another_header_rejected() {
        let (sessions, id) = (ClientSessions::default(), ClientSessionId::generate());
        let named = sessions.session_of(caller(), Some(id), Utc::now());
        assert_eq!(named.id, id);
        let headers = |value: &str| {
            HeaderMap::from_iter([(
                http::HeaderName::from_static(ClientSession::HEADER),
                value.parse().expect("a header's value"),
            )])
        };
        assert_eq!(named_session(&headers(&id.to_string())).expect("valid"), Some(id));
        assert_eq!(named_session(&HeaderMap::new()).expect("valid"), None);
        assert!(named_session(&headers("1")).is_err());
    }
}
