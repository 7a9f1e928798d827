//! Starts bubblewrap as the user of a command.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{self, Child, Stdio};

use command_fds::CommandFdExt as _;
use mc_privileges::raise_privileges;

use super::Bubblewrap;
use super::arguments::Arguments;
use crate::command::{Access, Command, Directory};
use crate::message::{Start, Text};

/// Environment of a command that sets no other.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/tmp/home"),
    ("USER", "sandbox"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
];

/// Starts bubblewrap. `stdin` is the socket of the first process.
pub(super) fn spawn(
    bubblewrap: &Bubblewrap,
    command: &Command,
    arguments: Arguments,
    stdin: OwnedFd,
) -> io::Result<Child> {
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
    process.spawn()
}

/// Returns the command as the first process starts it.
pub(super) fn start_of(command: &Command) -> Start {
    let arguments = std::iter::once(&command.program).chain(&command.arguments);
    let own = ENVIRONMENT.iter().map(|(name, value)| (Text::from(name), Text::from(value)));
    let set = command.environment.iter();
    let set = set.map(|(name, value)| (Text::from(name), Text::from(value)));
    let is_writable = |directory: &&Directory| directory.access == Access::Writable;
    Start {
        arguments: arguments.map(Text::from).collect(),
        environment: own.chain(set).collect(),
        working_directory: Text::from(&command.working_directory),
        writable: command
            .directories
            .iter()
            .filter(is_writable)
            .map(|directory| Text::from(&directory.place))
            .collect(),
        limits: command.limits.clone(),
    }
}
