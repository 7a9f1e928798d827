//! Row-level security context and planning of transactions.

use std::ops::{Deref, DerefMut};

use mc_domain::{ProjectId, UserId};
use mc_postgres::context_key::ContextKey;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, raw_sql};
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use crate::Result;
use crate::audit::Chain;
use crate::pool::{PooledConnection, Reservation, take_note};
use crate::vectors::ScanWidth;

/// The principal that a transaction acts for, and the rows that row-level security shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RlsContext {
    pub principal: UserId,
    pub target: RlsTarget,
}

/// The rows that a principal acts on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RlsTarget {
    Project(ProjectId),
    /// An audit chain without a live project.
    Audit(Chain),
    /// No rows. Functions list the principal's projects, find the project of a row, and create a
    /// project.
    User,
}

/// An RLS context, and the key with which the service proves to PostgreSQL that it sets it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProvenContext<'a> {
    pub context: RlsContext,
    pub key: &'a ContextKey,
}

impl ProvenContext<'_> {
    /// Returns the message that runs `statements`, never made of input, and then sets the context.
    /// It can't bind parameters; ids are hexadecimal digits and hyphens. Other sessions of the
    /// service can read it, so its code is valid for this message in this session only.
    fn message(&self, statements: &str, backend_pid: i32) -> String {
        let RlsContext { principal, target } = self.context;
        let (function, target) = match target {
            RlsTarget::Project(project) => ("set_project_context", project.0),
            RlsTarget::Audit(chain) => ("set_audit_context", chain.id()),
            RlsTarget::User => ("set_user_context", Uuid::nil()),
        };
        proven_call(self.key, backend_pid, statements, &ProvenCall { function, principal, target })
    }
}

/// A call of a function that verifies a code of the service.
struct ProvenCall<'a> {
    /// The function, in the schema `mc`.
    function: &'a str,
    principal: UserId,
    /// The project, audit chain or row that the call is about.
    target: Uuid,
}

/// Returns the message that runs `statements`, never made of input, and then the call.
fn proven_call(
    key: &ContextKey,
    backend_pid: i32,
    statements: &str,
    call: &ProvenCall<'_>,
) -> String {
    let ProvenCall { function, principal, target } = call;
    let before_code = format!("{statements} select mc.{function}('{principal}', '{target}', '");
    let code = key.code(backend_pid, &before_code);
    format!("{before_code}{code}')")
}

/// A connection, with or without a transaction.
///
/// sqlx's own transaction returns its connection unchanged if its `begin` was cancelled or failed:
/// the next user would still have its context and see its rows. This type rolls back first, and
/// closes the connection if that fails.
#[derive(Debug)]
pub(crate) struct PooledTransaction {
    connection: Option<PooledConnection>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a transaction.
    Open,
    /// Without a transaction; a cancelled statement may still run.
    Plain,
    /// Without a transaction, and all statements are completed.
    Idle,
}

impl PooledTransaction {
    /// Returns a connection without a transaction.
    pub fn plain(connection: PooledConnection) -> Self {
        Self { connection: Some(connection), state: State::Plain }
    }

    /// Returns a connection in a transaction that `begin` starts, in one round trip. Then the
    /// context is set.
    pub async fn begin(
        connection: PooledConnection,
        begin: &str,
        context: Option<ProvenContext<'_>>,
    ) -> Result<Self> {
        let mut session = Self::plain(connection);
        let message = session.message(begin, context).await?;
        // Before it is sent: if this is cancelled, the transaction may have started.
        session.state = State::Open;
        raw_sql(AssertSqlSafe(message)).execute(&mut *session).await?;
        Ok(session)
    }

    /// Runs statements, each with its semicolon, and sets the context, in one round trip.
    pub async fn set_context(
        &mut self,
        statements: &str,
        context: Option<ProvenContext<'_>>,
    ) -> Result<()> {
        let message = self.message(statements, context).await?;
        raw_sql(AssertSqlSafe(message)).execute(&mut **self).await?;
        Ok(())
    }

    async fn message(
        &mut self,
        statements: &str,
        context: Option<ProvenContext<'_>>,
    ) -> Result<String> {
        let Some(context) = context else { return Ok(statements.to_owned()) };
        Ok(context.message(statements, self.backend_pid().await?))
    }

    /// Returns the process id of the server's session.
    pub async fn backend_pid(&mut self) -> Result<i32> {
        let connection = self.connection.as_mut().expect("a connection until it is dropped");
        connection.backend_pid().await
    }

    /// Calls a function of the schema `mc` that verifies a code of the service, and returns the row
    /// of its result.
    pub async fn call_proven(
        &mut self,
        key: &ContextKey,
        function: &str,
        principal: UserId,
        target: Uuid,
    ) -> Result<PgRow> {
        let backend_pid = self.backend_pid().await?;
        let call = ProvenCall { function, principal, target };
        // A message of two statements: SQL that is injected into one can't repeat it.
        let message = proven_call(key, backend_pid, "select 1;", &call);
        let mut rows = raw_sql(AssertSqlSafe(message)).fetch_all(&mut **self).await?;
        Ok(rows.pop().ok_or(sqlx::Error::RowNotFound)?)
    }

    /// Commits, and returns the connection to the pool.
    pub async fn commit(mut self) -> Result<()> {
        raw_sql("commit").execute(&mut *self).await?;
        self.state = State::Idle;
        Ok(())
    }

    /// Marks a statement outside a transaction as completed, so that the connection need not be
    /// tested.
    pub fn done(mut self) {
        if self.state == State::Plain {
            self.state = State::Idle;
        }
    }
}

impl Drop for PooledTransaction {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        match self.state {
            State::Plain => return,
            State::Idle => return connection.release(),
            State::Open => {}
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Closed with the ending process.
            drop(connection.connection.detach());
            return;
        };
        runtime.spawn(async move {
            match raw_sql("rollback").execute(&mut *connection.connection).await {
                Ok(_) => connection.release(),
                Err(error) => {
                    take_note(&error);
                    // The connection is broken; there is nothing left to do.
                    let _ = connection.connection.close().await;
                }
            }
        });
    }
}

impl Deref for PooledTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection.as_ref().expect("a connection until it is dropped").connection
    }
}

impl DerefMut for PooledTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection.as_mut().expect("a connection until it is dropped").connection
    }
}

macro_rules! without_hnsw {
    ($plan:literal) => {
        concat!(
            "set local plan_cache_mode = ",
            $plan,
            "; set local statement_timeout to default; set local enable_sort to default;
             set local work_mem to default;"
        )
    };
}

macro_rules! with_hnsw {
    ($ef_search:literal) => {
        concat!(
            "set local plan_cache_mode = force_custom_plan; set local statement_timeout = '5s';
             set local enable_sort = off; set local work_mem = '64MB';
             set local hnsw.iterative_scan = relaxed_order; set local hnsw.ef_search = ",
            $ef_search,
            "; set local hnsw.max_scan_tuples = 40000;"
        )
    };
}

/// How a read is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planning {
    /// With one plan for all values: the rows are identified by ids, or are few.
    Once,
    /// For the given values, which decide the best plan: a plan for all projects would read all
    /// rows if one project has most of them.
    EachTime,
    /// With an HNSW index. The planner underestimates rows that were just moved and would sort them
    /// instead. Iterative scans continue until enough rows pass or `work_mem` is used up. Relaxed
    /// order, because strict order drops rows that are found late; the statement sorts. A timeout
    /// frees the connection if the caller no longer waits.
    Hnsw(ScanWidth),
}

impl Planning {
    /// Returns the settings of a transaction with one such statement.
    pub(crate) fn alone(self) -> &'static str {
        match self {
            // PostgreSQL compares both plans in the first executions.
            Self::Once => "",
            Self::EachTime => "set local plan_cache_mode = force_custom_plan;",
            Self::Hnsw(_) => self.within(),
        }
    }

    /// Returns the settings that follow those of any other kind in a shared transaction.
    pub(crate) fn within(self) -> &'static str {
        match self {
            Self::Once => without_hnsw!("force_generic_plan"),
            Self::EachTime => without_hnsw!("force_custom_plan"),
            Self::Hnsw(ScanWidth::Narrow) => with_hnsw!("200"),
            Self::Hnsw(ScanWidth::Wide) => with_hnsw!("400"),
        }
    }
}

/// A transaction that several reads share, once one of them has started it.
#[derive(Debug, Default)]
pub(crate) struct SharedReads {
    /// The connection for it, if one is reserved.
    pub reservation: Option<Reservation>,
    pub session: Option<PooledTransaction>,
    /// The planning that is set, if known.
    pub planning: Option<Planning>,
}

/// A connection for a read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// For one read.
    Own(PooledTransaction),
    /// For the reads of a shared transaction that has started.
    Shared(OwnedMutexGuard<SharedReads>),
}

impl Deref for Reading {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match self {
            Self::Own(session) => session,
            Self::Shared(shared) => shared.session.as_ref().expect("a started transaction"),
        }
    }
}

impl DerefMut for Reading {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Own(session) => session,
            Self::Shared(shared) => shared.session.as_mut().expect("a started transaction"),
        }
    }
}
