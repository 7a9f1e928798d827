//! A service on its own port, and requests as bytes, which no well-behaved client sends.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::{get, post};
use mc_api::{Ingress, IngressConfig, Serving, with_ingress};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A service that listens until it is dropped.
pub struct Service {
    pub address: SocketAddr,
    _stop: DropGuard,
}

impl Service {
    /// Serves `router` unchanged.
    pub async fn of(router: Router, serving: Serving) -> Self {
        Self::at("127.0.0.1:0", router, serving).await
    }

    /// Serves `router` at an address.
    pub async fn at(listen: &str, router: Router, serving: Serving) -> Self {
        let listener = TcpListener::bind(listen).await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        tokio::spawn(mc_api::run(listener, router, serving, stop.clone()));
        Self { address, _stop: stop.drop_guard() }
    }

    /// Serves routes without a database behind ingress.
    pub async fn behind(ingress: IngressConfig) -> Self {
        Self::of(routes_behind(ingress), Serving::default()).await
    }

    /// Sends `head` (without its empty last line) on a new connection.
    pub async fn ask(&self, head: &str) -> Answer {
        let mut stream = self.connect().await;
        let request = format!("{head}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Answer::read(&mut stream).await
    }

    /// Sends `GET` of `path` with the usual host.
    pub async fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost")).await
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

/// The routes that [`Service::behind`] serves.
pub fn routes_behind(ingress: IngressConfig) -> Router {
    routes_at(&Ingress::new(ingress))
}

/// Returns the routes behind an existing ingress.
pub fn routes_at(ingress: &Ingress) -> Router {
    let router = Router::new()
        .route("/", get(async || "page"))
        .route("/healthz", get(async || "ok"))
        .route("/mcp", post(async |body: String| body))
        .route("/closed", get(async || http::StatusCode::UNAUTHORIZED));
    with_ingress(router, ingress)
}

/// A raw response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
    head: String,
}

impl Answer {
    /// Reads until the service closes the connection.
    pub async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A reset after the response is ignored.
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut found = lines.filter(|(header, _)| header.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }

    /// Returns the problem document.
    #[track_caller]
    pub fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), Some(mc_api::PROBLEM_JSON), "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }
}
