//! Transports of the Core API: HTTP, or a router in this process, behind one `tower` service.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, Response};
use mc_domain::is_loopback;
use tower::util::BoxCloneSyncService;
use tower::{ServiceExt, service_fn};
use url::Url;

use super::CoreError;

/// Timeout of the connection to the service, which usually runs on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time without data from the service. The time budget of a recall is far below it.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

type Service = BoxCloneSyncService<Request<Body>, Response<Body>, CoreError>;

#[derive(Clone)]
pub(super) struct Transport(Service);

/// Error for an invalid base URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the service's address \"{url}\" is not usable ({why}); give one like http://127.0.0.1:7391"
)]
pub struct BadAddress {
    url: String,
    why: String,
}

impl Transport {
    pub(super) fn in_process(api: Router) -> Self {
        let service = ServiceExt::<Request<Body>>::map_err(api, |never| match never {});
        Self(BoxCloneSyncService::new(service))
    }

    pub(super) fn http(base_url: &str, ca_pem: Option<&[u8]>) -> Result<Self, BadAddress> {
        let base = parse(base_url)?;
        let client = http_client(&base, ca_pem)
            .map_err(|error| BadAddress { url: base_url.into(), why: error.to_string() })?;
        Ok(Self(BoxCloneSyncService::new(service_fn(move |request| {
            forward(client.clone(), base.clone(), request)
        }))))
    }

    pub(super) fn service(&self) -> Service {
        self.0.clone()
    }
}

fn parse(base_url: &str) -> Result<Url, BadAddress> {
    let invalid = |why: &str| BadAddress { url: base_url.into(), why: why.into() };
    let base = Url::parse(base_url).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
        return Err(invalid("it needs http:// or https:// and a host"));
    }
    Ok(base)
}

fn http_client(base: &Url, ca_pem: Option<&[u8]>) -> Result<reqwest::Client, reqwest::Error> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("memory-copilot-mcp/", env!("CARGO_PKG_VERSION")));
    // A proxy of the environment cannot reach the loopback address of this machine.
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    if let Some(pem) = ca_pem {
        builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem)?);
    }
    builder.build()
}

async fn forward(
    client: reqwest::Client,
    base: Url,
    request: Request<Body>,
) -> Result<Response<Body>, CoreError> {
    let (parts, body) = request.into_parts();
    // The caller has built the body in memory, so reading it needs no limit.
    let body = to_bytes(body, usize::MAX).await.map_err(|_| CoreError::BadRequest)?;
    let url = format!("{}{}", base.as_str().trim_end_matches('/'), parts.uri);
    let received = client
        .request(parts.method, url)
        .headers(parts.headers)
        .body(body)
        .send()
        .await
        .map_err(|error| unreachable_core(&base, &error))?;
    let status = received.status();
    let mut response = Response::new(Body::from_stream(received.bytes_stream()));
    *response.status_mut() = status;
    Ok(response)
}

fn unreachable_core(base: &Url, error: &reqwest::Error) -> CoreError {
    tracing::debug!(error = ?error, core.url = %base, "the Core did not respond");
    let url = base.to_string();
    // Only a failed connection proves that the request was not executed.
    match (error.is_connect(), error.is_timeout()) {
        (true, _) => CoreError::NotRunning { url },
        (false, true) => CoreError::TimedOut { seconds: READ_TIMEOUT.as_secs() },
        (false, false) => CoreError::Interrupted { url },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_without_scheme_or_host_is_rejected() {
        for address in ["", "127.0.0.1:7391", "ftp://example.org", "not a url"] {
            assert!(parse(address).is_err(), "{address:?}");
        }
    }

    #[test]
    fn proxy_is_bypassed_only_for_this_machine() {
        for (address, expected) in [
            ("http://127.0.0.1:7391", true),
            ("http://[::1]:7391", true),
            ("http://localhost", true),
            ("https://memory.example.org", false),
        ] {
            assert_eq!(parse(address).map(|base| is_loopback(&base)), Ok(expected), "{address}");
        }
    }

    async fn call_error(address: &str) -> CoreError {
        let transport = Transport::http(&format!("http://{address}"), None).expect("an address");
        let request = Request::post("/save").body(Body::from("{}")).expect("a request");
        transport.service().oneshot(request).await.expect_err("no answer")
    }

    #[tokio::test]
    async fn only_a_refused_connection_counts_as_not_executed() {
        // A separate address, so that no other process can take the port once it is free.
        let listener = tokio::net::TcpListener::bind("127.0.0.84:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            // The service crashes after the request has arrived.
            let mut first = [0; 1];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut first).await.expect("a request");
        });
        let broken = call_error(&address).await;
        assert!(matches!(broken, CoreError::Interrupted { .. }), "{broken:?}");
        assert!(broken.to_string().contains("may have been carried out"), "{broken}");
        serving.await.expect("the service's end");
        let refused = call_error(&address).await;
        assert!(matches!(refused, CoreError::NotRunning { .. }), "{refused:?}");
    }
}
