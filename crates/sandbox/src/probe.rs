//! Commands that try to break out of the sandbox, for `doctor`.

mod scripts;

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::command::{Access, Command, Directory};
use crate::limits::Limits;
use crate::outcome::{EndedBy, Limit, Outcome};
use crate::sandbox::{RunnerKind, Sandbox};
use scripts::Probe;

/// Time limit of a probe that ends by itself.
const PROBE_TIME: Duration = Duration::from_secs(30);
/// Time limit of the probe that does not.
const ENDLESS_TIME: Duration = Duration::from_secs(1);
/// Limit of processes in the probe that exceeds it.
const PROCESSES: u64 = 16;
/// Line that each probe prints when it has tried everything. Without it, nothing was proved.
const TRIED: &str = "tried";

/// Output of a probe that needs a program which the sandbox does not have.
const MISSING: &str = "missing";

/// Result of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// What was tried.
    pub name: &'static str,
    /// Whether the sandbox held.
    pub status: ProbeStatus,
}

/// Whether the sandbox held in one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeStatus {
    /// It held.
    Held,
    /// It did not hold, or nothing was proved. The text says what is wrong.
    Failed(String),
    /// The probe could not be made. The text says why.
    NotTested(String),
}

/// Results of all probes.
#[derive(Debug, Clone)]
pub struct Report {
    /// The runner.
    pub runner: RunnerKind,
    /// One result for each probe.
    pub results: Vec<ProbeResult>,
    /// Version of Landlock's interface that was in force; `None` without Landlock.
    pub landlock: Option<i32>,
}

impl Report {
    /// Returns whether no probe failed. Some may not have been made.
    pub fn holds(&self) -> bool {
        self.results.iter().all(|result| !matches!(result.status, ProbeStatus::Failed(_)))
    }
}

impl Sandbox {
    /// Runs real commands that try to break out. `secrets` are files and directories of the
    /// service, which must not be readable. Takes a few seconds.
    pub async fn probe(&self, secrets: &[&Path]) -> Report {
        let mut results = Vec::new();
        // It listens while the probes run.
        let listener = TcpListener::bind("127.0.0.1:0");
        for Probe { name, tools, script } in scripts::probes(secrets, listener.as_ref().ok()) {
            let limits = Limits { wall_time: PROBE_TIME, ..Limits::default() };
            let script = format!(
                "for t in {}; do command -v $t > /dev/null || {{ echo {MISSING} $t; exit; }}; \
                 done\n{script}\necho {TRIED}",
                tools.join(" ")
            );
            let status = match self.run_script(&script, limits).await {
                Ok(outcome) => status_of(&outcome),
                Err(error) => ProbeStatus::Failed(error),
            };
            results.push(ProbeResult { name, status });
        }
        for (name, status) in [
            ("the root directory", self.probe_root().await),
            ("the limit of time", self.probe_time().await),
            ("the limit of processes", self.probe_processes().await),
        ] {
            results.push(ProbeResult { name, status });
        }
        let command = Command::new("true");
        let run = self.run_with_details(command, |_, _| {}, &CancellationToken::new()).await;
        let landlock = run.ok().and_then(|run| run.landlock);
        Report { runner: self.kind(), results, landlock }
    }

    async fn run_script(&self, script: &str, limits: Limits) -> Result<Outcome, String> {
        let command = Command::new("/bin/sh").args(["-c", script]).limits(limits);
        let run = self.run(command, |_, _| {}, &CancellationToken::new()).await;
        run.map_err(|error| error.to_string())
    }

    /// No command is given the root directory, whoever asks for it.
    async fn probe_root(&self) -> ProbeStatus {
        let root = match open_root() {
            Ok(root) => root,
            Err(error) => return ProbeStatus::NotTested(error.to_string()),
        };
        let directory = Directory::from_handle(root, "/work", Access::ReadOnly);
        let command = Command::new("true").directory(directory);
        status_of_root(&self.run(command, |_, _| {}, &CancellationToken::new()).await)
    }

    async fn probe_time(&self) -> ProbeStatus {
        let limits =
            Limits { wall_time: ENDLESS_TIME, grace_time: Duration::ZERO, ..Limits::default() };
        let script = "trap '' TERM; while :; do sleep 60; done";
        match self.run_script(script, limits).await {
            Ok(outcome) if outcome.ended_by == EndedBy::Limit(Limit::WallTime) => ProbeStatus::Held,
            Ok(outcome) => ProbeStatus::Failed(format!("it ended by {:?}", outcome.ended_by)),
            Err(error) => ProbeStatus::Failed(error),
        }
    }

    async fn probe_processes(&self) -> ProbeStatus {
        let limits = Limits { wall_time: PROBE_TIME, processes: PROCESSES, ..Limits::default() };
        // The shell reports and ends at the first process that it can't create.
        let script = "i=0; while [ $i -lt 64 ]; do sleep 20 & i=$((i+1)); done; echo created";
        match self.run_script(script, limits).await {
            Ok(outcome) => status_of_processes(&outcome),
            Err(error) => ProbeStatus::Failed(error),
        }
    }
}

fn open_root() -> io::Result<rustix::fd::OwnedFd> {
    Ok(open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Returns the status of a script: what it printed beside its last line, or why it did not come so
/// far.
fn status_of(outcome: &Outcome) -> ProbeStatus {
    let printed = outcome.stdout.to_text();
    let printed = printed.trim();
    if let Some(tool) = printed.strip_prefix(MISSING) {
        return ProbeStatus::NotTested(format!("{} is not in the sandbox", tool.trim()));
    }
    match printed.strip_suffix(TRIED) {
        Some("") => ProbeStatus::Held,
        Some(reached) => ProbeStatus::Failed(reached.trim().to_owned()),
        None => {
            let (status, error) = (outcome.status, outcome.stderr.to_text());
            ProbeStatus::Failed(format!("the probe did not run ({status:?}): {}", error.trim()))
        }
    }
}

/// Another error than the refusal proves nothing.
fn status_of_root(run: &Result<Outcome, Error>) -> ProbeStatus {
    match run {
        Ok(_) => ProbeStatus::Failed("a command was given the root directory".to_owned()),
        Err(Error::InvalidCommand(_)) => ProbeStatus::Held,
        Err(error) => ProbeStatus::Failed(format!("it failed for another reason: {error}")),
    }
}

/// The shell must have reported that it could not create a process.
fn status_of_processes(outcome: &Outcome) -> ProbeStatus {
    let error = outcome.stderr.to_text();
    if outcome.stdout.to_text().contains("created") {
        ProbeStatus::Failed(format!("64 processes were created, although {PROCESSES} are allowed"))
    } else if error.to_lowercase().contains("fork") {
        ProbeStatus::Held
    } else {
        let (status, error) = (outcome.status, error.trim());
        ProbeStatus::Failed(format!("no process was refused ({status:?}): {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CapturedOutput;
    use crate::outcome::{Status, Usage};

    fn outcome(stdout: &str, stderr: &str) -> Outcome {
        let output = |text: &str| CapturedOutput {
            head: text.into(),
            tail: Vec::new(),
            total_bytes: text.len() as u64,
        };
        Outcome {
            status: Status::Exited(0),
            ended_by: EndedBy::Exit,
            stdout: output(stdout),
            stderr: output(stderr),
            duration: Duration::ZERO,
            usage: Usage::default(),
        }
    }

    fn has_failed(status: &ProbeStatus) -> bool {
        matches!(status, ProbeStatus::Failed(_))
    }

    #[test]
    fn script_that_proves_nothing_fails() {
        assert_eq!(status_of(&outcome("tried\n", "")), ProbeStatus::Held);
        assert!(has_failed(&status_of(&outcome("", "a syntax error"))));
        assert!(has_failed(&status_of(&outcome("connected\ntried\n", ""))));
        let expected = ProbeStatus::NotTested("unshare is not in the sandbox".to_owned());
        assert_eq!(status_of(&outcome("missing unshare\n", "")), expected);
    }

    #[test]
    fn only_the_expected_error_proves_a_limit() {
        assert_eq!(status_of_processes(&outcome("", "sh: 1: Cannot fork")), ProbeStatus::Held);
        assert!(has_failed(&status_of_processes(&outcome("", "sleep: not found"))));
        assert!(has_failed(&status_of_processes(&outcome("created\n", ""))));
        let refused = Error::InvalidCommand("refused".to_owned());
        assert_eq!(status_of_root(&Err(refused)), ProbeStatus::Held);
        assert!(has_failed(&status_of_root(&Err(Error::NotStarted("an error".to_owned())))));
        assert!(has_failed(&status_of_root(&Ok(outcome("", "")))));
    }
}
