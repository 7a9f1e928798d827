//! The `connectors` section of the configuration: external systems, their credentials, and the
//! projects that may use them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use mc_connectors::{ConnectorRegistry, PLAIN_GIT};
use mc_domain::ProjectKey;
use mc_privileges::raise_privileges;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

/// Maximum length of a connector's name, in characters.
const NAME_MAX_CHARS: usize = 64;

/// The configured connectors by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Connectors(BTreeMap<String, ConnectorSection>);

/// A connector. The configuration names its credential and never contains it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectorSection {
    /// Provider of the external system.
    pub provider: Provider,
    /// Address at which people open it.
    pub base_url: String,
    /// User of the credential, for systems that require one.
    #[serde(default)]
    pub username: Option<String>,
    /// Environment variable that holds the credential.
    #[serde(default)]
    pub token_env: Option<String>,
    /// File that holds the credential.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// Keys of the projects that may use it. If empty, every project may.
    #[serde(default)]
    pub allowed_projects: Vec<String>,
}

impl Connectors {
    /// Checks the section without reading a credential.
    pub fn check(&self) -> Result<()> {
        for (name, section) in &self.0 {
            section.check(name).with_context(|| format!("connectors.{name}"))?;
        }
        Ok(())
    }

    /// Reads the credentials and returns the connectors.
    pub fn open(&self) -> Result<ConnectorRegistry> {
        let mut connectors = ConnectorRegistry::default();
        for (name, section) in &self.0 {
            let connector = section.open(name);
            let connector = connector.with_context(|| format!("connectors.{name}"))?;
            connectors.add(connector, section.projects()?);
        }
        Ok(connectors)
    }
}

impl ConnectorSection {
    fn check(&self, name: &str) -> Result<()> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        ensure!(
            (1..=NAME_MAX_CHARS).contains(&name.len()) && name.chars().all(is_name),
            "the name must be 1 to {NAME_MAX_CHARS} of a-z 0-9 . _ -"
        );
        ensure!(
            name != PLAIN_GIT,
            "the name is reserved for repositories that are read with git alone; choose another"
        );
        ensure!(
            self.token_env.is_none() || self.token_file.is_none(),
            "it has both token_env and token_file; name one of them"
        );
        self.url()?;
        self.projects().map(drop)
    }

    /// Parses the address. Other parts of a URL would be a credential, or would be lost.
    fn url(&self) -> Result<Url> {
        let url = Url::parse(&self.base_url).context("base_url: not a URL; write https://host")?;
        let is_bare = url.username().is_empty() && url.password().is_none();
        let is_bare = is_bare && url.query().is_none() && url.fragment().is_none();
        ensure!(
            matches!(url.scheme(), "http" | "https") && url.has_host() && is_bare,
            "base_url: it must be http:// or https://, a host and perhaps a path; the credential \
             goes into token_env or token_file"
        );
        Ok(url)
    }

    fn projects(&self) -> Result<Vec<ProjectKey>> {
        let keys = self.allowed_projects.iter();
        keys.map(|key| ProjectKey::parse(key).with_context(|| format!("allowed_projects: {key}")))
            .collect()
    }

    fn open(&self, name: &str) -> Result<Connector> {
        self.check(name)?;
        let settings = ConnectorConfig {
            name: name.to_owned(),
            kind: self.provider,
            url: self.url()?,
            user: self.username.clone(),
            token: self.token()?,
            limits: Limits::default(),
        };
        Ok(Connector::new(settings)?)
    }

    fn token(&self) -> Result<Option<SecretString>> {
        let text = match (&self.token_env, &self.token_file) {
            (Some(variable), _) => std::env::var(variable)
                .with_context(|| format!("token_env: {variable} is not set, or not UTF-8"))?,
            (None, Some(file)) => {
                let _raised = raise_privileges();
                std::fs::read_to_string(file)
                    .with_context(|| format!("token_file: {} can't be read", file.display()))?
            }
            (None, None) => return Ok(None),
        };
        let token = text.trim();
        ensure!(
            !token.is_empty() && token.chars().all(|c| c.is_ascii_graphic()),
            "the credential must be one line of visible ASCII characters without blanks"
        );
        Ok(Some(token.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> ConnectorSection {
        serde_norway::from_str(text).expect("a section")
    }

    fn open(name: &str, text: &str) -> Result<ConnectorRegistry, String> {
        let sections = BTreeMap::from([(name.to_owned(), section(text))]);
        Connectors(sections).open().map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn invalid_section_is_rejected_by_name() {
        let jira = "provider: jira\nbase_url: https://jira.example.com\n";
        for (name, text, reason) in [
            ("Our Jira", jira.to_owned(), "the name must be"),
            ("git", jira.to_owned(), "choose another"),
            ("j", "provider: jira\nbase_url: jira.example.com".to_owned(), "not a URL"),
            (
                "j",
                "provider: jira\nbase_url: https://me:hunter2@jira.example.com".to_owned(),
                "credential goes",
            ),
            ("j", "provider: jira\nbase_url: ftp://jira.example.com".to_owned(), "must be http"),
            ("j", format!("{jira}token_env: A\ntoken_file: b"), "name one of them"),
            ("j", format!("{jira}token_env: MC_TEST_NOT_SET"), "MC_TEST_NOT_SET is not set"),
            ("j", format!("{jira}token_file: /nowhere/at/all"), "can't be read"),
            ("j", format!("{jira}allowed_projects: ['no key']"), "allowed_projects: no key"),
        ] {
            let message = open(name, &text).expect_err(reason);
            assert!(message.starts_with(&format!("connectors.{name}: ")), "{message}");
            assert!(message.contains(reason) && !message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_credential_is_read_from_its_file_and_never_shown() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "t0p-secret-of-the-tracker\n").expect("written");
        let path = file.path().display();
        let text = format!(
            "provider: jira\nbase_url: https://jira.example.com\ntoken_file: \
             {path}\nallowed_projects: [shop]"
        );
        let connectors = open("our-jira", &text).expect("connectors");
        assert!(!format!("{connectors:?}").contains("t0p-secret"), "{connectors:?}");
        let [shop, other] = ["shop", "other"].map(|key| ProjectKey::parse(key).expect("a key"));
        assert!(connectors.find("our-jira", &shop).is_some());
        assert!(connectors.find("our-jira", &other).is_none());
        assert!(connectors.of(&other).next().is_none());
        assert_eq!(connectors.all().count(), 1);
    }
}
