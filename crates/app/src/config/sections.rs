//! Sections of the configuration. `config/memory-copilot.yaml` documents every key.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use mc_api::{IngressConfig, MetricsAccess};
use mc_auth::login::ProviderConfig;
use mc_auth::secret::SecretHash;
use mc_git::AllowedPrivateHost;
use serde::{Deserialize, Serialize};

use crate::private_file;

/// Repositories to index.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    pub allowed_private_hosts: Vec<String>,
    pub repository: RepositoryLimits,
    pub history: History,
}

/// Limits of the copy of one repository.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryLimits {
    pub max_files: u32,
    pub max_megabytes: u32,
}

/// Limits of the commit history of one repository.
#[expect(clippy::struct_field_names, reason = "the names of the keys in the configuration")]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    pub max_commits: u32,
    pub max_seconds: u32,
    pub max_megabytes: u32,
}

/// Workspaces.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspaces {
    pub ttl_hours: u32,
    pub max_per_user: u32,
    pub max_project_megabytes: u64,
    pub fetch_timeout_seconds: u32,
    pub max_idle_minutes: u32,
}

/// Notifications to the URLs in policies.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notifications {
    pub allow_private_networks: bool,
}

/// The listener.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub listen: SocketAddr,
    pub public_url: String,
    pub node_url: String,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub trusted_proxies: Vec<String>,
    pub tls: TlsSection,
    pub mcp_toolsets: Vec<String>,
    pub limits: Limits,
}

/// The certificate; both are empty or neither is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSection {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Limits of requests and connections; 0 is no limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub requests_per_minute_per_address: u32,
    pub auth_failures_per_minute_per_address: u32,
    pub processor_seconds_per_minute_per_address: u32,
    pub units_per_minute_per_caller: u32,
    pub processor_seconds_per_minute_per_caller: u32,
    pub max_concurrent_requests: usize,
    pub max_mcp_streams: usize,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
}

/// Connection of commands to the service.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    pub url: String,
    pub ca_certificate: PathBuf,
    pub credentials_file: PathBuf,
}

/// Sign-in with identity providers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub providers: Vec<ProviderConfig>,
}

/// Encryption of secrets in the database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encryption {
    pub key_file: PathBuf,
    pub previous_key_files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    pub url: String,
    pub install_dir: PathBuf,
    pub max_connections: u32,
}

/// State that nodes share outside the database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redis {
    pub url: String,
    pub timeout_ms: u64,
}

/// The judgment of saves by a chat model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    pub wait_ms: u64,
}

/// Who may read the metrics, and their labels.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    pub access: MetricsReaders,
    pub token_env: String,
    pub token_file: PathBuf,
    pub project_labels: bool,
}

/// Who may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsReaders {
    None,
    Loopback,
    Token,
}

/// The embedding model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    pub provider: EmbeddingProvider,
    pub name: String,
    pub dir: PathBuf,
    pub model: String,
    pub base_url: String,
    pub api_key_env: String,
    pub dimensions: usize,
    pub previous: PreviousServer,
    pub onnxruntime_library: PathBuf,
    pub threads: usize,
}

/// The embedding server before the last change of the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviousServer {
    pub base_url: String,
    pub api_key_env: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingProvider {
    Local,
    Huggingface,
    Openai,
}

/// Logging.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub level: String,
    pub format: LogFormat,
}

/// Formats of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

impl Redis {
    /// Returns the maximum wait of a request for one response.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// Fewest bytes of the token of metrics. It is not guessed at the rate that the limit of failed
/// authentications allows.
const METRICS_TOKEN_MIN: usize = 16;

impl Metrics {
    pub(super) fn check(&self) -> Result<()> {
        let needs_token = self.access == MetricsReaders::Token;
        let has_one = self.token_env.is_empty() != self.token_file.as_os_str().is_empty();
        ensure!(
            !needs_token || has_one,
            "metrics.access is token; set one of metrics.token_env and metrics.token_file"
        );
        Ok(())
    }

    /// Returns who may read the metrics; reads the token.
    pub fn access(&self) -> Result<Option<MetricsAccess>> {
        Ok(match self.access {
            MetricsReaders::None => None,
            MetricsReaders::Loopback => Some(MetricsAccess::Loopback),
            MetricsReaders::Token => {
                let token = self.token()?;
                let token = token.trim();
                ensure!(
                    token.len() >= METRICS_TOKEN_MIN,
                    "the token of metrics has {} bytes; use {METRICS_TOKEN_MIN} or more, such as \
                     from `openssl rand -hex 32`",
                    token.len()
                );
                Some(MetricsAccess::Token(SecretHash::of(token.as_bytes())))
            }
        })
    }

    fn token(&self) -> Result<String> {
        if !self.token_env.is_empty() {
            let name = &self.token_env;
            return std::env::var(name).with_context(|| {
                format!("metrics.token_env names {name}, which is not set to a text; set it")
            });
        }
        let bytes = private_file::read(&self.token_file, "the token of metrics")?;
        String::from_utf8(bytes).context("the token of metrics is no UTF-8")
    }
}

/// Longest time of a fetch: its job has two hours.
const MAX_FETCH_SECONDS: u64 = 7_000;

impl TlsSection {
    /// Returns whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }
}

impl Ingest {
    pub fn hosts(&self) -> Result<Vec<AllowedPrivateHost>> {
        parse_all("ingest.allowed_private_hosts", &self.allowed_private_hosts)
    }
}

impl RepositoryLimits {
    /// Returns the indexer's limits.
    pub fn limits(&self) -> mc_git::Limits {
        mc_git::Limits { files: self.max_files.into(), bytes: u64::from(self.max_megabytes) << 20 }
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.max_files > 0 && self.max_megabytes > 0,
            "ingest.repository has max_files {} and max_megabytes {}; set both to 1 or more",
            self.max_files,
            self.max_megabytes
        );
        Ok(())
    }
}

impl Workspaces {
    pub(super) fn check(&self) -> Result<()> {
        // A command runs up to ten minutes, and its navigation must not end before it.
        let ranges = [
            ("ttl_hours", u64::from(self.ttl_hours), 1, u64::MAX),
            ("max_per_user", u64::from(self.max_per_user), 1, u64::MAX),
            ("max_project_megabytes", self.max_project_megabytes, 1, u64::MAX),
            ("max_idle_minutes", u64::from(self.max_idle_minutes), 15, u64::MAX),
            ("fetch_timeout_seconds", u64::from(self.fetch_timeout_seconds), 1, MAX_FETCH_SECONDS),
        ];
        for (name, value, min, max) in ranges {
            let most = if max == u64::MAX { "or more".to_owned() } else { format!("to {max}") };
            ensure!((min..=max).contains(&value), "workspaces.{name} is {value}; set {min} {most}");
        }
        Ok(())
    }
}

impl History {
    /// Returns the indexer's limits.
    pub fn limits(&self) -> mc_git::HistoryLimits {
        mc_git::HistoryLimits {
            commits: self.max_commits as usize,
            time: Duration::from_secs(self.max_seconds.into()),
            bytes: u64::from(self.max_megabytes) << 20,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_off = self.max_commits == 0;
        ensure!(
            is_off || (self.max_seconds > 0 && self.max_megabytes > 0),
            "ingest.history has max_seconds {} and max_megabytes {}; set both to 1 or more, or \
             max_commits to 0 to read no history",
            self.max_seconds,
            self.max_megabytes
        );
        Ok(())
    }
}

impl Server {
    /// Returns the settings of the ingress.
    pub fn ingress(&self) -> Result<IngressConfig> {
        Ok(IngressConfig {
            allowed_hosts: parse_all("server.allowed_hosts", &self.allowed_hosts)?,
            allowed_origins: parse_all("server.allowed_origins", &self.allowed_origins)?,
            trusted_proxies: self
                .trusted_proxies
                .iter()
                .map(|text| parse_network(text))
                .collect::<Result<_>>()?,
            requests_per_minute_per_address: self.limits.requests_per_minute_per_address,
            auth_failures_per_minute_per_address: self.limits.auth_failures_per_minute_per_address,
            processor_time_per_minute_per_address: Duration::from_secs(
                self.limits.processor_seconds_per_minute_per_address.into(),
            ),
        })
    }
}

/// Parses each text of a list; an error names the key of the list.
fn parse_all<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    key: &'static str,
    texts: &[String],
) -> Result<Vec<T>> {
    texts.iter().map(|text| text.parse::<T>().context(key)).collect()
}

/// Parses a network, or an address as a network of one address.
fn parse_network(text: &str) -> Result<IpNet> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).with_context(|| {
        format!(
            "server.trusted_proxies: \"{text}\" is not a network; write 10.0.0.0/8 or 192.0.2.7"
        )
    })
}
