//! Execution of the `git` program on untrusted repositories.

mod askpass;
mod environment;
mod failure;
mod limits;
mod output;
mod process;
pub(crate) mod server;

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mc_privileges::{Confinement, UnprivilegedUser, is_root};
use rustix::io::Errno;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::copy::CopyDirectory;
use crate::{Error, network_policy};
use environment::SETTINGS;
use failure::failure;
use output::{chunks, read, split};
use process::Process;
use server::{Server, Service};

pub use askpass::Credential;

/// First version of git that can pin the addresses of a host.
const MIN_PINNING_VERSION: (u32, u32) = (2, 37);

/// Variable that makes git print the protocol lines that it receives.
const TRACE: &str = "GIT_TRACE_PACKET";
/// First line of a git server's response over HTTP, by protocol version. Other servers send none.
const GREETINGS: &[&str] = &["< # service=git-upload-pack", "< version 2"];
/// Error message for a response that is not from a git server.
const NO_GIT_SERVER: &str = "the response is not from a git server, although git reports an empty \
    repository; check for a broken proxy between the service and the host, then try again";

/// Exit code of a shell that may not run a program.
const NOT_EXECUTABLE: i32 = 126;
/// Exit code of a shell that did not find a program.
const NOT_FOUND: i32 = 127;
/// Start and end of git's message for a directory that it can't enter.
const CHDIR_DENIED: (&str, &str) = ("fatal: cannot change to ", ": Permission denied");

/// Git in one directory.
#[derive(Debug, Default, Clone)]
pub(crate) struct Git {
    directory: PathBuf,
    /// Settings in addition to [`SETTINGS`].
    settings: Vec<String>,
    /// User that runs git; `None` for the service's own, or root without capabilities.
    user: Option<UnprivilegedUser>,
    /// Maximum bytes of a file that git writes; at least [`limits::MIN_FILE_BYTES`].
    max_file_bytes: u64,
    /// Repository that git may fetch. Without one, all transports are disabled, even if objects of
    /// a partial clone are missing.
    url: Option<Url>,
    /// Credential for `url`.
    credential: Option<Credential>,
    /// Names and values of settings that a repository's configuration makes necessary.
    overrides: Vec<(String, String)>,
    /// Index, in place of the repository's own.
    index: Option<PathBuf>,
    /// Git's own directory, if it is not in `directory`, which is then the work tree.
    own_directory: Option<PathBuf>,
    /// Directories outside of which git opens nothing; `None` for no restriction.
    confinement: Option<Arc<Confinement>>,
}

/// Returns the user that runs git on a copy of `url`; `None` for the service's.
///
/// Copies over ssh and from this disk have a user of their own: an https host that takes over git
/// cannot read them.
pub(crate) fn user_of(url: &Url) -> Option<UnprivilegedUser> {
    let user = if is_http(url) { UnprivilegedUser::GIT } else { UnprivilegedUser::PRIVATE_GIT };
    user.if_root()
}

/// Returns whether there is nothing at the path of the error.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

impl Git {
    /// Returns git in a directory, as the service's user.
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), ..Self::default() }
    }

    /// Returns git in a directory of a user of this machine. If the service is root, git runs as
    /// the user that can change the repository, and so could attack the git that reads it.
    pub fn in_place(directory: &Path) -> Result<Self, Error> {
        let io = Error::io(directory);
        let (_, mut user) = UnprivilegedUser::reader_of(directory).map_err(&io)?;
        if user.is_none() {
            user = match UnprivilegedUser::reader_of(&directory.join(".git")) {
                Err(error) if is_missing(&error) => None,
                reader => reader.map_err(io)?.1,
            };
        }
        Ok(Self { user, ..Self::in_directory(directory) })
    }

    /// Returns git that changes a checkout of this machine, as the owner of the directory, which
    /// has this id. No git of root changes files, so a service that runs as root needs a checkout
    /// of another user.
    pub fn as_owner(directory: &Path, owner: u32) -> Result<Self, Error> {
        let user = UnprivilegedUser::of_owner(owner);
        if user.is_none() && is_root() {
            let reason = "the service runs as root, and the checkout belongs to root; give it to \
                          another user with `chown -R`, since git never changes files as root";
            return Err(Error::InvalidLocation(reason.into()));
        }
        Ok(Self { user, ..Self::in_directory(directory) })
    }

    /// Returns git in a copy of a repository.
    pub fn in_copy(copy: &CopyDirectory) -> Self {
        Self::as_user(copy.path(), copy.user())
    }

    /// Returns git in a directory, as this user.
    pub fn as_user(directory: &Path, user: Option<UnprivilegedUser>) -> Self {
        Self { user, ..Self::in_directory(directory) }
    }

    /// Returns the user that runs git; `None` for the service's.
    pub fn user(&self) -> Option<UnprivilegedUser> {
        self.user
    }

    /// Adds settings.
    pub fn with_settings(self, settings: Vec<String>) -> Self {
        Self { settings, ..self }
    }

    /// Works in another directory.
    pub fn with_directory(self, directory: PathBuf) -> Self {
        Self { directory, ..self }
    }

    /// Overrides settings, whose names may have any character.
    pub fn with_overrides(self, overrides: Vec<(String, String)>) -> Self {
        Self { overrides, ..self }
    }

    /// Adds settings to those that were added before.
    pub fn with_more_settings(mut self, settings: Vec<String>) -> Self {
        self.settings.extend(settings);
        self
    }

    /// Uses another index than the repository's.
    pub fn with_index(self, index: PathBuf) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Limits each file that git writes to about this many bytes.
    pub fn with_max_file_bytes(self, max_file_bytes: u64) -> Self {
        Self { max_file_bytes, ..self }
    }

    /// Allows access to `url` with these settings, as the user that runs git on its copies.
    pub fn with_remote(self, url: &Url, settings: Vec<String>) -> Self {
        Self { settings, user: user_of(url), url: Some(url.clone()), ..self }
    }

    /// Runs as this user.
    pub fn with_user(self, user: Option<UnprivilegedUser>) -> Self {
        Self { user, ..self }
    }

    /// Uses this credential for the URL, if the URL is https.
    pub fn with_credential(self, credential: Option<Credential>) -> Self {
        Self { credential, ..self }
    }

    /// Uses another directory of git for the work tree, and looks for no other.
    pub fn with_git_directory(self, git_directory: PathBuf) -> Self {
        Self { own_directory: Some(git_directory), ..self }
    }

    /// Opens nothing outside of these directories. A server of ssh, or of a repository of this
    /// disk, is not confined.
    pub fn confined_to(self, confinement: Confinement) -> Self {
        Self { confinement: Some(Arc::new(confinement)), ..self }
    }

    /// Opens this directory, too, if it is confined.
    pub fn confined_also_to(self, directory: OwnedFd) -> Result<Self, Error> {
        let Some(confinement) = &self.confinement else { return Ok(self) };
        let mut confinement = confinement.try_clone().map_err(Error::io(&self.directory))?;
        confinement.add_writable(directory);
        Ok(self.confined_to(confinement))
    }

    /// Returns the repository for the arguments of [`Git::list`] and [`Git::fetch`].
    pub fn remote(&self) -> &str {
        match &self.url {
            Some(url) if is_http(url) => url.as_str(),
            _ => server::REMOTE,
        }
    }

    /// Rejects a version of git that would ignore the setting for pinned addresses.
    pub async fn check_version(
        &self,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        if !network_policy::needs_pinning(&self.settings) {
            return Ok(());
        }
        let output = self.run(&["version"], limit, cancel).await?;
        match parse_version(&output) {
            Some(version) if version >= MIN_PINNING_VERSION => Ok(()),
            _ => Err(Error::GitTooOld(output)),
        }
    }

    /// Runs git and returns its trimmed output.
    ///
    /// A failure is [`Error::RepositoryNotFound`] if a retry does not help, else
    /// [`Error::Unreachable`]. On timeout or cancellation, git is killed with its child processes;
    /// if the service may not kill them, the error is [`Error::PrivilegesNotDropped`].
    pub async fn run(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        Ok(self.output_of(self.command(arguments, limit), None, limit, cancel).await?.0)
    }

    /// Runs `git fetch` with these arguments, and returns its error stream.
    pub async fn fetch(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        Ok(self.run_connected(Service::Fetch, arguments, limit, cancel).await?.1)
    }

    /// Runs `git push` with these arguments, and returns its trimmed output.
    pub async fn push(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        Ok(self.run_connected(Service::Push, arguments, limit, cancel).await?.0)
    }

    /// Runs git with this standard input, and returns its trimmed output.
    pub async fn run_with_input(
        &self,
        arguments: &[&str],
        input: &[u8],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let mut output = Vec::new();
        let keep = |chunk: &[u8]| output.extend_from_slice(chunk);
        self.stream(arguments, Some(input), limit, cancel, keep).await?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Runs git, with this standard input if there is one, and passes its output to `on_chunk` as
    /// it arrives. The size of the output is not limited.
    pub async fn stream(
        &self,
        arguments: &[&str],
        input: Option<&[u8]>,
        limit: Duration,
        cancel: &CancellationToken,
        on_chunk: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut command = self.command(arguments, limit);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut process = self.start(command)?;
        let (stdout, stderr) = (process.0.stdout.take(), process.0.stderr.take());
        let stdin = process.0.stdin.take();
        let write = async {
            let Some((mut stdin, input)) = stdin.zip(input) else { return Ok(()) };
            match stdin.write_all(input).await {
                // Its message says why git reads no more.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => written,
            }
        };
        let reading = async { tokio::try_join!(chunks(stdout, on_chunk), read(stderr), write) };
        let (is_success, ((), stderr, ())) =
            self.wait_for_exit(process, reading, limit, cancel).await?;
        if is_success { Ok(()) } else { Err(self.failure(&stderr)) }
    }

    /// Runs git and passes each field of its output, which ends with NUL, to `on_field`, between
    /// reads. Fields are truncated to 64 KiB; the size of the output is not limited.
    pub async fn fields(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
        on_field: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        self.stream(arguments, None, limit, cancel, split(on_field)).await
    }

    /// Runs `git ls-remote` with these arguments.
    ///
    /// Only a git server may report an empty repository. Over HTTP, git takes almost any short
    /// response for one, so the request is repeated with a trace that shows who responded.
    pub async fn list(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let connected = self.run_connected(Service::Fetch, arguments, limit, cancel);
        let (refs, _) = connected.await?;
        if !refs.is_empty() || !self.url.as_ref().is_some_and(is_http) {
            return Ok(refs);
        }
        let mut traced = self.command_for_https(arguments, limit)?;
        traced.env(TRACE, "1");
        let (refs, trace) = self.output_of(traced, None, limit, cancel).await?;
        if refs.is_empty() && !is_from_git_server(&trace) {
            return Err(Error::Unreachable(NO_GIT_SERVER.into()));
        }
        Ok(refs)
    }

    /// Runs git with its remote, and returns its trimmed output and its error stream.
    async fn run_connected(
        &self,
        service: Service,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(String, String), Error> {
        let Some(url) = self.url.as_ref().filter(|url| !is_http(url)) else {
            let command = self.command_for_https(arguments, limit)?;
            return self.output_of(command, None, limit, cancel).await;
        };
        let (server, connection) = Server::start(service, url, limit)?;
        let mut command = self.command_with(limits::CONNECTION, arguments, limit);
        command.stdin(connection);
        self.output_of(command, Some(server), limit, cancel).await
    }

    /// Returns a command that has the credential, if there is one.
    fn command_for_https(&self, arguments: &[&str], limit: Duration) -> Result<Command, Error> {
        let Some(credential) = &self.credential else { return Ok(self.command(arguments, limit)) };
        let script: OwnedFd = credential.script().map_err(Error::Credential)?;
        let mut command = self.command_with(askpass::DESCRIPTOR, arguments, limit);
        command.stdin(script).env("GIT_ASKPASS", askpass::PATH);
        Ok(command)
    }

    /// Runs a command that is connected to a server, if there is one. Returns its trimmed output
    /// and the error streams.
    async fn output_of(
        &self,
        command: Command,
        server: Option<Server>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(String, String), Error> {
        let mut process = self.start(command)?;
        let (stdout, stderr) = (process.0.stdout.take(), process.0.stderr.take());
        let reading = async { tokio::try_join!(read(stdout), read(stderr)) };
        let (is_success, (stdout, mut stderr)) =
            self.wait_for_exit(process, reading, limit, cancel).await?;
        if let Some(server) = server {
            stderr.push('\n');
            stderr.push_str(&server.finish().await);
        }
        if is_success { Ok((stdout.trim().to_owned(), stderr)) } else { Err(self.failure(&stderr)) }
    }

    fn start(&self, command: Command) -> Result<Process, Error> {
        let confinement = self.confinement.as_deref();
        Process::start_confined(command, self.user, confinement, self.url.is_some())
    }

    fn failure(&self, stderr: &str) -> Error {
        let (start, end) = CHDIR_DENIED;
        let is_closed = stderr.lines().any(|line| line.starts_with(start) && line.ends_with(end));
        if self.confinement.is_some()
            && !is_closed
            && let Some(line) = stderr.lines().find(|line| line.contains("Permission denied"))
        {
            return Error::InvalidLocation(format!(
                "git may not read a file outside of the tree and its repository ({line}); move it \
                 into the repository, or fetch the repository into a workspace"
            ));
        }
        let Some(user) = self.user.filter(|_| is_closed) else { return failure(stderr) };
        let closed = user.first_closed_directory(&self.directory);
        closed_directory(user, &self.directory, closed.as_deref().unwrap_or(&self.directory))
    }

    /// Returns a command that ends soon after the time `limit`, even if the service died.
    fn command(&self, arguments: &[&str], limit: Duration) -> Command {
        self.command_with("", arguments, limit)
    }

    /// Returns a command like [`Git::command`] with these redirections of a shell.
    fn command_with(&self, redirections: &str, arguments: &[&str], limit: Duration) -> Command {
        let mut command = limits::shell(redirections, self.max_file_bytes, limit, self.user);
        command.args(["git", "-C"]).arg(&self.directory);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // As root, git itself rejects a repository of another user, which it finds above the
        // directory or by a `.git` file.
        if self.user.is_some() || !is_root() {
            command.args(["-c", "safe.directory=*"]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        for setting in self.credential.iter().flat_map(Credential::settings) {
            command.args(["-c", &setting]);
        }
        if let Some(git_directory) = &self.own_directory {
            command.arg("--git-dir").arg(git_directory).arg("--work-tree").arg(&self.directory);
        }
        command.args(arguments);
        self.set_environment(&mut command);
        if let Some(user) = self.user {
            // `uid` also removes root's supplementary groups.
            command.uid(user.uid).gid(user.gid);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command
    }

    /// Reads a process to its end, and returns whether it succeeded. On timeout or cancellation, it
    /// is killed with its child processes.
    async fn wait_for_exit<T>(
        &self,
        mut process: Process,
        reading: impl Future<Output = io::Result<T>>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(bool, T), Error> {
        let exit = async {
            let read = reading.await?;
            let status = process.0.wait().await?;
            match status.code() {
                Some(NOT_FOUND) => Err(io::Error::from(ErrorKind::NotFound)),
                Some(NOT_EXECUTABLE) => Err(io::Error::from(ErrorKind::PermissionDenied)),
                _ => Ok((status.success(), read)),
            }
        };
        let interruption = tokio::select! {
            finished = tokio::time::timeout(limit, exit) => match finished {
                Ok(finished) => return finished.map_err(Error::GitNotFound),
                Err(_) => Error::Timeout(limit.as_secs()),
            },
            () = cancel.cancelled() => Error::Cancelled,
        };
        self.kill(process).await?;
        Err(interruption)
    }

    /// Kills a process with its child processes. If the service may not, does not wait for its end.
    async fn kill(&self, mut process: Process) -> Result<(), Error> {
        let is_forbidden =
            process.kill() == Err(Errno::PERM) && matches!(process.0.try_wait(), Ok(None));
        if is_forbidden {
            return self.user.map_or(Ok(()), |user| {
                Err(Error::PrivilegesNotDropped { uid: user.uid, cause: Errno::PERM.into() })
            });
        }
        // Another error means that the process has exited already.
        let _ = process.0.wait().await;
        Ok(())
    }
}

/// Returns the error for a path that `user` can't reach, since it can't enter a directory above.
fn closed_directory(user: UnprivilegedUser, path: &Path, closed: &Path) -> Error {
    let [path, closed] = [path, closed].map(|path| path.display().to_string());
    Error::ClosedDirectory { uid: user.uid, path, closed }
}

/// Returns whether the trace of the protocol shows a response from a git server.
fn is_from_git_server(trace: &str) -> bool {
    trace.lines().any(|line| GREETINGS.iter().any(|greeting| line.ends_with(greeting)))
}

/// Parses the first two numbers of `git version 2.47.3`.
fn parse_version(output: &str) -> Option<(u32, u32)> {
    let mut numbers = output.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
