//! A pool that hands out the last used connection first, without a test.
//!
//! sqlx's own pool pings the server whenever a connection is returned, and hands out connections in
//! turn. A request runs several short statements: that is one round trip for each of them, on
//! server processes with cold caches. Here a connection that is known to be idle is kept as it is;
//! one whose statement may have been cancelled is returned to sqlx, which checks it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPool;
use sqlx::{Connection as _, Postgres};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::Result;

/// A connection used within this time is handed out untested: the round trip would take as long as
/// a statement. A restart of the server, which ends connections, takes about this long.
const UNTESTED_IDLE: Duration = Duration::from_secs(1);

/// When a connection was last cut off. It is common to all pools: they have one server, and errors
/// are noted where the pool is unknown.
static CUT_OFF: Mutex<Option<Instant>> = Mutex::new(None);

/// Age after which a connection is returned to sqlx, which replaces old ones.
const MAX_AGE: Duration = Duration::from_mins(10);

/// Connections to one database; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// Opens and closes connections. They are taken through `Pool` alone, or sqlx would hand out
    /// those that are kept here.
    inner: PgPool,
    /// One permit for each connection.
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Idle>>,
    wait: Duration,
}

/// The right to one connection.
#[derive(Debug)]
pub(crate) struct Reservation(OwnedSemaphorePermit);

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<IdleConnection>,
    is_closed: bool,
}

#[derive(Debug)]
struct IdleConnection {
    connection: PoolConnection<Postgres>,
    backend_pid: Option<i32>,
    acquired_at: Instant,
    since: Instant,
}

impl Drop for Idle {
    fn drop(&mut self) {
        if Handle::try_current().is_ok() {
            return;
        }
        // sqlx would need a runtime to take them back; they are closed with the ending process.
        for idle in self.connections.drain(..) {
            drop(idle.connection.detach());
        }
    }
}

/// A connection in use. On drop it returns to sqlx.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    pub connection: PoolConnection<Postgres>,
    /// The process id of the server's session, once it is known.
    backend_pid: Option<i32>,
    /// When it was taken from sqlx.
    acquired_at: Instant,
    idle: Arc<Mutex<Idle>>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// Returns a pool over the connections of `inner`; `wait` is the timeout of [`Pool::take`].
    pub(crate) fn over(inner: PgPool, wait: Duration) -> Self {
        let permits = usize::try_from(inner.options().get_max_connections()).unwrap_or(usize::MAX);
        let permits = Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self { inner, permits, idle: Arc::default(), wait }
    }

    /// Returns the pool that opens the connections.
    pub(crate) fn inner(&self) -> &PgPool {
        &self.inner
    }

    /// Returns the numbers of open connections and of those in use.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let open = usize::try_from(self.inner.size()).unwrap_or(usize::MAX);
        let idle = self.inner.num_idle() + lock(&self.idle).connections.len();
        (open, open.saturating_sub(idle))
    }

    /// Reserves a connection, if one is free.
    pub(crate) fn reserve(&self) -> Option<Reservation> {
        Arc::clone(&self.permits).try_acquire_owned().ok().map(Reservation)
    }

    /// Returns a connection as soon as one is free.
    pub(crate) async fn take(&self) -> Result<PooledConnection> {
        let permit = timeout(self.wait, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        self.take_reserved(Reservation(permit)).await
    }

    /// Returns the reserved connection.
    pub(crate) async fn take_reserved(
        &self,
        Reservation(permit): Reservation,
    ) -> Result<PooledConnection> {
        let idle = Arc::clone(&self.idle);
        while let Some(mut last) = self.last() {
            if is_trusted(last.since)
                || matches!(timeout(self.wait, last.connection.ping()).await, Ok(Ok(())))
            {
                let IdleConnection { connection, backend_pid, acquired_at, .. } = last;
                return Ok(PooledConnection {
                    connection,
                    backend_pid,
                    acquired_at,
                    idle,
                    _permit: permit,
                });
            }
            // Broken, or the server is gone: sqlx would test it once more.
            drop(last.connection.detach());
        }
        Ok(PooledConnection {
            connection: self.inner.acquire().await?,
            backend_pid: None,
            acquired_at: Instant::now(),
            idle,
            _permit: permit,
        })
    }

    fn last(&self) -> Option<IdleConnection> {
        lock(&self.idle).connections.pop()
    }

    /// Closes all connections, each once it is not in use.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let connections = {
            let mut idle = lock(&self.idle);
            idle.is_closed = true;
            std::mem::take(&mut idle.connections)
        };
        drop(connections);
        self.inner.close().await;
    }
}

impl PooledConnection {
    /// Returns the process id of the server's session, for which it asks the server once.
    pub(crate) async fn backend_pid(&mut self) -> Result<i32> {
        if let Some(pid) = self.backend_pid {
            return Ok(pid);
        }
        let pid: i32 =
            sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *self.connection).await?;
        self.backend_pid = Some(pid);
        Ok(pid)
    }

    /// Returns the connection to the pool. All its statements are completed, and it is in no
    /// transaction.
    pub(crate) fn release(self) {
        let Self { connection, backend_pid, acquired_at, idle, _permit } = self;
        let mut idle = lock(&idle);
        if !idle.is_closed && acquired_at.elapsed() < MAX_AGE {
            idle.connections.push(IdleConnection {
                connection,
                backend_pid,
                acquired_at,
                since: Instant::now(),
            });
        }
        // Drops the longest idle one if it is old: fewer connections are needed than before.
        if idle.connections.first().is_some_and(|first| first.since.elapsed() > MAX_AGE) {
            drop(idle.connections.remove(0));
        }
    }
}

/// Notes a failed statement. If the connection was cut off, idle ones may be too and are tested
/// before use, so that one request fails and not one for each connection.
pub(crate) fn take_note(error: &sqlx::Error) {
    // Class 57P: the server is stopping, or ended the session.
    let is_cut_off = match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    };
    if is_cut_off {
        *lock(&CUT_OFF) = Some(Instant::now());
    }
}

/// Returns whether a connection that is idle since `since` is handed out untested.
fn is_trusted(since: Instant) -> bool {
    let cut_off = *lock(&CUT_OFF);
    since.elapsed() <= UNTESTED_IDLE && cut_off.is_none_or(|at| at < since)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
