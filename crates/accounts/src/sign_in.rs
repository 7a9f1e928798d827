//! Sign-in: access tokens, the keys that sign them, and the ways to get one.

pub mod browser;
pub mod device;
mod device_grant;
mod refresh;
mod signing_keys;
pub mod token;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::Utc;
use mc_auth::jwt::{self, Grant, Reason, TokenAudience};
use mc_auth::login::{LoginProvider, ProviderConfig, ProviderName};
use mc_auth::secret::{PersonalAccessToken, RefreshToken};
use mc_crypto::Encryptor;
use mc_store::{Store, accounts, sessions};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use url::Url;

use crate::denials::DenialCounter;
use crate::{Error, Principal};
pub use device_grant::DecisionError;
use signing_keys::Keyring;
use token::IssuedTokens;

/// Settings of sign-in, from the configuration.
#[derive(Debug, Clone)]
pub struct SignInSettings {
    /// Base URL of the service for browsers, without a slash at its end; the issuer of tokens.
    pub public_url: Url,
    /// Identity providers at which people have accounts.
    pub providers: Vec<ProviderConfig>,
    /// Encrypts secrets in the database.
    pub encryptor: Encryptor,
}

/// Issuer and verifier of access tokens; cheap to clone.
#[derive(Clone)]
pub struct SignIn(Arc<Inner>);

struct Inner {
    store: Store,
    public_url: Url,
    providers: BTreeMap<ProviderName, Provider>,
    encryptor: Encryptor,
    audience: TokenAudience,
    keys: Keyring,
    denials: DenialCounter,
}

/// A provider with its metadata, read at the first login: it need not be up at the start.
struct Provider {
    config: ProviderConfig,
    client: OnceCell<LoginProvider>,
}

impl SignIn {
    /// Reads the signing keys, and creates the first one.
    pub async fn open(store: Store, settings: SignInSettings) -> Result<Self, Error> {
        let issuer = settings.public_url.as_str().trim_end_matches('/').to_owned();
        let keys = Keyring::open(store.clone(), settings.encryptor.clone()).await?;
        let provider = |config: ProviderConfig| {
            (config.name.clone(), Provider { config, client: OnceCell::new() })
        };
        Ok(Self(Arc::new(Inner {
            store,
            public_url: settings.public_url,
            providers: settings.providers.into_iter().map(provider).collect(),
            encryptor: settings.encryptor,
            audience: TokenAudience { issuer: issuer.clone(), audience: issuer },
            keys,
            denials: DenialCounter::default(),
        })))
    }

    /// Adds a signing key when the newest one is old. To be called hourly.
    pub async fn rotate_keys(&self) -> Result<(), Error> {
        self.0.keys.rotate(Utc::now()).await
    }

    /// Returns the public keys that verify access tokens, as a JSON Web Key Set (RFC 7517).
    pub async fn jwks(&self) -> Result<Value, Error> {
        let now = Utc::now();
        let keys = self.0.keys.current(now).await?;
        Ok(keys.verifying.jwks(now))
    }

    /// Returns the counter of denied requests.
    pub fn denials(&self) -> &DenialCounter {
        &self.0.denials
    }

    /// Returns the issuer of access tokens.
    pub fn issuer(&self) -> &str {
        &self.0.audience.issuer
    }

    /// Returns the URL of a path of this service.
    pub fn url(&self, path: &str) -> Url {
        self.0.public_url.join(path).expect("a path of this service")
    }

    /// Whether browsers reach the service over TLS.
    pub fn is_secure(&self) -> bool {
        self.0.public_url.scheme() == "https"
    }

    /// Returns the names of the configured identity providers.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderName> {
        self.0.providers.keys()
    }

    /// Returns the principal of a valid token. An invalid one is counted as a denial.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Principal>, Error> {
        let principal = self.find_principal(token).await?;
        if principal.is_none() {
            self.0.denials.token();
        }
        Ok(principal)
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    async fn provider(&self, name: &ProviderName) -> Result<&LoginProvider, Error> {
        let provider = self.0.providers.get(name).ok_or(Error::UnknownProvider)?;
        let discover = || LoginProvider::discover(&provider.config);
        Ok(provider.client.get_or_try_init(discover).await?)
    }

    async fn issue(
        &self,
        grant: Grant,
        refresh_token: Option<RefreshToken>,
    ) -> Result<IssuedTokens, Error> {
        let now = Utc::now();
        let key = self.0.keys.signer(now).await?;
        let issued = jwt::issue(&self.0.audience, &key, &grant, now)?;
        let (access_token, expires_at) = (issued.token, issued.expires_at);
        Ok(IssuedTokens { access_token, expires_at, scopes: grant.scopes, refresh_token })
    }

    async fn find_principal(&self, token: &str) -> Result<Option<Principal>, Error> {
        if token.len() > jwt::MAX_BYTES {
            return Ok(None);
        }
        if token.contains('.') {
            return self.find_principal_of_jwt(token).await;
        }
        let is_damaged = token.starts_with(PersonalAccessToken::PREFIX)
            && PersonalAccessToken::parse(token).is_none();
        if is_damaged {
            return Ok(None);
        }
        // The look-up by hash takes a time that says nothing about the secret.
        let hash = Sha256::digest(token).into();
        Ok(accounts::holder(self.store(), &hash).await?.map(Principal::from))
    }

    async fn find_principal_of_jwt(&self, token: &str) -> Result<Option<Principal>, Error> {
        let now = Utc::now();
        let audience = &self.0.audience;
        let keys = self.0.keys.current(now).await?;
        let mut verified = jwt::verify(audience, &keys.verifying, token, now);
        if verified.as_ref().is_err_and(|invalid| *invalid.reason() == Reason::UnknownKey) {
            let keys = self.0.keys.newest(now).await?;
            verified = jwt::verify(audience, &keys.verifying, token, now);
        }
        let access = match verified {
            Ok(access) => access,
            Err(invalid) => {
                tracing::debug!(reason = %invalid.reason(), "access token rejected");
                return Ok(None);
            }
        };
        // A disabled user and a revoked session or token count at once, not when the JWT expires.
        let owner = sessions::holder(self.store(), access.user, access.session).await?;
        Ok(owner.map(|mut owner| {
            owner.scopes = owner.scopes.intersection(access.scopes);
            Principal::from(owner)
        }))
    }
}
