//! Client of the Core API for the tools, with JSON requests and responses, over HTTP or in this
//! process.
//!
//! Nothing is cached, and no connection is made at the start. So the next call finds a service that
//! was started later, or restarted with another token.

mod error;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, StatusCode, header};
use mc_domain::ClientSession;
use serde_json::Value;
use tower::ServiceExt;

pub use error::{CoreError, Problem};
pub use transport::BadAddress;
use transport::Transport;

/// Maximum length of a response, in bytes. A page of search results is far below it.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// Client of the Core API. Cheap to clone.
#[derive(Clone)]
pub struct CoreClient {
    transport: Transport,
    credential: Credential,
}

#[derive(Clone)]
enum Credential {
    /// Token of the client itself.
    Own(Arc<dyn TokenSource>),
    /// Token of the MCP request, which is forwarded.
    Caller,
}

/// Source of a client's token.
pub trait TokenSource: Send + Sync {
    /// Returns the token for the next call.
    fn token(&self) -> BoxFuture<'_, Result<String, CoreError>>;

    /// Returns the error for a token that the service rejects.
    fn refused(&self) -> CoreError;
}

/// File with a token, such as the service writes at its first start.
#[derive(Debug, Clone)]
pub struct TokenFile {
    /// Path of the file that has the token.
    pub path: PathBuf,
    /// URL of the service, for the error about a rejected token.
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

/// Headers of an MCP request that are forwarded to the Core.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forwarded<'a> {
    /// `Authorization`, if the request has it.
    pub authorization: Option<&'a HeaderValue>,
    /// The session of the client ([`ClientSession::HEADER`]).
    pub session: Option<&'a HeaderValue>,
}

/// Request to the Core.
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
    /// `If-Match`: the version that the request replaces.
    pub if_match: Option<String>,
}

impl CoreCall {
    /// Creates a `GET` request with query parameters.
    pub fn get(path: impl Into<String>, query: Vec<(&'static str, String)>) -> Self {
        Self { method: Method::GET, path: path.into(), query, body: None, if_match: None }
    }

    /// Creates a `POST` request with a JSON body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path, Vec::new()) }
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
    /// Creates a client of the service at `base_url`, with the token of `tokens`. It trusts the
    /// certificates in `ca_pem` in addition to those of the system.
    pub fn over_http(
        base_url: &str,
        tokens: Arc<dyn TokenSource>,
        ca_pem: Option<&[u8]>,
    ) -> Result<Self, BadAddress> {
        let transport = Transport::http(base_url, ca_pem)?;
        Ok(Self { transport, credential: Credential::Own(tokens) })
    }

    /// Creates a client of the API in this process, which forwards the token of each caller.
    pub fn in_process(api: Router) -> Self {
        Self { transport: Transport::in_process(api), credential: Credential::Caller }
    }

    /// Sends `call` and returns the JSON of a successful response; `Null` if it has no body.
    ///
    /// `headers` are those of the MCP request, if there is one.
    pub async fn send(&self, call: CoreCall, headers: Forwarded<'_>) -> Result<Value, CoreError> {
        let (status, body) = self.request(call, headers).await?;
        parse_response(status, &read_body(status, body).await?)
    }

    /// Sends `call` and streams the body of a successful response in any format. A response that is
    /// interrupted ends with an error.
    pub async fn stream(
        &self,
        call: CoreCall,
        headers: Forwarded<'_>,
    ) -> Result<BodyDataStream, CoreError> {
        let (status, body) = self.request(call, headers).await?;
        if status.is_success() {
            return Ok(body.into_data_stream());
        }
        Err(parse_problem(status, &read_body(status, body).await?))
    }

    async fn request(
        &self,
        call: CoreCall,
        headers: Forwarded<'_>,
    ) -> Result<(StatusCode, Body), CoreError> {
        let authorization = self.authorization(headers.authorization).await?;
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path_and_query())
            .header(header::ACCEPT, "application/json, application/x-ndjson")
            .header(header::AUTHORIZATION, authorization);
        if let Some(version) = &call.if_match {
            request = request.header(header::IF_MATCH, version);
        }
        if let Some(session) = headers.session {
            request = request.header(ClientSession::HEADER, session);
        }
        let body = match call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let request = request.body(body).map_err(|_| CoreError::BadRequest)?;
        let response = self.transport.service().oneshot(request).await?;
        let status = response.status();
        match (&self.credential, status) {
            (Credential::Own(tokens), StatusCode::UNAUTHORIZED) => Err(tokens.refused()),
            _ => Ok((status, response.into_body())),
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

async fn read_body(status: StatusCode, body: Body) -> Result<Bytes, CoreError> {
    to_bytes(body, MAX_RESPONSE_BYTES).await.map_err(|_| CoreError::BadAnswer { status })
}

fn parse_response(status: StatusCode, body: &[u8]) -> Result<Value, CoreError> {
    if status.is_success() {
        // The response of a deletion has no body.
        if body.is_empty() {
            return Ok(Value::Null);
        }
        return serde_json::from_slice(body).map_err(|_| CoreError::BadAnswer { status });
    }
    Err(parse_problem(status, body))
}

fn parse_problem(status: StatusCode, body: &[u8]) -> CoreError {
    match serde_json::from_slice::<Box<Problem>>(body) {
        Ok(problem) => CoreError::Refused { status, problem },
        Err(_) => CoreError::BadAnswer { status },
    }
}
