//! One process of the server, from its start to its end.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::cluster::{Cluster, NAME};
use super::{EmbeddedError, Result, stale_server};

/// Longest start, including the replay of the write-ahead log after a crash.
const START_TIMEOUT: Duration = Duration::from_mins(5);
/// Longest fast shutdown, which writes all data in memory to disk.
pub(super) const FAST_SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(1);
pub(super) const IMMEDIATE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// One day less than a week, so that today's file is not last week's.
const LOG_RETENTION: Duration = Duration::from_hours(6 * 24);
/// Bytes shown of the end of each log after a failed start.
const LOG_TAIL_BYTES: usize = 4_000;

/// Segments of the write-ahead log, of 16 MB each, that a new cluster gets.
const WAL_SEGMENTS: usize = 4;

/// Server settings for the machine of a developer or a small team.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("max_connections", "100"),
    ("shared_buffers", "256MB"),
    ("effective_cache_size", "1GB"),
    ("work_mem", "16MB"),
    // An HNSW index is built many times faster when its graph fits.
    ("maintenance_work_mem", "256MB"),
    // A parallel build needs as much of /dev/shm, of which a container has 64 MB.
    ("max_parallel_maintenance_workers", "0"),
    // Statements read at most a few thousand rows: a parallel worker costs more than it saves.
    ("max_parallel_workers_per_gather", "0"),
    ("random_page_cost", "1.1"),
    // Plans made while the tables were empty read all rows of a project instead of one, and stay
    // cached until the tables are analyzed: with the default, saves take twice as long for a
    // minute. An analysis invalidates every plan over its table, so a growing table must not be
    // analyzed at each nap.
    ("autovacuum_naptime", "10s"),
    ("autovacuum_analyze_scale_factor", "0.25"),
    // Compiling short queries takes longer than running them.
    ("jit", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    // One file for each weekday, overwritten a week later, limits the size of the log.
    ("logging_collector", "on"),
    ("log_filename", "postgresql-%a.log"),
    ("log_rotation_age", "1d"),
    ("log_rotation_size", "0"),
    ("log_truncate_on_rotation", "on"),
    // Statements may hold users' texts.
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
];

/// A running server. Dropping it without [`Server::stop`] signals it to stop and does not wait.
pub(super) struct Server {
    child: Child,
}

/// Starts the server and waits until it accepts connections.
pub(super) async fn start(cluster: &Cluster) -> Result<Server> {
    stale_server::clear(&cluster.paths.cluster()).await?;
    delete_old_logs(cluster);
    let started_at = Instant::now();
    let mut server = Server { child: spawn(cluster)? };
    server.wait_until_ready(cluster).await?;
    tracing::info!(
        postgres.version = cluster.installation.version,
        postgres.start_ms = u64::try_from(started_at.elapsed().as_millis()).unwrap_or(u64::MAX),
        "the embedded PostgreSQL is ready"
    );
    Ok(server)
}

/// Starts the server, and creates the service's database if it is missing.
pub(super) async fn start_with_database(cluster: &Cluster) -> Result<Server> {
    let server = start(cluster).await?;
    create_database(cluster).await.map_err(EmbeddedError::Rejected)?;
    Ok(server)
}

/// Deletes last week's logs, which a server that runs across midnight overwrites itself.
fn delete_old_logs(cluster: &Cluster) {
    for entry in std::fs::read_dir(cluster.paths.log()).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|file| file.modified()).map(|time| time.elapsed());
        if matches!(age, Ok(Ok(age)) if age > LOG_RETENTION) {
            // The next start retries a failed removal.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn spawn(cluster: &Cluster) -> Result<Child> {
    let path = cluster.paths.start_log();
    let log = create_private_file(&path).map_err(EmbeddedError::io("create", &path))?;
    let copy = log.try_clone().map_err(EmbeddedError::io("create", &path))?;
    let mut command: Command = cluster.installation.command("postgres");
    command.arg("-D").arg(cluster.paths.cluster());
    for (name, value) in SETTINGS {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    // Only the server's user and the service can pass through its directory.
    let socket_mode = if cluster.user.is_some() { "0777" } else { "0700" };
    command
        .arg("-c")
        .arg(format!("unix_socket_permissions={socket_mode}"))
        .arg("-c")
        .arg(format!("unix_socket_directories={}", cluster.paths.socket_setting()))
        .arg("-c")
        .arg(format!("log_directory={}", cluster.paths.log().display()))
        .current_dir(cluster.paths.cluster())
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(copy)
        // Ctrl-C in a terminal signals a whole process group; the service stops the server itself.
        .process_group(0);
    if let Some(user) = &cluster.user {
        user.apply_to(&mut command);
    }
    command.spawn().map_err(EmbeddedError::io("run", &cluster.installation.bin))
}

/// Creates or truncates a file that only its owner can use.
fn create_private_file(path: &Path) -> std::io::Result<File> {
    let file = File::create(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

async fn create_database(cluster: &Cluster) -> Result<(), sqlx::Error> {
    let mut admin = connect(cluster).await?;
    let found = sqlx::query("select 1 from pg_database where datname = $1").bind(NAME);
    if found.fetch_optional(&mut admin).await?.is_none() {
        preallocate_wal_segments(&mut admin).await?;
        sqlx::query(AssertSqlSafe(format!("create database {NAME}"))).execute(&mut admin).await?;
    }
    admin.close().await
}

/// Fills and recycles a few segments of the write-ahead log. A new cluster has one segment; the
/// statement that reaches its end would wait 20 to 60 ms while the next one is filled with zeros.
async fn preallocate_wal_segments(admin: &mut PgConnection) -> Result<(), sqlx::Error> {
    for _ in 0..WAL_SEGMENTS {
        // A switch without a write since the last one does nothing.
        admin.execute("select pg_logical_emit_message(true, 'memory-copilot', '')").await?;
        admin.execute("select pg_switch_wal()").await?;
    }
    admin.execute("checkpoint").await?;
    Ok(())
}

async fn connect(cluster: &Cluster) -> Result<PgConnection, sqlx::Error> {
    let connection = cluster.connect_to("postgres");
    timeout(CONNECT_TIMEOUT, connection.connect()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

impl Server {
    /// Waits for the end of the process.
    pub async fn exited(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Requests a fast shutdown, then an immediate one after a timeout. The next start recovers
    /// from an immediate shutdown.
    pub async fn stop(mut self) {
        self.signal(Signal::SIGINT);
        if timeout(FAST_SHUTDOWN_TIMEOUT, self.child.wait()).await.is_ok() {
            return;
        }
        tracing::warn!(
            "the embedded PostgreSQL does not stop in time; shutting it down immediately"
        );
        self.signal(Signal::SIGQUIT);
        if timeout(IMMEDIATE_SHUTDOWN_TIMEOUT, self.child.wait()).await.is_err()
            && let Err(error) = self.child.kill().await
        {
            tracing::error!(%error, "the embedded PostgreSQL can't be killed");
        }
    }

    /// Tries to connect until the server accepts. A server that replays its log after a crash
    /// rejects connections with "the database system is starting up".
    async fn wait_until_ready(&mut self, cluster: &Cluster) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let failure = match connect(cluster).await {
                Ok(connection) => {
                    return connection.close().await.map_err(EmbeddedError::Rejected);
                }
                Err(failure) => failure,
            };
            let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > deadline {
                return Err(EmbeddedError::NotStarted(log_tail(cluster)));
            }
            if is_rejection(&failure) {
                return Err(EmbeddedError::Rejected(failure));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    fn signal(&self, signal: Signal) {
        // Without an id the process was waited for, and another one may have its number.
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            // The signal fails if the process has just ended, which is its purpose.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::SIGINT);
    }
}

/// Returns whether the server rejected the connection for another reason than that it starts or
/// stops (class 57P).
fn is_rejection(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| !error.code().is_some_and(|code| code.starts_with("57P")))
}

/// Returns the end of the server's output and of its newest log.
fn log_tail(cluster: &Cluster) -> String {
    let mut logs: Vec<_> = std::fs::read_dir(cluster.paths.log())
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.metadata().ok()?.modified().ok()?, path))
        })
        .collect();
    logs.sort();
    let newest = logs.into_iter().rev().find(|(_, path)| *path != cluster.paths.start_log());
    let files = [Some(cluster.paths.start_log()), newest.map(|(_, path)| path)];
    files
        .into_iter()
        .flatten()
        .filter_map(|path| std::fs::read(path).ok())
        .map(|bytes| {
            let from = bytes.len().saturating_sub(LOG_TAIL_BYTES);
            String::from_utf8_lossy(&bytes[from..]).into_owned()
        })
        .collect()
}
