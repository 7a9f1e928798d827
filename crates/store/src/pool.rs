//! Connections that are handed out again at once, the one that was used last first.
//!
//! sqlx's own pool asks the server for a sign of life whenever a connection comes back, and hands them out in turn. A
//! request runs several short statements, so that is a round trip for each of them, and each meets a process whose caches
//! are cold. Here a connection that is known to be at rest is put aside as it is; one whose statement may have been given
//! up half-way goes back to sqlx, which sees to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPool;
use sqlx::{Connection as _, Postgres};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::Error;

/// A connection that was in use this recently is handed out untested. The round trip would be as long
/// as many a statement; the server's restart, which cuts connections off, takes about as long as this.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// When a connection was last cut off. Those of all pools are to one server, and what is said of a failure is said where
/// nobody knows the pool.
static CUT_OFF: Mutex<Option<Instant>> = Mutex::new(None);

/// After this a connection goes back to sqlx, which replaces what is old.
const KEPT_AT_MOST: Duration = Duration::from_mins(10);

/// Connections to one database; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// Opens and closes them. All are taken through this type, or it would hand out what lies here.
    inner: PgPool,
    /// One for each connection there may be.
    places: Arc<Semaphore>,
    resting: Arc<Mutex<Resting>>,
    wait: Duration,
}

#[derive(Debug, Default)]
struct Resting {
    connections: Vec<AtRest>,
    is_closed: bool,
}

#[derive(Debug)]
struct AtRest {
    connection: PoolConnection<Postgres>,
    taken: Instant,
    since: Instant,
}

impl Drop for Resting {
    fn drop(&mut self) {
        if Handle::try_current().is_ok() {
            return;
        }
        // sqlx would want a task to take them back in; they are closed with the process that is ending.
        for at_rest in self.connections.drain(..) {
            drop(at_rest.connection.detach());
        }
    }
}

/// A connection that is in use. Dropped, it goes back to sqlx.
#[derive(Debug)]
pub(crate) struct Leased {
    pub connection: PoolConnection<Postgres>,
    /// When it came from sqlx.
    taken: Instant,
    resting: Arc<Mutex<Resting>>,
    _place: OwnedSemaphorePermit,
}

impl Pool {
    /// Over as many connections as `inner` has; `wait` for one of them.
    pub(crate) fn over(inner: PgPool, wait: Duration) -> Self {
        let places = usize::try_from(inner.options().get_max_connections()).unwrap_or(usize::MAX);
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self { inner, places, resting: Arc::default(), wait }
    }

    /// What opens the connections.
    pub(crate) fn inner(&self) -> &PgPool {
        &self.inner
    }

    /// A connection, once there is one.
    pub(crate) async fn take(&self) -> Result<Leased, Error> {
        let place = timeout(self.wait, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let place = place.map_err(|_| sqlx::Error::PoolClosed)?;
        let resting = Arc::clone(&self.resting);
        while let Some(AtRest { mut connection, taken, since }) = self.last() {
            if is_trusted(since)
                || matches!(timeout(self.wait, connection.ping()).await, Ok(Ok(())))
            {
                return Ok(Leased { connection, taken, resting, _place: place });
            }
            // It is broken, or nobody is at its other end: sqlx would ask once more.
            drop(connection.detach());
        }
        let connection = self.inner.acquire().await?;
        Ok(Leased { connection, taken: Instant::now(), resting, _place: place })
    }

    fn last(&self) -> Option<AtRest> {
        lock(&self.resting).connections.pop()
    }

    /// Hands out no more, and closes each connection once it is not in use.
    pub(crate) async fn close(&self) {
        self.places.close();
        let connections = {
            let mut resting = lock(&self.resting);
            resting.is_closed = true;
            std::mem::take(&mut resting.connections)
        };
        drop(connections);
        self.inner.close().await;
    }
}

impl Leased {
    /// Gives it back, known to have answered all that it was asked and to be in no transaction.
    pub(crate) fn give_back(self) {
        let Self { connection, taken, resting, _place } = self;
        let mut resting = lock(&resting);
        if !resting.is_closed && taken.elapsed() < KEPT_AT_MOST {
            resting.connections.push(AtRest { connection, taken, since: Instant::now() });
        }
        // The one that rests longest: fewer are needed than there were.
        if resting.connections.first().is_some_and(|first| first.since.elapsed() > KEPT_AT_MOST) {
            drop(resting.connections.remove(0));
        }
    }
}

/// Takes note of a failed statement. Where it shows that the connection was cut off, those that rest may be as well, and
/// are tested before anybody has them: one request meets it, and not one for each connection.
pub(crate) fn take_note(error: &sqlx::Error) {
    // Class 57P: the server is stopping, or was told to end the session.
    let is_cut_off = match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    };
    if is_cut_off {
        *lock(&CUT_OFF) = Some(Instant::now());
    }
}

/// Whether a connection that rests since then is handed out untested.
fn is_trusted(since: Instant) -> bool {
    let cut_off = *lock(&CUT_OFF);
    since.elapsed() <= TRUSTED_IDLE && cut_off.is_none_or(|at| at < since)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
