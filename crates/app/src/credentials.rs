//! The token that commands and `memory-copilot mcp` authenticate with: the token of the
//! environment, else the token of a login, else the local token.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use mc_auth::client::ClientId;
use mc_auth::device_client::{DeviceFlowClient, Tokens};
use mc_mcp::core::{CoreError, TokenFile, TokenSource};
use rustix::fs::{FlockOperation, flock};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::private_file;

const NAME: &str = "the login";
const VARIABLE: &str = "MEMORY_COPILOT_TOKEN";
/// The client id with which the command line signs in.
const CLIENT_ID: &str = "memory-copilot-cli";
/// How long before its expiry an access token is renewed.
const RENEWAL_MARGIN: TimeDelta = TimeDelta::seconds(30);

/// Returns the source of tokens for the service of `config`.
pub fn token_source(config: &Config) -> Result<Arc<dyn TokenSource>> {
    let url = config.base_url();
    if let Some(token) = environment_token() {
        return Ok(Arc::new(FromEnvironment { token: token.into(), url }));
    }
    let local = TokenFile { path: config.token_file(), url };
    Ok(Arc::new(SignedIn { logins: Logins::new(config)?, local }))
}

/// Returns the token of the environment, which precedes a login.
fn environment_token() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|token| !token.is_empty())
}

struct FromEnvironment {
    token: SecretString,
    url: String,
}

impl TokenSource for FromEnvironment {
    fn token(&self) -> BoxFuture<'_, Result<String, CoreError>> {
        Box::pin(async { Ok(self.token.expose_secret().to_owned()) })
    }

    fn refused(&self) -> CoreError {
        CoreError::VariableRefused { url: self.url.clone(), variable: VARIABLE }
    }
}

/// The token of the login for the service, or the local token if there is no login.
struct SignedIn {
    logins: Logins,
    local: TokenFile,
}

impl TokenSource for SignedIn {
    fn token(&self) -> BoxFuture<'_, Result<String, CoreError>> {
        Box::pin(async {
            match self.logins.access().await {
                Ok(Some(token)) => Ok(token),
                Ok(None) => self.local.token().await,
                Err(error) => Err(self.sign_in_needed(format!("{error:#}"))),
            }
        })
    }

    fn refused(&self) -> CoreError {
        match self.logins.entry() {
            Ok(None) => self.local.refused(),
            _ => self.sign_in_needed(format!(
                "the service no longer accepts the login in {}",
                self.logins.path.display()
            )),
        }
    }
}

impl SignedIn {
    fn sign_in_needed(&self, why: String) -> CoreError {
        CoreError::SignInNeeded { url: self.logins.url.clone(), why }
    }
}

/// The tokens of a login.
#[derive(Clone, Serialize, Deserialize)]
struct Login {
    access_token: String,
    expires_at: DateTime<Utc>,
    refresh_token: String,
}

/// The stored logins of this user, by address of the service.
#[derive(Clone)]
pub struct Logins {
    path: PathBuf,
    url: String,
    ca_pem: Option<Vec<u8>>,
}

impl Logins {
    /// Returns the logins in the credentials file of `config`, without reading it.
    pub fn new(config: &Config) -> Result<Self> {
        Ok(Self {
            path: config.client.credentials_file.clone(),
            url: config.base_url(),
            ca_pem: config.ca_pem()?,
        })
    }

    /// Returns a client with which a program in a terminal signs in to the service.
    pub fn device_flow(&self) -> Result<DeviceFlowClient> {
        let address = |path: &str| format!("{}{path}", self.url).parse();
        let client = ClientId::parse(CLIENT_ID).expect("a client id");
        let (device, token) = (address("/auth/device")?, address("/auth/token")?);
        Ok(DeviceFlowClient::new(device, token, &client, self.ca_pem.as_deref())?)
    }

    /// Stores a login for the service and replaces the previous one.
    pub fn store(&self, tokens: &Tokens) -> Result<()> {
        let _lock = self.lock()?;
        self.write(Some(&login(tokens)?))
    }

    /// Removes the login for the service; returns its refresh token, which the caller revokes.
    pub fn remove(&self) -> Result<Option<SecretString>> {
        let _lock = self.lock()?;
        let Some(login) = self.entry()? else { return Ok(None) };
        self.write(None)?;
        Ok(Some(login.refresh_token.into()))
    }

    /// Removes the login for the service if commands use it. If they use the token of the
    /// environment, the login may belong to another user and stays. Reports whether one stayed.
    pub fn remove_if_used(&self) -> Result<bool> {
        self.remove_unless(environment_token().is_some())
    }

    fn remove_unless(&self, has_environment_token: bool) -> Result<bool> {
        if has_environment_token {
            return Ok(self.entry()?.is_some());
        }
        self.remove()?;
        Ok(false)
    }

    /// Returns the access token of the login, and renews it before it expires.
    async fn access(&self) -> Result<Option<String>> {
        let is_valid = |login: &Login| Utc::now() + RENEWAL_MARGIN < login.expires_at;
        let Some(login) = self.entry()? else { return Ok(None) };
        if is_valid(&login) {
            return Ok(Some(login.access_token));
        }
        // Only one process may exchange a refresh token: the service treats a second exchange as
        // theft. A process that waited for the lock finds the renewed token.
        let logins = self.clone();
        let lock = tokio::task::spawn_blocking(move || logins.lock()).await??;
        let Some(login) = self.entry()? else { return Ok(None) };
        if is_valid(&login) {
            return Ok(Some(login.access_token));
        }
        let tokens = self.device_flow()?.refresh(&login.refresh_token.into()).await?;
        let renewed = self::login(&tokens)?;
        self.write(Some(&renewed))?;
        drop(lock);
        Ok(Some(renewed.access_token))
    }

    fn entry(&self) -> Result<Option<Login>> {
        Ok(self.read()?.remove(&self.url))
    }

    fn read(&self) -> Result<BTreeMap<String, Login>> {
        if !self.path.exists() {
            return Ok(BTreeMap::new());
        }
        let bytes = private_file::read(&self.path, NAME)?;
        serde_json::from_slice(&bytes).with_context(|| {
            format!("{} is damaged; delete it and run `memory-copilot login`", self.path.display())
        })
    }

    /// Writes the file; the caller holds the lock.
    fn write(&self, login: Option<&Login>) -> Result<()> {
        let mut logins = self.read()?;
        match login {
            Some(login) => logins.insert(self.url.clone(), login.clone()),
            None => logins.remove(&self.url),
        };
        private_file::write(&self.path, NAME, &serde_json::to_vec_pretty(&logins)?)
    }

    /// Locks the logins until the returned file is closed.
    fn lock(&self) -> Result<File> {
        let dir = private_file::directory(&self.path);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .with_context(|| format!("{} can't be created", dir.display()))?;
        let path = self.path.with_extension("lock");
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("{} can't be opened", path.display()))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

fn login(tokens: &Tokens) -> Result<Login> {
    let refresh = tokens.refresh.as_ref().context("the service issued no refresh token")?;
    let lifetime = tokens.expires_in.and_then(|time| TimeDelta::from_std(time).ok());
    Ok(Login {
        access_token: tokens.access.expose_secret().to_owned(),
        expires_at: Utc::now() + lifetime.unwrap_or_default(),
        refresh_token: refresh.expose_secret().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    fn logins(dir: &Path, url: &str) -> Logins {
        Logins { path: dir.join("deep/credentials.json"), url: url.to_owned(), ca_pem: None }
    }

    fn tokens(name: &str) -> Tokens {
        Tokens {
            access: format!("access-{name}").into(),
            refresh: Some(format!("refresh-{name}").into()),
            expires_in: Some(Duration::from_mins(15)),
        }
    }

    #[tokio::test]
    async fn each_service_has_its_own_login_in_a_private_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let (one, two) = (logins(dir.path(), "http://one"), logins(dir.path(), "http://two"));
        assert_eq!(one.access().await.expect("no login"), None);
        one.store(&tokens("1")).expect("stored");
        two.store(&tokens("2")).expect("stored");
        assert_eq!(one.access().await.expect("a login").as_deref(), Some("access-1"));
        let mode = std::fs::metadata(&one.path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let removed = one.remove().expect("removed").expect("a token");
        assert_eq!(removed.expose_secret(), "refresh-1");
        assert_eq!(one.access().await.expect("no login"), None);
        assert_eq!(two.access().await.expect("a login").as_deref(), Some("access-2"));
    }

    #[tokio::test]
    async fn unused_login_is_not_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let logins = logins(dir.path(), "http://one");
        assert!(!logins.remove_unless(true).expect("read"), "there is none");
        logins.store(&tokens("1")).expect("stored");
        assert!(logins.remove_unless(true).expect("read"));
        assert_eq!(logins.access().await.expect("a login").as_deref(), Some("access-1"));
        assert!(!logins.remove_unless(false).expect("removed"));
        assert_eq!(logins.access().await.expect("no login"), None);
    }

    #[tokio::test]
    async fn error_of_a_damaged_file_suggests_login() {
        let dir = tempfile::tempdir().expect("a directory");
        let logins = logins(dir.path(), "http://one");
        logins.store(&tokens("1")).expect("stored");
        std::fs::write(&logins.path, "{").expect("written");
        let error = format!("{:#}", logins.access().await.expect_err("damaged"));
        assert!(error.contains("memory-copilot login"), "{error}");
    }
}
