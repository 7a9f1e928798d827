//! A Redis of one measurement's own.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mc_shared::{Settings, Shared};
use tokio::process::{Child, Command};

/// It has started by then.
const STARTS: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// A server without a disk on a free port of the loopback, which ends with the value, and a connection to it.
pub struct Redis {
    _process: Child,
    /// What the service's own nodes would have.
    pub shared: Shared,
}

impl Redis {
    /// Starts `program`.
    pub async fn start(program: &Path, folder: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let process = Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(folder)
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let settings = Settings {
            url: format!("redis://127.0.0.1:{port}"),
            database: "bench".to_owned(),
            answers_within: Duration::from_millis(100),
        };
        let redis = Self { _process: process, shared: Shared::open(&settings)? };
        let begun = Instant::now();
        while redis.shared.is_away() {
            ensure!(begun.elapsed() < STARTS, "{} does not answer", program.display());
            tokio::time::sleep(LOOK).await;
        }
        Ok(redis)
    }
}
