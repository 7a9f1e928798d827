//! Configuration: read once, validated, and passed down as plain values.

mod aelp;
mod invalid;
mod jobs;
mod masked_url;
mod sandbox;
mod sections;
mod sources;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use figment::Figment;
use figment::providers::{Env, Serialized};
use mc_chat::ChatSettings;
use mc_coding::CodingSettings;
use mc_files::ProtectedDirectories;
use mc_privileges::{is_root, raise_privileges};
use mc_rag::RagSettings;
use serde::{Deserialize, Serialize};
use url::Url;

use self::invalid::{VARIABLE_PREFIX, VARIABLE_SEPARATOR};
use self::sources::{
    YamlFile, bare_data_dir, default_cache_dir, default_config_dir, default_data_dir, usual_files,
};
use crate::connectors::Connectors;

pub use self::aelp::Aelp;
pub use self::jobs::Jobs;
pub use self::masked_url::masked_url;
pub use self::sandbox::{Sandbox, SandboxRunner};
pub use self::sections::*;

/// Connections that the service needs: three for requests (saves, bundles of `recall`, reads), and
/// three for indexing and embedding.
const MIN_CONNECTIONS: u32 = 6;
/// Maximum that is chosen by default: a server allows 100 for all its clients.
const DEFAULT_CONNECTIONS_MAX: u32 = 32;

/// Accepted values of `redis.timeout_ms`.
const REDIS_TIMEOUT_MS: RangeInclusive<u64> = 1..=5_000;

/// Accepted values of `judge.wait_ms`: a request ends after 30 seconds.
const JUDGE_WAIT_MS: RangeInclusive<u64> = 0..=20_000;

/// The defaults, with the documentation of every key.
const DEFAULTS: &str = include_str!("../../../config/memory-copilot.yaml");

/// The configuration.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub data_dir: PathBuf,
    pub cache_dir: PathBuf,
    pub server: Server,
    pub sign_in: SignIn,
    pub encryption: Encryption,
    pub client: Client,
    pub database: Database,
    pub redis: Redis,
    pub embedding: Embedding,
    pub chat: ChatSettings,
    pub judge: Judge,
    pub aelp: Aelp,
    pub rag: RagSettings,
    pub sandbox: Sandbox,
    pub workspaces: Workspaces,
    pub coding: CodingSettings,
    pub ingest: Ingest,
    pub connectors: Connectors,
    pub jobs: Jobs,
    pub notifications: Notifications,
    pub metrics: Metrics,
    pub log: Log,
}

/// Name of the directory of downloaded models.
pub const HUB: &str = "hub";

impl Config {
    /// Reads the defaults, then the file (`--config`, or the first of the usual files that exists),
    /// then the environment. Sets the default directories and validates every section.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        let defaults: serde_norway::Value =
            serde_norway::from_str(DEFAULTS).expect("config/memory-copilot.yaml is valid YAML");
        let mut figment = Figment::from(Serialized::defaults(&defaults));
        let chosen = match file {
            Some(path) => Some(path.to_path_buf()),
            None => usual_files().into_iter().find(|path| path.exists()),
        };
        if let Some(path) = chosen {
            figment = figment.merge(YamlFile::read(path)?);
        }
        if let Some(url) = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty()) {
            figment = figment.merge(Serialized::default("database.url", url));
        }
        // MEMORY_COPILOT_CACHE has a single underscore and stands for itself.
        figment = figment.merge(Env::prefixed(VARIABLE_PREFIX).split(VARIABLE_SEPARATOR));
        let mut config: Self = figment.extract().map_err(|error| {
            anyhow::anyhow!(
                "the configuration is not valid: {}. Every key is explained in \
                 config/memory-copilot.yaml",
                invalid::describe(error, &defaults)
            )
        })?;
        config.fill_in()?;
        Ok(config)
    }

    /// Returns the defaults without their default directories.
    #[cfg(test)]
    pub fn defaults() -> Self {
        serde_norway::from_str(DEFAULTS).expect("config/memory-copilot.yaml has every key")
    }

    fn fill_in(&mut self) -> Result<()> {
        if self.cache_dir.as_os_str().is_empty() {
            self.cache_dir = default_cache_dir()?;
        }
        if self.data_dir.as_os_str().is_empty() {
            self.data_dir = default_data_dir()?;
        }
        if self.encryption.key_file.as_os_str().is_empty() {
            self.encryption.key_file = self.data_dir.join("encryption.key");
        }
        if self.client.credentials_file.as_os_str().is_empty() {
            // A service may run without a home; it signs in nowhere.
            let folder = default_config_dir().unwrap_or_else(|_| self.data_dir.clone());
            self.client.credentials_file = folder.join("credentials.json");
        }
        self.public_url()?;
        let embedding = &mut self.embedding;
        if embedding.onnxruntime_library.as_os_str().is_empty() {
            embedding.onnxruntime_library = self.cache_dir.join("onnxruntime/libonnxruntime.so");
        }
        if embedding.dir.as_os_str().is_empty() {
            embedding.dir = self.cache_dir.join("models").join(&embedding.name);
        }
        let needs_model = embedding.provider != EmbeddingProvider::Local;
        ensure!(
            !needs_model || !embedding.model.is_empty(),
            "embedding.model is empty; name the model that the provider is to use"
        );
        ensure!(
            embedding.provider != EmbeddingProvider::Openai || !embedding.base_url.is_empty(),
            "embedding.base_url is empty; set the server's address up to /v1"
        );
        let previous = &embedding.previous;
        ensure!(
            previous.api_key_env.is_empty() || !previous.base_url.is_empty(),
            "embedding.previous.base_url is empty; set it to the URL of the server whose key is in \
             {}: a key is sent to its own server only",
            previous.api_key_env
        );
        ensure!(
            !(1..MIN_CONNECTIONS).contains(&self.database.max_connections),
            "database.max_connections is {}; the service needs {MIN_CONNECTIONS} or more, or 0 to \
             choose by the number of cores",
            self.database.max_connections
        );
        ensure!(
            JUDGE_WAIT_MS.contains(&self.judge.wait_ms),
            "judge.wait_ms is {}; set it to {} to {} ms: a save waits so long for a chat model",
            self.judge.wait_ms,
            JUDGE_WAIT_MS.start(),
            JUDGE_WAIT_MS.end()
        );
        ensure!(
            REDIS_TIMEOUT_MS.contains(&self.redis.timeout_ms),
            "redis.timeout_ms is {}; set it to {} to {} ms: every request waits so long for a \
             Redis that is slow",
            self.redis.timeout_ms,
            REDIS_TIMEOUT_MS.start(),
            REDIS_TIMEOUT_MS.end()
        );
        let tls = &self.server.tls;
        ensure!(
            tls.certificate.as_os_str().is_empty() == tls.key.as_os_str().is_empty(),
            "server.tls has one of certificate and key; set both, or neither"
        );
        self.server.ingress()?;
        self.ingest.hosts()?;
        self.ingest.repository.check()?;
        self.ingest.history.check()?;
        self.aelp.settings()?;
        self.jobs.settings()?;
        self.metrics.check()?;
        self.rag.check()?;
        self.sandbox.limits()?;
        self.workspaces.check()?;
        self.coding.check()?;
        self.node_url()?;
        self.connectors.check()
    }

    /// Returns the maximum number of connections to the database, background work included. The
    /// default is low, one for each core and one to spare for requests and for background work: the
    /// pool uses all connections in turn, and each is a server process with caches of its own.
    pub fn max_connections(&self) -> u32 {
        if self.database.max_connections > 0 {
            return self.database.max_connections;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let connections = u32::try_from(2 * (cores + 1)).unwrap_or(u32::MAX);
        connections.clamp(MIN_CONNECTIONS, DEFAULT_CONNECTIONS_MAX)
    }

    /// Returns the URL of the service for browsers and other machines.
    pub fn public_url(&self) -> Result<Url> {
        let text = match self.server.public_url.as_str() {
            "" => self.base_url(),
            text => text.to_owned(),
        };
        let url = Url::parse(&text).with_context(|| format!("server.public_url: {text}"))?;
        ensure!(
            matches!(url.scheme(), "http" | "https") && url.path() == "/" && url.query().is_none(),
            "server.public_url is {text}; it must be http:// or https:// and a host, without a path"
        );
        Ok(url)
    }

    /// Returns the URL at which other nodes reach this one; empty if there is none.
    pub fn node_url(&self) -> Result<String> {
        let text = &self.server.node_url;
        if text.is_empty() {
            return Ok(String::new());
        }
        let url = Url::parse(text).with_context(|| format!("server.node_url: {text}"))?;
        ensure!(
            matches!(url.scheme(), "http" | "https")
                && url.path() == "/"
                && url.query().is_none()
                && url.username().is_empty(),
            "server.node_url is {text}; it must be http:// or https:// and a host, without a path"
        );
        Ok(url.as_str().trim_end_matches('/').to_owned())
    }

    /// Returns the file of the local bearer token.
    pub fn token_file(&self) -> PathBuf {
        self.data_dir.join("token")
    }

    /// Returns the directory of downloaded models. As root, the service works as another user,
    /// which may not use the cache of root.
    pub fn hub_dir(&self) -> PathBuf {
        let parent = if is_root() { &self.data_dir } else { &self.cache_dir };
        parent.join(HUB)
    }

    /// Returns the file of the audit's chain heads.
    pub fn audit_heads_file(&self) -> PathBuf {
        self.data_dir.join("audit-heads.json")
    }

    /// Returns the directories that are never indexed.
    pub fn protected_directories(&self) -> ProtectedDirectories {
        ProtectedDirectories::with_data_dir(&self.data_dir)
    }

    /// Returns the directories of PostgreSQL's programs to try before those of the system.
    pub fn postgres_installations(&self) -> Vec<PathBuf> {
        let configured = &self.database.install_dir;
        let configured = (!configured.as_os_str().is_empty()).then(|| configured.clone());
        configured.into_iter().chain([self.cache_dir.join("postgresql")]).collect()
    }

    /// Returns the URL of the service for commands.
    pub fn base_url(&self) -> String {
        if !self.client.url.is_empty() {
            return self.client.url.trim_end_matches('/').to_owned();
        }
        let mut address = self.server.listen;
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let scheme = if self.server.tls.is_on() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// Returns the certificates that commands trust in addition to the system's.
    pub fn ca_pem(&self) -> Result<Option<Vec<u8>>> {
        let path = &self.client.ca_certificate;
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        let _raised = raise_privileges();
        let pem = std::fs::read(path)
            .with_context(|| format!("client.ca_certificate {} can't be read", path.display()))?;
        Ok(Some(pem))
    }

    /// Returns the environment variables that a process without this one's environment, such as an
    /// editor's, needs to connect to this service. Defaults are left out.
    pub fn client_environment(&self) -> Vec<(String, String)> {
        let defaults: serde_norway::Value =
            serde_norway::from_str(DEFAULTS).expect("config/memory-copilot.yaml is valid YAML");
        let (listen, data_dir) = (self.server.listen.to_string(), &self.data_dir);
        let mut variables = Vec::new();
        if bare_data_dir().ok().as_ref() != Some(data_dir) {
            let dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.clone());
            let dir = dir.to_string_lossy().into_owned();
            variables.push(("MEMORY_COPILOT__DATA_DIR".to_owned(), dir));
        }
        let url = self.base_url();
        if url != format!("http://{listen}") {
            variables.push(("MEMORY_COPILOT__CLIENT__URL".to_owned(), url));
        } else if defaults["server"]["listen"].as_str() != Some(listen.as_str()) {
            variables.push(("MEMORY_COPILOT__SERVER__LISTEN".to_owned(), listen));
        }
        let ca = &self.client.ca_certificate;
        if !ca.as_os_str().is_empty() {
            let ca = std::path::absolute(ca).unwrap_or_else(|_| ca.clone());
            let variable = "MEMORY_COPILOT__CLIENT__CA_CERTIFICATE".to_owned();
            variables.push((variable, ca.to_string_lossy().into_owned()));
        }
        variables
    }

    /// Returns the configuration as YAML with masked secrets.
    pub fn masked_yaml(&self) -> Result<String> {
        let mut shown = self.clone();
        shown.database.url = masked_url(&shown.database.url);
        shown.redis.url = masked_url(&shown.redis.url);
        shown.embedding.base_url = masked_url(&shown.embedding.base_url);
        let previous = &mut shown.embedding.previous;
        previous.base_url = masked_url(&previous.base_url);
        shown.chat.mask_urls();
        shown.client.url = masked_url(&shown.client.url);
        Ok(serde_norway::to_string(&shown)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_ingress_setting_is_rejected_by_its_key() {
        let ingress = |change: &dyn Fn(&mut Server)| {
            let mut server = Config::defaults().server;
            change(&mut server);
            server.ingress().map_err(|error| format!("{error:#}"))
        };
        let valid = ingress(&|server| {
            server.allowed_hosts = vec!["memory.example.com:8443".into(), "[::1]".into()];
            server.allowed_origins = vec!["https://app.example.com".into()];
            server.trusted_proxies = vec!["10.0.0.0/8".into(), "2001:db8::1".into()];
        });
        assert!(valid.is_ok(), "{valid:?}");
        let rejected = |key: &str, change: &dyn Fn(&mut Server)| {
            let error = ingress(change).expect_err(key);
            assert!(error.starts_with(key), "{error}");
        };
        let one = |text: &str| vec![text.to_owned()];
        rejected("server.allowed_hosts", &|server| server.allowed_hosts = one("https://x"));
        rejected("server.allowed_origins", &|server| server.allowed_origins = one("*"));
        rejected("server.trusted_proxies", &|server| server.trusted_proxies = one("proxy"));
    }

    #[test]
    fn invalid_private_host_is_rejected_by_its_key() {
        let defaults = Config::defaults().ingest;
        let hosts = |text: &str| {
            Ingest { allowed_private_hosts: vec![text.to_owned()], ..defaults.clone() }.hosts()
        };
        assert_eq!(hosts("git.corp.example:8443").expect("a host").len(), 1);
        let said = format!("{:#}", hosts("https://git.corp.example").expect_err("a URL"));
        assert!(
            said.starts_with("ingest.allowed_private_hosts: ") && said.contains("write it as"),
            "{said}"
        );
    }

    #[test]
    fn history_limits_of_zero_are_rejected_with_a_hint() {
        let mut history = Config::defaults().ingest.history;
        assert_eq!(history.limits(), mc_git::HistoryLimits::default(), "one set of defaults");
        history.max_seconds = 0;
        let said = history.check().expect_err("no time").to_string();
        assert!(said.contains("ingest.history") && said.contains("max_commits to 0"), "{said}");
        history.max_commits = 0;
        history.check().expect("history is off");
    }

    #[test]
    fn repository_limits_of_zero_are_rejected_with_a_hint() {
        let mut repository = Config::defaults().ingest.repository;
        assert_eq!(repository.limits(), mc_git::Limits::default(), "one set");
        repository.max_files = 0;
        let said = repository.check().expect_err("no files").to_string();
        assert!(said.contains("ingest.repository") && said.contains("1 or more"), "{said}");
    }

    #[test]
    fn base_url_has_the_scheme_of_the_listener() {
        let mut config = Config::defaults();
        assert_eq!(config.base_url(), "http://127.0.0.1:7391");
        config.server.tls.certificate = "certificate.pem".into();
        assert_eq!(config.base_url(), "https://127.0.0.1:7391");
        config.client.url = "https://memory.example.com/".into();
        assert_eq!(config.base_url(), "https://memory.example.com");
        let variables = config.client_environment();
        let url = ("MEMORY_COPILOT__CLIENT__URL".to_owned(), config.base_url());
        assert!(variables.contains(&url), "{variables:?}");
    }

    #[test]
    fn masked_url_shows_no_password() {
        for (url, shown) in [
            ("postgres://me:hunter2@db:5432/x", "postgres://me:masked@db:5432/x"),
            ("rediss://:hunter2@cache:6379/1", "rediss://:masked@cache:6379/1"),
            ("postgres://db/x?user=me&password=hunter2", "postgres://db/x?user=me&password=masked"),
            ("postgres://me:hun/ter2@db/x", "masked"),
            ("postgres://me:2024/hunter2@db/x", "masked"),
            ("postgres://me:12#hunter2@db/x", "masked"),
            ("postgres://me:12?hunter2@db/x", "masked"),
            ("me:hunter2@db/x", "masked"),
            ("host=db password=hunter2", "masked"),
            ("https://llm/v1?api_key=hunter2&v=2", "https://llm/v1?api_key=masked&v=2"),
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            ("", ""),
        ] {
            assert_eq!(masked_url(url), shown, "{url}");
        }
    }
}
