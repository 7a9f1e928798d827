//! The configuration of login providers.

use oauth2::{ClientId, ClientSecret};
use serde::{Deserialize, Serialize};
use url::Url;

use super::Error;
use crate::short_name::short_name;

short_name!(
    /// The short name of a provider in URLs and in the database: 1 to 32 of `a-z 0-9 -`.
    ProviderName, 32, "-",
    InvalidProviderName, "a login provider's name is 1 to 32 lower-case letters, digits or \"-\""
);

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

/// Google's issuer, as in its metadata.
pub(super) const GOOGLE: &str = "https://accounts.google.com";

impl ProviderConfig {
    /// Returns the client's credentials at the provider, the secret from the environment.
    pub(super) fn credentials(&self) -> Result<(ClientId, Option<ClientSecret>), Error> {
        let secret = self.client_secret_env.as_deref().map(|name| self.secret(name)).transpose()?;
        Ok((ClientId::new(self.client_id.clone()), secret))
    }

    fn secret(&self, variable: &str) -> Result<ClientSecret, Error> {
        let value = std::env::var(variable).unwrap_or_default();
        let is_usable = !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic());
        is_usable.then(|| ClientSecret::new(value)).ok_or_else(|| {
            let reason = format!("put the client secret into the environment variable {variable}");
            Error::Settings(self.name.clone(), reason)
        })
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
        let github = ProviderKind::Github { web: github(), api: github_api() };
        assert_eq!(read(r#"{"github": {}}"#), Some(github));
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
