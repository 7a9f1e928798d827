//! The real service as a process, used over HTTP.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reqwest::{Client, StatusCode};
use serde_json::Value;

use super::{machine, say};

/// Timeout of a start, which may build an index.
const START_TIMEOUT: Duration = Duration::from_mins(10);
/// Timeout of a longer operation.
const DONE_WITHIN: Duration = Duration::from_hours(2);
/// Interval of polling for readiness, which is the precision of a start's time.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The process to start.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The release binary.
    pub binary: PathBuf,
    /// Directory that `make setup` filled.
    pub cache_dir: PathBuf,
    /// The service's data directory.
    pub data_dir: PathBuf,
    /// Further environment variables.
    pub settings: Vec<(&'static str, OsString)>,
}

/// Returns settings for a benchmark, which sends requests as fast as it can: without limits of
/// rates, and with limits of processor time that it does not reach. Without these, the service
/// would not measure the time, which is a part of the cost of a request.
pub fn without_rate_limits() -> [(&'static str, OsString); 4] {
    [
        ("MEMORY_COPILOT__SERVER__LIMITS__REQUESTS_PER_MINUTE_PER_ADDRESS", "0"),
        ("MEMORY_COPILOT__SERVER__LIMITS__UNITS_PER_MINUTE_PER_CALLER", "0"),
        ("MEMORY_COPILOT__SERVER__LIMITS__PROCESSOR_SECONDS_PER_MINUTE_PER_ADDRESS", "3600"),
        ("MEMORY_COPILOT__SERVER__LIMITS__PROCESSOR_SECONDS_PER_MINUTE_PER_CALLER", "3600"),
    ]
    .map(|(name, value)| (name, value.into()))
}

/// A running service; stopped when dropped.
pub struct Service {
    process: Child,
    /// Its client; cheap to clone.
    pub api: Api,
    /// From the start of the process to the first `/readyz` that succeeded.
    pub ready_after: Duration,
}

/// A client of a service.
#[derive(Clone)]
pub struct Api {
    client: Client,
    url: String,
    token: String,
}

impl Setup {
    /// Returns a command of the binary that writes its output to a log.
    pub fn command(&self, name: &str) -> Result<Command> {
        let log_file = self.log_file();
        let log = File::options().create(true).append(true).open(&log_file);
        let log = log.with_context(|| format!("{} can't be written", log_file.display()))?;
        let mut command = Command::new(&self.binary);
        command
            .arg(name)
            .env_remove("DATABASE_URL")
            .env("MEMORY_COPILOT_CACHE", &self.cache_dir)
            .env("MEMORY_COPILOT__DATA_DIR", &self.data_dir)
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Ok(command)
    }

    fn log_file(&self) -> PathBuf {
        self.data_dir.with_extension("log")
    }
}

impl Service {
    /// Starts the binary on a free port and waits until it is ready.
    pub async fn start(setup: &Setup) -> Result<Self> {
        Self::start_at(setup, free_address()?).await
    }

    /// Starts the binary at an address and waits until it is ready.
    pub async fn start_at(setup: &Setup, listen: SocketAddr) -> Result<Self> {
        let began = Instant::now();
        let mut command = setup.command("serve")?;
        let process = command.env("MEMORY_COPILOT__SERVER__LISTEN", listen.to_string()).spawn()?;
        let client = Client::builder().no_proxy().build()?;
        let api = Api { client, url: format!("http://{listen}"), token: String::new() };
        let mut service = Self { process, api, ready_after: Duration::ZERO };
        service.wait_until_ready(began, &setup.log_file()).await?;
        service.api.token = std::fs::read_to_string(setup.data_dir.join("token"))?;
        Ok(service)
    }

    async fn wait_until_ready(&mut self, began: Instant, log_file: &Path) -> Result<()> {
        let url = format!("{}/readyz", self.api.url);
        loop {
            let answer = self.api.client.get(&url).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                self.ready_after = began.elapsed();
                return Ok(());
            }
            let log = || log_file.display();
            if let Some(status) = self.process.try_wait()? {
                bail!("the service ended with {status}; its log is {}", log());
            }
            ensure!(began.elapsed() < START_TIMEOUT, "not ready in time; the log is {}", log());
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the resident memory of the service's own process, in MiB, without PostgreSQL's
    /// processes.
    pub fn resident_mib(&self) -> Result<f64> {
        self.memory("VmRSS")
    }

    /// Returns its part without mapped files, in MiB: the keyword index is mapped and counts as
    /// long as the system has memory to spare.
    pub fn own_mib(&self) -> Result<f64> {
        self.memory("RssAnon")
    }

    /// Returns its peak, in MiB.
    pub fn peak_mib(&self) -> Result<f64> {
        self.memory("VmHWM")
    }

    fn memory(&self, name: &str) -> Result<f64> {
        let file = format!("/proc/{}/status", self.process.id());
        let text = machine::field(&file, name).context("the service's memory can't be read")?;
        let kib: f64 = text.trim_end_matches(" kB").parse()?;
        Ok(kib / 1_024.0)
    }

    /// Asks the service to stop and waits until it and its database have.
    pub fn stop(mut self) -> Result<()> {
        let status = self.end()?;
        ensure!(status.success(), "the service stopped with {status}");
        Ok(())
    }

    /// Kills the process as `kill -9` does.
    pub fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    fn end(&mut self) -> Result<std::process::ExitStatus> {
        if self.process.try_wait()?.is_none() {
            let pid = rustix::process::Pid::from_child(&self.process);
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        Ok(self.process.wait()?)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            say(&format!("the service could not be stopped: {error}"));
        }
    }
}

impl Api {
    /// Returns the URL of a path, for other clients.
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Sends `POST` and expects success.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.client.post(self.address(path)).json(body);
        self.answer(path, request).await
    }

    /// Sends `POST` and returns any response.
    pub async fn try_post(&self, path: &str, body: &Value) -> reqwest::Result<(StatusCode, Value)> {
        let request = self.client.post(self.address(path)).json(body);
        let answer = request.bearer_auth(&self.token).send().await?;
        Ok((answer.status(), answer.json().await?))
    }

    /// Sends `PUT` over any version and expects success.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.client.put(self.address(path)).header("If-Match", "*").json(body);
        self.answer(path, request).await
    }

    /// Sends `GET` and expects success.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.answer(path, self.client.get(self.address(path))).await
    }

    /// Sends `DELETE` and expects success.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let request = self.client.delete(self.address(path)).bearer_auth(&self.token);
        request.send().await?.error_for_status()?;
        Ok(())
    }

    async fn answer(&self, path: &str, request: reqwest::RequestBuilder) -> Result<Value> {
        let answer = request.bearer_auth(&self.token).send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        ensure!(status.is_success(), "{path} answered {status}: {body}");
        Ok(body)
    }

    /// Requests `path` until `wanted` accepts the response, and returns it. Frequent polling costs
    /// the service time, too.
    pub async fn until(
        &self,
        path: &str,
        every: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let began = Instant::now();
        loop {
            let body = self.get(path).await?;
            if wanted(&body) {
                return Ok(body);
            }
            ensure!(began.elapsed() < DONE_WITHIN, "{path} says {body} after {DONE_WITHIN:?}");
            tokio::time::sleep(every).await;
        }
    }
}

/// Returns an address that was free a moment ago.
pub fn free_address() -> Result<SocketAddr> {
    Ok(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
