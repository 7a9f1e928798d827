//! Servers that the service starts itself for a fetch, over ssh or from this disk.
//!
//! Git would start them as its own user. But ssh needs the keys of the service's user, and often
//! only its owner can read a repository on this disk. A socket connects git to the server, so git
//! needs neither of these rights, and a host that takes over git does not get them.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mc_privileges::{UnprivilegedUser, is_root, raise_privileges};
use percent_encoding::percent_decode_str;
use tokio::process::Command;
use tokio_util::task::AbortOnDropHandle;
use url::{Host, Url};

use super::output::read;
use super::process::Process;
use super::{Git, closed_directory, environment, limits};
use crate::Error;
use crate::location::file_path;

/// Remote of a git that is connected to a server: the descriptor that [`limits::CONNECTION`] opens.
pub(super) const REMOTE: &str = "fd::3";
/// Error of a push to a repository on this disk.
const NO_PUSH: &str = "a repository on this disk is not pushed to; give an https or ssh URL";
/// Time for a server to exit after its connection was closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// It sends objects.
    Fetch,
    /// It receives objects, and updates its refs.
    Push,
}

impl Service {
    /// Returns the name of git's program.
    fn program(self) -> &'static str {
        match self {
            Self::Fetch => "upload-pack",
            Self::Push => "receive-pack",
        }
    }
}

/// Running server. If it is dropped, it is killed with its child processes.
#[derive(Debug)]
pub(super) struct Server {
    #[cfg_attr(not(test), expect(dead_code, reason = "the server runs until it is dropped"))]
    process: Process,
    /// Reads the error stream, so that the server never blocks.
    errors: AbortOnDropHandle<io::Result<String>>,
}

impl Server {
    /// Starts the server of a repository, which ends soon after the time `limit`. Returns it with
    /// the other end of its connection.
    pub fn start(service: Service, url: &Url, limit: Duration) -> Result<(Self, OwnedFd), Error> {
        let (command, user) = match (url.scheme(), service) {
            ("ssh", _) => (ssh(service, url, limit), None),
            (_, Service::Fetch) => upload_pack(&file_path(url)?, limit)?,
            // A push would run programs that the configuration of that repository names.
            (_, Service::Push) => return Err(Error::InvalidLocation(NO_PUSH.into())),
        };
        Self::run(command, user)
    }

    fn run(mut command: Command, user: Option<UnprivilegedUser>) -> Result<(Self, OwnedFd), Error> {
        let socket = || {
            let (client, server) = UnixStream::pair()?;
            io::Result::Ok((OwnedFd::from(client), OwnedFd::from(server.try_clone()?), server))
        };
        let (client, input, output) = socket().map_err(Error::GitNotFound)?;
        command.env("GIT_PROTOCOL", "version=2");
        command.stdin(input).stdout(OwnedFd::from(output)).stderr(Stdio::piped()).process_group(0);
        let mut process = Process::start(command, user)?;
        let stderr = process.0.stderr.take();
        let errors = AbortOnDropHandle::new(tokio::spawn(async move { read(stderr).await }));
        Ok((Self { process, errors }, client))
    }

    /// Waits for the exit of a server whose connection is closed, and returns its error stream.
    pub async fn finish(mut self) -> String {
        // A program that ssh leaves in the background keeps the stream open.
        let errors = tokio::time::timeout(EXIT_TIMEOUT, &mut self.errors).await;
        errors.ok().and_then(Result::ok).and_then(Result::ok).unwrap_or_default()
    }
}

/// Returns the command that starts the server on the host of a URL. It runs as the service's user,
/// whose keys it needs; as root, without capabilities, and it writes no file.
fn ssh(service: Service, url: &Url, limit: Duration) -> Command {
    let mut command = limits::shell("", 0, limit, None);
    command.args(["ssh", "-oBatchMode=yes", "-oSendEnv=GIT_PROTOCOL"]);
    if is_root() {
        // It writes no file, so it can't record the key of a new host, or share a connection.
        command.args(["-oStrictHostKeyChecking=yes", "-oControlMaster=no"]);
    }
    if let Some(port) = url.port() {
        command.args(["-p", &port.to_string()]);
    }
    if !url.username().is_empty() {
        command.arg("-l").arg(decode(url.username()));
    }
    let host = match url.host() {
        Some(Host::Ipv6(address)) => address.to_string(),
        host => host.map(|host| host.to_string()).unwrap_or_default(),
    };
    command.arg("--").arg(decode(&host)).arg(remote_command(service, url.path()));
    environment::remove_variables(&mut command);
    // The host gets the language of ssh.
    command.env("LC_ALL", "C");
    command
}

/// Returns the command that the shell of the host runs.
fn remote_command(service: Service, path: &str) -> OsString {
    let path: Vec<u8> = percent_decode_str(path).collect();
    // Git has this form for the home directory of a user.
    let path = path.strip_prefix(b"/").filter(|path| path.starts_with(b"~")).unwrap_or(&path);
    let mut command = format!("git-{} '", service.program()).into_bytes();
    for byte in path {
        match byte {
            // Some shells replace an exclamation mark in a quoted text.
            b'\'' | b'!' => command.extend([b'\'', b'\\', *byte, b'\'']),
            byte => command.push(*byte),
        }
    }
    command.push(b'\'');
    OsString::from_vec(command)
}

fn decode(part: &str) -> OsString {
    OsString::from_vec(percent_decode_str(part).collect())
}

/// Returns the command that serves a repository on this disk, and its user: the one that can change
/// the repository, and so could attack the git that reads it.
fn upload_pack(path: &Path, limit: Duration) -> Result<(Command, Option<UnprivilegedUser>), Error> {
    let _raised = raise_privileges();
    let found = git_directory(path)?;
    let (directory, user) = UnprivilegedUser::reader_of(&found).map_err(Error::io(&found))?;
    if let Some(user) = user
        && let Some(closed) =
            user.first_closed_directory(if found.is_file() { path } else { &found })
    {
        return Err(closed_directory(user, path, &closed));
    }
    let git = Git { user, ..Git::in_directory(Path::new("/")) };
    let mut command = git.command(&["upload-pack", "--strict"], limit);
    command.arg(directory);
    Ok((command, user))
}

/// Returns the directory of git for the path of a `file:` URL, or its file `.git`, in the order in
/// which git looks for them. `--strict` stops git from looking further: it could find a repository
/// of another user.
fn git_directory(path: &Path) -> Result<PathBuf, Error> {
    for path in paths_of_repository(path) {
        let inner = path.join(".git");
        if inner.is_file() || is_of_git(&inner) {
            return Ok(inner);
        }
        if is_of_git(&path) {
            return Ok(path);
        }
    }
    let path = path.display();
    Err(Error::RepositoryNotFound(format!("'{path}' does not appear to be a git repository")))
}

fn is_of_git(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && ["objects", "refs"].iter().all(|name| directory.join(name).is_dir())
}

/// Returns the paths at which git looks for the repository of a `file:` URL, in its order: bare
/// repositories have a suffix, which a URL may omit.
pub(crate) fn paths_of_repository(path: &Path) -> [PathBuf; 2] {
    let mut with_suffix = path.as_os_str().to_owned();
    with_suffix.push(".git");
    [path.to_owned(), with_suffix.into()]
}

#[cfg(test)]
mod tests;
