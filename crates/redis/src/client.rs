//! The connection to Redis, and whether it is there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use redis::aio::ConnectionManagerConfig;
use redis::{Client, RedisError, RedisResult};

use crate::{Connection, Error};

/// How long nobody asks after a loss, and how often one looks whether Redis is there: a request pays for a loss once,
/// and a Redis that is back is in use a moment later.
const REST: Duration = Duration::from_secs(1);

/// How long it may take to connect. Nobody waits for it, and TLS takes several round trips.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);

/// How long whoever sets no time of its own waits for an answer, as apalis' scripts do.
const ANSWERS_AT_LAST: Duration = Duration::from_millis(500);

/// How long a person who asks for the version waits.
const PERSON_WAITS: Duration = Duration::from_secs(3);

/// Which Redis, and how it is used.
pub struct Settings {
    /// Its URL, which may hold a password.
    pub url: String,
    /// Names the database of the service: services with databases of their own may share one Redis.
    pub database: String,
    /// How long a request may wait for one answer.
    pub answers_within: Duration,
}

/// The Redis that nodes share; cheap to clone. It is looked after until the last clone is gone.
#[derive(Clone)]
pub struct RedisClient(Arc<Inner>);

struct Inner {
    client: Client,
    prefix: String,
    answers_within: Duration,
    link: Mutex<ConnectionState>,
}

/// What is known of Redis.
enum ConnectionState {
    /// Nothing yet.
    New,
    /// It answers in time.
    Here(Connection),
    /// It did not, the first time at this one.
    Away(Instant),
}

impl RedisClient {
    /// Begins to connect in the background, now and whenever the connection is lost; Redis need not be up. To be
    /// called within a runtime of tokio.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let inner = Arc::new(Inner {
            client: client(&settings.url)?,
            prefix: format!("mc:{}:", settings.database),
            answers_within: settings.answers_within,
            link: Mutex::new(ConnectionState::New),
        });
        tokio::spawn(watch(Arc::downgrade(&inner)));
        Ok(Self(inner))
    }

    /// The connection; `None` while Redis is away.
    pub fn connection(&self) -> Option<Connection> {
        match &*self.link() {
            ConnectionState::Here(connection) => Some(connection.clone()),
            ConnectionState::New | ConnectionState::Away(_) => None,
        }
    }

    /// Whether Redis can't be asked now.
    pub fn is_away(&self) -> bool {
        !matches!(*self.link(), ConnectionState::Here(_))
    }

    /// What all names in Redis that are this service's begin with.
    pub fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Asks, unless Redis is away. `None` where there is no answer in time, and then for a second for everybody.
    pub(crate) async fn ask<T, A>(&self, question: impl FnOnce(Connection) -> A) -> Option<T>
    where
        A: Future<Output = RedisResult<T>>,
    {
        let connection = self.connection()?;
        match within(self.0.answers_within, question(connection)).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.lose(&error);
                None
            }
        }
    }

    /// The name of something that a code stands for.
    pub(crate) fn name(&self, code: &[u8; 32]) -> String {
        format!("{}{}", self.0.prefix, hex::encode(code))
    }

    /// Looks whether Redis is there, unless it was lost just now.
    async fn look(&self) {
        if self.is_resting() {
            return;
        }
        match self.tried().await {
            Ok(connection) => self.find(connection),
            Err(error) => self.lose(&error),
        }
    }

    fn is_resting(&self) -> bool {
        matches!(*self.link(), ConnectionState::Away(since) if since.elapsed() < REST)
    }

    /// A connection that answers in time. By a write: a replica, and a Redis that is full, answer everything else.
    async fn tried(&self) -> Result<Connection, Error> {
        let connection = match self.connection() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let mut asked = connection.clone();
        let mut write = redis::cmd("SET");
        write.arg(format!("{}here", self.0.prefix)).arg(1).arg("EX").arg(REST.as_secs() * 2);
        within(self.0.answers_within, write.exec_async(&mut asked)).await?;
        Ok(connection)
    }

    /// A new connection each time: one that was refused, for a password say, is never made again by itself.
    async fn connect(&self) -> Result<Connection, Error> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECTS_WITHIN))
            .set_response_timeout(Some(self.0.answers_within.max(ANSWERS_AT_LAST)))
            .set_number_of_retries(0);
        let connecting = Connection::new_with_config(self.0.client.clone(), config);
        within(CONNECTS_WITHIN, connecting).await
    }

    fn find(&self, connection: Connection) {
        let mut link = self.link();
        if !matches!(*link, ConnectionState::Here(_)) {
            tracing::info!("redis answers; nodes share limits and the vectors of questions");
            *link = ConnectionState::Here(connection);
        }
    }

    fn lose(&self, error: &Error) {
        let mut link = self.link();
        if !matches!(*link, ConnectionState::Away(_)) {
            tracing::warn!(
                %error,
                "redis is away; each node limits by itself, and questions are embedded again"
            );
            *link = ConnectionState::Away(Instant::now());
        }
    }

    fn link(&self) -> MutexGuard<'_, ConnectionState> {
        self.0.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RedisClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.prefix();
        f.debug_struct("Shared").field("prefix", &prefix).finish_non_exhaustive()
    }
}

/// Its own errors repeat parts of the URL, so none is passed on.
fn client(url: &str) -> Result<Client, Error> {
    // For rediss://, which takes the process's. An error says that there is one already, which will do.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Client::open(url).map_err(|_repeats_the_url| Error::Url)
}

/// The version of the Redis at `url`, asked for by a connection of its own: for people, who wait longer than requests.
pub async fn version(url: &str) -> Result<String, Error> {
    let client = client(url)?;
    let told = within(PERSON_WAITS, async {
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("INFO").arg("server").query_async::<String>(&mut connection).await
    });
    let told = told.await?;
    let version = told.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}

/// Keeps looking until nobody is left who would ask.
async fn watch(inner: Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        RedisClient(inner).look().await;
        tokio::time::sleep(REST).await;
    }
}

async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, Error> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Error::Late(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_url_that_can_t_be_read_is_named_and_not_shown() {
        for url in ["redis//:hunter2@host", "redis://:hunter2@host:port", "http://hunter2@host", ""]
        {
            let settings = Settings {
                url: url.into(),
                database: "db".into(),
                answers_within: Duration::from_millis(20),
            };
            let error = RedisClient::open(&settings).expect_err(url).to_string();
            assert!(error.contains("redis.url") && !error.contains("hunter2"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_url_for_tls_is_taken_and_its_password_never_shown() {
        let settings = Settings {
            url: "rediss://:hunter2@127.0.0.1:1/".into(),
            database: "db".into(),
            answers_within: Duration::from_millis(20),
        };
        let shared = RedisClient::open(&settings).expect("a URL");
        assert!(shared.is_away() && shared.connection().is_none(), "nobody listens there");
        let error = version(&settings.url).await.expect_err("nobody listens there").to_string();
        assert!(
            !error.contains("hunter2") && !format!("{shared:?}").contains("hunter2"),
            "{error}"
        );
    }
}
