//! The sandbox of a service.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::bubblewrap::{Bubblewrap, Run, SYSTEM_DIRECTORIES};
use crate::command::{Access, Command, Directory};
use crate::docker::Docker;
use crate::limits::Limits;
use crate::outcome::{Outcome, OutputStream, Status};
use crate::protected_paths::ProtectedPaths;
use crate::settings::{RunnerChoice, Settings};

/// Time limit of the command that tests bubblewrap.
const TRIAL_TIME: Duration = Duration::from_secs(30);
/// Parts of bubblewrap's messages about namespaces that the system refuses.
const NAMESPACE_ERRORS: &[&str] =
    &["new namespace", "uid map", "user namespace", "Operation not permitted"];
/// What to do about them.
const NAMESPACE_FIX: &str = "allow unprivileged user namespaces: `sysctl -w \
    kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`, on Ubuntu also \
    `kernel.apparmor_restrict_unprivileged_userns=0`, or in a container its seccomp profile";

/// What runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerKind {
    /// Bubblewrap.
    Bubblewrap,
    /// A Docker engine.
    Docker,
}

/// Runs commands under limits, without a network, apart from the files of the machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    runner: Runner,
    protected_paths: ProtectedPaths,
}

#[derive(Debug, Clone)]
enum Runner {
    Bubblewrap(Bubblewrap),
    Docker(Docker),
}

impl Sandbox {
    /// Chooses the runner, and runs a command in it to prove that it works.
    pub async fn detect(settings: Settings) -> Result<Self, Error> {
        let settings = settings.checked(SYSTEM_DIRECTORIES)?;
        let uses = |choice| settings.runner == choice || settings.runner == RunnerChoice::Auto;
        if settings.runner == RunnerChoice::None {
            return Err(Error::Disabled);
        }
        let mut reasons = Vec::new();
        let protected_paths = ProtectedPaths::of(&settings);
        if uses(RunnerChoice::Bubblewrap) {
            match detect_bubblewrap(&settings).await {
                Ok(found) => {
                    return Ok(Self { runner: Runner::Bubblewrap(found), protected_paths });
                }
                Err(reason) => reasons.push(format!("bubblewrap: {reason}")),
            }
        }
        if uses(RunnerChoice::Docker) {
            match Docker::connect(&settings.docker).await {
                Ok(found) => return Ok(Self { runner: Runner::Docker(found), protected_paths }),
                Err(reason) => reasons.push(format!("Docker: {reason}")),
            }
        }
        Err(Error::NoRunner { reasons: reasons.join("; ") })
    }

    /// Returns what runs commands.
    pub fn kind(&self) -> RunnerKind {
        match &self.runner {
            Runner::Bubblewrap(_) => RunnerKind::Bubblewrap,
            Runner::Docker(_) => RunnerKind::Docker,
        }
    }

    /// Runs a command to its end, and returns its outcome; a command that fails or reaches a limit
    /// is no error. Its processes have ended then.
    ///
    /// `on_output` receives each part of the output as it arrives. The command's output is not read
    /// until it returns. Cancellation, and dropping the future, end the command: SIGTERM, and
    /// SIGKILL after the grace time.
    pub async fn run(
        &self,
        command: Command,
        on_output: impl FnMut(OutputStream, &[u8]) + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Error> {
        Ok(self.run_with_details(command, on_output, cancel).await?.outcome)
    }

    pub(crate) async fn run_with_details(
        &self,
        command: Command,
        on_output: impl FnMut(OutputStream, &[u8]) + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<Run, Error> {
        command.check(&self.protected_paths)?;
        match &self.runner {
            Runner::Bubblewrap(bubblewrap) => {
                check_targets(&command, bubblewrap.read_only_paths())?;
                bubblewrap.run(command, on_output, cancel).await
            }
            Runner::Docker(docker) => {
                let outcome = docker.run(command, on_output, cancel).await?;
                Ok(Run { outcome, landlock: None })
            }
        }
    }

    /// Returns a sentence about the runner, for an operator.
    pub fn description(&self) -> String {
        match &self.runner {
            Runner::Bubblewrap(bubblewrap) => {
                format!("bubblewrap, {}", bubblewrap.program().display())
            }
            Runner::Docker(docker) => format!("Docker, image {}", docker.image()),
        }
    }
}

/// Checks that no directory of the command hides tools.
fn check_targets(command: &Command, tools: &[PathBuf]) -> Result<(), Error> {
    let overlaps = |directory: &&Directory| {
        let target = &directory.target;
        tools.iter().any(|path| path.starts_with(target) || target.starts_with(path))
    };
    match command.directories.iter().find(overlaps) {
        None => Ok(()),
        Some(directory) => Err(Error::InvalidCommand(format!(
            "{} overlaps with one of sandbox.read_only_paths; choose another path",
            directory.target.display()
        ))),
    }
}

/// Finds bubblewrap and tests it; an error is the reason why it can't be used.
async fn detect_bubblewrap(settings: &Settings) -> Result<Bubblewrap, String> {
    let bubblewrap = Bubblewrap::find(settings).ok_or("the program bwrap is not installed")?;
    // With a directory, which an old version can't bind by its descriptor.
    let usr = Directory::open(Path::new("/usr"), "/trial", Access::ReadOnly);
    let limits = Limits { wall_time: TRIAL_TIME, ..Limits::default() };
    let trial = Command::new("true").limits(limits);
    let trial = trial.directory(usr.map_err(|error| error.to_string())?);
    let run = bubblewrap.run(trial, |_, _| {}, &CancellationToken::new()).await;
    match run {
        Ok(run) if run.outcome.is_success() => Ok(bubblewrap),
        Ok(run) => Err(match run.outcome.status {
            Status::Exited(code) => format!("a first command ended with the exit code {code}"),
            Status::Signaled(signal) => format!("a first command was ended by signal {signal}"),
        }),
        Err(Error::NotStarted(reason)) => Err(explain(&reason)),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the reason of bubblewrap with what to do about it.
fn explain(reason: &str) -> String {
    if NAMESPACE_ERRORS.iter().any(|error| reason.contains(error)) {
        format!("{reason}; {NAMESPACE_FIX}")
    } else if reason.contains("Unknown option") {
        format!("{reason}; install version 0.8.0 or newer with the fixes of the distribution")
    } else if reason.contains("Permission denied") && reason.contains("execvp") {
        format!("{reason}; make the program of the service executable for all users (chmod 755)")
    } else {
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_names_what_to_do() {
        let refused = "bwrap: No permissions to create new namespace, likely because the kernel \
                       does not allow non-privileged user namespaces.";
        assert!(explain(refused).contains("sysctl -w"));
        assert!(explain("bwrap: Unknown option --bind-fd").contains("0.8.0 or newer"));
        assert!(explain("bwrap: execvp /proc/self/fd/9: Permission denied").contains("chmod 755"));
        assert_eq!(explain("bwrap: other"), "bwrap: other");
    }
}
