//! The connection to Redis, and whether Redis is available.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use redis::aio::ConnectionManagerConfig;
use redis::{Client, RedisError, RedisResult};

use crate::{Connection, Error};

/// Interval of the probes, and how long no request uses Redis after a failure.
///
/// One request pays for an outage, and a Redis that recovers is in use a moment later.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Time limit of a connection attempt. It runs in the background, and TLS takes several round
/// trips.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Shortest response timeout of a connection, for callers of [`RedisClient::connection`].
const MIN_RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Time limit of [`version`], which a person waits for.
const VERSION_TIMEOUT: Duration = Duration::from_secs(3);

/// Address and use of a Redis.
pub struct Settings {
    /// URL, which may contain a password.
    pub url: String,
    /// Name of the service's database, part of every key: services may share one Redis.
    pub database: String,
    /// How long a request may wait for one response.
    pub timeout: Duration,
}

/// The Redis that nodes share; cheap to clone. Probes end when the last clone is dropped.
#[derive(Clone)]
pub struct RedisClient(Arc<Inner>);

struct Inner {
    client: Client,
    prefix: String,
    timeout: Duration,
    state: Mutex<ConnectionState>,
}

/// Result of the last probe or request.
enum ConnectionState {
    /// Not connected yet.
    New,
    /// Redis responds in time.
    Connected(Connection),
    /// Redis failed, for the first time at this instant.
    Unavailable(Instant),
}

impl RedisClient {
    /// Starts to connect in the background, now and after each loss; Redis need not run yet.
    ///
    /// Must be called within a tokio runtime.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let inner = Arc::new(Inner {
            client: client(&settings.url)?,
            prefix: format!("mc:{}:", settings.database),
            timeout: settings.timeout,
            state: Mutex::new(ConnectionState::New),
        });
        tokio::spawn(watch(Arc::downgrade(&inner)));
        Ok(Self(inner))
    }

    /// Returns the connection; `None` while Redis is unavailable.
    pub fn connection(&self) -> Option<Connection> {
        match &*self.state() {
            ConnectionState::Connected(connection) => Some(connection.clone()),
            ConnectionState::New | ConnectionState::Unavailable(_) => None,
        }
    }

    /// Returns whether requests do without Redis at present.
    pub fn is_unavailable(&self) -> bool {
        !matches!(*self.state(), ConnectionState::Connected(_))
    }

    /// Returns the prefix of all keys that this service writes.
    pub fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Runs a command, unless Redis is unavailable.
    ///
    /// Returns `None` if it fails or is late; all requests then skip Redis for [`PROBE_INTERVAL`].
    pub(crate) async fn run<T, A>(&self, command: impl FnOnce(Connection) -> A) -> Option<T>
    where
        A: Future<Output = RedisResult<T>>,
    {
        let connection = self.connection()?;
        match with_timeout(self.0.timeout, command(connection)).await {
            Ok(response) => Some(response),
            Err(error) => {
                self.set_unavailable(&error);
                None
            }
        }
    }

    /// Returns the Redis key for a derived code.
    pub(crate) fn key_name(&self, code: &[u8; 32]) -> String {
        format!("{}{}", self.0.prefix, hex::encode(code))
    }

    /// Probes Redis and updates the state, unless a request just failed.
    async fn probe(&self) {
        if self.failed_recently() {
            return;
        }
        match self.responding_connection().await {
            Ok(connection) => self.set_connected(connection),
            Err(error) => self.set_unavailable(&error),
        }
    }

    fn failed_recently(&self) -> bool {
        matches!(
            *self.state(),
            ConnectionState::Unavailable(since) if since.elapsed() < PROBE_INTERVAL
        )
    }

    /// Returns a connection that accepts a write in time: a replica and a full Redis still read.
    async fn responding_connection(&self) -> Result<Connection, Error> {
        let connection = match self.connection() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let mut probed = connection.clone();
        let mut write = redis::cmd("SET");
        let ttl_seconds = PROBE_INTERVAL.as_secs() * 2;
        write.arg(format!("{}here", self.0.prefix)).arg(1).arg("EX").arg(ttl_seconds);
        with_timeout(self.0.timeout, write.exec_async(&mut probed)).await?;
        Ok(connection)
    }

    /// Opens a new connection: one that was refused, for its password say, never reconnects itself.
    async fn connect(&self) -> Result<Connection, Error> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(self.0.timeout.max(MIN_RESPONSE_TIMEOUT)))
            .set_number_of_retries(0);
        let connecting = Connection::new_with_config(self.0.client.clone(), config);
        with_timeout(CONNECT_TIMEOUT, connecting).await
    }

    fn set_connected(&self, connection: Connection) {
        let mut state = self.state();
        if !matches!(*state, ConnectionState::Connected(_)) {
            tracing::info!("redis is available; nodes share rate limits and query vectors");
            *state = ConnectionState::Connected(connection);
        }
    }

    fn set_unavailable(&self, error: &Error) {
        let mut state = self.state();
        if !matches!(*state, ConnectionState::Unavailable(_)) {
            tracing::warn!(
                %error,
                "redis is unavailable; each node limits by itself and embeds every query"
            );
            *state = ConnectionState::Unavailable(Instant::now());
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RedisClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.prefix();
        f.debug_struct("RedisClient").field("prefix", &prefix).finish_non_exhaustive()
    }
}

/// Parses the URL. Errors of the `redis` crate repeat parts of it, so none is passed on.
fn client(url: &str) -> Result<Client, Error> {
    // rediss:// uses the process's crypto provider. An error only means that one is installed.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Client::open(url).map_err(|_repeats_the_url| Error::InvalidUrl)
}

/// Returns the version of the Redis at `url`, over a connection of its own.
pub async fn version(url: &str) -> Result<String, Error> {
    let client = client(url)?;
    let info = with_timeout(VERSION_TIMEOUT, async {
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("INFO").arg("server").query_async::<String>(&mut connection).await
    });
    let info = info.await?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}

/// Probes Redis until the last clone of the client is dropped.
async fn watch(inner: Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        RedisClient(inner).probe().await;
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
}

async fn with_timeout<T>(
    limit: Duration,
    response: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, Error> {
    match tokio::time::timeout(limit, response).await {
        Ok(response) => Ok(response?),
        Err(_elapsed) => Err(Error::Timeout(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> Settings {
        let timeout = Duration::from_millis(20);
        Settings { url: url.to_owned(), database: "db".into(), timeout }
    }

    #[tokio::test]
    async fn an_invalid_url_error_names_the_setting_and_hides_the_url() {
        for url in ["redis//:hunter2@host", "redis://:hunter2@host:port", "http://hunter2@host", ""]
        {
            let error = RedisClient::open(&settings(url)).expect_err(url).to_string();
            assert!(error.contains("redis.url") && !error.contains("hunter2"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_tls_url_is_accepted_and_its_password_is_never_shown() {
        let settings = settings("rediss://:hunter2@127.0.0.1:1/");
        let client = RedisClient::open(&settings).expect("a URL");
        assert!(client.is_unavailable() && client.connection().is_none(), "nothing listens there");
        let error = version(&settings.url).await.expect_err("nothing listens there").to_string();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(!format!("{client:?}").contains("hunter2"), "{client:?}");
    }
}
