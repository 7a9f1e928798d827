//! Requests to providers: bounded in time and size, never redirected, and over TLS.

use std::pin::Pin;
use std::time::Duration;

use http::StatusCode;
use mc_domain::is_loopback;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::redirect;
use serde::de::DeserializeOwned;
use url::Url;
use uuid::Uuid;

/// Timeout of a request, from the first byte sent to the last one read.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response; key sets and metadata have some kilobytes.
const MAX_RESPONSE_BYTES: usize = 512 * 1024;
const USER_AGENT: &str = "memory-copilot";

/// An HTTP client for one provider.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    /// Whether the provider is on this machine. Its URLs may be so as well, and need no TLS.
    is_local: bool,
}

/// The error of a failed request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProviderHttpError {
    #[error("the address {0} is not https")]
    Address(String),
    #[error("it did not respond in time")]
    Late,
    #[error("the connection failed")]
    Broken,
    #[error("its response is larger than 512 KiB")]
    TooLarge,
    #[error("it responded with status {status}{}", of_request(*.request_id))]
    Status { status: StatusCode, request_id: Option<Uuid> },
    #[error("its response is not the expected JSON")]
    Json,
    #[error("no HTTP client can be created")]
    Setup,
}

impl ProviderHttpError {
    /// Returns the error of a response without success. A service of this kind names its requests.
    fn of_response(response: &HttpResponse) -> Self {
        let id = response.headers().get("x-request-id");
        let request_id = id.and_then(|id| id.to_str().ok()?.parse().ok());
        Self::Status { status: response.status(), request_id }
    }
}

impl Http {
    /// Creates a client for this provider. It trusts also the certificates in `ca_pem`.
    pub(crate) fn new(
        provider_url: &Url,
        ca_pem: Option<&[u8]>,
    ) -> Result<Self, ProviderHttpError> {
        let is_local = is_loopback(provider_url);
        // A redirect would send a secret or a code to another server.
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(USER_AGENT);
        let client = if is_local { client.no_proxy() } else { client };
        let own = ca_pem.map(reqwest::Certificate::from_pem_bundle).transpose();
        let own = own.map_err(|_| ProviderHttpError::Setup)?.unwrap_or_default();
        let client = own.into_iter().fold(client, reqwest::ClientBuilder::add_root_certificate);
        let client = client.build().map_err(|_| ProviderHttpError::Setup)?;
        let http = Self { client, is_local };
        http.check_address(provider_url)?;
        Ok(http)
    }

    /// Requests `url` with a bearer token and parses the JSON response.
    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        url: Url,
        token: &str,
        accept: &str,
    ) -> Result<T, ProviderHttpError> {
        let request = self.client.get(url).bearer_auth(token).header(http::header::ACCEPT, accept);
        self.json(request).await
    }

    /// Sends an encoded form to `url` and parses the JSON response.
    pub(crate) async fn post_form<T: DeserializeOwned>(
        &self,
        url: &Url,
        form: String,
    ) -> Result<T, ProviderHttpError> {
        const FORM: &str = "application/x-www-form-urlencoded";
        let request =
            self.client.post(url.clone()).header(http::header::CONTENT_TYPE, FORM).body(form);
        self.json(request).await
    }

    async fn json<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<T, ProviderHttpError> {
        let request = request.build().map_err(|_| ProviderHttpError::Broken)?;
        let response = self.execute(request).await?;
        if response.status() != StatusCode::OK {
            return Err(ProviderHttpError::of_response(&response));
        }
        serde_json::from_slice(response.body()).map_err(|_| ProviderHttpError::Json)
    }

    async fn execute(&self, request: reqwest::Request) -> Result<HttpResponse, ProviderHttpError> {
        self.check_address(request.url())?;
        let mut response = self.client.execute(request).await.map_err(|error| classify(&error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| classify(&error))? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(ProviderHttpError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let mut complete = HttpResponse::new(body);
        *complete.status_mut() = response.status();
        *complete.headers_mut() = std::mem::take(response.headers_mut());
        Ok(complete)
    }

    /// Checks that `url` needs TLS, unless it and the provider are on this machine.
    pub(crate) fn check_address(&self, url: &Url) -> Result<(), ProviderHttpError> {
        let is_safe = url.scheme() == "https"
            || (url.scheme() == "http" && self.is_local && is_loopback(url));
        if is_safe && url.username().is_empty() && url.password().is_none() {
            Ok(())
        } else {
            Err(ProviderHttpError::Address(url.host_str().unwrap_or_default().to_owned()))
        }
    }
}

/// Requests of the `oauth2` and `openidconnect` crates. The compiler cannot prove that the futures
/// of a closure are `Send`, so this is a trait implementation.
impl<'c> AsyncHttpClient<'c> for Http {
    type Error = ProviderHttpError;
    type Future =
        Pin<Box<dyn Future<Output = Result<HttpResponse, ProviderHttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let request =
                reqwest::Request::try_from(request).map_err(|_| ProviderHttpError::Broken)?;
            let response = self.execute(request).await?;
            // The body of a failed server is no answer of the protocol.
            if response.status().is_server_error() {
                return Err(ProviderHttpError::of_response(&response));
            }
            Ok(response)
        })
    }
}

fn of_request(id: Option<Uuid>) -> String {
    id.map(|id| format!(", request id {id}")).unwrap_or_default()
}

fn classify(error: &reqwest::Error) -> ProviderHttpError {
    if error.is_timeout() { ProviderHttpError::Late } else { ProviderHttpError::Broken }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect("a URL")
    }

    #[test]
    fn provider_needs_tls_unless_it_is_local() {
        for provider_url in ["https://id.example.com", "http://127.0.0.1:1", "http://[::1]:1"] {
            assert!(Http::new(&url(provider_url), None).is_ok(), "{provider_url}");
        }
        for provider_url in [
            "http://id.example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "https://user:secret@id.example.com",
        ] {
            assert!(
                matches!(Http::new(&url(provider_url), None), Err(ProviderHttpError::Address(_))),
                "{provider_url}"
            );
        }
    }

    #[test]
    fn remote_provider_cannot_name_local_urls() {
        let http = Http::new(&url("https://id.example.com"), None).expect("a client");
        assert!(http.check_address(&url("http://127.0.0.1:5432/token")).is_err());
        assert!(http.check_address(&url("http://id.example.com/token")).is_err());
    }
}
