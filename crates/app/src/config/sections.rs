//! Sections of the configuration.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use mc_api::IngressConfig;
use mc_auth::login::ProviderConfig;
use mc_indexer::source::AllowedPrivateHost;
use serde::{Deserialize, Serialize};

/// Repositories to index.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// Hosts in private networks whose repositories every project may index.
    pub allowed_private_hosts: Vec<String>,
    /// Limits of the commit history.
    pub history: History,
}

/// Limits of the commit history of one repository.
#[expect(clippy::struct_field_names, reason = "the names of the keys in the configuration")]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Maximum number of commits; 0 reads none.
    pub max_commits: u32,
    /// Maximum duration of fetching and reading, in seconds.
    pub max_seconds: u32,
    /// Maximum size that is fetched, in mebibytes.
    pub max_megabytes: u32,
}

/// Notifications to the URLs in policies.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notifications {
    /// Whether private networks and plain HTTP are allowed.
    pub allow_private_networks: bool,
}

/// The listener.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// URL of the service for browsers; empty for that of the listener.
    pub public_url: String,
    /// Accepted hosts in addition to localhost and the listener's address.
    pub allowed_hosts: Vec<String>,
    /// Accepted browser origins in addition to the service's own.
    pub allowed_origins: Vec<String>,
    /// Proxies whose forwarded client address is trusted.
    pub trusted_proxies: Vec<String>,
    /// The certificate.
    pub tls: TlsSection,
    /// Limits of requests and connections.
    pub limits: Limits,
}

/// The certificate; both are empty or neither is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSection {
    /// PEM file of the certificate and its chain.
    pub certificate: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
}

/// Limits of requests and connections; 0 is no limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Maximum requests from one address in a minute.
    pub requests_per_minute_per_address: u32,
    /// Maximum failed authentications from one address in a minute, and as many started logins.
    pub auth_failures_per_minute_per_address: u32,
    /// Maximum units of one token or login session in a minute; four times as many for all of one
    /// user.
    pub units_per_minute_per_caller: u32,
    /// Maximum concurrent requests.
    pub max_concurrent_requests: usize,
    /// Maximum concurrent requests to `/mcp`.
    pub max_mcp_streams: usize,
    /// Maximum open connections.
    pub max_connections: usize,
    /// Maximum open connections of one address.
    pub max_connections_per_address: usize,
}

/// Connection of commands to the service.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// URL of the service; empty for that of `server`.
    pub url: String,
    /// PEM file of certificates to trust in addition to the system's; empty for none.
    pub ca_certificate: PathBuf,
    /// File of login sessions; empty for one in the user's configuration directory.
    pub credentials_file: PathBuf,
}

/// Sign-in with identity providers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// Identity providers.
    pub providers: Vec<ProviderConfig>,
}

/// Encryption of secrets in the database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encryption {
    /// File of the encryption key; empty for `encryption.key` in the data directory.
    pub key_file: PathBuf,
    /// Files of previous encryption keys.
    pub previous_key_files: Vec<PathBuf>,
}

/// The database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// URL of the server; empty for the embedded one.
    pub url: String,
    /// Installation directory of the embedded server; empty to search for it.
    pub install_dir: PathBuf,
    /// Maximum number of connections; 0 for the default of
    /// [`Config::max_connections`](super::Config::max_connections).
    pub max_connections: u32,
}

/// State that nodes share outside the database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redis {
    /// URL of the server; empty for none.
    pub url: String,
    /// Maximum wait of a request for one response, in milliseconds.
    pub timeout_ms: u64,
}

/// The embedding model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// Embedding provider.
    pub provider: EmbeddingProvider,
    /// Name of the model with which vectors are stored.
    pub name: String,
    /// `local`: directory of the model.
    pub dir: PathBuf,
    /// `huggingface` and `openai`: name of the model.
    pub model: String,
    /// `openai`: URL of the server.
    pub base_url: String,
    /// `openai`: environment variable of the API key.
    pub api_key_env: String,
    /// `openai`: dimensions of the vectors; 0 to request them from the server.
    pub dimensions: usize,
    /// The ONNX runtime library.
    pub onnxruntime_library: PathBuf,
    /// Threads of the local model; 0 for all cores.
    pub threads: usize,
}

/// Embedding providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingProvider {
    /// An ONNX model on disk.
    Local,
    /// A named model of the Hugging Face hub.
    Huggingface,
    /// An OpenAI-compatible server.
    Openai,
}

/// Logging.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A level or a filter.
    pub level: String,
    /// Format of the lines.
    pub format: LogFormat,
}

/// Formats of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Redis {
    /// Returns the maximum wait of a request for one response.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

impl TlsSection {
    /// Returns whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }
}

impl Ingest {
    /// Returns the allowed private hosts.
    pub fn hosts(&self) -> Result<Vec<AllowedPrivateHost>> {
        parse_all("ingest.allowed_private_hosts", &self.allowed_private_hosts)
    }
}

impl History {
    /// Returns the indexer's limits.
    pub fn limits(&self) -> mc_indexer::history::Limits {
        mc_indexer::history::Limits {
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
