#![doc = include_str!("../README.md")]

pub mod bundles;
pub mod citations;
pub mod dialogs;
pub mod docs;
pub mod embedded;
mod error;
pub mod feed;
pub mod files;
pub mod ingests;
mod listener;
pub mod passages;
pub mod projects;
pub mod records;
pub mod repositories;
pub mod server;
pub mod tasks;
pub mod upkeep;
pub mod vectors;
mod warm_up;

use std::time::Duration;

use mc_domain::ProjectId;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Postgres, Transaction};
use tracing::log::LevelFilter;

pub use error::Error;
pub use listener::Listener;
pub use warm_up::warm_up;

/// A connection that was in use this recently is handed out untested. The round trip would be as long
/// as many a statement; the server's restart, which cuts connections off, takes about as long as this.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// The schema's changes, in order.
static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// Each listener keeps its connection; a store has one or two.
const LISTENERS: u32 = 4;

/// Connections to one database; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    /// Connections of those that listen, who never give one back.
    listening: PgPool,
}

/// An open transaction; dropped without [`Tx::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct Tx(Transaction<'static, Postgres>);

impl Store {
    /// Connects to `url` (`postgres://user:password@host:port/database`) with at most
    /// `max_connections`, and one more for each that listens, checking that the server is new enough
    /// ([`server::check`]).
    pub async fn connect(url: &str, max_connections: u32) -> Result<Self, Error> {
        let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
        let options = options
            .application_name("memory-copilot")
            .log_slow_statements(LevelFilter::Warn, Duration::from_secs(1));
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .before_acquire(|connection, usage| {
                Box::pin(async move {
                    if usage.idle_for > TRUSTED_IDLE {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options.clone())
            .await?;
        let listening = PgPoolOptions::new().max_connections(LISTENERS).connect_lazy_with(options);
        let store = Self { pool, listening };
        server::check(&store).await?;
        Ok(store)
    }

    /// Brings the schema up to date; safe to call from several processes at once.
    pub async fn migrate(&self) -> Result<(), Error> {
        Ok(MIGRATIONS.run(&self.pool).await?)
    }

    /// Opens a transaction.
    pub async fn begin(&self) -> Result<Tx, Error> {
        Ok(Tx(self.pool.begin().await?))
    }

    /// Opens a transaction that has, until its end, the right to decide what is new in a project's
    /// memory, waiting for it: two saves of the same thing are so judged one after the other.
    pub async fn begin_in_memory(&self, project: ProjectId) -> Result<Tx, Error> {
        let key = i64::from_be_bytes(project.0.as_bytes()[8..].try_into().expect("8 of 16 bytes"));
        // One round trip. The key can't be bound in it; it is a number of our own. Plans that were
        // made while the tables were small, and scan them, would be kept when they no longer are;
        // and no plan here depends on the values, so none need be made for them each time.
        let begin = format!(
            "begin; set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan;
             select pg_advisory_xact_lock({key})"
        );
        Ok(Tx(self.pool.begin_with(AssertSqlSafe(begin)).await?))
    }

    /// Most connections, besides those that listen.
    pub fn max_connections(&self) -> usize {
        usize::try_from(self.pool.options().get_max_connections()).unwrap_or(usize::MAX)
    }

    /// Closes every connection, waiting for those in use.
    pub async fn close(&self) {
        tokio::join!(self.pool.close(), self.listening.close());
    }
}

impl Tx {
    /// Makes everything done in the transaction durable and visible.
    pub async fn commit(self) -> Result<(), Error> {
        Ok(self.0.commit().await?)
    }
}

/// Databases for tests, made from one migrated template.
pub mod testing {
    use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

    use super::{Error, Store};

    const TEMPLATE: &str = "memory_copilot_test_template";

    /// Makes a migrated, empty database called `name` on the server at `url`, and answers its URL.
    /// The first caller of a server builds the template that all are copied from.
    pub async fn create_database(url: &str, name: &str) -> Result<String, Error> {
        let mut admin = PgConnection::connect(url).await?;
        // One at a time: PostgreSQL refuses to copy a template that another session is copying.
        sqlx::query("select pg_advisory_lock(20261120)").execute(&mut admin).await?;
        let exists = sqlx::query("select 1 from pg_database where datname = $1")
            .bind(TEMPLATE)
            .fetch_optional(&mut admin)
            .await?;
        if exists.is_none() {
            let building = format!("{TEMPLATE}_building");
            run(&mut admin, &format!("drop database if exists {building}")).await?;
            run(&mut admin, &format!("create database {building}")).await?;
            let store = Store::connect(&with_database(url, &building)?, 1).await?;
            store.migrate().await?;
            store.close().await;
            run(&mut admin, &format!("alter database {building} rename to {TEMPLATE}")).await?;
        }
        run(&mut admin, &format!("create database {name} template {TEMPLATE}")).await?;
        admin.close().await?;
        with_database(url, name)
    }

    /// Removes the database, cutting off whoever still uses it.
    pub async fn drop_database(url: &str, name: &str) -> Result<(), Error> {
        let mut admin = PgConnection::connect(url).await?;
        run(&mut admin, &format!("drop database if exists {name} with (force)")).await?;
        Ok(admin.close().await?)
    }

    /// Runs a statement on the database at `url`, to bring about what would take days.
    pub async fn execute(url: &str, sql: &str) -> Result<(), Error> {
        let mut connection = PgConnection::connect(url).await?;
        run(&mut connection, sql).await?;
        Ok(connection.close().await?)
    }

    /// Makes the planner's statistics, for rows that were written a moment ago by the thousands.
    pub async fn vacuum(url: &str) -> Result<(), Error> {
        execute(url, "vacuum analyze").await
    }

    /// The one text that a query gives.
    pub async fn text(store: &Store, sql: &'static str) -> Result<String, Error> {
        Ok(sqlx::query_scalar(sql).fetch_one(&store.pool).await?)
    }

    /// A session with an open transaction, which ends when this is dropped.
    #[derive(Debug)]
    pub struct Held {
        _session: PgConnection,
    }

    /// Runs a statement in a transaction that stays open, to hold a lock.
    pub async fn hold(url: &str, sql: &str) -> Result<Held, Error> {
        let mut session = PgConnection::connect(url).await?;
        run(&mut session, "begin").await?;
        run(&mut session, sql).await?;
        Ok(Held { _session: session })
    }

    /// How many sessions of the store's database wait for a lock.
    pub async fn waiting_for_a_lock(store: &Store) -> Result<i64, Error> {
        let sql = "select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock'";
        Ok(sqlx::query_scalar(sql).fetch_one(&store.pool).await?)
    }

    async fn run(admin: &mut PgConnection, sql: &str) -> Result<(), Error> {
        sqlx::query(AssertSqlSafe(sql)).execute(admin).await?;
        Ok(())
    }

    fn with_database(url: &str, name: &str) -> Result<String, Error> {
        let mut url = url::Url::parse(url).map_err(|_| Error::BadUrl)?;
        url.set_path(name);
        Ok(url.into())
    }
}
