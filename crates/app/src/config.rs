//! Configuration: read once, checked, and handed down as plain values.

mod jobs;

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use figment::providers::{Env, Serialized};
use figment::value::{Dict, Map};
use figment::{Figment, Metadata, Profile};
use ipnet::IpNet;
use mc_api::IngressConfig;
use mc_auth::login::ProviderConfig;
use mc_indexer::source::AllowedPrivateHost;
use serde::{Deserialize, Serialize};
use url::Url;

pub use self::jobs::Jobs;
use crate::connectors::Connectors;

/// Three to serve with (one for saves, one to write down what was recalled, one to read), and as
/// many to index and embed.
const MIN_CONNECTIONS: u32 = 6;
/// The most that are taken unasked: a server allows a hundred by default, to all its clients.
const DEFAULT_CONNECTIONS_MAX: u32 = 32;

/// Milliseconds that a request may wait for one answer of Redis.
const ANSWER_MS: RangeInclusive<u64> = 1..=5_000;

/// The annotated defaults; also the documentation of every key.
const DEFAULTS: &str = include_str!("../../../config/memory-copilot.yaml");

/// Everything that can be set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the service keeps its state.
    pub data_dir: PathBuf,
    /// Where the set-up put programs and models.
    pub cache_dir: PathBuf,
    /// The listener.
    pub server: Server,
    /// How people sign in.
    pub sign_in: SignIn,
    /// Encryption of secrets in the database.
    pub encryption: Encryption,
    /// How commands reach the service.
    pub client: Client,
    /// The database.
    pub database: Database,
    /// What nodes share beside the database.
    pub redis: Redis,
    /// The embedding model.
    pub embedding: Embedding,
    /// Repositories to index.
    pub ingest: Ingest,
    /// Other systems that may be asked what is new there.
    pub connectors: Connectors,
    /// Background jobs.
    pub jobs: Jobs,
    /// Notices to whom projects' policies name.
    pub notifications: Notifications,
    /// Logging.
    pub log: Log,
}

/// Repositories to index.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// Hosts inside the service's own network from which everybody may have them indexed.
    pub allowed_private_hosts: Vec<String>,
    /// How much of their commit history is read.
    pub history: History,
}

/// The commit history of repositories.
#[expect(clippy::struct_field_names, reason = "the names of the keys in the configuration")]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Most commits of a repository; 0 reads none.
    pub max_commits: u32,
    /// Most seconds for fetching and reading.
    pub max_seconds: u32,
    /// Most megabytes that are fetched.
    pub max_megabytes: u32,
}

/// Notices to whom projects' policies name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notifications {
    /// Whether they may go to addresses inside the service's own network, and without TLS.
    pub allow_private_networks: bool,
}

/// The listener.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The service's address as browsers reach it; empty for that of the listener.
    pub public_url: String,
    /// Names that it answers to, beside localhost and its own address.
    pub allowed_hosts: Vec<String>,
    /// Browser origins that may call it, beside its own.
    pub allowed_origins: Vec<String>,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<String>,
    /// The certificate.
    pub tls: TlsSection,
    /// How much is taken on.
    pub limits: Limits,
}

/// The certificate; both are empty or neither is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSection {
    /// PEM file of the certificate and those that lead to it.
    pub certificate: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
}

/// How much is taken on; 0 is no limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests a minute from one address.
    pub requests_per_minute_per_address: u32,
    /// Failed authentications a minute from one address, and as many logins that are begun.
    pub auth_failures_per_minute_per_address: u32,
    /// Units a minute for one caller, which is a token or a login; for all of one user four times
    /// as many.
    pub units_per_minute_per_caller: u32,
    /// Requests that run at once.
    pub max_concurrent_requests: usize,
    /// Requests to `/mcp` that are open at once.
    pub max_mcp_streams: usize,
    /// Connections that are open at once.
    pub max_connections: usize,
    /// Of these, for one address.
    pub max_connections_per_address: usize,
}

/// How commands reach the service.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Address of the service; empty for the one that `server` describes.
    pub url: String,
    /// PEM file of certificates to trust beside the system's; empty for none.
    pub ca_certificate: PathBuf,
    /// Where logins are kept; empty for the user's own configuration folder.
    pub credentials_file: PathBuf,
}

/// How people sign in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// Where people may have an account.
    pub providers: Vec<ProviderConfig>,
}

/// Encryption of secrets in the database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encryption {
    /// File with the encryption key; empty for `encryption.key` in the data directory.
    pub key_file: PathBuf,
    /// Files with the keys that it replaced.
    pub previous_key_files: Vec<PathBuf>,
}

/// The database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// Server to use; empty for the embedded one.
    pub url: String,
    /// Installation for the embedded one; empty to look for it.
    pub install_dir: PathBuf,
    /// Most connections; 0 for [`Config::max_connections`] to choose.
    pub max_connections: u32,
}

/// What nodes share beside the database.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redis {
    /// Server to use; empty for none.
    pub url: String,
    /// Milliseconds that a request waits for one answer of it.
    pub timeout_ms: u64,
}

/// The embedding model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// Which of the three providers.
    pub provider: EmbeddingProvider,
    /// Name under which vectors are kept.
    pub name: String,
    /// `local`: where the model is.
    pub dir: PathBuf,
    /// `huggingface` and `openai`: which model.
    pub model: String,
    /// `openai`: address of the server.
    pub base_url: String,
    /// `openai`: variable that holds the key.
    pub api_key_env: String,
    /// `openai`: length of the vectors, 0 to ask.
    pub dimensions: usize,
    /// The ONNX runtime library.
    pub onnxruntime_library: PathBuf,
    /// Threads for the local model, 0 for all cores.
    pub threads: usize,
}

/// Kinds of embedding provider.
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
    /// Form of the lines.
    pub format: LogFormat,
}

/// Forms of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

impl Config {
    /// Reads defaults, then the file (`--config`, or the first that exists of the usual places),
    /// then the environment; fills in the folders and checks what can be checked.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        let defaults: serde_norway::Value =
            serde_norway::from_str(DEFAULTS).expect("config/memory-copilot.yaml is valid YAML");
        let mut figment = Figment::from(Serialized::defaults(defaults));
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
        figment = figment.merge(Env::prefixed("MEMORY_COPILOT__").split("__"));
        let mut config: Self = figment.extract().map_err(|error| {
            anyhow::anyhow!(
                "the configuration is not valid: {error}. Every key is explained in \
                 config/memory-copilot.yaml"
            )
        })?;
        config.fill_in()?;
        Ok(config)
    }

    /// The defaults alone, with nothing filled in.
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
        ensure!(
            !(1..MIN_CONNECTIONS).contains(&self.database.max_connections),
            "database.max_connections is {}; the service needs {MIN_CONNECTIONS} or more, or 0 to \
             choose by the number of cores",
            self.database.max_connections
        );
        ensure!(
            ANSWER_MS.contains(&self.redis.timeout_ms),
            "redis.timeout_ms is {}; set it to {} to {} ms: every request waits so long for a \
             Redis that is slow",
            self.redis.timeout_ms,
            ANSWER_MS.start(),
            ANSWER_MS.end()
        );
        let tls = &self.server.tls;
        ensure!(
            tls.certificate.as_os_str().is_empty() == tls.key.as_os_str().is_empty(),
            "server.tls has one of certificate and key; set both, or neither"
        );
        self.server.door()?;
        self.ingest.hosts()?;
        self.ingest.history.check()?;
        self.jobs.settings()?;
        self.connectors.check()
    }

    /// Most connections to the database, those of background work among them. By default few, one
    /// for each core and one to spare, for either: the pool hands them out in turn, and each is a
    /// process whose caches are cold when its turn comes.
    pub fn max_connections(&self) -> u32 {
        if self.database.max_connections > 0 {
            return self.database.max_connections;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let connections = u32::try_from(2 * (cores + 1)).unwrap_or(u32::MAX);
        connections.clamp(MIN_CONNECTIONS, DEFAULT_CONNECTIONS_MAX)
    }

    /// The address by which browsers and other machines reach the service.
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

    /// The bearer token's file.
    pub fn token_file(&self) -> PathBuf {
        self.data_dir.join("token")
    }

    /// Where it is kept how far the audit went.
    pub fn audit_heads_file(&self) -> PathBuf {
        self.data_dir.join("audit-heads.json")
    }

    /// Where to look for PostgreSQL's programs before the system's own.
    pub fn postgres_installations(&self) -> Vec<PathBuf> {
        let configured = &self.database.install_dir;
        let configured = (!configured.as_os_str().is_empty()).then(|| configured.clone());
        configured.into_iter().chain([self.cache_dir.join("postgresql")]).collect()
    }

    /// The address by which commands reach the service.
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

    /// The certificates that commands trust beside the system's.
    pub fn ca_pem(&self) -> Result<Option<Vec<u8>>> {
        let path = &self.client.ca_certificate;
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        let pem = std::fs::read(path)
            .with_context(|| format!("client.ca_certificate {} can't be read", path.display()))?;
        Ok(Some(pem))
    }

    /// What a process that is started with a bare environment (by an editor) needs to be told to
    /// find this service: where its token is and where it listens, unless these are the defaults.
    pub fn way_to_the_service(&self) -> Vec<(String, String)> {
        let defaults: serde_norway::Value =
            serde_norway::from_str(DEFAULTS).expect("config/memory-copilot.yaml is valid YAML");
        let (listen, data_dir) = (self.server.listen.to_string(), &self.data_dir);
        let mut way = Vec::new();
        if bare_data_dir().ok().as_ref() != Some(data_dir) {
            let dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.clone());
            way.push(("MEMORY_COPILOT__DATA_DIR".to_owned(), dir.to_string_lossy().into_owned()));
        }
        let url = self.base_url();
        if url != format!("http://{listen}") {
            way.push(("MEMORY_COPILOT__CLIENT__URL".to_owned(), url));
        } else if defaults["server"]["listen"].as_str() != Some(listen.as_str()) {
            way.push(("MEMORY_COPILOT__SERVER__LISTEN".to_owned(), listen));
        }
        let ca = &self.client.ca_certificate;
        if !ca.as_os_str().is_empty() {
            let ca = std::path::absolute(ca).unwrap_or_else(|_| ca.clone());
            let variable = "MEMORY_COPILOT__CLIENT__CA_CERTIFICATE".to_owned();
            way.push((variable, ca.to_string_lossy().into_owned()));
        }
        way
    }

    /// The configuration as YAML, with secrets masked.
    pub fn masked_yaml(&self) -> Result<String> {
        let mut shown = self.clone();
        shown.database.url = masked_url(&shown.database.url);
        shown.redis.url = masked_url(&shown.redis.url);
        shown.embedding.base_url = masked_url(&shown.embedding.base_url);
        shown.client.url = masked_url(&shown.client.url);
        Ok(serde_norway::to_string(&shown)?)
    }
}

impl Redis {
    /// How long a request waits for one response of Redis.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

impl TlsSection {
    /// Whether connections are encrypted.
    pub fn is_on(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }
}

impl Ingest {
    /// The hosts, as the indexer takes them.
    pub fn hosts(&self) -> Result<Vec<AllowedPrivateHost>> {
        all("ingest.allowed_private_hosts", &self.allowed_private_hosts)
    }
}

impl History {
    /// The limits, as the indexer takes them.
    pub fn limits(&self) -> mc_indexer::history::Limits {
        mc_indexer::history::Limits {
            commits: self.max_commits as usize,
            time: Duration::from_secs(self.max_seconds.into()),
            bytes: u64::from(self.max_megabytes) << 20,
        }
    }

    fn check(&self) -> Result<()> {
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
    /// Who may come, as the service's edge takes it.
    pub fn door(&self) -> Result<IngressConfig> {
        Ok(IngressConfig {
            allowed_hosts: all("server.allowed_hosts", &self.allowed_hosts)?,
            allowed_origins: all("server.allowed_origins", &self.allowed_origins)?,
            trusted_proxies: self
                .trusted_proxies
                .iter()
                .map(|text| network(text))
                .collect::<Result<_>>()?,
            requests_per_minute_per_address: self.limits.requests_per_minute_per_address,
            auth_failures_per_minute_per_address: self.limits.auth_failures_per_minute_per_address,
        })
    }
}

/// Every text of a list as what it stands for; an error names the list.
fn all<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    key: &'static str,
    texts: &[String],
) -> Result<Vec<T>> {
    texts.iter().map(|text| text.parse::<T>().context(key)).collect()
}

/// A network, or one address as a network of its own.
fn network(text: &str) -> Result<IpNet> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).with_context(|| {
        format!("server.trusted_proxies: \"{text}\" is no network; write 10.0.0.0/8 or 192.0.2.7")
    })
}

/// A URL without what it holds of secrets: behind the user's name and in the query. One that can't
/// be read, or not for sure, is not shown at all.
fn masked_url(text: &str) -> String {
    const MASK: &str = "masked";
    const SECRETS: [&str; 4] = ["pass", "secret", "token", "key"];
    if text.is_empty() {
        return String::new();
    }
    let read = url::Url::parse(text).ok().filter(|url| !may_hide_a_user(url));
    let Some(mut url) = read else { return MASK.to_owned() };
    if url.password().is_some() {
        // Only a URL that can't have one refuses a password, and this one has.
        let _ = url.set_password(Some(MASK));
    }
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let lower = name.to_lowercase();
                let is_secret = SECRETS.iter().any(|word| lower.contains(word));
                (name.into_owned(), if is_secret { MASK.to_owned() } else { value.into_owned() })
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
    }
    url.into()
}

/// Whether user and password may stand where the parser didn't look for them: without `//` there is
/// no place for them, and of `me:2024/secret@db` it takes `me` for the host and `2024` for a port.
fn may_hide_a_user(url: &url::Url) -> bool {
    let rest = [Some(url.path()), url.query(), url.fragment()];
    url.cannot_be_a_base() || rest.into_iter().flatten().any(|part| part.contains('@'))
}

/// A configuration file; what is wrong in it is told with its name.
struct YamlFile {
    path: PathBuf,
    content: serde_norway::Value,
}

impl YamlFile {
    fn read(path: PathBuf) -> Result<Self> {
        let content = read_yaml(&path)?;
        Ok(Self { path, content })
    }
}

impl figment::Provider for YamlFile {
    fn metadata(&self) -> Metadata {
        Metadata::from("the configuration file", self.path.as_path())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Serialized::defaults(&self.content).data()
    }
}

fn usual_files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("config/memory-copilot.local.yaml")];
    files.extend(default_data_dir().ok().map(|dir| dir.join("memory-copilot.yaml")));
    files
}

fn read_yaml(path: &Path) -> Result<serde_norway::Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the configuration file {} can't be read", path.display()))?;
    let value: serde_norway::Value = serde_norway::from_str(&text)
        .with_context(|| format!("the configuration file {} is not YAML", path.display()))?;
    match value {
        serde_norway::Value::Null => Ok(serde_norway::Value::Mapping(serde_norway::Mapping::new())),
        serde_norway::Value::Mapping(_) => Ok(value),
        _ => bail!("the configuration file {} is not a mapping of sections", path.display()),
    }
}

fn default_config_dir() -> Result<PathBuf> {
    under_home("XDG_CONFIG_HOME", ".config")
}

fn default_cache_dir() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("MEMORY_COPILOT_CACHE").filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    under_home("XDG_CACHE_HOME", ".cache")
}

/// The data folder in an environment that only says where home is.
fn bare_data_dir() -> Result<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return default_data_dir();
    }
    let home = std::env::var_os("HOME").context("HOME is not set; set data_dir")?;
    Ok(PathBuf::from(home).join(".local/share/memory-copilot"))
}

fn default_data_dir() -> Result<PathBuf> {
    // PostgreSQL refuses root, and the user it runs as must reach its data: not below root's home.
    if rustix::process::geteuid().is_root() {
        return Ok("/var/lib/memory-copilot".into());
    }
    under_home("XDG_DATA_HOME", ".local/share")
}

fn under_home(variable: &str, otherwise: &str) -> Result<PathBuf> {
    let absolute = std::env::var_os(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
    if let Some(dir) = absolute {
        return Ok(dir.join("memory-copilot"));
    }
    let home = std::env::var_os("HOME").context("HOME is not set; set data_dir and cache_dir")?;
    Ok(PathBuf::from(home).join(otherwise).join("memory-copilot"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_door_can_not_use_is_refused_by_its_key() {
        let door = |change: &dyn Fn(&mut Server)| {
            let mut server = Config::defaults().server;
            change(&mut server);
            server.door().map_err(|error| format!("{error:#}"))
        };
        let fine = door(&|server| {
            server.allowed_hosts = vec!["memory.example.com:8443".into(), "[::1]".into()];
            server.allowed_origins = vec!["https://app.example.com".into()];
            server.trusted_proxies = vec!["10.0.0.0/8".into(), "2001:db8::1".into()];
        });
        assert!(fine.is_ok(), "{fine:?}");
        let refused = |key: &str, change: &dyn Fn(&mut Server)| {
            let said = door(change).expect_err(key);
            assert!(said.starts_with(key), "{said}");
        };
        let one = |text: &str| vec![text.to_owned()];
        refused("server.allowed_hosts", &|server| server.allowed_hosts = one("https://x"));
        refused("server.allowed_origins", &|server| server.allowed_origins = one("*"));
        refused("server.trusted_proxies", &|server| server.trusted_proxies = one("proxy"));
    }

    #[test]
    fn what_is_no_host_to_index_from_is_refused_by_its_key() {
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
    fn limits_of_the_history_that_leave_nothing_to_read_are_refused_with_the_way_out() {
        let mut history = Config::defaults().ingest.history;
        assert_eq!(history.limits(), mc_indexer::history::Limits::default(), "one set of defaults");
        history.max_seconds = 0;
        let said = history.check().expect_err("no time").to_string();
        assert!(said.contains("ingest.history") && said.contains("max_commits to 0"), "{said}");
        history.max_commits = 0;
        history.check().expect("history is off");
    }

    #[test]
    fn commands_go_where_the_service_is_encrypted_or_not() {
        let mut config = Config::defaults();
        assert_eq!(config.base_url(), "http://127.0.0.1:7391");
        config.server.tls.certificate = "certificate.pem".into();
        assert_eq!(config.base_url(), "https://127.0.0.1:7391");
        config.client.url = "https://memory.example.com/".into();
        assert_eq!(config.base_url(), "https://memory.example.com");
        let way = config.way_to_the_service();
        let url = ("MEMORY_COPILOT__CLIENT__URL".to_owned(), config.base_url());
        assert!(way.contains(&url), "{way:?}");
    }

    #[test]
    fn no_password_is_shown_wherever_it_stands() {
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
