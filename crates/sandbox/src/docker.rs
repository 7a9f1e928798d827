//! Runs commands in containers of a Docker engine.
//!
//! It was tested against a stand-in of the engine's API, not against a real engine. Compared to
//! bubblewrap, directories are mounted by their path, so a directory that is replaced between check
//! and start is mounted in its new form; and processor time is limited for each process only.

mod container;

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::query_parameters::{
    AttachContainerOptionsBuilder, KillContainerOptionsBuilder, ListContainersOptionsBuilder,
    RemoveContainerOptionsBuilder, WaitContainerOptions,
};
use bollard::{API_DEFAULT_VERSION, container::LogOutput, errors::Error as EngineError};
use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::capture::Capture;
use crate::command::Command;
use crate::outcome::{EndedBy, Limit, Outcome, OutputStream, Status, Usage};
use crate::settings::DockerSettings;
use container::{LABEL, configuration};

/// Timeout of one request to the engine, in seconds.
const REQUEST_SECONDS: u64 = 60;
/// Time that the engine has to end a container after SIGKILL.
const KILL_MARGIN: Duration = Duration::from_secs(10);
/// Exit codes above this one stand for a signal: the container's init reports it so.
const SIGNAL_BASE: i64 = 128;
/// Largest number of a signal.
const MAX_SIGNAL: i64 = 64;
/// Status with which the engine refuses a program that it can't execute.
const BAD_REQUEST: u16 = 400;

/// A Docker engine, and the image for commands.
#[derive(Debug, Clone)]
pub(crate) struct Docker {
    engine: bollard::Docker,
    settings: DockerSettings,
}

impl Docker {
    /// Connects to the engine, checks that it has the image, and removes containers that a service
    /// which has died left behind.
    pub async fn connect(settings: &DockerSettings) -> Result<Self, String> {
        if settings.image.is_empty() {
            return Err("sandbox.image is not set".to_owned());
        }
        let socket = settings.socket.to_string_lossy();
        let engine =
            bollard::Docker::connect_with_unix(&socket, REQUEST_SECONDS, API_DEFAULT_VERSION)
                .map_err(|error| error.to_string())?;
        let engine = engine.negotiate_version().await.map_err(|error| error.to_string())?;
        engine.inspect_image(&settings.image).await.map_err(|error| {
            format!("{error}; run `docker pull {}` on this machine", settings.image)
        })?;
        let docker = Self { engine, settings: settings.clone() };
        docker.remove_expired().await.map_err(|error| error.to_string())?;
        Ok(docker)
    }

    /// Returns the image with its digest.
    pub fn image(&self) -> &str {
        &self.settings.image
    }

    /// Runs a command. Dropping the future ends it.
    pub async fn run(
        &self,
        command: Command,
        on_output: impl FnMut(OutputStream, &[u8]) + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Error> {
        // A task of its own, which removes the container also if this future is dropped.
        let (docker, cancel) = (self.clone(), cancel.child_token());
        let guard = cancel.clone().drop_guard();
        let task = tokio::spawn(docker.run_to_end(command, on_output, cancel));
        let outcome = task.await.map_err(|error| Error::Docker(error.to_string()))?;
        drop(guard);
        outcome
    }

    async fn run_to_end(
        self,
        command: Command,
        on_output: impl FnMut(OutputStream, &[u8]) + Send + 'static,
        cancel: CancellationToken,
    ) -> Result<Outcome, Error> {
        let configuration = configuration(&command, &self.settings, now())?;
        // What it can't remove now, it tries again before the next command.
        if let Err(error) = self.remove_expired().await {
            tracing::warn!(%error, "expired containers were not removed");
        }
        let created = self.engine.create_container(None, configuration).await.map_err(failed)?;
        let run = {
            let (docker, id) = (self.clone(), created.id.clone());
            async move { docker.run_container(&id, &command, on_output, &cancel).await }
        };
        // A panic of the caller's function ends this task only, so the container is removed.
        let outcome = tokio::spawn(run).await;
        let removed = self.remove(&created.id).await;
        let outcome = outcome.unwrap_or_else(|error| Err(Error::Docker(error.to_string())));
        match (outcome, removed) {
            (Ok(_), Err(error)) => Err(Error::NotEnded(error.to_string())),
            (outcome, _) => outcome,
        }
    }

    async fn run_container(
        &self,
        id: &str,
        command: &Command,
        on_output: impl FnMut(OutputStream, &[u8]) + Send,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Error> {
        let started = Instant::now();
        // Before the start, so that no output is lost: the engine keeps none.
        let options = AttachContainerOptionsBuilder::new().stream(true).stdout(true).stderr(true);
        let attached = self.engine.attach_container(id, Some(options.build())).await;
        let attached = attached.map_err(failed)?;
        self.engine.start_container(id, None).await.map_err(|error| match error {
            EngineError::DockerResponseServerError { status_code: BAD_REQUEST, message } => {
                let program = command.program.to_string_lossy().into_owned();
                Error::Program { program, cause: message }
            }
            error => failed(error),
        })?;
        let mut captured = Captured::new(command.limits.output_bytes, on_output);
        let reason =
            self.read_until_end(id, command, attached.output, &mut captured, cancel).await?;
        let status = self.wait(id).await?;
        let ended_by = match reason {
            Some(reason) => reason,
            None => self.limit_of(id, status).await?.map_or(EndedBy::Exit, EndedBy::Limit),
        };
        let [stdout, stderr] = captured.captures.map(Capture::finish);
        let duration = started.elapsed();
        Ok(Outcome { status, ended_by, stdout, stderr, duration, usage: Usage::default() })
    }

    /// Reads the output until the container ends. Returns why it was ended, if it was.
    async fn read_until_end(
        &self,
        id: &str,
        command: &Command,
        mut output: impl Stream<Item = Result<LogOutput, EngineError>> + Unpin,
        captured: &mut Captured<impl FnMut(OutputStream, &[u8])>,
        cancel: &CancellationToken,
    ) -> Result<Option<EndedBy>, Error> {
        let mut deadline = Instant::now() + command.limits.wall_time;
        let mut reason = None;
        let mut is_killed = false;
        loop {
            tokio::select! {
                part = output.next() => match part {
                    Some(part) => captured.add(&part.map_err(failed)?),
                    None => return Ok(reason),
                },
                () = cancel.cancelled(), if reason.is_none() => {
                    reason = Some(EndedBy::Cancelled);
                    self.signal(id, "SIGTERM").await?;
                    deadline = Instant::now() + command.limits.grace_time;
                }
                () = sleep_until(deadline) => {
                    if is_killed {
                        return Err(Error::NotEnded("the engine does not end it".to_owned()));
                    }
                    is_killed = reason.is_some();
                    self.signal(id, if is_killed { "SIGKILL" } else { "SIGTERM" }).await?;
                    let next = if is_killed { KILL_MARGIN } else { command.limits.grace_time };
                    deadline = Instant::now() + next;
                    reason = reason.or(Some(EndedBy::Limit(Limit::WallTime)));
                }
            }
        }
    }

    async fn signal(&self, id: &str, signal: &str) -> Result<(), Error> {
        let options = KillContainerOptionsBuilder::new().signal(signal).build();
        match self.engine.kill_container(id, Some(options)).await {
            // It has ended meanwhile.
            Err(EngineError::DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
            sent => sent.map_err(failed),
        }
    }

    /// Waits until the container has ended.
    async fn wait(&self, id: &str) -> Result<Status, Error> {
        let options = WaitContainerOptions { condition: "not-running".to_owned() };
        let mut waiting = Box::pin(self.engine.wait_container(id, Some(options)));
        let ended = tokio::time::timeout(KILL_MARGIN, waiting.next()).await;
        let code = match ended {
            Ok(Some(Ok(ended))) => ended.status_code,
            Ok(Some(Err(EngineError::DockerContainerWaitError { code, .. }))) => code,
            Ok(Some(Err(error))) => return Err(failed(error)),
            Ok(None) | Err(_) => return Err(Error::NotEnded("the engine does not end it".into())),
        };
        let signal = code - SIGNAL_BASE;
        let is_signal = (1..=MAX_SIGNAL).contains(&signal);
        let number = i32::try_from(if is_signal { signal } else { code }).unwrap_or(i32::MAX);
        Ok(if is_signal { Status::Signaled(number) } else { Status::Exited(number) })
    }

    /// Returns the limit that the kernel enforced.
    async fn limit_of(&self, id: &str, status: Status) -> Result<Option<Limit>, Error> {
        let found = self.engine.inspect_container(id, None).await.map_err(failed)?;
        let is_out_of_memory = found.state.and_then(|state| state.oom_killed) == Some(true);
        Ok(match status {
            Status::Signaled(libc::SIGXCPU) => Some(Limit::ProcessorTime),
            Status::Signaled(libc::SIGXFSZ) => Some(Limit::FileBytes),
            Status::Signaled(libc::SIGKILL) if is_out_of_memory => Some(Limit::Memory),
            _ => None,
        })
    }

    async fn remove(&self, id: &str) -> Result<(), EngineError> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        match self.engine.remove_container(id, Some(options)).await {
            Err(EngineError::DockerResponseServerError { status_code: 404, .. }) => Ok(()),
            removed => removed,
        }
    }

    /// Removes containers whose time is over. A service that was killed could not remove its own.
    async fn remove_expired(&self) -> Result<(), EngineError> {
        let filters = HashMap::from([("label", vec![LABEL])]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        for container in self.engine.list_containers(Some(options)).await? {
            let until = container.labels.as_ref().and_then(|labels| labels.get(LABEL));
            let until = until.and_then(|until| until.parse::<u64>().ok());
            let is_expired = until.is_some_and(|until| until < now());
            if let Some(id) = container.id.filter(|_| is_expired) {
                self.remove(&id).await?;
            }
        }
        Ok(())
    }
}

/// The output of a container.
struct Captured<F> {
    captures: [Capture; 2],
    on_output: F,
}

impl<F: FnMut(OutputStream, &[u8])> Captured<F> {
    fn new(limit: usize, on_output: F) -> Self {
        Self { captures: [Capture::new(limit), Capture::new(limit)], on_output }
    }

    fn add(&mut self, part: &LogOutput) {
        let (index, stream, message) = match part {
            LogOutput::StdErr { message } => (1, OutputStream::Stderr, message),
            LogOutput::StdOut { message } | LogOutput::Console { message } => {
                (0, OutputStream::Stdout, message)
            }
            LogOutput::StdIn { .. } => return,
        };
        self.captures[index].add(message);
        (self.on_output)(stream, message);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function of `map_err`")]
fn failed(error: EngineError) -> Error {
    Error::Docker(error.to_string())
}

/// Returns the time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
