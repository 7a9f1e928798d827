//! `bash`: runs a command in a sandbox, in the locked directory.

use std::os::fd::AsFd as _;
use std::time::Duration;

use mc_contract::Request as _;
use mc_contract::operations::workspace_tools::{BashRequest, ToolResponse};
use mc_sandbox::{Access, Command, Directory, Limits, OutputStream, Sandbox};
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::output::Output;
use crate::Error;
use crate::command_result::{ending, text};
use crate::navigation::{Action, Navigation};
use crate::path::display;

/// The program that runs a command.
const SHELL: &str = "/bin/bash";
/// Kept bytes of standard output, and of standard error.
const MAX_OUTPUT_BYTES: usize = 32 * 1024;

/// What runs commands.
#[derive(Debug, Clone, Copy)]
pub struct Commands<'a> {
    /// The sandbox.
    pub sandbox: &'a Sandbox,
    /// Limits of a command. The request sets the time, and this tool the size of the output.
    pub limits: &'a Limits,
}

/// Output of a command so far. Its text is masked only at the end, when it is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandProgress {
    /// Bytes of standard output.
    pub stdout_bytes: u64,
    /// Bytes of standard error.
    pub stderr_bytes: u64,
}

/// Runs a command to its end; one that fails or reaches a limit is no error.
///
/// The command sees the whole workspace, but not git's directory, and can write below the locked
/// directory only. `on_progress` is called as output arrives, and the command's output is not read
/// until it returns. Cancellation, and dropping the future, end the command with all its processes.
pub async fn bash(
    workspace: &Workspace<'_>,
    commands: Commands<'_>,
    navigation: &Navigation,
    request: &BashRequest,
    mut on_progress: impl FnMut(CommandProgress) + Send + 'static,
    cancel: &CancellationToken,
) -> Result<ToolResponse, Error> {
    request.check()?;
    check_bash(workspace, navigation)?;
    let wall_time = Duration::from_secs(request.timeout_seconds.unwrap_or_default().get());
    let limits = Limits { wall_time, output_bytes: MAX_OUTPUT_BYTES, ..commands.limits.clone() };
    let command = command(workspace, navigation, request.command.as_str())?.limits(limits.clone());
    let mut progress = CommandProgress::default();
    let on_output = move |stream, bytes: &[u8]| {
        let count = match stream {
            OutputStream::Stdout => &mut progress.stdout_bytes,
            OutputStream::Stderr => &mut progress.stderr_bytes,
        };
        *count += bytes.len() as u64;
        on_progress(progress);
    };
    let outcome = commands.sandbox.run(command, on_output, cancel).await?;
    let (stdout, stderr) = (&outcome.stdout, &outcome.stderr);
    let mask = |shown: &str| workspace.tree().mask(shown);
    let mut error = text(stderr, mask);
    let (error_code, reason) = ending(&outcome, &limits, "timeout_seconds");
    if let Some(reason) = reason {
        let is_in_line = !error.is_empty() && !error.ends_with('\n');
        error.push_str(if is_in_line { "\n" } else { "" });
        error.push_str(&reason);
    }
    let is_truncated = stdout.omitted_bytes() > 0 || stderr.omitted_bytes() > 0;
    let mut output = Output { text: text(stdout, mask), is_truncated, ..Output::default() };
    if is_truncated {
        output = output.note("the middle of the output was left out; filter it, or write a file");
    }
    Ok(ToolResponse { error, error_code, ..output.response(navigation) })
}

/// Checks that commands may run in a workspace, before one waits for its turn.
pub fn check_bash(workspace: &Workspace<'_>, navigation: &Navigation) -> Result<(), Error> {
    workspace.check(navigation, Action::RunCommands)?;
    if workspace.work_tree.is_of_clone() { Ok(()) } else { Err(Error::CommandsInPlace) }
}

/// Returns the command with the directories that it sees.
fn command(
    workspace: &Workspace<'_>,
    navigation: &Navigation,
    text: &str,
) -> Result<Command, Error> {
    let cwd = navigation.cwd();
    let directory = |path: &str, access| {
        // By its handle: no link on the path is followed.
        let opened = workspace.root.open_below(path).map_err(Error::at(path))?;
        let handle = opened.as_fd().try_clone_to_owned();
        let handle = handle.map_err(|error| Error::at(path)(error.into()))?;
        Ok::<_, Error>(Directory::from_handle(handle, display(path), access))
    };
    let mut command = Command::new(SHELL).args(["-c", "--", text]);
    if !cwd.is_empty() {
        command = command.directory(directory("", Access::ReadOnly)?);
    }
    command = command.directory(directory(cwd, Access::Writable)?);
    Ok(command.working_directory(display(cwd)).user(workspace.work_tree.user()))
}
