//! The other side of the device flow (RFC 8628): a program in a terminal that signs its user in. It
//! is what `memory-copilot login` speaks to this service, and any other provider understands it too.

use std::fmt;
use std::time::Duration;

use mc_domain::{Classified, ErrorKind};
use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{
    ClientId as OauthClientId, DeviceAuthorizationUrl, DeviceCodeErrorResponse,
    DeviceCodeErrorResponseType, EndpointNotSet, EndpointSet, RefreshToken, RequestTokenError,
    Scope as OauthScope, StandardDeviceAuthorizationResponse, TokenResponse as _, TokenUrl,
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::client::ClientId;
use crate::login::http::{Http, ProviderHttpError};
use crate::login::provider_error::shown_code;
use mc_domain::Scopes;

/// Longest user code that is shown, in bytes.
const MAX_USER_CODE: usize = 64;

/// A service that can be signed in to.
#[derive(Debug)]
pub struct DeviceFlowClient {
    client: Client,
    http: Http,
}

type Client = BasicClient<EndpointNotSet, EndpointSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// What the person is shown.
pub struct DeviceAuthorization {
    /// Where to go.
    pub address: Url,
    /// What to type there. One line of at most 64 bytes, safe to print.
    pub user_code: String,
    /// The same place with the code filled in, for a link or a QR code.
    pub complete_address: Option<Url>,
    /// How long the code is good for.
    pub expires_in: Duration,
    details: StandardDeviceAuthorizationResponse,
}

/// What the person's approval gives.
#[derive(Debug)]
pub struct Tokens {
    /// For the `Authorization` header.
    pub access: SecretString,
    /// For the next access token. Write it down before it is needed: it is good for one exchange.
    pub refresh: Option<SecretString>,
    /// How long the access token is good for.
    pub expires_in: Option<Duration>,
}

/// Why a login at the terminal did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The service can't be reached, or is not well.
    #[error("the service can't be reached: {0}")]
    Unavailable(String),
    /// The address can't be used.
    #[error("this address can't be used: {0}")]
    Address(String),
    /// The person refused.
    #[error("the login was refused in the browser")]
    Denied,
    /// Nobody approved it in time.
    #[error("the code has expired; run the login again")]
    Expired,
    /// The service refused for another reason.
    #[error("the service refused the login ({0})")]
    Refused(String),
    /// The answer is not what the protocol says.
    #[error("the service gave an answer that can't be used; is this the right address?")]
    BadAnswer,
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::Address(_) => ErrorKind::Invalid,
            Self::Denied => ErrorKind::Forbidden,
            Self::Expired | Self::Refused(_) => ErrorKind::Unauthenticated,
            Self::BadAnswer => ErrorKind::Internal,
        }
    }
}

impl DeviceFlowClient {
    /// For the service whose metadata names these two endpoints. They need TLS, unless they are on
    /// this machine.
    /// Certificates in `ca_pem` are trusted beside those of the system.
    pub fn new(
        device_authorization: Url,
        token: Url,
        client: &ClientId,
        ca_pem: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let http = Http::trusting(&token, ca_pem)?;
        let client = BasicClient::new(OauthClientId::new(client.to_string()))
            .set_device_authorization_url(DeviceAuthorizationUrl::from_url(device_authorization))
            .set_token_uri(TokenUrl::from_url(token));
        Ok(Self { client, http })
    }

    /// Asks for a code with which somebody can give this program `scopes`.
    pub async fn begin(&self, scopes: Scopes) -> Result<DeviceAuthorization, Error> {
        let details: StandardDeviceAuthorizationResponse = self
            .client
            .exchange_device_code()
            .add_scopes(scopes.iter().map(|scope| OauthScope::new(scope.to_string())))
            .request_async(&self.http)
            .await
            .map_err(|error| match error {
                RequestTokenError::Request(lost) => lost.into(),
                RequestTokenError::ServerResponse(response) => {
                    Error::Refused(shown_code(response.error().as_ref()))
                }
                RequestTokenError::Parse(..) | RequestTokenError::Other(_) => Error::BadAnswer,
            })?;
        DeviceAuthorization::new(details).ok_or(Error::BadAnswer)
    }

    /// Asks again and again, as seldom as the service wants, until somebody has decided or the code
    /// has expired. `sleep` waits; connections that fail are tried again.
    pub async fn wait<F: Future<Output = ()>>(
        &self,
        invitation: DeviceAuthorization,
        sleep: impl Fn(Duration) -> F,
    ) -> Result<Tokens, Error> {
        let tokens: BasicTokenResponse = self
            .client
            .exchange_device_access_token(&invitation.details)
            .request_async(&self.http, sleep, None)
            .await?;
        Ok(tokens.into())
    }
}

impl DeviceFlowClient {
    /// Exchanges a refresh token, which is spent by that whatever becomes of the answer.
    pub async fn refresh(&self, token: &SecretString) -> Result<Tokens, Error> {
        let token = RefreshToken::new(token.expose_secret().to_owned());
        let answered = self.client.exchange_refresh_token(&token).request_async(&self.http).await;
        let tokens: BasicTokenResponse = answered.map_err(|error| match error {
            RequestTokenError::Request(lost) => lost.into(),
            RequestTokenError::ServerResponse(response) => {
                Error::Refused(shown_code(response.error().as_ref()))
            }
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => Error::BadAnswer,
        })?;
        Ok(tokens.into())
    }
}

impl From<BasicTokenResponse> for Tokens {
    fn from(tokens: BasicTokenResponse) -> Self {
        Self {
            access: tokens.access_token().secret().clone().into(),
            refresh: tokens.refresh_token().map(|token| token.secret().clone().into()),
            expires_in: tokens.expires_in(),
        }
    }
}

impl DeviceAuthorization {
    fn new(details: StandardDeviceAuthorizationResponse) -> Option<Self> {
        let user_code = details.user_code().secret().clone();
        let is_printable = user_code.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if user_code.is_empty() || user_code.len() > MAX_USER_CODE || !is_printable {
            return None;
        }
        let complete = details.verification_uri_complete();
        Some(Self {
            address: web_address(details.verification_uri().as_str())?,
            user_code,
            complete_address: complete.and_then(|address| web_address(address.secret())),
            expires_in: details.expires_in(),
            details,
        })
    }
}

/// An address that a browser opens as a page, and a terminal prints as it is: a parsed one has no
/// control characters.
fn web_address(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

impl fmt::Debug for DeviceAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation")
            .field("address", &self.address.as_str())
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

impl From<ProviderHttpError> for Error {
    fn from(lost: ProviderHttpError) -> Self {
        match lost {
            ProviderHttpError::Address(_) | ProviderHttpError::Setup => {
                Self::Address(lost.to_string())
            }
            ProviderHttpError::Late | ProviderHttpError::Broken | ProviderHttpError::Status(_) => {
                Self::Unavailable(lost.to_string())
            }
            ProviderHttpError::TooLarge | ProviderHttpError::Json => Self::BadAnswer,
        }
    }
}

impl From<RequestTokenError<ProviderHttpError, DeviceCodeErrorResponse>> for Error {
    fn from(error: RequestTokenError<ProviderHttpError, DeviceCodeErrorResponse>) -> Self {
        let response = match error {
            RequestTokenError::Request(lost) => return lost.into(),
            RequestTokenError::ServerResponse(response) => response,
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => return Self::BadAnswer,
        };
        match response.error() {
            DeviceCodeErrorResponseType::AccessDenied => Self::Denied,
            DeviceCodeErrorResponseType::ExpiredToken => Self::Expired,
            other => Self::Refused(shown_code(other.as_ref())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn invitation(user_code: &str, address: &str) -> Option<DeviceAuthorization> {
        let answer = json!({
            "device_code": "d",
            "user_code": user_code,
            "verification_uri": address,
            "expires_in": 600,
        });
        DeviceAuthorization::new(serde_json::from_value(answer).expect("an answer"))
    }

    #[test]
    fn what_a_terminal_must_not_print_is_refused() {
        let page = "https://memory.example.com/device";
        assert!(invitation("BCDF-GHJK", page).is_some());
        for code in ["", "\u{1b}[2J", "a\nb", "a\u{202e}b", &"B".repeat(65)] {
            assert!(invitation(code, page).is_none(), "{code:?}");
        }
        for address in ["javascript:alert(1)", "file:///etc/passwd"] {
            assert!(invitation("BCDF-GHJK", address).is_none(), "{address}");
        }
    }

    #[test]
    fn each_end_of_a_login_is_told_apart() {
        let ends = [
            ("access_denied", Error::Denied),
            ("expired_token", Error::Expired),
            ("invalid_grant", Error::Refused("invalid_grant".to_owned())),
            ("\u{1b}[2Jx", Error::Refused("2Jx".to_owned())),
        ];
        for (code, end) in ends {
            let answer: DeviceCodeErrorResponse =
                serde_json::from_value(json!({"error": code})).expect("an answer");
            assert_eq!(Error::from(RequestTokenError::ServerResponse(answer)), end);
        }
    }

    #[test]
    fn a_service_elsewhere_needs_tls() {
        let url = |text: &str| Url::parse(text).expect("a URL");
        let cli = ClientId::parse("cli").expect("an id");
        let plain =
            DeviceFlowClient::new(url("http://a.example/d"), url("http://a.example/t"), &cli, None);
        assert!(matches!(plain, Err(Error::Address(_))));
        assert!(
            DeviceFlowClient::new(
                url("https://a.example/d"),
                url("https://a.example/t"),
                &cli,
                None
            )
            .is_ok()
        );
    }
}
