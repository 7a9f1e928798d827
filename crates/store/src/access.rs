//! On whose behalf statements run, and in transactions that end whatever becomes of who asked.

use std::ops::{Deref, DerefMut};

use mc_domain::{ProjectId, UserId};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{AssertSqlSafe, Postgres, raw_sql};

use crate::Error;
use crate::audit::Chain;

/// Someone somewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
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
pub(crate) fn enter(entry: Option<Entry>) -> String {
    match entry {
        Some(Entry { principal, place: Place::Project(project) }) => {
            format!("select mc.enter('{principal}', '{project}');")
        }
        Some(Entry { principal, place: Place::Audit(chain) }) => {
            format!("select mc.enter_audit('{principal}', '{}');", chain.id())
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
pub(crate) struct Session {
    connection: Option<PoolConnection<Postgres>>,
    is_open: bool,
}

impl Session {
    /// A connection without a transaction.
    pub async fn plain(pool: &PgPool) -> Result<Self, Error> {
        Ok(Self { connection: Some(pool.acquire().await?), is_open: false })
    }

    /// A connection in a transaction that `begin` opens, in one round trip.
    pub async fn begun(pool: &PgPool, begin: String) -> Result<Self, Error> {
        let mut session = Self::plain(pool).await?;
        // Before it is sent: from here on nobody knows how far it came.
        session.is_open = true;
        raw_sql(AssertSqlSafe(begin)).execute(&mut *session).await?;
        Ok(session)
    }

    /// Commits.
    pub async fn commit(mut self) -> Result<(), Error> {
        raw_sql("commit").execute(&mut *self).await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if !self.is_open {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Closed with the process that is ending.
            drop(connection.detach());
            return;
        };
        runtime.spawn(async move {
            if raw_sql("rollback").execute(&mut *connection).await.is_err() {
                // Nothing more can be done about it.
                let _ = connection.close().await;
            }
        });
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_deref().expect("a connection until it is dropped")
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_deref_mut().expect("a connection until it is dropped")
    }
}
