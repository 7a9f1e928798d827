//! One run of the server: from launch to the end of its process.

use std::fs::File;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::cluster::{Cluster, NAME};
use super::{EmbeddedError, stale_server};

/// How long a start may take; a server that recovers from a crash has this long to replay.
const READY_WITHIN: Duration = Duration::from_mins(5);
const FAST_STOP: Duration = Duration::from_mins(1);
const IMMEDIATE_STOP: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// One day short of a week: today's file must not be last week's.
const LOGS_KEPT: Duration = Duration::from_hours(6 * 24);
/// How much of a failed start's log is shown, in bytes.
const LAST_WORDS: usize = 4_000;

/// Segments of the write-ahead log, of 16 MB, that a new cluster is given.
const LOG_SEGMENTS: usize = 4;

/// For a service on the machine of a developer or a small team.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("max_connections", "100"),
    ("shared_buffers", "256MB"),
    ("effective_cache_size", "1GB"),
    ("work_mem", "16MB"),
    // An HNSW index is built many times faster when its graph fits.
    ("maintenance_work_mem", "256MB"),
    // A parallel build takes that much of /dev/shm, of which a container has 64 MB.
    ("max_parallel_maintenance_workers", "0"),
    // Statements here read a few thousand rows at most: a worker costs more than it saves.
    ("max_parallel_workers_per_gather", "0"),
    ("random_page_cost", "1.1"),
    // Plans that were made while the tables were empty read all rows of a project where one is wanted, and are kept
    // until the tables have been analyzed: a minute of saves that take twice as long, at the default. An analysis
    // outdates every plan over its table, so a table that grows must not be analyzed at each look.
    ("autovacuum_naptime", "10s"),
    ("autovacuum_analyze_scale_factor", "0.25"),
    // Short queries only: compiling them takes longer than running them.
    ("jit", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    // A file a weekday, overwritten a week later: the log stays small by itself.
    ("logging_collector", "on"),
    ("log_filename", "postgresql-%a.log"),
    ("log_rotation_age", "1d"),
    ("log_rotation_size", "0"),
    ("log_truncate_on_rotation", "on"),
    // Statements may hold what people saved.
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
];

/// A running server. Dropped without [`Server::stop`], it is told to stop and not waited for.
pub(super) struct Server {
    child: Child,
}

/// Launches the server and waits until it takes connections.
pub(super) async fn start(cluster: &Cluster) -> Result<Server, EmbeddedError> {
    stale_server::clear(&cluster.places.cluster()).await?;
    forget_old_logs(cluster);
    let began = Instant::now();
    let mut server = Server { child: launch(cluster)? };
    server.wait_until_ready(cluster).await?;
    tracing::info!(
        postgres.version = cluster.installation.version,
        postgres.start_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "the private PostgreSQL is ready"
    );
    Ok(server)
}

/// [`start`], and makes the service's database where it is missing.
pub(super) async fn start_with_database(cluster: &Cluster) -> Result<Server, EmbeddedError> {
    let server = start(cluster).await?;
    create_database(cluster).await?;
    Ok(server)
}

/// Removes logs of last week, which a server that ran across midnight would have overwritten.
fn forget_old_logs(cluster: &Cluster) {
    for entry in std::fs::read_dir(cluster.places.log()).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|file| file.modified()).map(|time| time.elapsed());
        if matches!(age, Ok(Ok(age)) if age > LOGS_KEPT) {
            // What can't be removed now can be the next time.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn launch(cluster: &Cluster) -> Result<Child, EmbeddedError> {
    let path = cluster.places.start_log();
    let log = File::create(&path).map_err(EmbeddedError::io("create", &path))?;
    let copy = log.try_clone().map_err(EmbeddedError::io("create", &path))?;
    let mut command: Command = cluster.installation.command("postgres");
    command.arg("-D").arg(cluster.places.cluster());
    for (name, value) in SETTINGS {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command
        .arg("-c")
        .arg(format!("unix_socket_directories={}", cluster.places.socket_setting()))
        .arg("-c")
        .arg(format!("log_directory={}", cluster.places.log().display()))
        .current_dir(cluster.places.cluster())
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(copy)
        // Ctrl-C in a terminal reaches a whole process group; the service stops the server itself.
        .process_group(0);
    if let Some(user) = &cluster.user {
        user.run(&mut command);
    }
    command.spawn().map_err(EmbeddedError::io("run", &cluster.installation.bin))
}

async fn create_database(cluster: &Cluster) -> Result<(), EmbeddedError> {
    let mut admin = connect(cluster).await.map_err(EmbeddedError::Refused)?;
    let exists = sqlx::query("select 1 from pg_database where datname = $1")
        .bind(NAME)
        .fetch_optional(&mut admin)
        .await
        .map_err(EmbeddedError::Refused)?;
    if exists.is_none() {
        lay_in_log_segments(&mut admin).await.map_err(EmbeddedError::Refused)?;
        sqlx::query(AssertSqlSafe(format!("create database {NAME}")))
            .execute(&mut admin)
            .await
            .map_err(EmbeddedError::Refused)?;
    }
    admin.close().await.map_err(EmbeddedError::Refused)
}

/// Fills and recycles a few segments of the write-ahead log. A new cluster has one; whoever comes to
/// its end would wait 20 to 60 ms for the next to be written full of zeros.
async fn lay_in_log_segments(admin: &mut PgConnection) -> Result<(), sqlx::Error> {
    for _ in 0..LOG_SEGMENTS {
        // A switch does nothing where nothing was written since the last one.
        admin.execute("select pg_logical_emit_message(true, 'memory-copilot', '')").await?;
        admin.execute("select pg_switch_wal()").await?;
    }
    admin.execute("checkpoint").await?;
    Ok(())
}

async fn connect(cluster: &Cluster) -> Result<PgConnection, sqlx::Error> {
    let connection = cluster.connect_to("postgres");
    timeout(CONNECT_WITHIN, connection.connect()).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

impl Server {
    /// Waits for the end of the process, wanted or not.
    pub async fn exited(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Stops in order; by force when that takes too long, which the next start recovers from.
    pub async fn stop(mut self) {
        self.signal(Signal::SIGINT);
        if timeout(FAST_STOP, self.child.wait()).await.is_ok() {
            return;
        }
        tracing::warn!("the private PostgreSQL is slow to stop; ending it at once");
        self.signal(Signal::SIGQUIT);
        if timeout(IMMEDIATE_STOP, self.child.wait()).await.is_err()
            && let Err(error) = self.child.kill().await
        {
            tracing::error!(%error, "the private PostgreSQL can't be ended");
        }
    }

    /// Asks for a connection until there is one. A server that replays its log after a crash
    /// answers that it is starting.
    async fn wait_until_ready(&mut self, cluster: &Cluster) -> Result<(), EmbeddedError> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            let failure = match connect(cluster).await {
                Ok(connection) => {
                    return connection.close().await.map_err(EmbeddedError::Refused);
                }
                Err(failure) => failure,
            };
            let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > deadline {
                return Err(EmbeddedError::NotStarted(last_words(cluster)));
            }
            if is_refusal(&failure) {
                return Err(EmbeddedError::Refused(failure));
            }
            sleep(POLL).await;
        }
    }

    fn signal(&self, signal: Signal) {
        // No id: the process was waited for, and its number may be a stranger's by now.
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            // It fails when the process has just ended, which is what the signal is for.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::SIGINT);
    }
}

/// Whether the server answered with anything but "not now" (class 57).
fn is_refusal(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|answer| !answer.code().is_some_and(|code| code.starts_with("57P")))
}

/// The end of what the server printed, and of its newest log.
fn last_words(cluster: &Cluster) -> String {
    let mut logs: Vec<_> = std::fs::read_dir(cluster.places.log())
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.metadata().ok()?.modified().ok()?, path))
        })
        .collect();
    logs.sort();
    let newest = logs.into_iter().rev().find(|(_, path)| *path != cluster.places.start_log());
    let files = [Some(cluster.places.start_log()), newest.map(|(_, path)| path)];
    files
        .into_iter()
        .flatten()
        .filter_map(|path| std::fs::read(path).ok())
        .map(|bytes| {
            let from = bytes.len().saturating_sub(LAST_WORDS);
            String::from_utf8_lossy(&bytes[from..]).into_owned()
        })
        .collect()
}
