//! Commands that try to break out of the sandbox, for `doctor`.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use tokio_util::sync::CancellationToken;

use crate::command::{Access, Command, Directory};
use crate::limits::Limits;
use crate::outcome::{EndedBy, Limit, Outcome};
use crate::sandbox::{RunnerKind, Sandbox};

/// Time limit of a probe that ends by itself.
const PROBE_TIME: Duration = Duration::from_secs(30);
/// Time limit of the probe that does not.
const ENDLESS_TIME: Duration = Duration::from_secs(1);
/// Line that each probe prints when it has tried everything. Without it, nothing was proved.
const TRIED: &str = "tried";

/// Result of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub name: &'static str,
    /// What is wrong; `None` if the sandbox held.
    pub problem: Option<String>,
}

/// Results of all probes.
#[derive(Debug, Clone)]
pub struct Report {
    /// The runner.
    pub runner: RunnerKind,
    /// One result for each probe.
    pub findings: Vec<Finding>,
    /// Version of Landlock's interface that was in force; `None` without Landlock.
    pub landlock: Option<i32>,
}

impl Report {
    /// Returns whether the sandbox held in all probes.
    pub fn holds(&self) -> bool {
        self.findings.iter().all(|finding| finding.problem.is_none())
    }
}

/// A probe: a script of the shell, which prints [`TRIED`] at its end. It prints any other text only
/// if it reached what it must not reach.
struct Probe {
    name: &'static str,
    script: String,
}

impl Sandbox {
    /// Runs real commands that try to break out. `secrets` are files and directories of the
    /// service, which must not be readable. Takes a few seconds.
    pub async fn probe(&self, secrets: &[&Path]) -> Report {
        let mut findings = Vec::new();
        // It listens while the probes run.
        let listener = TcpListener::bind("127.0.0.1:0");
        for Probe { name, script } in probes(secrets, listener.as_ref().ok()) {
            let limits = Limits { wall_time: PROBE_TIME, ..Limits::default() };
            let problem = match self.run_script(&script, limits).await {
                Ok(outcome) => unexpected_output(&outcome),
                Err(error) => Some(error),
            };
            findings.push(Finding { name, problem });
        }
        findings.push(self.probe_root().await);
        findings.push(self.probe_time().await);
        findings.push(self.probe_processes().await);
        let command = Command::new("true");
        let run = self.run_with_details(command, |_, _| {}, &CancellationToken::new()).await;
        let landlock = run.ok().and_then(|run| run.landlock);
        Report { runner: self.kind(), findings, landlock }
    }

    async fn run_script(&self, script: &str, limits: Limits) -> Result<Outcome, String> {
        let command = Command::new("/bin/sh").args(["-c", script]).limits(limits);
        let run = self.run(command, |_, _| {}, &CancellationToken::new()).await;
        run.map_err(|error| error.to_string())
    }

    /// No command is given the root directory, whoever asks for it.
    async fn probe_root(&self) -> Finding {
        let name = "the root directory";
        let root = open_root().map_err(|error| error.to_string());
        let problem = match root {
            Err(error) => Some(error),
            Ok(root) => {
                let directory = Directory::from_handle(root, "/work", Access::ReadOnly);
                let command = Command::new("true").directory(directory);
                let run = self.run(command, |_, _| {}, &CancellationToken::new()).await;
                run.is_ok().then(|| "a command was given the root directory".to_owned())
            }
        };
        Finding { name, problem }
    }

    async fn probe_time(&self) -> Finding {
        let limits =
            Limits { wall_time: ENDLESS_TIME, grace_time: Duration::ZERO, ..Limits::default() };
        let script = "trap '' TERM; while :; do sleep 60; done";
        let problem = match self.run_script(script, limits).await {
            Ok(outcome) if outcome.ended_by == EndedBy::Limit(Limit::WallTime) => None,
            Ok(outcome) => Some(format!("it ended by {:?}", outcome.ended_by)),
            Err(error) => Some(error),
        };
        Finding { name: "the limit of time", problem }
    }

    async fn probe_processes(&self) -> Finding {
        let processes = 16;
        let limits = Limits { wall_time: PROBE_TIME, processes, ..Limits::default() };
        // The shell reports and ends at the first process that it can't create.
        let script = "i=0; while [ $i -lt 64 ]; do sleep 20 & i=$((i+1)); done; echo created";
        let problem = match self.run_script(script, limits).await {
            Ok(outcome) if outcome.stdout.to_text().contains("created") => {
                Some(format!("64 processes were created, although {processes} are allowed"))
            }
            Ok(_) => None,
            Err(error) => Some(error),
        };
        Finding { name: "the limit of processes", problem }
    }
}

fn open_root() -> io::Result<rustix::fd::OwnedFd> {
    Ok(open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Returns what a probe printed beside its last line, or why it did not come so far.
fn unexpected_output(outcome: &Outcome) -> Option<String> {
    let printed = outcome.stdout.to_text();
    match printed.trim().strip_suffix(TRIED) {
        Some("") => None,
        Some(reached) => Some(reached.trim().to_owned()),
        None => {
            let error = outcome.stderr.to_text();
            Some(format!("the probe did not run ({:?}): {}", outcome.status, error.trim()))
        }
    }
}

fn probes(secrets: &[&Path], listener: Option<&TcpListener>) -> Vec<Probe> {
    let port = listener.and_then(|listener| listener.local_addr().ok()).map(|at| at.port());
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let secrets: Vec<String> = secrets.iter().map(|path| quoted(path)).collect();
    let all = [
        (
            "files of the machine",
            "for f in /etc/shadow /etc/ssl/private /root /home /var /boot /sys/kernel /run; do \
             ls \"$f\" 2>/dev/null; done"
                .to_owned(),
        ),
        (
            "files of the service",
            format!(
                "for f in {}; do head -c 8 \"$f\" 2>/dev/null || ls \"$f\" 2>/dev/null; done",
                secrets.join(" ")
            ),
        ),
        (
            "changes of the system",
            "for d in / /usr /etc /dev /proc/sys/kernel; do \
             (echo x > \"$d/probe\") 2>/dev/null && echo \"wrote $d/probe\"; done"
                .to_owned(),
        ),
        (
            "the network",
            format!(
                "grep -v -e '^ *lo:' -e '|' /proc/net/dev; \
                 test -x /bin/bash && timeout 5 /bin/bash -c ': < /dev/tcp/127.0.0.1/{}' \
                 2>/dev/null && echo connected",
                port.unwrap_or(1)
            ),
        ),
        (
            "other processes",
            "for p in /proc/[0-9]*; do n=${p#/proc/}; [ $n -gt 64 ] && echo $p; done; \
             cat /proc/1/environ 2>/dev/null"
                .to_owned(),
        ),
        (
            "the environment of the service",
            "env | grep -v -e ^PATH= -e ^HOME= -e ^USER= -e ^TMPDIR= -e ^LANG= -e ^PWD= -e ^_= \
             -e ^OLDPWD= -e ^HOSTNAME= -e ^SHLVL="
                .to_owned(),
        ),
        (
            "privileges",
            "grep -E '^Cap(Prm|Eff|Amb):' /proc/self/status | grep -v 0000000000000000; \
             grep -q '^NoNewPrivs:.1' /proc/self/status || echo 'new privileges are possible'; \
             [ \"$(id -u)\" = 0 ] && echo 'it runs as root'"
                .to_owned(),
        ),
        (
            "the filter of system calls",
            "grep -q '^Seccomp:.2' /proc/self/status || echo 'there is no filter'; \
             unshare --user true 2>/dev/null && echo 'a user namespace was created'"
                .to_owned(),
        ),
    ];
    let probe = |(name, script): (&'static str, String)| Probe {
        name,
        script: format!("{script}\necho {TRIED}"),
    };
    all.into_iter().map(probe).collect()
}
