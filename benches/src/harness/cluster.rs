//! One PostgreSQL with several processes of the service, each of which can be killed.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::{Context, Result, bail};
use mc_crypto::EncryptionKey;
use mc_postgres::db_roles;
use mc_postgres::embedded::{Embedded, EmbeddedSettings};
use mc_store::{Store, testing};
use rustix::process::{Pid, Signal, kill_process};

use super::service::{Setup, without_rate_limits};
use super::{Common, make_dir, remove};

/// Connections of the benchmark itself.
const CONNECTIONS: u32 = 2;

/// A database shared by the processes of a benchmark.
pub struct Cluster {
    binary: PathBuf,
    cache_dir: PathBuf,
    dir: PathBuf,
    postgres: Option<Embedded>,
}

/// A worker process; killed when dropped.
pub struct Worker(Child);

impl Cluster {
    /// Starts PostgreSQL with an empty database.
    pub async fn start(common: &Common, binary: PathBuf, name: &str) -> Result<Self> {
        let dir = common.work(name)?;
        remove(&dir)?;
        make_dir(&dir)?;
        let cache_dir = common.cache_dir.clone();
        let mut cluster = Self { binary, cache_dir, dir, postgres: None };
        let key = hex::encode(EncryptionKey::generate().expose());
        let mut file = File::options();
        let mut file =
            file.write(true).create_new(true).mode(0o600).open(cluster.encryption_key())?;
        file.write_all(key.as_bytes())?;
        cluster.start_postgres().await?;
        Ok(cluster)
    }

    async fn start_postgres(&mut self) -> Result<()> {
        let settings = EmbeddedSettings {
            data_dir: self.dir.join("postgresql"),
            install_dirs: vec![self.cache_dir.join("postgresql")],
            run_as: None,
        };
        let started = Embedded::start(settings).await.context("PostgreSQL did not start")?;
        self.postgres = Some(started);
        Ok(())
    }

    fn encryption_key(&self) -> PathBuf {
        self.dir.join("encryption.key")
    }

    fn url(&self) -> Result<&str> {
        Ok(self.postgres.as_ref().context("PostgreSQL does not run")?.url())
    }

    /// Returns the setup of a process with its own directory on the shared database.
    pub fn setup(&self, name: &str) -> Result<Setup> {
        let mut settings: Vec<(&'static str, OsString)> = vec![
            ("MEMORY_COPILOT__DATABASE__URL", self.url()?.into()),
            ("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", self.encryption_key().into()),
        ];
        settings.extend(without_rate_limits());
        let data_dir = self.dir.join(name);
        let (binary, cache_dir) = (self.binary.clone(), self.cache_dir.clone());
        Ok(Setup { binary, cache_dir, data_dir, settings })
    }

    /// Opens the database to read; the schema must exist.
    pub async fn store(&self) -> Result<Store> {
        let logins = db_roles::prepare(self.url()?).await?;
        Ok(Store::connect(&logins.worker, CONNECTIONS, testing::chains()).await?)
    }

    /// Kills the main process of PostgreSQL with `kill -9`, and starts it again.
    pub async fn kill_postgres(&mut self) -> Result<()> {
        let file = self.dir.join("postgresql/cluster/postmaster.pid");
        kill_process(first_process(&file)?, Signal::KILL)?;
        if let Some(postgres) = self.postgres.take() {
            postgres.stop().await;
        }
        self.start_postgres().await
    }

    /// Stops PostgreSQL.
    pub async fn stop(mut self) {
        if let Some(postgres) = self.postgres.take() {
            postgres.stop().await;
        }
    }
}

impl Worker {
    /// Starts a worker.
    pub fn start(setup: &Setup) -> Result<Self> {
        let started = setup.command("worker")?.spawn();
        Ok(Self(started.context("the worker can't be started")?))
    }

    /// Fails if the process has ended.
    pub fn ensure_alive(&mut self) -> Result<()> {
        if let Some(status) = self.0.try_wait()? {
            bail!("the worker ended by itself with {status}; its log is in the working folder");
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn first_process(file: &Path) -> Result<Pid> {
    let text = std::fs::read_to_string(file).context("PostgreSQL does not run")?;
    let id = text.lines().next().and_then(|line| line.trim().parse().ok());
    id.and_then(Pid::from_raw).with_context(|| format!("{} names no process", file.display()))
}
