//! On whose behalf statements run, and in transactions that end whatever becomes of who asked.

use std::ops::{Deref, DerefMut};

use mc_domain::{ProjectId, UserId};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, raw_sql};
use tokio::sync::OwnedMutexGuard;

use crate::Error;
use crate::audit::Chain;
use crate::pool::{Leased, Pool, take_note};

/// Someone somewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RlsContext {
    pub principal: UserId,
    pub place: Place,
}

/// Where somebody has entered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// A project.
    Project(ProjectId),
    /// An audit that is no live project's.
    Audit(Chain),
}

/// What a transaction starts with so that the policies know. Nothing can be bound there; ids are
/// hexadecimal digits and hyphens.
pub(crate) fn enter(entry: Option<RlsContext>) -> String {
    match entry {
        Some(RlsContext { principal, place: Place::Project(project) }) => {
            format!("select mc.set_project_context('{principal}', '{project}');")
        }
        Some(RlsContext { principal, place: Place::Audit(chain) }) => {
            format!("select mc.set_audit_context('{principal}', '{}');", chain.id())
        }
        None => String::new(),
    }
}

/// A connection, in a transaction or not.
///
/// Not sqlx's own transaction: one whose begin was given up half-way, or failed, goes back to the pool as
/// it is, still entered, and whoever is next to have the connection would see what it may see. Here it is
/// rolled back before anybody has it again, and closed where that fails.
#[derive(Debug)]
pub(crate) struct PooledTransaction {
    leased: Option<Leased>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a transaction.
    Open,
    /// In none, and perhaps within a statement that was given up.
    Plain,
    /// In none, and all that it was asked is answered.
    AtRest,
}

impl PooledTransaction {
    /// A connection without a transaction.
    pub async fn plain(pool: &Pool) -> Result<Self, Error> {
        Ok(Self { leased: Some(pool.take().await?), state: State::Plain })
    }

    /// A connection in a transaction that `begin` opens, in one round trip.
    pub async fn begun(pool: &Pool, begin: String) -> Result<Self, Error> {
        let mut session = Self::plain(pool).await?;
        // Before it is sent: from here on nobody knows how far it came.
        session.state = State::Open;
        raw_sql(AssertSqlSafe(begin)).execute(&mut *session).await?;
        Ok(session)
    }

    /// Commits.
    pub async fn commit(mut self) -> Result<(), Error> {
        raw_sql("commit").execute(&mut *self).await?;
        self.state = State::AtRest;
        Ok(())
    }

    /// Says that what was asked outside of a transaction is answered, so that the connection need not be looked at.
    pub fn done(mut self) {
        if self.state == State::Plain {
            self.state = State::AtRest;
        }
    }
}

impl Drop for PooledTransaction {
    fn drop(&mut self) {
        let Some(mut leased) = self.leased.take() else { return };
        match self.state {
            State::Plain => return,
            State::AtRest => return leased.give_back(),
            State::Open => {}
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Closed with the process that is ending.
            drop(leased.connection.detach());
            return;
        };
        runtime.spawn(async move {
            match raw_sql("rollback").execute(&mut *leased.connection).await {
                Ok(_) => leased.give_back(),
                Err(error) => {
                    take_note(&error);
                    // Nothing more can be done about it.
                    let _ = leased.connection.close().await;
                }
            }
        });
    }
}

impl Deref for PooledTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.leased.as_ref().expect("a connection until it is dropped").connection
    }
}

impl DerefMut for PooledTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.leased.as_mut().expect("a connection until it is dropped").connection
    }
}

/// How a statement that reads is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planning {
    /// Once for all values: what is read is named by ids, or is little.
    Once,
    /// For the values at hand: they decide how it is best looked for.
    Anew,
    /// With an HNSW index. The planner would sort what it takes for few, not knowing what has just moved. Iterative scans
    /// go on until enough has passed, or their share of the memory is full; in relaxed order, since the strict one drops
    /// what it finds late, and the statement sorts. Who asked may have given up: it must not hold its connection much
    /// longer.
    Graph,
}

impl Planning {
    /// What a transaction begins with that runs one such statement.
    pub(crate) fn alone(self) -> &'static str {
        match self {
            // PostgreSQL finds out, over the first executions, which is better.
            Self::Once | Self::Anew => "",
            Self::Graph => GRAPH,
        }
    }

    /// What a transaction goes on with after any of them.
    pub(crate) fn within(self) -> &'static str {
        match self {
            Self::Once => "set local plan_cache_mode = force_generic_plan; set local statement_timeout to default;
                 set local enable_sort to default; set local work_mem to default;",
            Self::Anew => "set local plan_cache_mode = auto; set local statement_timeout to default;
                 set local enable_sort to default; set local work_mem to default;",
            Self::Graph => GRAPH,
        }
    }
}

const GRAPH: &str =
    "set local plan_cache_mode = force_custom_plan; set local statement_timeout = '5s';
    set local enable_sort = off; set local work_mem = '64MB';
    set local hnsw.iterative_scan = relaxed_order; set local hnsw.ef_search = 400;
    set local hnsw.max_scan_tuples = 40000;";

/// A transaction that several reads share, once one of them has begun it.
#[derive(Debug, Default)]
pub(crate) struct Visit {
    pub session: Option<PooledTransaction>,
    /// What it is set to, where that is known.
    pub planning: Option<Planning>,
}

/// A connection to read with.
#[derive(Debug)]
pub(crate) enum Reading {
    /// For one read.
    Own(PooledTransaction),
    /// For those of a visit, which has begun.
    Shared(OwnedMutexGuard<Visit>),
}

impl Deref for Reading {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match self {
            Self::Own(session) => session,
            Self::Shared(visit) => visit.session.as_ref().expect("a visit that has begun"),
        }
    }
}

impl DerefMut for Reading {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match self {
            Self::Own(session) => session,
            Self::Shared(visit) => visit.session.as_mut().expect("a visit that has begun"),
        }
    }
}
