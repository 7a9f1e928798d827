//! The configuration of login providers.

use std::fmt;
use std::str::FromStr;

use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::Error;

/// The short name of a provider in URLs and in the database: 1 to 32 of `a-z 0-9 -`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderName(String);

/// The error of a text that is not a [`ProviderName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a login provider's name is 1 to 32 lower-case letters, digits or \"-\"")]
pub struct InvalidProviderName;

/// The configuration of a provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// The name. Identities are stored with it, so it must not change.
    pub name: ProviderName,
    /// The protocol.
    pub kind: ProviderKind,
    /// The client id of this service at the provider.
    pub client_id: String,
    /// The environment variable with the client secret; none for a public client.
    #[serde(default)]
    pub client_secret_env: Option<String>,
}

/// The protocol of a provider, with its URLs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProviderKind {
    /// GitHub: OAuth 2.0, and a REST API for the identity.
    Github {
        /// The URL where people sign in; another one for GitHub Enterprise.
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
        /// The issuer exactly as in the provider's metadata, without `/.well-known/..`.
        issuer: String,
    },
}

/// The client credentials at a provider.
#[derive(Debug, Clone)]
pub(super) struct Credentials {
    pub(super) client_id: String,
    pub(super) client_secret: Option<SecretString>,
}

/// Google's issuer, as in its metadata.
pub(super) const GOOGLE: &str = "https://accounts.google.com";

impl ProviderName {
    /// Maximum length of a name, in bytes.
    pub const MAX_LEN: usize = 32;

    /// Validates `text` without changing it.
    pub fn parse(text: &str) -> Result<Self, InvalidProviderName> {
        let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        if fits && text.bytes().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidProviderName)
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ProviderKind {
    /// Returns the configuration of github.com.
    pub fn github() -> Self {
        Self::Github { web: github(), api: github_api() }
    }
}

impl ProviderConfig {
    /// Reads the secret from its environment variable.
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
    fn kinds_are_parsed_from_the_configuration() {
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
    fn missing_secret_error_names_its_variable() {
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
    fn hostile_names_are_rejected() {
        for text in ["", "Corp", "a b", "a/b", "../x", &"x".repeat(33)] {
            assert_eq!(ProviderName::parse(text), Err(InvalidProviderName), "{text:?}");
        }
    }
}
