//! Login with OpenID Connect: discovery, exchange of the code, and the identity.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use oauth2::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointMaybeSet,
    EndpointNotSet, EndpointSet, PkceCodeChallenge, RedirectUrl, Scope, TokenResponse as _,
};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthenticationFlow, CoreClaimName, CoreClaimType, CoreClient,
    CoreClientAuthMethod, CoreGrantType, CoreIdTokenClaims, CoreJsonWebKey, CoreJsonWebKeySet,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode,
    CoreResponseType, CoreSubjectIdentifierType, CoreTokenResponse, CoreUserInfoClaims,
};
use openidconnect::{
    AccessToken, AdditionalProviderMetadata, DiscoveryError, IssuerUrl, JsonWebKeySet, Nonce,
    ProviderMetadata, UserInfoError,
};
use serde::{Deserialize, Serialize};
use url::Url;

use super::http::{Http, ProviderHttpError};
use super::{Callback, Error, ExternalIdentity, Pending, ProviderName, Request, error, id_token};
use crate::secret::LoginState;

type Metadata = ProviderMetadata<
    Extra,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

pub(super) type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Metadata beyond OpenID Connect's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Extra {
    /// Whether the provider's responses have an issuer (RFC 9207, section 3).
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for Extra {}

#[derive(Debug)]
pub(super) struct Oidc {
    name: ProviderName,
    metadata: Metadata,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    http: Http,
}

impl Oidc {
    pub(super) async fn discover(
        name: &ProviderName,
        issuer: &str,
        (client_id, client_secret): (ClientId, Option<ClientSecret>),
    ) -> Result<Self, Error> {
        let unusable = |reason: &str| Error::Settings(name.clone(), reason.to_owned());
        let issuer_url = Url::parse(issuer).map_err(|_| unusable("`issuer` is no URL"))?;
        if issuer_url.query().is_some() || issuer_url.fragment().is_some() {
            return Err(unusable("`issuer` has a query or a fragment"));
        }
        let http = Http::new(&issuer_url, None).map_err(|error| error.of(name))?;
        let issuer =
            IssuerUrl::new(issuer.to_owned()).map_err(|_| unusable("`issuer` is no URL"))?;
        let metadata = Metadata::discover_async(issuer, &http)
            .await
            .map_err(|error| discovery_error(name, error))?;
        // The browser is redirected there; other URLs are checked when they are requested.
        http.check_address(metadata.authorization_endpoint().url())
            .map_err(|error| error.of(name))?;
        Ok(Self { name: name.clone(), metadata, client_id, client_secret, http })
    }

    pub(super) fn authorize(&self, state: &LoginState, redirect_uri: &Url) -> Request {
        let (challenge, pkce_verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new(state.expose().to_owned());
        let (url, _, nonce) = self
            .client(self.metadata.jwks().clone())
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || state.clone(),
                Nonce::new_random,
            )
            .add_scopes(["profile", "email"].map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge)
            .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(redirect_uri.clone())))
            .url();
        Request { url, pkce_verifier, nonce: Some(nonce) }
    }

    /// Checks the issuer (RFC 9207, section 2.4), which is required if the metadata promises it.
    fn check_issuer(&self, callback: &Callback) -> Result<(), Error> {
        let is_promised =
            self.metadata.additional_metadata().authorization_response_iss_parameter_supported;
        let is_valid = match &callback.issuer {
            Some(issuer) => *issuer == **self.metadata.issuer(),
            None => !is_promised,
        };
        if is_valid { Ok(()) } else { Err(Error::MixUp(self.name.clone())) }
    }

    pub(super) async fn identify(
        &self,
        callback: &Callback,
        pending: Pending,
        now: DateTime<Utc>,
    ) -> Result<ExternalIdentity, Error> {
        self.check_issuer(callback)?;
        let nonce =
            pending.nonce.clone().ok_or_else(|| self.invalid_identity("no nonce was sent"))?;
        // Fetched at each (rare) login: revoked keys are rejected, and new ones known.
        let client = self.client(self.keys().await?);
        let tokens = self.redeem(&client, callback, pending).await?;
        let offered = self.metadata.id_token_signing_alg_values_supported();
        let verifier = id_token::verifier(&client, offered, now);
        let claims = id_token::claims(&tokens, &verifier, &self.client_id, &nonce)
            .map_err(|reason| self.invalid_identity(&reason))?;
        let email = claims.email().filter(|_| claims.email_verified() == Some(true));
        let mut email = email.map(|email| email.to_string());
        // Providers may return claims from their endpoint only.
        if email.is_none()
            && let Some(info) = self.user_info(&client, &tokens, &claims).await?
        {
            let found = info.email().filter(|_| info.email_verified() == Some(true));
            email = found.map(|email| email.to_string());
        }
        ExternalIdentity::new(&self.name, claims.subject().to_string(), email)
    }

    fn client(&self, keys: CoreJsonWebKeySet) -> Client {
        let metadata = self.metadata.clone().set_jwks(keys);
        let (id, secret) = (self.client_id.clone(), self.client_secret.clone());
        CoreClient::from_provider_metadata(metadata, id, secret).set_auth_type(self.auth_type())
    }

    /// Returns the client authentication: Basic, unless the provider supports the other one only.
    fn auth_type(&self) -> AuthType {
        let methods = self.metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_some_and(|methods| methods.contains(&method));
        let wants_body = takes(CoreClientAuthMethod::ClientSecretPost)
            && !takes(CoreClientAuthMethod::ClientSecretBasic);
        if wants_body { AuthType::RequestBody } else { AuthType::BasicAuth }
    }

    async fn keys(&self) -> Result<CoreJsonWebKeySet, Error> {
        JsonWebKeySet::fetch_async(self.metadata.jwks_uri(), &self.http)
            .await
            .map_err(|error| discovery_error(&self.name, error))
    }

    async fn redeem(
        &self,
        client: &Client,
        callback: &Callback,
        pending: Pending,
    ) -> Result<CoreTokenResponse, Error> {
        client
            .exchange_code(AuthorizationCode::new(callback.code.clone()))
            .map_err(|_| error::bad_answer(&self.name, "its metadata has no token endpoint"))?
            .set_pkce_verifier(pending.pkce_verifier)
            .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(pending.redirect_uri)))
            .request_async(&self.http)
            .await
            .map_err(|error| error::token_error(&self.name, error))
    }

    /// Fetches the user info of the subject of `claims`, if the provider has the endpoint.
    async fn user_info(
        &self,
        client: &Client,
        tokens: &CoreTokenResponse,
        claims: &CoreIdTokenClaims,
    ) -> Result<Option<CoreUserInfoClaims>, Error> {
        let token = tokens.access_token();
        let subject = claims.subject().clone();
        let Ok(request) = client.user_info(header_safe(token, &self.name)?, Some(subject)) else {
            return Ok(None);
        };
        match request.request_async(&self.http).await {
            Ok(info) => Ok(Some(info)),
            Err(UserInfoError::Request(error)) => Err(error.of(&self.name)),
            Err(UserInfoError::ClaimsVerification(error)) => Err(self.invalid_identity(&error)),
            Err(_) => Err(error::bad_answer(&self.name, "no user info")),
        }
    }

    fn invalid_identity(&self, reason: &(impl ToString + ?Sized)) -> Error {
        Error::Identity(self.name.clone(), reason.to_string())
    }
}

/// Checks that a token is valid in a header: the library panics otherwise.
fn header_safe(token: &AccessToken, provider: &ProviderName) -> Result<AccessToken, Error> {
    if token.secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(token.clone());
    }
    Err(error::bad_answer(provider, "its access token has invalid characters"))
}

fn discovery_error(provider: &ProviderName, error: DiscoveryError<ProviderHttpError>) -> Error {
    match error {
        DiscoveryError::Request(error) => error.of(provider),
        DiscoveryError::Response(status, ..) if !status.is_success() => {
            ProviderHttpError::Status { status, request_id: None }.of(provider)
        }
        DiscoveryError::Validation(_) => Error::Settings(
            provider.clone(),
            "its metadata has another issuer; set `issuer` exactly as it is there".to_owned(),
        ),
        _ => error::bad_answer(provider, "its metadata or keys are invalid"),
    }
}
