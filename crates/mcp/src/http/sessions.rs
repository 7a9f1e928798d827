//! Sessions of `/mcp`, which older protocol revisions have. Each belongs to the caller that opened
//! it, and is unknown to all others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::Stream;
use http::{HeaderMap, Method, StatusCode};
use mc_domain::Caller;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

/// Maximum number of open sessions of one caller. A session takes about 64 KiB.
pub const MAX_SESSIONS: usize = 64;

const SESSION_ID: &str = "mcp-session-id";

tokio::task_local! {
    /// The caller of the current request; `None` if the router has no authentication.
    static CALLER: Option<Caller>;
}

/// Open sessions with their callers.
#[derive(Default)]
pub struct CallerSessions {
    inner: LocalSessionManager,
    open: Mutex<OpenSessions>,
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
}

/// Runs a request as its caller, which [`Caller`] in its extensions names.
pub async fn run_as_caller(
    State(sessions): State<Arc<CallerSessions>>,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Caller>().copied();
    let is_delete = request.method() == Method::DELETE;
    let is_unknown =
        is_delete && session_id(request.headers()).is_none_or(|id| !sessions.is_own(id, caller));
    let response = CALLER.scope(caller, next.run(request)).await;
    // The library accepts the deletion of any id.
    if is_unknown && response.status() == StatusCode::ACCEPTED {
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    response
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

impl CallerSessions {
    fn is_own(&self, id: &str, caller: Option<Caller>) -> bool {
        self.open().sessions.get(id).is_some_and(|session| session.caller == caller)
    }

    fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSessions {
    /// Adds a session. If its caller then has too many, removes and returns the one whose last
    /// request is the oldest.
    fn add(&mut self, id: SessionId, caller: Option<Caller>) -> Option<SessionId> {
        self.requests += 1;
        self.sessions.insert(id, OpenSession { caller, last_request: self.requests });
        let own = self.sessions.iter().filter(|(_, session)| session.caller == caller);
        if own.clone().count() <= MAX_SESSIONS {
            return None;
        }
        let oldest = own.min_by_key(|(_, session)| session.last_request)?.0.clone();
        self.sessions.remove(&oldest);
        Some(oldest)
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
    CALLER.try_with(|caller| *caller).unwrap_or_default()
}

impl SessionManager for CallerSessions {
    type Error = <LocalSessionManager as SessionManager>::Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let created = self.inner.create_session().await?;
        let oldest = self.open().add(created.0.clone(), current_caller());
        if let Some(oldest) = oldest {
            tracing::info!(limit_sessions = MAX_SESSIONS, "too many MCP sessions; oldest ended");
            if let Err(error) = self.inner.close_session(&oldest).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "MCP session did not end");
            }
        }
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    /// Every request to a session asks this first.
    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let is_own = self.open().note_request(id, current_caller());
        Ok(is_own && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Without a current request, the session has ended by itself.
        let may_close = CALLER.try_with(|caller| self.is_own(id, *caller)).unwrap_or(true);
        if !may_close {
            return Ok(());
        }
        self.open().sessions.remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}
