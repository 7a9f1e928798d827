//! The client side of the device flow (RFC 8628): a program in a terminal that signs its user in.
//! `memory-copilot login` uses it with this service; it works with other providers as well.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use mc_domain::Scopes;
use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{
    ClientId as OauthClientId, DeviceAuthorizationUrl, EndpointNotSet, EndpointSet,
    ErrorResponseType, RefreshToken, RequestTokenError, Scope as OauthScope,
    StandardDeviceAuthorizationResponse, StandardErrorResponse, TokenResponse as _, TokenUrl,
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::client::{ClientId, INVITATION_GRANT};
use crate::login::error::shown_code;
use crate::login::http::{Http, ProviderHttpError};

/// Maximum length of a user code, in bytes.
const MAX_USER_CODE: usize = 64;

/// A client of one service.
#[derive(Debug)]
pub struct DeviceFlowClient {
    client: Client,
    http: Http,
}

type Client = BasicClient<EndpointNotSet, EndpointSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// The response to a request for a device code, to show to the user.
pub struct DeviceAuthorization {
    /// The page to open.
    pub address: Url,
    /// The code to type there: one line of at most 64 bytes, safe to print.
    pub user_code: String,
    /// The page with the code filled in, for a link or a QR code.
    pub complete_address: Option<Url>,
    /// The lifetime of the code.
    pub expires_in: Duration,
    details: StandardDeviceAuthorizationResponse,
}

/// The tokens of an approved login.
#[derive(Debug)]
pub struct Tokens {
    /// The access token, for the `Authorization` header.
    pub access: SecretString,
    /// The token for the next exchange. Store it before it is needed: it is valid for one exchange.
    pub refresh: Option<SecretString>,
    /// The lifetime of the access token.
    pub expires_in: Option<Duration>,
}

/// The error of a failed device login.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The service cannot be reached, or failed.
    #[error("the service cannot be reached: {0}")]
    Unavailable(String),
    /// The address of the service is not usable.
    #[error("the address of the service is invalid: {0}")]
    Address(String),
    /// The user denied the login.
    #[error("the login was denied in the browser")]
    Denied,
    /// The code of an invitation is not valid, or a scope is unknown.
    #[error(
        "the invitation is not valid: its code was mistyped or used, has expired, or was replaced \
         by a newer one; ask an administrator for another"
    )]
    InvalidInvitation,
    /// The code expired before a decision.
    #[error("the code has expired; run the login again")]
    Expired,
    /// The service rejected the request for another reason, which is its error code.
    #[error("the service rejected the login ({0})")]
    Rejected(String),
    /// The response violates the protocol.
    #[error("the service sent an invalid response; check its address")]
    InvalidResponse,
}

impl DeviceFlowClient {
    /// Creates a client for the service with these two endpoints. They need TLS, unless they are on
    /// this machine. Certificates in `ca_pem` are trusted in addition to those of the system.
    pub fn new(
        device_authorization: Url,
        token: Url,
        client: &ClientId,
        ca_pem: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let http = Http::new(&token, ca_pem)?;
        let client = BasicClient::new(OauthClientId::new(client.to_string()))
            .set_device_authorization_url(DeviceAuthorizationUrl::from_url(device_authorization))
            .set_token_uri(TokenUrl::from_url(token));
        Ok(Self { client, http })
    }

    /// Requests a code by which a user can grant `scopes` to this program.
    pub async fn begin(&self, scopes: Scopes) -> Result<DeviceAuthorization, Error> {
        let details: StandardDeviceAuthorizationResponse = self
            .client
            .exchange_device_code()
            .add_scopes(scopes.iter().map(|scope| OauthScope::new(scope.to_string())))
            .request_async(&self.http)
            .await?;
        DeviceAuthorization::new(details).ok_or(Error::InvalidResponse)
    }

    /// Polls until the user has decided or the code has expired. Failed connections are retried.
    pub async fn wait<F: Future<Output = ()>>(
        &self,
        authorization: DeviceAuthorization,
        sleep: impl Fn(Duration) -> F,
    ) -> Result<Tokens, Error> {
        let tokens: BasicTokenResponse = self
            .client
            .exchange_device_access_token(&authorization.details)
            .request_async(&self.http, sleep, None)
            .await?;
        Ok(tokens.into())
    }

    /// Exchanges the code of an invitation, which is used up by that.
    pub async fn accept_invitation(
        &self,
        code: &SecretString,
        scopes: Option<Scopes>,
    ) -> Result<Tokens, Error> {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", INVITATION_GRANT)
            .append_pair("client_id", self.client.client_id())
            .append_pair("invitation_code", code.expose_secret());
        if let Some(scopes) = scopes {
            form.append_pair("scope", &scopes.to_string());
        }
        let tokens: Result<BasicTokenResponse, ProviderHttpError> =
            self.http.post_form(self.client.token_uri().url(), form.finish()).await;
        match tokens {
            Ok(tokens) => Ok(tokens.into()),
            Err(ProviderHttpError::Status { status: StatusCode::BAD_REQUEST, .. }) => {
                Err(Error::InvalidInvitation)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges a refresh token. It is used up by that even if the response is lost.
    pub async fn refresh(&self, token: &SecretString) -> Result<Tokens, Error> {
        let token = RefreshToken::new(token.expose_secret().to_owned());
        let tokens: BasicTokenResponse =
            self.client.exchange_refresh_token(&token).request_async(&self.http).await?;
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

/// Parses an address of a web page. A parsed URL has no control characters, so it is safe to print.
fn web_address(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

impl fmt::Debug for DeviceAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceAuthorization")
            .field("address", &self.address.as_str())
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

impl From<ProviderHttpError> for Error {
    fn from(error: ProviderHttpError) -> Self {
        match error {
            ProviderHttpError::Address(_) | ProviderHttpError::Setup => {
                Self::Address(error.to_string())
            }
            ProviderHttpError::Late
            | ProviderHttpError::Broken
            | ProviderHttpError::Status { .. } => Self::Unavailable(error.to_string()),
            ProviderHttpError::TooLarge | ProviderHttpError::Json => Self::InvalidResponse,
        }
    }
}

impl<T> From<RequestTokenError<ProviderHttpError, StandardErrorResponse<T>>> for Error
where
    T: ErrorResponseType + AsRef<str> + fmt::Display + 'static,
{
    fn from(error: RequestTokenError<ProviderHttpError, StandardErrorResponse<T>>) -> Self {
        match error {
            RequestTokenError::Request(error) => error.into(),
            RequestTokenError::ServerResponse(response) => match response.error().as_ref() {
                "access_denied" => Self::Denied,
                "expired_token" => Self::Expired,
                other => Self::Rejected(shown_code(other)),
            },
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => Self::InvalidResponse,
        }
    }
}

#[cfg(test)]
mod tests {
    use oauth2::DeviceCodeErrorResponse;
    use serde_json::json;

    use super::*;

    fn authorization(user_code: &str, address: &str) -> Option<DeviceAuthorization> {
        let response = json!({
            "device_code": "d",
            "user_code": user_code,
            "verification_uri": address,
            "expires_in": 600,
        });
        DeviceAuthorization::new(serde_json::from_value(response).expect("an response"))
    }

    #[test]
    fn unprintable_codes_and_addresses_are_rejected() {
        let page = "https://memory.example.com/device";
        assert!(authorization("BCDF-GHJK", page).is_some());
        for code in ["", "\u{1b}[2J", "a\nb", "a\u{202e}b", &"B".repeat(65)] {
            assert!(authorization(code, page).is_none(), "{code:?}");
        }
        for address in ["javascript:alert(1)", "file:///etc/passwd"] {
            assert!(authorization("BCDF-GHJK", address).is_none(), "{address}");
        }
    }

    #[test]
    fn each_outcome_of_a_login_has_its_error() {
        let outcomes = [
            ("access_denied", Error::Denied),
            ("expired_token", Error::Expired),
            ("invalid_grant", Error::Rejected("invalid_grant".to_owned())),
            ("\u{1b}[2Jx", Error::Rejected("2Jx".to_owned())),
        ];
        for (code, outcome) in outcomes {
            let response: DeviceCodeErrorResponse =
                serde_json::from_value(json!({"error": code})).expect("an response");
            assert_eq!(Error::from(RequestTokenError::ServerResponse(response)), outcome);
        }
    }

    #[test]
    fn remote_service_needs_tls() {
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
