#![doc = include_str!("../README.md")]

pub mod accounts;
pub mod audit;
pub mod backup;
pub mod bundles;
pub mod change_feed;
pub mod ci_results;
pub mod citations;
pub mod cleanup;
pub mod consistency;
pub mod db_roles;
pub mod deletion_candidates;
pub mod dialogs;
pub mod doc_parts;
pub mod docs;
pub mod duplicates;
pub mod embedded;
mod error;
pub mod exports;
pub mod files;
pub mod history;
pub mod hygiene;
pub mod ingest_runs;
pub mod integrations;
pub mod jobs;
mod listener;
pub mod members;
pub mod passages;
pub mod policies;
mod pool;
pub mod projects;
pub mod pull_requests;
pub mod quarantine;
pub mod records;
pub mod repositories;
mod retry;
mod rls;
pub mod server_version;
pub mod sessions;
pub mod task_comments;
pub mod tasks;
pub mod ties;
pub mod uses;
pub mod vectors;
mod warm_up;
pub mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use mc_domain::{ProjectId, UserId};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, raw_sql};
use tokio::sync::Mutex;
use tracing::log::LevelFilter;
use uuid::Uuid;

use audit::{Chain, Chains, Head, PendingEvent};
pub use error::Error;
pub use listener::Listener;
use pool::Pool;
use rls::{Place, Planning, PooledTransaction, Reading, RlsContext, Visit};
pub use warm_up::warm_up;

/// The schema's changes, in order.
static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// How long a connection is waited for, one that the server refuses while it starts included.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

/// Each listener keeps its connection; a store has two or none.
const LISTENERS: u32 = 4;

/// Connections to one database; cheap to clone.
///
/// What can be done with one is a matter of the role that its connections log in as ([`logins`]): that
/// of the background sees every row; that of the service sees none of any project until somebody has
/// entered one ([`Store::enter`]).
#[derive(Debug, Clone)]
pub struct Store {
    pool: Pool,
    /// On whose behalf, and in which project.
    entry: Option<RlsContext>,
    /// A transaction that several reads share ([`Store::visit`]), once one of them has begun it.
    visit: Option<Arc<Mutex<Visit>>>,
    /// Connections of those that listen, who never give one back.
    listening: PgPool,
    chains: Chains,
    graphs: vectors::Graphs,
}

/// An open transaction; dropped without [`Tx::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct Tx(PooledTransaction, AuditTrail);

/// A part of a transaction: how many events were noted before it.
#[derive(Debug)]
#[must_use]
pub struct Part {
    noted: usize,
}

/// What a transaction leaves in the audit.
#[derive(Debug)]
struct AuditTrail {
    entry: Option<RlsContext>,
    chains: Chains,
    /// What is to be added.
    noted: Vec<PendingEvent>,
    /// The chains that were added to, and where they end now.
    appended: Vec<(Uuid, Head)>,
}

impl Store {
    /// Connects to `url` (`postgres://user:password@host:port/database`) with at most
    /// `max_connections`, and one more for each that listens; `chains` are those of the audit.
    pub async fn connect(url: &str, max_connections: u32, chains: Chains) -> Result<Self, Error> {
        let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
        let options = options
            .application_name("memory-copilot")
            .log_slow_statements(LevelFilter::Warn, Duration::from_secs(1));
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(CONNECTED_WITHIN)
            .connect_with(options.clone())
            .await?;
        let pool = Pool::over(pool, CONNECTED_WITHIN);
        let listening = PgPoolOptions::new().max_connections(LISTENERS).connect_lazy_with(options);
        let graphs = vectors::graphs();
        Ok(Self { pool, entry: None, visit: None, listening, chains, graphs })
    }

    /// The same connections on behalf of someone in a project. Each statement runs in a transaction
    /// that PostgreSQL lets see the rows of that project alone, as far as the principal's role goes at
    /// that moment; one that forgets its `where` gets no others.
    pub fn for_project(&self, principal: UserId, project: ProjectId) -> Self {
        let entry = Some(RlsContext { principal, place: Place::Project(project) });
        Self { entry, visit: None, ..self.clone() }
    }

    /// The same connections on behalf of someone who looks at an audit that is for administrators of the
    /// service: its own, or that of a project that was removed. Others, and of other projects, see none.
    pub fn for_audit(&self, principal: UserId, chain: Chain) -> Self {
        let entry = Some(RlsContext { principal, place: Place::Audit(chain) });
        Self { entry, visit: None, ..self.clone() }
    }

    /// The same for several reads that belong together and come soon one after the other: they enter once, and share
    /// a transaction and its connection, one at a time, until the last clone of this is gone. Writes have transactions
    /// of their own. Once a read has failed, so do those that follow, and once one was given up, they wait for it: go
    /// on with another visit then.
    pub fn visit(&self) -> Self {
        Self { visit: Some(Arc::default()), ..self.clone() }
    }

    /// Begins the visit, so that its first read need not.
    pub async fn arrive(&self) -> Result<(), Error> {
        match self.visit {
            Some(_) => self.read().await.map(drop),
            None => Ok(()),
        }
    }

    /// On whose behalf the store is used, if somebody has entered.
    pub fn principal(&self) -> Option<UserId> {
        self.entry.map(|entry| entry.principal)
    }

    /// The audit's chains.
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// A connection to read with, under the policies of the entry.
    async fn read(&self) -> Result<Reading, Error> {
        self.read_planned(Planning::Once).await
    }

    /// The same for a statement that is to be planned in some way.
    async fn read_planned(&self, planning: Planning) -> Result<Reading, Error> {
        let Some(visit) = &self.visit else {
            return Ok(Reading::Own(self.begin_reading(planning.alone()).await?));
        };
        let mut shared = Arc::clone(visit).lock_owned().await;
        let Visit { session, planning: set } = &mut *shared;
        // Unknown until it is done: whoever asks may give up meanwhile.
        let before = set.take();
        match session {
            Some(session) if before != Some(planning) => {
                raw_sql(planning.within()).execute(&mut **session).await?;
            }
            Some(_) => {}
            None => *session = Some(self.begin_reading(planning.within()).await?),
        }
        *set = Some(planning);
        Ok(Reading::Shared(shared))
    }

    /// A connection without a transaction, for one statement.
    async fn plain(&self) -> Result<PooledTransaction, Error> {
        PooledTransaction::plain(&self.pool).await
    }

    async fn begin_reading(&self, settings: &str) -> Result<PooledTransaction, Error> {
        if self.entry.is_none() && settings.is_empty() {
            return self.plain().await;
        }
        let begin = format!("begin read only; {settings} {}", rls::enter(self.entry));
        PooledTransaction::begun(&self.pool, begin).await
    }

    /// Opens a transaction.
    pub async fn begin(&self) -> Result<Tx, Error> {
        self.begin_with("").await
    }

    /// Opens a transaction for what is written often and always alike: its statements are planned once for all values.
    pub async fn begin_frequent(&self) -> Result<Tx, Error> {
        self.begin_with("set local plan_cache_mode = force_generic_plan").await
    }

    /// Opens a transaction and runs `statements`, which are to be of our own making, in one round trip.
    async fn begin_with(&self, statements: &str) -> Result<Tx, Error> {
        let begin = format!("begin; {} {statements}", rls::enter(self.entry));
        let (entry, chains) = (self.entry, self.chains.clone());
        let trail = AuditTrail { entry, chains, noted: Vec::new(), appended: Vec::new() };
        Ok(Tx(PooledTransaction::begun(&self.pool, begin).await?, trail))
    }

    /// Opens a transaction that has, until its end, the right to decide what is new in a project's
    /// memory, waiting for it: two saves of the same thing are so judged one after the other.
    pub async fn begin_with_memory_lock(&self, project: ProjectId) -> Result<Tx, Error> {
        let key = i64::from_be_bytes(project.0.as_bytes()[8..].try_into().expect("8 of 16 bytes"));
        // Planned once for all values, and without scans of whole tables: plans that were made while the tables were
        // small, and scan them, would be kept when they no longer are.
        self.begin_with(&format!(
            "set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan;
             select pg_advisory_xact_lock({key})"
        ))
        .await
    }

    /// Most connections, besides those that listen.
    pub fn max_connections(&self) -> usize {
        usize::try_from(self.pool.inner().options().get_max_connections()).unwrap_or(usize::MAX)
    }

    /// Closes every connection, waiting for those in use.
    pub async fn close(&self) {
        tokio::join!(self.pool.close(), self.listening.close());
    }
}

impl Tx {
    /// On whose behalf it runs; nobody's for the background.
    pub fn principal(&self) -> Option<UserId> {
        self.1.entry.map(|entry| entry.principal)
    }

    /// Begins a part of the transaction that can be undone by itself ([`Tx::undo`]), on behalf of whoever `store` is
    /// entered for. It ends with the next one, or with the transaction.
    pub async fn begin_part(&mut self, store: &Store) -> Result<Part, Error> {
        let begin = format!("savepoint part; {}", rls::enter(store.entry));
        raw_sql(AssertSqlSafe(begin)).execute(&mut *self.0).await?;
        self.1.entry = store.entry;
        Ok(Part { noted: self.1.noted.len() })
    }

    /// Undoes what was done since the part began.
    pub async fn undo(&mut self, part: Part) -> Result<(), Error> {
        raw_sql("rollback to savepoint part").execute(&mut *self.0).await?;
        self.1.noted.truncate(part.noted);
        Ok(())
    }

    /// Makes everything done in the transaction durable and visible, and what it noted in the audit with it.
    pub async fn commit(mut self) -> Result<(), Error> {
        audit::write(&mut self).await?;
        let Self(session, trail) = self;
        session.commit().await?;
        for (chain, head) in trail.appended {
            trail.chains.advance(chain, head);
        }
        Ok(())
    }
}

/// Databases for tests, made from one migrated template.
pub mod testing {
    use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

    use super::{Error, Store};
    use crate::audit::Chains;
    use crate::db_roles::{self, DbRoles};

    /// Chains of keys that nobody else has, for a test.
    pub fn chains() -> Chains {
        let sealer = mc_crypto::Encryptor::new(mc_crypto::EncryptionKey::generate(), Vec::new());
        Chains::new(mc_crypto::AuditMacKeys::derive(&sealer), std::collections::HashMap::new())
    }

    const TEMPLATE: &str = "memory_copilot_test_template";
    /// The throw-away server's roles that log in, the same for all its databases.
    const LOGINS: [(&str, &str); 2] =
        [("test_service", "memory_copilot_service"), ("test_worker", "memory_copilot_worker")];

    /// Makes a migrated, empty database called `name` on the server at `url`, and answers its URL for
    /// the superuser, and those for the service. The first caller of a server builds the template that
    /// all are copied from.
    pub async fn create_database(url: &str, name: &str) -> Result<(String, DbRoles), Error> {
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
            db_roles::prepare(&with_database(url, &building)?).await?;
            for (role, group) in LOGINS {
                run(&mut admin, &format!("create role {role} login password '{role}'")).await?;
                run(&mut admin, &format!("grant {group} to {role}")).await?;
            }
            run(&mut admin, &format!("alter database {building} rename to {TEMPLATE}")).await?;
        }
        run(&mut admin, &format!("create database {name} template {TEMPLATE}")).await?;
        admin.close().await?;
        let url = with_database(url, name)?;
        let [service, worker] = LOGINS.map(|(role, _)| logged_in(&url, role));
        let logins = DbRoles { service: service?, worker: worker? };
        Ok((url, logins))
    }

    /// A test's own role in place of the superuser.
    fn logged_in(url: &str, role: &str) -> Result<String, Error> {
        let mut url = url::Url::parse(url).map_err(|_| Error::BadUrl)?;
        let changed = url.set_username(role).and_then(|()| url.set_password(Some(role)));
        changed.map_err(|()| Error::BadUrl)?;
        Ok(url.into())
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

    /// Runs a statement as the store's role, on behalf of whom the store was entered for; answers how
    /// many rows it wrote.
    pub async fn write(store: &Store, sql: &str) -> Result<u64, Error> {
        let mut tx = store.begin().await?;
        let done = sqlx::query(AssertSqlSafe(sql)).execute(&mut *tx.0).await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }

    /// The one text that a query gives, as the store's role, on behalf of whom the store was entered
    /// for.
    pub async fn text(store: &Store, sql: &str) -> Result<String, Error> {
        Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *store.read().await?).await?)
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
        Ok(sqlx::query_scalar(sql).fetch_one(&mut *store.read().await?).await?)
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
