//! The process of bubblewrap.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{self, Child, ChildStderr, ChildStdout, Stdio};

use command_fds::CommandFdExt as _;
use mc_privileges::raise_privileges;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Bubblewrap;
use super::arguments::Arguments;
use crate::command::{Access, Command, Directory};
use crate::message::{Start, Text};

/// Where commands find the programs of the system.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Environment of a command that sets no other, but for its `PATH`.
const ENVIRONMENT: &[(&str, &str)] =
    &[("HOME", "/tmp/home"), ("USER", "sandbox"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8")];

/// Bubblewrap's process. It is killed when dropped, also if the caller's function panics.
pub(super) struct Process {
    child: Child,
    /// Whether its status was read. Its id may belong to another process then.
    is_collected: bool,
}

impl Process {
    /// Starts bubblewrap as the user of the command. `stdin` is the socket of the first process.
    pub fn start(
        bubblewrap: &Bubblewrap,
        command: &Command,
        arguments: Arguments,
        stdin: OwnedFd,
    ) -> io::Result<Self> {
        let mut process = process::Command::new(&bubblewrap.program);
        process.args(&arguments.list).env_clear().current_dir("/").process_group(0);
        process.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(user) = command.runs_as() {
            // `uid` also removes root's supplementary groups.
            process.uid(user.uid).gid(user.gid);
        }
        // Only this child process inherits them: they are closed in other programs.
        process.preserved_fds(arguments.files);
        let _raised = raise_privileges();
        Ok(Self { child: process.spawn()?, is_collected: false })
    }

    /// Returns the streams of its output.
    pub fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Kills bubblewrap; the kernel then kills the first process, and with it all others.
    ///
    /// While bubblewrap sets up the sandbox, the kernel does not do this yet: the first process
    /// would wait for bubblewrap without end. It is still in bubblewrap's process group then, so
    /// the whole group is killed.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.is_collected {
            return Ok(());
        }
        let _raised = raise_privileges();
        Ok(killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL)?)
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<()> {
        self.child.wait()?;
        self.is_collected = true;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // If the service may not kill it, the first process ends when its socket is closed.
        if self.kill().is_ok() {
            let _ = self.wait();
        }
    }
}

/// Returns the directories in which a command finds programs: those of the tools come first.
fn search_path(tools: &[PathBuf]) -> OsString {
    let mut path = OsString::new();
    for tool in tools {
        path.push(tool.join("bin"));
        path.push(":");
    }
    path.push(SYSTEM_PATH);
    path
}

/// Returns the command as the first process starts it, with the directories of tools.
pub(super) fn start_of(command: &Command, tools: &[PathBuf]) -> Start {
    let arguments = std::iter::once(&command.program).chain(&command.arguments);
    let path = (Text::from("PATH"), Text::from(&search_path(tools)));
    let own = ENVIRONMENT.iter().map(|(name, value)| (Text::from(name), Text::from(value)));
    let set = command.environment.iter();
    let set = set.map(|(name, value)| (Text::from(name), Text::from(value)));
    let is_writable = |directory: &&Directory| directory.access == Access::Writable;
    Start {
        arguments: arguments.map(Text::from).collect(),
        environment: std::iter::once(path).chain(own).chain(set).collect(),
        working_directory: Text::from(&command.working_directory),
        writable: command
            .directories
            .iter()
            .filter(is_writable)
            .map(|directory| Text::from(&directory.target))
            .collect(),
        limits: command.limits.clone(),
    }
}
