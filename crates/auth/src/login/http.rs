//! Requests to providers: bounded in time and size, never redirected, and over TLS.

use std::pin::Pin;
use std::time::Duration;

use http::StatusCode;
use mc_domain::is_loopback;
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::redirect;
use serde::de::DeserializeOwned;
use url::Url;

/// Nobody waits longer for a provider, from the first byte sent to the last one read.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer that is read; key sets and metadata have some kilobytes.
const MAX_ANSWER_BYTES: usize = 512 * 1024;
const USER_AGENT: &str = "memory-copilot";

/// How one provider is asked.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    /// The provider itself lives on this machine, so what it names may as well, and without TLS.
    is_local: bool,
}

/// A request that got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProviderHttpError {
    #[error("the address {0} is not https")]
    Address(String),
    #[error("it did not answer in time")]
    Late,
    #[error("the connection failed")]
    Broken,
    #[error("its answer is larger than 512 KiB")]
    TooLarge,
    #[error("it answered with status {0}")]
    Status(StatusCode),
    #[error("its answer is not the JSON that was expected")]
    Json,
    #[error("no HTTP client can be made here")]
    Setup,
}

impl Http {
    /// For the provider that lives at `home`.
    pub(crate) fn new(home: &Url) -> Result<Self, ProviderHttpError> {
        Self::trusting(home, None)
    }

    /// The same, trusting the certificates in `ca_pem` beside those of the system.
    pub(crate) fn trusting(home: &Url, ca_pem: Option<&[u8]>) -> Result<Self, ProviderHttpError> {
        let is_local = is_loopback(home);
        // Redirected, a secret or a code would go to another server.
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
        http.check_address(home)?;
        Ok(http)
    }

    /// What `url` says, as JSON, to the bearer of `token`.
    pub(crate) async fn get_json<T: DeserializeOwned>(
        &self,
        url: Url,
        token: &str,
        accept: &str,
    ) -> Result<T, ProviderHttpError> {
        let request = self.client.get(url).bearer_auth(token).header(http::header::ACCEPT, accept);
        let response =
            self.execute(request.build().map_err(|_| ProviderHttpError::Broken)?).await?;
        if response.status() != StatusCode::OK {
            return Err(ProviderHttpError::Status(response.status()));
        }
        serde_json::from_slice(response.body()).map_err(|_| ProviderHttpError::Json)
    }

    async fn execute(&self, request: reqwest::Request) -> Result<HttpResponse, ProviderHttpError> {
        self.check_address(request.url())?;
        let mut response = self.client.execute(request).await.map_err(|error| lost(&error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(ProviderHttpError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let mut answer = HttpResponse::new(body);
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        Ok(answer)
    }

    /// Whether `url` is one that this provider may name: over TLS, unless both are on this machine.
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

/// For the requests of the `oauth2` and `openidconnect` crates. Not by a closure, of which the compiler
/// can't tell that its futures may go from thread to thread.
impl<'c> AsyncHttpClient<'c> for Http {
    type Error = ProviderHttpError;
    type Future =
        Pin<Box<dyn Future<Output = Result<HttpResponse, ProviderHttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let request =
                reqwest::Request::try_from(request).map_err(|_| ProviderHttpError::Broken)?;
            self.execute(request).await
        })
    }
}

fn lost(error: &reqwest::Error) -> ProviderHttpError {
    if error.is_timeout() { ProviderHttpError::Late } else { ProviderHttpError::Broken }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect("a URL")
    }

    #[test]
    fn a_provider_needs_tls_unless_it_is_on_this_machine() {
        for home in ["https://id.example.com", "http://127.0.0.1:1", "http://[::1]:1"] {
            assert!(Http::new(&url(home)).is_ok(), "{home}");
        }
        for home in [
            "http://id.example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "https://user:secret@id.example.com",
        ] {
            assert!(matches!(Http::new(&url(home)), Err(ProviderHttpError::Address(_))), "{home}");
        }
    }

    #[test]
    fn a_provider_elsewhere_sends_nobody_to_this_machine_without_tls() {
        let http = Http::new(&url("https://id.example.com")).expect("a client");
        assert!(http.check_address(&url("http://127.0.0.1:5432/token")).is_err());
        assert!(http.check_address(&url("http://id.example.com/token")).is_err());
    }
}
