#![doc = include_str!("../README.md")]

pub mod audit;
mod auth;
mod coding;
pub mod disk;
mod error;
mod ingest;
pub mod jobs;
mod listener;
mod maintenance;
mod memory;
pub mod policies;
mod pool;
mod project_lock;
pub mod projects;
mod providers;
pub mod quarantine;
mod rls;
mod row;
mod search;
pub mod server;
#[cfg(feature = "testing")]
pub mod testing;
mod warm_up;

use std::sync::Arc;
use std::time::Duration;

use mc_crypto::Head;
use mc_domain::{ProjectId, UserId};
use mc_postgres::CONNECT_TIMEOUT;
use mc_postgres::context_key::ContextKey;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPool, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{ConnectOptions, Postgres, raw_sql};
use tokio::sync::Mutex;
use tracing::log::LevelFilter;
use uuid::Uuid;

use audit::{Chain, Chains, PendingEvent};
use pool::{Pool, PooledConnection};
use rls::{
    Planning, PooledTransaction, ProvenContext, Reading, RlsContext, RlsTarget, SharedReads,
};

pub use auth::{accounts, invitations, members, sessions};
pub use coding::patches;
pub use error::{Error, Result, from_json};
pub use ingest::{docs, files, ingest_runs, navigations, nodes, repositories, workspaces};
pub use listener::Listener;
pub use maintenance::{cleanup, consistency, exports, hygiene};
pub use memory::{
    bundles, chat_requests, citations, dialogs, duplicates, figures, prompts, records, sgr_schemas,
    ties, usage, uses,
};
pub use providers::{
    ci_results, deletion_candidates, doc_parts, integrations, pull_requests, task_comments, tasks,
    webhooks,
};
pub use search::{change_feed, history, neighbors, passages, searchable, vectors};
pub use warm_up::warm_up;

/// Most listening connections; a store has none or two.
const LISTENERS: u32 = 4;

/// Connections to one database; cheap to clone.
///
/// The database role of the connections decides what they may do ([`mc_postgres::db_roles`]): the
/// worker role sees all rows, the service role sees no rows of projects before
/// [`Store::for_project`].
#[derive(Debug, Clone)]
pub struct Store {
    pool: Pool,
    /// The principal and project that row-level security applies.
    context: Option<RlsContext>,
    /// Proves the context to the database.
    context_key: Arc<ContextKey>,
    /// A transaction that several reads share ([`Store::share_reads`]), once one of them has
    /// started it.
    shared_reads: Option<Arc<Mutex<SharedReads>>>,
    /// Connections of listeners, which never return them.
    listening: PgPool,
    chains: Chains,
    hnsw_cache: vectors::HnswSources,
}

/// An open transaction; dropped without [`Tx::commit`], it is rolled back.
#[derive(Debug)]
pub struct Tx(PooledTransaction, AuditTrail, Arc<ContextKey>);

/// A savepoint of a transaction: the number of audit events recorded before it.
#[derive(Debug)]
#[must_use]
pub struct Savepoint {
    events: usize,
}

/// What a write did that creates or updates a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upserted {
    /// The row is new.
    Created,
    /// The row has changed.
    Updated,
    /// The row is as it was.
    Unchanged,
}

impl Upserted {
    /// Returns the word for it in responses and in the audit.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A statement of `sqlx::query!` that returns no rows.
type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// The audit events of a transaction.
#[derive(Debug)]
struct AuditTrail {
    context: Option<RlsContext>,
    chains: Chains,
    /// Events to append.
    events: Vec<PendingEvent>,
    /// Chains that events were appended to, with their new heads.
    appended: Vec<(Uuid, Head)>,
}

impl Store {
    /// Connects to `url` (`postgres://user:password@host:port/database`) with at most
    /// `max_connections`, and one more for each listener.
    pub async fn connect(url: &str, max_connections: u32, chains: Chains) -> Result<Self> {
        let options: PgConnectOptions = url.parse().map_err(|_| mc_postgres::Error::BadUrl)?;
        let context_key = Arc::new(ContextKey::of_login(url)?);
        let options = options
            .application_name("memory-copilot")
            .log_slow_statements(LevelFilter::Warn, Duration::from_secs(1));
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(CONNECT_TIMEOUT)
            .connect_with(options.clone())
            .await?;
        let pool = Pool::over(pool, CONNECT_TIMEOUT);
        let listening = PgPoolOptions::new().max_connections(LISTENERS).connect_lazy_with(options);
        let hnsw_cache = vectors::hnsw_cache();
        Ok(Self {
            pool,
            context: None,
            context_key,
            shared_reads: None,
            listening,
            chains,
            hnsw_cache,
        })
    }

    /// Returns the store acting for a principal in a project. Each statement runs in a transaction
    /// in which row-level security shows the rows of that project alone, as far as the principal's
    /// present role allows, even if its `where` clause forgets the project.
    pub fn for_project(&self, principal: UserId, project: ProjectId) -> Self {
        let context = Some(RlsContext { principal, target: RlsTarget::Project(project) });
        Self { context, shared_reads: None, ..self.clone() }
    }

    /// Returns the store acting for a service administrator who reads an audit chain: that of the
    /// service, or that of a deleted project. Other principals see no rows.
    pub fn for_audit(&self, principal: UserId, chain: Chain) -> Self {
        let context = Some(RlsContext { principal, target: RlsTarget::Audit(chain) });
        Self { context, shared_reads: None, ..self.clone() }
    }

    /// Returns the store acting for a principal outside of projects. It can list the principal's
    /// projects, find the project of a row, and create projects. The policies hide all rows.
    pub fn for_user(&self, principal: UserId) -> Self {
        let context = Some(RlsContext { principal, target: RlsTarget::User });
        Self { context, shared_reads: None, ..self.clone() }
    }

    /// Returns the store with one shared transaction for several reads that follow each other
    /// closely. They take turns on its connection until the last clone is dropped; writes have
    /// transactions of their own. After a failed read all later ones fail, and after a cancelled
    /// one they wait for it: call this method again then.
    pub fn share_reads(&self) -> Self {
        Self { shared_reads: Some(Arc::default()), ..self.clone() }
    }

    /// Returns the store with another shared transaction, for which a free connection is reserved;
    /// `None` if none is free. A caller that has a connection must not wait for another: if all
    /// callers had one, each would wait.
    pub fn share_reads_if_free(&self) -> Option<Self> {
        let reads =
            SharedReads { reservation: Some(self.pool.reserve()?), ..SharedReads::default() };
        Some(Self { shared_reads: Some(Arc::new(Mutex::new(reads))), ..self.clone() })
    }

    /// Starts the shared transaction, so that its first read need not.
    pub async fn start_shared_reads(&self) -> Result<()> {
        match self.shared_reads {
            Some(_) => self.read().await.map(drop),
            None => Ok(()),
        }
    }

    /// Returns the principal that the store acts for, if any.
    pub fn principal(&self) -> Option<UserId> {
        self.context.map(|context| context.principal)
    }

    fn proven_context(&self) -> Option<ProvenContext<'_>> {
        self.context.map(|context| ProvenContext { context, key: &self.context_key })
    }

    /// Returns the audit chains.
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// Returns a connection for a read, under row-level security.
    async fn read(&self) -> Result<Reading> {
        self.read_planned(Planning::Once).await
    }

    /// Returns a connection for a read with a given kind of planning.
    async fn read_planned(&self, planning: Planning) -> Result<Reading> {
        let Some(shared) = &self.shared_reads else {
            let (connection, settings) = (self.pool.take().await?, planning.alone());
            if self.context.is_none() && settings.is_empty() {
                return Ok(Reading::Own(PooledTransaction::plain(connection)));
            }
            return Ok(Reading::Own(self.begin_reading(connection, settings).await?));
        };
        let mut shared = Arc::clone(shared).lock_owned().await;
        let SharedReads { reservation, session, planning: set } = &mut *shared;
        // Unknown until the statement is done: the caller may be cancelled meanwhile.
        let before = set.take();
        match session {
            Some(session) if before != Some(planning) => {
                raw_sql(planning.within()).execute(&mut **session).await?;
            }
            Some(_) => {}
            None => {
                let connection = match reservation.take() {
                    Some(reservation) => self.pool.take_reserved(reservation).await?,
                    None => self.pool.take().await?,
                };
                *session = Some(self.begin_reading(connection, planning.within()).await?);
            }
        }
        *set = Some(planning);
        Ok(Reading::Shared(shared))
    }

    /// Returns a connection without a transaction, for one statement.
    async fn plain(&self) -> Result<PooledTransaction> {
        Ok(PooledTransaction::plain(self.pool.take().await?))
    }

    async fn begin_reading(
        &self,
        connection: PooledConnection,
        settings: &str,
    ) -> Result<PooledTransaction> {
        let begin = format!("begin read only; {settings}");
        PooledTransaction::begin(connection, &begin, self.proven_context()).await
    }

    /// Starts a transaction.
    pub async fn begin(&self) -> Result<Tx> {
        self.begin_with("").await
    }

    /// Starts a transaction for frequent writes of one shape: its statements use generic plans.
    pub async fn begin_frequent(&self) -> Result<Tx> {
        self.begin_with("set local plan_cache_mode = force_generic_plan;").await
    }

    /// Starts a transaction and runs `statements`, never made of input and each with its semicolon,
    /// in one round trip.
    async fn begin_with(&self, statements: &str) -> Result<Tx> {
        let begin = format!("begin; {statements}");
        let (context, chains) = (self.context, self.chains.clone());
        let trail = AuditTrail { context, chains, events: Vec::new(), appended: Vec::new() };
        let connection = self.pool.take().await?;
        let session = PooledTransaction::begin(connection, &begin, self.proven_context()).await?;
        Ok(Tx(session, trail, Arc::clone(&self.context_key)))
    }

    /// Starts a transaction with the lock on a project's memory, so that concurrent saves of the
    /// same text are judged one after the other.
    pub async fn begin_with_memory_lock(&self, project: ProjectId) -> Result<Tx> {
        let key = i64::from_be_bytes(project.0.as_bytes()[8..].try_into().expect("8 of 16 bytes"));
        // Generic plans without scans of whole tables: plans made while the tables are small would
        // scan them, and would be kept when they are large.
        self.begin_with(&format!(
            "set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan;
             select pg_advisory_xact_lock({key});"
        ))
        .await
    }

    /// Returns the most connections, without those of listeners.
    pub fn max_connections(&self) -> usize {
        usize::try_from(self.pool.inner().options().get_max_connections()).unwrap_or(usize::MAX)
    }

    /// Returns the numbers of open connections and of those in use, without those of listeners.
    pub fn connection_counts(&self) -> (usize, usize) {
        self.pool.counts()
    }

    /// Closes all connections, waiting for those in use.
    pub async fn close(&self) {
        tokio::join!(self.pool.close(), self.listening.close());
    }
}

impl Tx {
    /// Returns the principal that the transaction acts for; `None` for the background.
    pub fn principal(&self) -> Option<UserId> {
        self.1.context.map(|context| context.principal)
    }

    /// Calls a function of the schema `mc`, for the principal, with the code that proves to the
    /// database that the service calls it. Returns the row of the result.
    pub(crate) async fn call_proven(&mut self, function: &str, target: Uuid) -> Result<PgRow> {
        let principal = self.principal().unwrap_or(UserId(Uuid::nil()));
        self.0.call_proven(&self.2, function, principal, target).await
    }

    /// Starts a part of the transaction that [`Tx::rollback_to`] can roll back, acting for the
    /// principal of `store`. It ends with the next part, or with the transaction.
    pub async fn savepoint(&mut self, store: &Store) -> Result<Savepoint> {
        self.0.set_context("savepoint part;", store.proven_context()).await?;
        self.1.context = store.context;
        Ok(Savepoint { events: self.1.events.len() })
    }

    /// Rolls back to the start of the part.
    pub async fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        raw_sql("rollback to savepoint part").execute(&mut *self.0).await?;
        self.1.events.truncate(savepoint.events);
        Ok(())
    }

    async fn run(&mut self, query: Statement<'_>) -> Result<()> {
        self.count_changed(query).await?;
        Ok(())
    }

    /// Runs a statement; returns whether it changed any row.
    async fn has_changed(&mut self, query: Statement<'_>) -> Result<bool> {
        Ok(self.count_changed(query).await? > 0)
    }

    /// Runs a statement; returns the number of rows that it changed.
    async fn count_changed(&mut self, query: Statement<'_>) -> Result<u64> {
        Ok(query.execute(&mut *self.0).await?.rows_affected())
    }

    /// Appends the recorded audit events and commits.
    pub async fn commit(mut self) -> Result<()> {
        audit::write(&mut self).await?;
        let Self(session, trail, _) = self;
        session.commit().await?;
        for (chain, head) in trail.appended {
            trail.chains.advance(chain, head);
        }
        Ok(())
    }
}
