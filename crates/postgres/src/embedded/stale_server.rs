//! What an earlier server left behind. When the service is killed, its PostgreSQL lives on; when
//! PostgreSQL's first process is killed, the others take a moment to notice; and either leaves a
//! `postmaster.pid` whose number may belong to a stranger by now.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use super::EmbeddedError;

/// How long an orderly end may take: a shutdown writes everything that is only in memory.
const ORDERLY: Duration = Duration::from_mins(1);
const FORCED: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// The processes of PostgreSQL that work on one cluster.
#[derive(Default)]
struct Scan {
    ours: Vec<i32>,
    /// There is one of which the kernel doesn't tell us where it works: root in a container may
    /// not look into other users' processes.
    unclear: bool,
}

/// Ends every process that still works on `cluster`, and removes the stale pid file.
///
/// To be called by whoever holds the lock of the data directory: nobody else starts one meanwhile.
pub(super) async fn clear(cluster: &Path) -> Result<(), EmbeddedError> {
    let pid_file = cluster.join("postmaster.pid");
    if !scan(cluster).ours.is_empty() {
        tracing::warn!("stopping a PostgreSQL that an earlier run left behind");
        if let Some(postmaster) = written_pid(&pid_file) {
            signal(cluster, Signal::SIGINT, |pid| pid == postmaster);
        }
        if !gone(cluster, ORDERLY).await {
            signal(cluster, Signal::SIGQUIT, |_| true);
        }
        if !gone(cluster, FORCED).await {
            return Err(EmbeddedError::Leftovers(scan(cluster).ours));
        }
    }
    // PostgreSQL would refuse to start if the number in it were in use, by whatever process. When
    // surely no process works on the cluster, the file guards nothing; else PostgreSQL decides.
    if scan(cluster).unclear { Ok(()) } else { remove(&pid_file) }
}

fn remove(pid_file: &Path) -> Result<(), EmbeddedError> {
    match fs::remove_file(pid_file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(EmbeddedError::io("remove", pid_file)(error))
        }
        _ => Ok(()),
    }
}

/// Looks through all processes. Those of PostgreSQL work in their cluster's folder, which tells
/// them from a stranger that happens to have the number in the pid file.
fn scan(cluster: &Path) -> Scan {
    let mut found = Scan::default();
    let Ok(cluster) = cluster.canonicalize() else { return found };
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A person's shell may be in the folder, too.
        let is_postgres = fs::read_to_string(entry.path().join("comm"))
            .is_ok_and(|name| name.starts_with("postgres"));
        if !is_postgres {
            continue;
        }
        match fs::read_link(entry.path().join("cwd")) {
            Ok(folder) if folder == cluster => found.ours.push(pid),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                if was_started_on(&entry.path(), &cluster) {
                    found.ours.push(pid);
                } else {
                    found.unclear = true;
                }
            }
            // Works elsewhere, or has ended.
            _ => {}
        }
    }
    found
}

/// Whether a process has the cluster's path as an argument, as the postmaster has.
fn was_started_on(process: &Path, cluster: &Path) -> bool {
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|each| each == cluster.as_os_str().as_encoded_bytes())
}

/// The postmaster's process id as its file has it.
fn written_pid(pid_file: &Path) -> Option<i32> {
    fs::read_to_string(pid_file).ok()?.lines().next()?.trim().parse().ok()
}

fn signal(cluster: &Path, signal: Signal, wanted: impl Fn(i32) -> bool) {
    for pid in scan(cluster).ours.into_iter().filter(|pid| wanted(*pid)) {
        // It may be gone since it was listed, which is what is wanted.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Waits for the end of every process of the cluster; false when some outlive the time.
async fn gone(cluster: &Path, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    while !scan(cluster).ours.is_empty() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(POLL).await;
    }
    true
}
