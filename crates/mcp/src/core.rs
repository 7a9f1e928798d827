//! The Core API as the tools see it: one call, JSON in, JSON out, over HTTP or in this process.
//!
//! Nothing is cached and no connection is required at the start, so a service that is started (or
//! restarted with another token) later is found by the next call.

mod error;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, StatusCode, header};
use serde_json::Value;
use tower::ServiceExt;

pub use error::{CoreError, Problem};
pub use transport::BadAddress;
use transport::Transport;

/// Longest answer that is read, in bytes. A page of search results is far below it.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// Calls the Core API. Cheap to clone.
#[derive(Clone)]
pub struct CoreClient {
    transport: Transport,
    credential: Credential,
}

#[derive(Clone)]
enum Credential {
    /// The client's own.
    Own(Arc<dyn TokenSource>),
    /// The token that came with the MCP request is passed on.
    Caller,
}

/// Where a client has its token from.
pub trait TokenSource: Send + Sync {
    /// The token for the next call; asked for before each.
    fn token(&self) -> BoxFuture<'_, Result<String, CoreError>>;

    /// What to say when the service refuses it.
    fn refused(&self) -> CoreError;
}

/// A file with a token, such as the service writes at its first start.
#[derive(Debug, Clone)]
pub struct TokenFile {
    /// The file.
    pub path: PathBuf,
    /// The service's address, for words about a token that it refuses.
    pub url: String,
}

impl TokenSource for TokenFile {
    fn token(&self) -> BoxFuture<'_, Result<String, CoreError>> {
        Box::pin(async move {
            let text = tokio::fs::read_to_string(&self.path).await.map_err(|error| {
                CoreError::TokenUnreadable { path: self.path.clone(), why: error.kind() }
            })?;
            Ok(text.trim().to_owned())
        })
    }

    fn refused(&self) -> CoreError {
        CoreError::TokenRefused { url: self.url.clone(), path: self.path.clone() }
    }
}

/// One request to the Core.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreCall {
    /// HTTP method.
    pub method: Method,
    /// Path from the root of the API, percent-encoded where needed.
    pub path: String,
    /// Query parameters, not yet encoded.
    pub query: Vec<(&'static str, String)>,
    /// JSON body.
    pub body: Option<Value>,
}

impl CoreCall {
    /// A `GET` with query parameters.
    pub fn get(path: impl Into<String>, query: Vec<(&'static str, String)>) -> Self {
        Self { method: Method::GET, path: path.into(), query, body: None }
    }

    /// A `POST` of a JSON body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, path: path.into(), query: Vec::new(), body: Some(body) }
    }

    fn path_and_query(&self) -> String {
        if self.query.is_empty() {
            return self.path.clone();
        }
        let query =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        format!("{}?{query}", self.path)
    }
}

impl CoreClient {
    /// A client of the service at `base_url`, with the token that `tokens` gives. It trusts the
    /// certificates in `ca_pem` beside those that the system trusts.
    pub fn over_http(
        base_url: &str,
        tokens: Arc<dyn TokenSource>,
        ca_pem: Option<&[u8]>,
    ) -> Result<Self, BadAddress> {
        let transport = Transport::http(base_url, ca_pem)?;
        Ok(Self { transport, credential: Credential::Own(tokens) })
    }

    /// A client of the API in this process; each call carries its caller's own token.
    pub fn in_process(api: Router) -> Self {
        Self { transport: Transport::in_process(api), credential: Credential::Caller }
    }

    /// Sends `call` and returns the JSON of a successful answer, `Null` if it has no body.
    ///
    /// `caller` is the `Authorization` header of the MCP request, where there is one.
    pub async fn send(
        &self,
        call: CoreCall,
        caller: Option<&HeaderValue>,
    ) -> Result<Value, CoreError> {
        let (status, body) = self.ask(call, caller).await?;
        read_answer(status, &whole(status, body).await?)
    }

    /// Sends `call` and returns the body of a successful answer as it arrives, whatever it is made
    /// of. An answer that breaks off ends with an error.
    pub async fn stream(
        &self,
        call: CoreCall,
        caller: Option<&HeaderValue>,
    ) -> Result<BodyDataStream, CoreError> {
        let (status, body) = self.ask(call, caller).await?;
        if status.is_success() {
            return Ok(body.into_data_stream());
        }
        Err(refused(status, &whole(status, body).await?))
    }

    async fn ask(
        &self,
        call: CoreCall,
        caller: Option<&HeaderValue>,
    ) -> Result<(StatusCode, Body), CoreError> {
        let authorization = self.authorization(caller).await?;
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path_and_query())
            .header(header::ACCEPT, "application/json, application/x-ndjson")
            .header(header::AUTHORIZATION, authorization);
        let body = match call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let request = request.body(body).map_err(|_| CoreError::BadRequest)?;
        let answer = self.transport.service().oneshot(request).await?;
        let status = answer.status();
        match (&self.credential, status) {
            (Credential::Own(tokens), StatusCode::UNAUTHORIZED) => Err(tokens.refused()),
            _ => Ok((status, answer.into_body())),
        }
    }

    async fn authorization(&self, caller: Option<&HeaderValue>) -> Result<HeaderValue, CoreError> {
        let mut value = match &self.credential {
            Credential::Caller => caller.cloned().ok_or(CoreError::NoToken)?,
            Credential::Own(tokens) => {
                let token = tokens.token().await?;
                HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| tokens.refused())?
            }
        };
        value.set_sensitive(true);
        Ok(value)
    }
}

async fn whole(status: StatusCode, body: Body) -> Result<Bytes, CoreError> {
    to_bytes(body, MAX_ANSWER).await.map_err(|_| CoreError::BadAnswer { status })
}

fn read_answer(status: StatusCode, body: &[u8]) -> Result<Value, CoreError> {
    if status.is_success() {
        // A deletion has nothing to say.
        if body.is_empty() {
            return Ok(Value::Null);
        }
        return serde_json::from_slice(body).map_err(|_| CoreError::BadAnswer { status });
    }
    Err(refused(status, body))
}

fn refused(status: StatusCode, body: &[u8]) -> CoreError {
    match serde_json::from_slice::<Box<Problem>>(body) {
        Ok(problem) => CoreError::Refused { status, problem },
        Err(_) => CoreError::BadAnswer { status },
    }
}
