//! PostgreSQL restarted under a service that goes on.
//!
//! The embedded server is the service's child: where it ends, the service starts it again, and a server that
//! somebody else starts on the same folder (`pg_ctl restart`) it would stop as a left one. So it is told to stop,
//! by the signals that `pg_ctl stop` sends, and that it comes back is left to the service.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// Where hope ends.
const BACK_WITHIN: Duration = Duration::from_mins(2);
/// How often is looked, and so the precision.
const LOOK: Duration = Duration::from_millis(5);

/// How the server is stopped, in the words of `pg_ctl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// In order: connections are cut off, and everything is written to its place.
    Fast,
    /// At once, as by a crash: it replays its log when it starts.
    Immediate,
}

/// A restart.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    /// When the server was told to stop.
    pub told: Instant,
    /// When the next one took connections.
    pub back: Instant,
}

/// Stops the server of the service that keeps its state in `data_dir`, and waits until there is another.
pub async fn restart(data_dir: &Path, way: Way) -> Result<Restart> {
    let file = data_dir.join("postgresql/cluster/postmaster.pid");
    let former = Postmaster::read(&file).context("PostgreSQL does not run")?;
    let pid = Pid::from_raw(former.pid).with_context(|| format!("{} has no id", file.display()))?;
    let told = Instant::now();
    kill_process(pid, way.signal()).context("PostgreSQL can't be stopped")?;
    loop {
        tokio::time::sleep(LOOK).await;
        let is_back =
            Postmaster::read(&file).is_some_and(|new| new.pid != former.pid && new.is_ready);
        if is_back {
            return Ok(Restart { told, back: Instant::now() });
        }
        ensure!(told.elapsed() < BACK_WITHIN, "PostgreSQL did not come back in {BACK_WITHIN:?}");
    }
}

impl Way {
    /// As `pg_ctl` calls it.
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

/// What the server says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Postmaster {
    pid: i32,
    is_ready: bool,
}

impl Postmaster {
    /// `None` where none runs, or one has just begun to.
    fn read(file: &Path) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(file).ok()?)
    }

    /// The process is in the first line, and how far it is in the eighth.
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
    fn the_servers_file_says_who_it_is_and_whether_it_is_ready() {
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
