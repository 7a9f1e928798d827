//! The token that commands and `memory-copilot mcp` come in with: that of the environment, else
//! that of a login, else the local one.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
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

const WHAT: &str = "the login";
const VARIABLE: &str = "MEMORY_COPILOT_TOKEN";
/// The program that signs in; the service knows it by this name.
const CLIENT: &str = "memory-copilot-cli";
/// An access token is renewed so long before it expires.
const AHEAD: TimeDelta = TimeDelta::seconds(30);

/// Where the token for the service of `config` comes from.
pub fn of(config: &Config) -> Result<Arc<dyn TokenSource>> {
    let url = config.base_url();
    if let Some(token) = given() {
        return Ok(Arc::new(FromEnvironment { token: token.into(), url }));
    }
    let local = TokenFile { path: config.token_file(), url };
    Ok(Arc::new(SignedIn { logins: Logins::of(config)?, local }))
}

/// The token of the environment; it goes before a login.
fn given() -> Option<String> {
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
        let why = format!("the service refuses the token in {VARIABLE}");
        CoreError::SignInNeeded { url: self.url.clone(), why }
    }
}

/// The login for the service, and the local token where there is none.
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
                Err(error) => Err(self.needed(&error)),
            }
        })
    }

    fn refused(&self) -> CoreError {
        match self.logins.entry() {
            Ok(None) => self.local.refused(),
            _ => CoreError::SignInNeeded {
                url: self.logins.url.clone(),
                why: "the service no longer takes the login".to_owned(),
            },
        }
    }
}

impl SignedIn {
    fn needed(&self, error: &anyhow::Error) -> CoreError {
        CoreError::SignInNeeded { url: self.logins.url.clone(), why: format!("{error:#}") }
    }
}

/// What a login is worth.
#[derive(Clone, Serialize, Deserialize)]
struct Login {
    access_token: String,
    expires_at: DateTime<Utc>,
    refresh_token: String,
}

/// The logins of this user, by the service's address.
#[derive(Clone)]
pub struct Logins {
    path: PathBuf,
    url: String,
    ca_pem: Option<Vec<u8>>,
}

impl Logins {
    /// Those that `config` names.
    pub fn of(config: &Config) -> Result<Self> {
        Ok(Self {
            path: config.client.credentials_file.clone(),
            url: config.base_url(),
            ca_pem: config.ca_pem()?,
        })
    }

    /// The service, as a program in a terminal signs in there.
    pub fn terminal(&self) -> Result<DeviceFlowClient> {
        let address = |path: &str| format!("{}{path}", self.url).parse();
        let client = ClientId::parse(CLIENT).expect("a client id");
        let (device, token) = (address("/auth/device")?, address("/auth/token")?);
        Ok(DeviceFlowClient::new(device, token, &client, self.ca_pem.as_deref())?)
    }

    /// Keeps a login for the service, in place of the one before.
    pub fn keep(&self, tokens: &Tokens) -> Result<()> {
        let _lock = self.lock()?;
        self.write(Some(&login(tokens)?))
    }

    /// Forgets the login for the service; answers its refresh token, for it to be revoked.
    pub fn forget(&self) -> Result<Option<SecretString>> {
        let _lock = self.lock()?;
        let Some(login) = self.entry()? else { return Ok(None) };
        self.write(None)?;
        Ok(Some(login.refresh_token.into()))
    }

    /// Forgets the login for the service if commands come in by it. Where they come in by the token
    /// of the environment, it may be somebody else's: it stays. Answers whether one stayed.
    pub fn forget_used(&self) -> Result<bool> {
        self.forget_unless(given().is_some())
    }

    fn forget_unless(&self, is_given: bool) -> Result<bool> {
        if is_given {
            return Ok(self.entry()?.is_some());
        }
        self.forget()?;
        Ok(false)
    }

    /// An access token that is good for a while, renewed where it is not.
    async fn access(&self) -> Result<Option<String>> {
        let fresh = |login: &Login| Utc::now() + AHEAD < login.expires_at;
        let Some(login) = self.entry()? else { return Ok(None) };
        if fresh(&login) {
            return Ok(Some(login.access_token));
        }
        // One at a time: of two that exchange the same refresh token the service would take one for
        // a thief. Who comes second finds what the first has brought.
        let logins = self.clone();
        let lock = tokio::task::spawn_blocking(move || logins.lock()).await??;
        let Some(login) = self.entry()? else { return Ok(None) };
        if fresh(&login) {
            return Ok(Some(login.access_token));
        }
        let tokens = self.terminal()?.refresh(&login.refresh_token.into()).await?;
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
        let bytes = private_file::read(&self.path, WHAT)?;
        serde_json::from_slice(&bytes).with_context(|| {
            format!("{} is damaged; delete it and run `memory-copilot login`", self.path.display())
        })
    }

    /// To be called under the lock.
    fn write(&self, login: Option<&Login>) -> Result<()> {
        let mut logins = self.read()?;
        match login {
            Some(login) => logins.insert(self.url.clone(), login.clone()),
            None => logins.remove(&self.url),
        };
        private_file::write(&self.path, WHAT, &serde_json::to_vec_pretty(&logins)?)
    }

    /// Held until the file is closed.
    fn lock(&self) -> Result<File> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("{} can't be made", folder.display()))?;
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
    let refresh = tokens.refresh.as_ref().context("the service gave no refresh token")?;
    let lives = tokens.expires_in.and_then(|time| TimeDelta::from_std(time).ok());
    Ok(Login {
        access_token: tokens.access.expose_secret().to_owned(),
        expires_at: Utc::now() + lives.unwrap_or_default(),
        refresh_token: refresh.expose_secret().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
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
        let dir = tempfile::tempdir().expect("a folder");
        let (one, two) = (logins(dir.path(), "http://one"), logins(dir.path(), "http://two"));
        assert_eq!(one.access().await.expect("no login"), None);
        one.keep(&tokens("1")).expect("kept");
        two.keep(&tokens("2")).expect("kept");
        assert_eq!(one.access().await.expect("a login").as_deref(), Some("access-1"));
        let mode = std::fs::metadata(&one.path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let forgotten = one.forget().expect("forgotten").expect("a token");
        assert_eq!(forgotten.expose_secret(), "refresh-1");
        assert_eq!(one.access().await.expect("no login"), None);
        assert_eq!(two.access().await.expect("a login").as_deref(), Some("access-2"));
    }

    #[tokio::test]
    async fn a_login_that_was_not_used_is_not_forgotten() {
        let dir = tempfile::tempdir().expect("a folder");
        let logins = logins(dir.path(), "http://one");
        assert!(!logins.forget_unless(true).expect("read"), "there is none");
        logins.keep(&tokens("1")).expect("kept");
        assert!(logins.forget_unless(true).expect("read"));
        assert_eq!(logins.access().await.expect("a login").as_deref(), Some("access-1"));
        assert!(!logins.forget_unless(false).expect("forgotten"));
        assert_eq!(logins.access().await.expect("no login"), None);
    }

    #[tokio::test]
    async fn a_damaged_file_says_what_to_do() {
        let dir = tempfile::tempdir().expect("a folder");
        let logins = logins(dir.path(), "http://one");
        logins.keep(&tokens("1")).expect("kept");
        std::fs::write(&logins.path, "{").expect("written");
        let error = format!("{:#}", logins.access().await.expect_err("damaged"));
        assert!(error.contains("memory-copilot login"), "{error}");
    }
}
