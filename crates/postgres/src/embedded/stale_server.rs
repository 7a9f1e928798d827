//! Processes and the pid file of an earlier server. PostgreSQL survives the service if that is
//! killed, and its other processes survive the postmaster for a moment. Either way a
//! `postmaster.pid` remains, whose number another process may have.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use super::server::{FAST_SHUTDOWN_TIMEOUT, IMMEDIATE_SHUTDOWN_TIMEOUT, POLL_INTERVAL};
use super::{EmbeddedError, Result};

/// Result of a search for processes that work on one cluster.
#[derive(Default)]
struct Scan {
    pids: Vec<i32>,
    /// Whether the working directory of a process is unreadable: root in a container may not
    /// inspect other users' processes.
    is_inconclusive: bool,
}

/// Ends every process that works on `cluster`, and removes the stale pid file.
///
/// The caller must hold the lock of the data directory, so that no other process starts a server.
pub(super) async fn clear(cluster: &Path) -> Result<()> {
    let pid_file = cluster.join("postmaster.pid");
    if !scan(cluster).pids.is_empty() {
        tracing::warn!("stopping the embedded PostgreSQL of an earlier run");
        if let Some(postmaster) = read_postmaster_pid(&pid_file) {
            signal(cluster, Signal::SIGINT, |pid| pid == postmaster);
        }
        if !wait_for_exit(cluster, FAST_SHUTDOWN_TIMEOUT).await {
            signal(cluster, Signal::SIGQUIT, |_| true);
        }
        if !wait_for_exit(cluster, IMMEDIATE_SHUTDOWN_TIMEOUT).await {
            return Err(EmbeddedError::StaleServer(scan(cluster).pids));
        }
    }
    // PostgreSQL does not start if any process has the number in the pid file. The file is stale if
    // certainly no process works on the cluster; otherwise PostgreSQL decides.
    if scan(cluster).is_inconclusive { Ok(()) } else { remove_if_exists(&pid_file) }
}

fn remove_if_exists(pid_file: &Path) -> Result<()> {
    match fs::remove_file(pid_file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(EmbeddedError::io("remove", pid_file)(error))
        }
        _ => Ok(()),
    }
}

/// Searches all processes. The working directory of a PostgreSQL process is its cluster, which
/// distinguishes it from another process with the number in the pid file.
fn scan(cluster: &Path) -> Scan {
    let mut found = Scan::default();
    let Ok(cluster) = cluster.canonicalize() else { return found };
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // The working directory of a shell may be the cluster, too.
        let is_postgres = fs::read_to_string(entry.path().join("comm"))
            .is_ok_and(|name| name.starts_with("postgres"));
        if !is_postgres {
            continue;
        }
        match fs::read_link(entry.path().join("cwd")) {
            Ok(directory) if directory == cluster => found.pids.push(pid),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                if was_started_on(&entry.path(), &cluster) {
                    found.pids.push(pid);
                } else {
                    found.is_inconclusive = true;
                }
            }
            // It works on another cluster, or has ended.
            _ => {}
        }
    }
    found
}

/// Returns whether a process has the cluster's path as an argument, as the postmaster has.
fn was_started_on(process: &Path, cluster: &Path) -> bool {
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|each| each == cluster.as_os_str().as_encoded_bytes())
}

/// Reads the postmaster's process id from the pid file.
fn read_postmaster_pid(pid_file: &Path) -> Option<i32> {
    fs::read_to_string(pid_file).ok()?.lines().next()?.trim().parse().ok()
}

fn signal(cluster: &Path, signal: Signal, is_target: impl Fn(i32) -> bool) {
    for pid in scan(cluster).pids.into_iter().filter(|pid| is_target(*pid)) {
        // The signal fails if the process has ended since the search.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Waits until every process of the cluster has ended; returns false after `limit`.
async fn wait_for_exit(cluster: &Path, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while !scan(cluster).pids.is_empty() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(POLL_INTERVAL).await;
    }
    true
}
