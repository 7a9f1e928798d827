//! Which providers there are, as the configuration names them.

use std::fmt;
use std::str::FromStr;

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::Error;

/// A provider's short name in addresses and in the database: 1 to 32 of `a-z 0-9 -`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderName(String);

/// A text that can't be a [`ProviderName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a login provider's name is 1 to 32 small letters, digits or \"-\"")]
pub struct InvalidProviderName;

/// A provider to offer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Under which name; identities are stored with it, so it never changes.
    pub name: ProviderName,
    /// What it speaks.
    pub kind: ProviderKind,
    /// The id that the provider gave to this service.
    pub client_id: String,
    /// The environment variable that holds the secret; none for a public client.
    #[serde(default)]
    pub client_secret_env: Option<String>,
}

/// What a provider speaks, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProviderKind {
    /// GitHub: OAuth 2.0, and a REST API that says who it was.
    Github {
        /// Where people sign in. Another one for GitHub Enterprise.
        #[serde(default = "github")]
        web: Url,
        /// The root of the REST API.
        #[serde(default = "github_api")]
        api: Url,
    },
    /// Google's OpenID Connect.
    Google,
    /// Any OpenID Connect provider.
    Oidc {
        /// The issuer exactly as the provider's own metadata has it, without `/.well-known/..`.
        issuer: String,
    },
}

/// What a provider is asked with.
#[derive(Debug, Clone)]
pub(super) struct Credentials {
    pub(super) client_id: String,
    pub(super) client_secret: Option<SecretString>,
}

/// Google's issuer, as its metadata has it.
pub(super) const GOOGLE: &str = "https://accounts.google.com";

impl ProviderName {
    /// Longest name, in bytes.
    pub const MAX_LEN: usize = 32;

    /// Checks `text`, changing nothing.
    pub fn parse(text: &str) -> Result<Self, InvalidProviderName> {
        let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        if fits && text.bytes().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidProviderName)
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ProviderKind {
    /// github.com.
    pub fn github() -> Self {
        Self::Github { web: github(), api: github_api() }
    }
}

impl ProviderConfig {
    /// Reads the secret from its variable.
    pub(super) fn credentials(&self) -> Result<Credentials, Error> {
        let client_secret = self.client_secret_env.as_deref().map(|name| self.secret(name));
        Ok(Credentials {
            client_id: self.client_id.clone(),
            client_secret: client_secret.transpose()?,
        })
    }

    fn secret(&self, variable: &str) -> Result<SecretString, Error> {
        let value = std::env::var(variable).unwrap_or_default();
        let is_usable = !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic());
        is_usable.then(|| value.into()).ok_or_else(|| {
            let reason = format!("put the client secret into the environment variable {variable}");
            Error::Settings { provider: self.name.clone(), reason }
        })
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProviderName {
    type Err = InvalidProviderName;

    fn from_str(text: &str) -> Result<Self, InvalidProviderName> {
        Self::parse(text)
    }
}

impl Serialize for ProviderName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ProviderName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

fn github() -> Url {
    Url::parse("https://github.com").expect("a URL")
}

fn github_api() -> Url {
    Url::parse("https://api.github.com").expect("a URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_read_from_the_configuration() {
        let read = |json| serde_json::from_str::<ProviderKind>(json).ok();
        assert_eq!(read(r#"{"github": {}}"#), Some(ProviderKind::github()));
        assert_eq!(read(r#""google""#), Some(ProviderKind::Google));
        let issuer = "https://id.example.com".to_owned();
        let oidc = r#"{"oidc": {"issuer": "https://id.example.com"}}"#;
        assert_eq!(read(oidc), Some(ProviderKind::Oidc { issuer }));
        assert_eq!(read(r#"{"oidc": {}}"#), None);
        assert_eq!(read(r#"{"github": {"secret": "x"}}"#), None);
    }

    #[test]
    fn a_missing_secret_names_its_variable() {
        let config = ProviderConfig {
            name: ProviderName::parse("corp").expect("a name"),
            kind: ProviderKind::Google,
            client_id: "id".to_owned(),
            client_secret_env: Some("MC_AUTH_NO_SUCH_VARIABLE".to_owned()),
        };
        let error = config.credentials().expect_err("no secret").to_string();
        assert!(error.contains("MC_AUTH_NO_SUCH_VARIABLE"), "{error}");
    }

    #[test]
    fn hostile_names_are_refused() {
        for text in ["", "Corp", "a b", "a/b", "../x", &"x".repeat(33)] {
            assert_eq!(ProviderName::parse(text), Err(InvalidProviderName), "{text:?}");
        }
    }
}
