//! Signing in: what tokens are worth, and how they are come by.

pub mod browser;
pub mod device;
mod pages;
mod signing_keys;
pub mod token_endpoint;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use mc_auth::client::ClientId;
use mc_auth::jwt::{self, Grant, Issued, Reason, TokenAudience};
use mc_auth::login::{LoginProvider, ProviderConfig, ProviderName};
use mc_auth::secret::PersonalAccessToken;
use mc_crypto::Encryptor;
use mc_domain::{Scopes, SessionId, UserId};
use mc_store::Store;
use mc_store::accounts;
use mc_store::audit::{self, Chain, NewEvent};
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use url::Url;

use crate::authenticate::{Authenticate, Principal};
use crate::denials::DenialCounter;
use crate::problem::Problem;
use signing_keys::Keyring;

/// The program that `memory-copilot login` signs in.
pub const CLI: &str = "memory-copilot-cli";

/// How this service signs people in.
#[derive(Debug, Clone)]
pub struct SignInSettings {
    /// Its address as browsers reach it, without a slash at its end; what tokens name as their issuer
    /// and audience.
    pub public_url: Url,
    /// Where people may have an account.
    pub providers: Vec<ProviderConfig>,
    /// What seals secrets in the database.
    pub sealer: Encryptor,
}

/// What issues access tokens and tells whose they are; cheap to clone.
#[derive(Clone)]
pub struct SignIn(Arc<Inner>);

struct Inner {
    store: Store,
    public_url: Url,
    providers: BTreeMap<ProviderName, Offered>,
    sealer: Encryptor,
    party: TokenAudience,
    keys: Keyring,
    refusals: DenialCounter,
}

/// A provider is asked for its metadata when somebody first wants to sign in there: one that is away
/// keeps nobody from starting the service.
struct Offered {
    config: ProviderConfig,
    ready: OnceCell<LoginProvider>,
}

impl SignIn {
    /// Reads the keys, and makes one where there is none.
    pub async fn open(store: Store, settings: SignInSettings) -> Result<Self, Problem> {
        let address = settings.public_url.as_str().trim_end_matches('/').to_owned();
        let keys = Keyring::open(store.clone(), settings.sealer.clone()).await?;
        let offered = |config: ProviderConfig| {
            (config.name.clone(), Offered { config, ready: OnceCell::new() })
        };
        Ok(Self(Arc::new(Inner {
            store,
            public_url: settings.public_url,
            providers: settings.providers.into_iter().map(offered).collect(),
            sealer: settings.sealer,
            party: TokenAudience { issuer: address.clone(), audience: address },
            keys,
            refusals: DenialCounter::default(),
        })))
    }

    /// Adds a signing key when it is time. To be called every hour.
    pub async fn rotate_keys(&self) -> Result<(), Problem> {
        self.0.keys.rotate(Utc::now()).await
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    /// An address of this service.
    fn address(&self, path: &str) -> Url {
        self.0.public_url.join(path).expect("a path of our own")
    }

    /// Notes in the audit, by a store that may add to every chain, what was refused since the last call; what
    /// can't be noted is kept for the next. To be called now and then.
    pub async fn flush_denials(&self, background: &Store) -> Result<(), Problem> {
        let tally = self.0.refusals.take();
        let noted = note_all(background, tally.events()).await;
        if noted.is_err() {
            self.0.refusals.restore_counts(tally);
        }
        Ok(noted?)
    }

    /// Whether browsers reach it by TLS.
    fn is_secure(&self) -> bool {
        self.0.public_url.scheme() == "https"
    }

    async fn provider(&self, name: &ProviderName) -> Result<Option<&LoginProvider>, Problem> {
        let Some(offered) = self.0.providers.get(name) else { return Ok(None) };
        Ok(Some(offered.ready.get_or_try_init(|| LoginProvider::discover(&offered.config)).await?))
    }

    async fn issue(
        &self,
        user: UserId,
        client: ClientId,
        session: SessionId,
        scopes: Scopes,
        session_ends_at: Option<DateTime<Utc>>,
    ) -> Result<Issued, Problem> {
        let now = Utc::now();
        let key = self.0.keys.signer(now).await?;
        let grant = Grant { user, client, session, scopes, session_ends_at };
        Ok(jwt::issue(&self.0.party, &key, &grant, now)?)
    }

    async fn principal_of(&self, token: &str) -> Result<Option<Principal>, Problem> {
        if token.len() > jwt::MAX_BYTES {
            return Ok(None);
        }
        if token.contains('.') {
            return self.principal_of_jwt(token).await;
        }
        let is_damaged = token.starts_with(PersonalAccessToken::PREFIX)
            && PersonalAccessToken::parse(token).is_err();
        if is_damaged {
            return Ok(None);
        }
        // Looked up by its hash: how long that takes says nothing of the secret.
        let hash = Sha256::digest(token).into();
        Ok(accounts::holder(self.store(), &hash).await?.map(Principal::from))
    }

    async fn principal_of_jwt(&self, token: &str) -> Result<Option<Principal>, Problem> {
        let now = Utc::now();
        let party = &self.0.party;
        let known = self.0.keys.current(now).await?;
        let mut verified = jwt::verify(party, &known.verifying, token, now);
        if verified.as_ref().is_err_and(|rejected| *rejected.reason() == Reason::UnknownKey) {
            let newest = self.0.keys.newest(now).await?;
            verified = jwt::verify(party, &newest.verifying, token, now);
        }
        let access = match verified {
            Ok(access) => access,
            Err(rejected) => {
                tracing::debug!(reason = %rejected.reason(), "an access token was refused");
                return Ok(None);
            }
        };
        // What has happened since it was issued counts at once: a user who was shut out, a session
        // or a personal access token that was revoked.
        let holder = mc_store::sessions::holder(self.store(), access.user, access.session).await?;
        Ok(holder.map(|mut holder| {
            holder.scopes = holder.scopes.intersection(access.scopes);
            Principal::from(holder)
        }))
    }
}

/// All of them, or none.
async fn note_all(
    store: &Store,
    events: Vec<(Chain, Option<UserId>, NewEvent)>,
) -> Result<(), mc_store::Error> {
    if events.is_empty() {
        return Ok(());
    }
    let mut tx = store.begin().await?;
    for (chain, who, event) in events {
        audit::add(&mut tx, chain, who, &[event]);
    }
    tx.commit().await
}

impl Authenticate for SignIn {
    fn principal<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Option<Principal>, Problem>> {
        Box::pin(async move {
            let principal = self.principal_of(token).await?;
            if principal.is_none() {
                self.0.refusals.token();
            }
            Ok(principal)
        })
    }

    fn refusals(&self) -> &DenialCounter {
        &self.0.refusals
    }
}
