//! Restarts PostgreSQL under a running service.
//!
//! The embedded server is a child of the service, which restarts it when it ends. A server started
//! by another process on the same directory (`pg_ctl restart`) would be stopped as stale. So the
//! server gets the signals of `pg_ctl stop`, and the service starts it again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// Timeout of a restart.
const RESTART_TIMEOUT: Duration = Duration::from_mins(2);
/// Interval of polling, which is the precision.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The shutdown mode, in the words of `pg_ctl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Disconnects clients and writes a checkpoint.
    Fast,
    /// Stops at once, as in a crash: the next start replays the log.
    Immediate,
}

/// A restart.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    /// The time of the stop signal.
    pub stopped_at: Instant,
    /// The time when the next server accepted connections.
    pub back: Instant,
}

/// Stops the server of the service with this `data_dir`, and waits until another one runs.
pub async fn restart(data_dir: &Path, way: Way) -> Result<Restart> {
    let file = data_dir.join("postgresql/cluster/postmaster.pid");
    let former = Postmaster::read(&file).context("PostgreSQL does not run")?;
    let pid = Pid::from_raw(former.pid).with_context(|| format!("{} has no id", file.display()))?;
    let stopped_at = Instant::now();
    kill_process(pid, way.signal()).context("PostgreSQL can't be stopped")?;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let is_back =
            Postmaster::read(&file).is_some_and(|new| new.pid != former.pid && new.is_ready);
        if is_back {
            return Ok(Restart { stopped_at, back: Instant::now() });
        }
        ensure!(
            stopped_at.elapsed() < RESTART_TIMEOUT,
            "PostgreSQL did not come back in {RESTART_TIMEOUT:?}"
        );
    }
}

impl Way {
    /// Returns the name in `pg_ctl`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Immediate => "immediate",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Self::Fast => Signal::INT,
            Self::Immediate => Signal::QUIT,
        }
    }
}

/// The content of the server's PID file.
#[derive(Debug, PartialEq, Eq)]
struct Postmaster {
    pid: i32,
    is_ready: bool,
}

impl Postmaster {
    /// Returns `None` if no server runs, or one has just begun to start.
    fn read(file: &Path) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(file).ok()?)
    }

    /// Parses the process id in the first line, and the status in the eighth.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok()?;
        let is_ready = lines.nth(6).is_some_and(|state| state.trim() == "ready");
        Some(Self { pid, is_ready })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_file_has_the_process_and_its_readiness() {
        let file =
            |state: &str| format!("4711\n/data\n1790000000\n5432\n/socket\n\n  1 2\n{state}");
        let ready = Postmaster { pid: 4_711, is_ready: true };
        assert_eq!(Postmaster::parse(&file("ready   \n")), Some(ready));
        for text in [file("starting\n"), file(""), "4711\n".to_owned()] {
            assert_eq!(
                Postmaster::parse(&text),
                Some(Postmaster { pid: 4_711, is_ready: false }),
                "{text}"
            );
        }
        assert_eq!(Postmaster::parse(""), None);
    }
}
