//! Sessions of `/mcp`, which older protocol revisions have. Each belongs to the caller that opened
//! it, and is unknown to all others.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::Stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mc_domain::{Caller, ClientSession, ClientSessionId};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use super::guarded_body::hold_until_sent;

/// Maximum number of open sessions of one user, with all tokens. A session takes about 64 KiB.
pub const MAX_SESSIONS: usize = 128;

const SESSION_ID: &str = "mcp-session-id";

tokio::task_local! {
    static CURRENT: CurrentRequest;
}

/// The request that the current task runs.
struct CurrentRequest {
    /// `None` if the router has no authentication.
    caller: Option<Caller>,
    /// Whether it would open a session above the limit of its user.
    is_rejected: Cell<bool>,
}

/// Open sessions with their callers.
#[derive(Default)]
pub struct CallerSessions {
    inner: Arc<LocalSessionManager>,
    open: Mutex<OpenSessions>,
    /// Locked while a session is created, so that concurrent creations count each other.
    creating: tokio::sync::Mutex<()>,
}

/// Error of a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    /// The user has the maximum number of sessions, and each has an open stream.
    #[error("the user has {MAX_SESSIONS} sessions with open streams; close one of the clients")]
    TooMany,
    /// Error of the library.
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

#[derive(Default)]
struct OpenSessions {
    sessions: HashMap<SessionId, OpenSession>,
    /// Number of requests, which orders sessions by their last use.
    requests: u64,
}

struct OpenSession {
    caller: Option<Caller>,
    last_request: u64,
    /// The session by which the Core knows it. The id of the protocol is a secret.
    client_session: ClientSessionId,
    /// Cloned for each running request and each open stream, so its count shows whether it is idle.
    in_use: Arc<()>,
}

/// Runs a request as its caller, which [`Caller`] in its extensions names. A request of a session
/// that names no [`ClientSession`] gets that of the session.
pub async fn run_as_caller(
    State(sessions): State<Arc<CallerSessions>>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Caller>().copied();
    let is_delete = request.method() == Method::DELETE;
    // Protected before the request runs, so that a new session can't end this one meanwhile.
    let session = session_id(request.headers()).and_then(|id| sessions.hold(id, caller));
    let (session, client_session) = session.unzip();
    if let Some(id) = client_session {
        let value = HeaderValue::try_from(id.to_string()).expect("a UUID is a header's value");
        request.headers_mut().entry(ClientSession::HEADER).or_insert(value);
    }
    let current = CurrentRequest { caller, is_rejected: Cell::new(false) };
    let run = async {
        let response = next.run(request).await;
        let is_rejected = CURRENT.with(|current| current.is_rejected.get());
        // The library responds with 500 to every error.
        if is_rejected { too_many_sessions() } else { response }
    };
    let response = CURRENT.scope(current, run).await;
    // The library accepts the deletion of any id.
    if is_delete && session.is_none() && response.status() == StatusCode::ACCEPTED {
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    match session {
        Some(session) => hold_until_sent(response, session),
        None => response,
    }
}

fn too_many_sessions() -> Response {
    let detail = format!(
        "Too Many Requests: this user has {MAX_SESSIONS} sessions with open streams; close one of \
         the clients that have a token of the user"
    );
    (StatusCode::TOO_MANY_REQUESTS, detail).into_response()
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

impl CallerSessions {
    fn is_own(&self, id: &str, caller: Option<Caller>) -> bool {
        self.open().sessions.get(id).is_some_and(|session| session.caller == caller)
    }

    /// Protects a session of the caller from being ended for a new one, until the returned value is
    /// dropped. Returns `None` if there is no such session.
    fn hold(&self, id: &str, caller: Option<Caller>) -> Option<(Arc<()>, ClientSessionId)> {
        let open = self.open();
        let own = open.sessions.get(id).filter(|session| session.caller == caller)?;
        Some((Arc::clone(&own.in_use), own.client_session))
    }

    /// Closes a session that its caller no longer has. A task of its own does that, because the
    /// request may be cancelled.
    fn close(&self, id: SessionId) {
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            if let Err(error) = inner.close_session(&id).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "MCP session did not end");
            }
        });
    }

    fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSessions {
    /// Returns the session that ends if the caller opens another one: at the limit of its user, the
    /// least recently used session that is idle. Fails if none is.
    fn replaceable(&self, caller: Option<Caller>) -> Result<Option<SessionId>, SessionsError> {
        let user = |caller: Option<Caller>| caller.map(|caller| caller.user);
        let is_own = |session: &OpenSession| user(session.caller) == user(caller);
        let own = self.sessions.iter().filter(|(_, session)| is_own(session));
        if own.clone().count() < MAX_SESSIONS {
            return Ok(None);
        }
        let idle = own.filter(|(_, session)| Arc::strong_count(&session.in_use) == 1);
        let oldest = idle.min_by_key(|(_, session)| session.last_request);
        Ok(Some(oldest.ok_or(SessionsError::TooMany)?.0.clone()))
    }

    /// Adds a session of the caller. Removes and returns the one that it replaces, if any.
    fn add(
        &mut self,
        id: SessionId,
        caller: Option<Caller>,
    ) -> Result<Option<SessionId>, SessionsError> {
        let replaced = self.replaceable(caller)?;
        if let Some(replaced) = &replaced {
            self.sessions.remove(replaced);
        }
        self.requests += 1;
        let client_session = ClientSessionId::generate();
        let (last_request, in_use) = (self.requests, Arc::default());
        let session = OpenSession { caller, last_request, client_session, in_use };
        self.sessions.insert(id, session);
        Ok(replaced)
    }

    /// Notes a request to a session; returns `false` if it is not one of the caller.
    fn note_request(&mut self, id: &SessionId, caller: Option<Caller>) -> bool {
        self.requests += 1;
        let number = self.requests;
        let own = self.sessions.get_mut(id).filter(|session| session.caller == caller);
        own.map(|session| session.last_request = number).is_some()
    }
}

fn current_caller() -> Option<Caller> {
    CURRENT.try_with(|current| current.caller).unwrap_or_default()
}

/// Marks the current request as rejected, if there is one.
fn mark_rejected() {
    CURRENT.try_with(|current| current.is_rejected.set(true)).unwrap_or_default();
}

impl SessionManager for CallerSessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let caller = current_caller();
        let _creating = self.creating.lock().await;
        self.open().replaceable(caller).inspect_err(|_| mark_rejected())?;
        let created = self.inner.create_session().await?;
        // Nothing waits from here on: a session ends only if the new one is complete.
        let added = self.open().add(created.0.clone(), caller);
        match added {
            Ok(Some(replaced)) => {
                tracing::info!(
                    limit_sessions = MAX_SESSIONS,
                    "too many MCP sessions; oldest ended"
                );
                self.close(replaced);
            }
            Ok(None) => {}
            // Meanwhile, requests to all other sessions have arrived.
            Err(error) => {
                mark_rejected();
                self.close(created.0);
                return Err(error);
            }
        }
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    /// Every request to a session asks this first.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let is_own = self.open().note_request(id, current_caller());
        Ok(is_own && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Without a current request, the session has ended by itself.
        let may_close = CURRENT.try_with(|current| self.is_own(id, current.caller)).unwrap_or(true);
        if !may_close {
            return Ok(());
        }
        self.open().sessions.remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}

#[cfg(test)]
mod tests;
