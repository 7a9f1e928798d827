//! OpenID Connect: discovery, the code's exchange, and what the provider says of the person.

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
    AccessToken, AdditionalProviderMetadata, DiscoveryError, EndUserName, IssuerUrl, JsonWebKeySet,
    LocalizedClaim, Nonce, ProviderMetadata, UserInfoError,
};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use url::Url;

use super::config::Credentials;
use super::http::{Http, ProviderHttpError};
use super::identity::Said;
use super::{
    Callback, Error, ExternalIdentity, Pending, ProviderName, Request, id_token, provider_error,
};
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

/// Metadata besides OpenID Connect's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Extra {
    /// Whether the provider names itself in its answers (RFC 9207, section 3).
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
        credentials: Credentials,
    ) -> Result<Self, Error> {
        let unusable =
            |reason: &str| Error::Settings { provider: name.clone(), reason: reason.to_owned() };
        let home = Url::parse(issuer).map_err(|_| unusable("`issuer` is no URL"))?;
        if home.query().is_some() || home.fragment().is_some() {
            return Err(unusable("`issuer` has a query or a fragment"));
        }
        let http = Http::new(&home).map_err(|lost| lost.of(name))?;
        let issuer =
            IssuerUrl::new(issuer.to_owned()).map_err(|_| unusable("`issuer` is no URL"))?;
        let metadata = Metadata::discover_async(issuer, &http)
            .await
            .map_err(|error| undiscovered(name, error))?;
        // Where the browser is sent; everything else is checked when it is asked.
        http.check_address(metadata.authorization_endpoint().url())
            .map_err(|lost| lost.of(name))?;
        let client_secret = credentials.client_secret;
        Ok(Self {
            name: name.clone(),
            metadata,
            client_id: ClientId::new(credentials.client_id),
            client_secret: client_secret
                .map(|secret| ClientSecret::new(secret.expose_secret().to_owned())),
            http,
        })
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

    /// RFC 9207, section 2.4: whoever promises to name itself must, and nobody may name another.
    pub(super) fn check_issuer(&self, callback: &Callback) -> Result<(), Error> {
        let is_promised =
            self.metadata.additional_metadata().authorization_response_iss_parameter_supported;
        let holds = match &callback.issuer {
            Some(issuer) => *issuer == **self.metadata.issuer(),
            None => !is_promised,
        };
        if holds { Ok(()) } else { Err(Error::MixUp { provider: self.name.clone() }) }
    }

    pub(super) async fn identify(
        &self,
        callback: &Callback,
        pending: Pending,
        now: DateTime<Utc>,
    ) -> Result<ExternalIdentity, Error> {
        let nonce = pending.nonce.clone().ok_or_else(|| self.unbelievable("no nonce was sent"))?;
        // Read at each login, which is rare, so that a key the provider has given up is not believed
        // and a new one is.
        let client = self.client(self.keys().await?);
        let tokens = self.redeem(&client, callback, pending).await?;
        let offered = self.metadata.id_token_signing_alg_values_supported();
        let verifier = id_token::verifier(&client, offered, now);
        let claims = id_token::claims(&tokens, &verifier, &self.client_id, &nonce)
            .map_err(|reason| self.unbelievable(&reason))?;
        let mut said = said_by_token(&claims);
        if said.verified_email.is_none() || said.name.is_none() {
            let info = self.user_info(&client, &tokens, &claims).await?;
            if let Some(info) = info {
                add(&mut said, &info);
            }
        }
        said.checked(&self.name)
    }

    fn client(&self, keys: CoreJsonWebKeySet) -> Client {
        let metadata = self.metadata.clone().set_jwks(keys);
        let client = CoreClient::from_provider_metadata(
            metadata,
            self.client_id.clone(),
            self.client_secret.clone(),
        );
        client.set_auth_type(self.auth_type())
    }

    /// Basic, which is the default of both standards, unless the provider says that it takes the
    /// other only.
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
            .map_err(|error| undiscovered(&self.name, error))
    }

    async fn redeem(
        &self,
        client: &Client,
        callback: &Callback,
        pending: Pending,
    ) -> Result<CoreTokenResponse, Error> {
        client
            .exchange_code(AuthorizationCode::new(callback.code.clone()))
            .map_err(|_| {
                provider_error::bad_answer(&self.name, "its metadata has no token endpoint")
            })?
            .set_pkce_verifier(pending.pkce_verifier)
            .set_redirect_uri(Cow::Owned(RedirectUrl::from_url(pending.redirect_uri)))
            .request_async(&self.http)
            .await
            .map_err(|error| provider_error::of_token(&self.name, error))
    }

    /// What the provider's endpoint says about the person of `claims`, if it has one.
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
            Err(UserInfoError::Request(lost)) => Err(lost.of(&self.name)),
            Err(UserInfoError::ClaimsVerification(error)) => Err(self.unbelievable(&error)),
            Err(_) => Err(provider_error::bad_answer(&self.name, "no user info")),
        }
    }

    fn unbelievable(&self, reason: &(impl ToString + ?Sized)) -> Error {
        Error::Identity { provider: self.name.clone(), reason: reason.to_string() }
    }
}

fn said_by_token(claims: &CoreIdTokenClaims) -> Said {
    let email = claims.email().filter(|_| claims.email_verified() == Some(true));
    Said {
        subject: claims.subject().to_string(),
        login: claims.preferred_username().map(|name| name.to_string()),
        name: plain(claims.name()),
        verified_email: email.map(|email| email.to_string()),
    }
}

/// Adds what the ID token left out. Providers need not repeat there what their endpoint says.
fn add(said: &mut Said, info: &CoreUserInfoClaims) {
    let email = info.email().filter(|_| info.email_verified() == Some(true));
    said.login = said.login.take().or(info.preferred_username().map(|name| name.to_string()));
    said.name = said.name.take().or(plain(info.name()));
    said.verified_email = said.verified_email.take().or(email.map(|email| email.to_string()));
}

/// The name in no particular language.
fn plain(name: Option<&LocalizedClaim<EndUserName>>) -> Option<String> {
    Some(name?.get(None)?.as_str().to_owned())
}

/// The library panics at a token that can't stand in a header.
fn header_safe(token: &AccessToken, provider: &ProviderName) -> Result<AccessToken, Error> {
    if token.secret().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(token.clone());
    }
    let reason = "its access token has characters that no token has".to_owned();
    Err(Error::BadAnswer { provider: provider.clone(), reason })
}

fn undiscovered(provider: &ProviderName, error: DiscoveryError<ProviderHttpError>) -> Error {
    match error {
        DiscoveryError::Request(lost) => lost.of(provider),
        DiscoveryError::Response(status, ..) if !status.is_success() => {
            ProviderHttpError::Status(status).of(provider)
        }
        DiscoveryError::Validation(_) => Error::Settings {
            provider: provider.clone(),
            reason: "its metadata names another issuer; give `issuer` exactly as it stands there"
                .to_owned(),
        },
        _ => provider_error::bad_answer(provider, "no metadata or keys as the protocol has them"),
    }
}
