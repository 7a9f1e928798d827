//! Execution of the `git` program on untrusted repositories.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::network_policy;
use crate::Error;

/// Maximum bytes of git's output that are kept.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Maximum bytes of one field of git's output, such as a commit message.
const MAX_FIELD: usize = 64 * 1024;

/// Settings that the configuration of a repository cannot override. They prevent git from running
/// code of the repository, and restrict its transports.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    // Git streams larger files instead of loading them into memory.
    "core.bigFileThreshold=16m",
    "core.packedGitLimit=512m",
    "core.packedGitWindowSize=64m",
    "core.pager=cat",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    // A fetch stores packs, of which each counts from its first byte.
    "fetch.unpackLimit=1",
    "gc.auto=0",
    // Credentials of the service's user are not offered to hosts.
    "http.emptyAuth=false",
    "maintenance.auto=false",
    // Each thread reserves address space, which is limited.
    "pack.threads=2",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    // Directories of other users may be read; nothing in them is run.
    "safe.directory=*",
    "submodule.recurse=false",
    // Everything is fetched from the requested URL, even if the host names others.
    "transfer.bundleURI=false",
];

/// Home directory without `.netrc`, `.gitconfig` or attributes, in which no process can create any.
/// If it were not set, git would read them in the home directory of the service's user.
const NO_HOME: &str = "/dev/null";

/// First version of git that can pin the addresses of a host.
const MIN_PINNING_VERSION: (u32, u32) = (2, 37);

/// Variable that makes git print the protocol lines that it receives.
const TRACE: &str = "GIT_TRACE_PACKET";
/// First line of a git server's response over HTTP, by protocol version. Other servers send none.
const GREETINGS: &[&str] = &["< # service=git-upload-pack", "< version 2"];
/// Error message for a response that is not from a git server.
const NO_GIT_SERVER: &str = "the response is not from a git server, although git reports an empty \
    repository; check for a broken proxy between the service and the host, then try again";

/// Environment variables that would change the behavior of git.
const UNSET: &str = "
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ASKPASS GIT_COMMON_DIR GIT_CONFIG GIT_CONFIG_COUNT
    GIT_CONFIG_PARAMETERS GIT_DIR GIT_EXEC_PATH GIT_EXTERNAL_DIFF GIT_INDEX_FILE GIT_NAMESPACE
    GIT_OBJECT_DIRECTORY GIT_PROXY_COMMAND GIT_SSH GIT_TEMPLATE_DIR GIT_WORK_TREE SSH_ASKPASS
";

/// Shell commands that limit the address space of each process, in KiB, and start git. A pack may
/// hold objects that git would load whole. A lower limit of the system stays.
#[cfg(target_os = "linux")]
const START: &str = "ulimit -c 0; ulimit -S -v 4194304 2>/dev/null; exec \"$@\"";
/// Other systems do not limit the address space.
#[cfg(not(target_os = "linux"))]
const START: &str = "ulimit -c 0; exec \"$@\"";
/// Exit code of a shell that did not find a program.
const NOT_FOUND: i32 = 127;

/// Git in one directory.
#[derive(Debug, Default)]
pub(super) struct Git {
    directory: PathBuf,
    /// Settings in addition to [`SETTINGS`].
    settings: Vec<String>,
    /// Whether git may start ssh.
    is_ssh: bool,
    /// Whether git uses HTTP, where another server may respond in place of a git server.
    is_http: bool,
    /// Whether git must not fetch anything, even if objects are missing.
    is_offline: bool,
}

impl Git {
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), ..Self::default() }
    }

    /// Disables all transports. Missing objects of a partial clone are then an error, instead of
    /// being fetched from the URL in its configuration.
    pub fn offline(self) -> Self {
        Self { is_offline: true, ..self }
    }

    /// Allows access to `url` with these settings.
    pub fn with_remote(self, url: &Url, settings: Vec<String>) -> Self {
        let is_http = matches!(url.scheme(), "http" | "https");
        Self { settings, is_ssh: url.scheme() == "ssh", is_http, ..self }
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
    /// [`Error::Unreachable`]. On timeout or cancellation, git is killed with its child processes.
    pub async fn run(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        Ok(self.run_with_warnings(arguments, limit, cancel).await?.0)
    }

    /// Runs git like [`Git::run`], and also returns its error stream.
    pub async fn run_with_warnings(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(String, String), Error> {
        output_of(self.command(arguments), limit, cancel).await
    }

    /// Runs git and passes each field of its output, which ends with NUL, to `on_field`, between
    /// reads. Fields are truncated to [`MAX_FIELD`] bytes; the size of the output is not limited.
    pub async fn fields(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
        on_field: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut child = self.command(arguments).spawn().map_err(Error::GitNotFound)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reading = async { tokio::try_join!(split(stdout, on_field), read(stderr)) };
        let (is_success, ((), stderr)) = wait_for_exit(child, reading, limit, cancel).await?;
        if is_success { Ok(()) } else { Err(failure(&stderr)) }
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
        let refs = self.run(arguments, limit, cancel).await?;
        if !refs.is_empty() || !self.is_http {
            return Ok(refs);
        }
        let mut traced = self.command(arguments);
        traced.env(TRACE, "1");
        let (refs, trace) = output_of(traced, limit, cancel).await?;
        if refs.is_empty() && !is_from_git_server(&trace) {
            return Err(Error::Unreachable(NO_GIT_SERVER.into()));
        }
        Ok(refs)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", START, "sh", "git", "-C"]).arg(&self.directory);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        for name in UNSET.split_whitespace() {
            command.env_remove(name);
        }
        // Programs that ssh starts may need the home directory of the user.
        if !self.is_ssh {
            command.env("HOME", NO_HOME).env("XDG_CONFIG_HOME", NO_HOME);
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", if self.is_offline { "" } else { "https:ssh:file" })
            .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", if self.is_offline { "1" } else { "0" })
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// Runs a command, and returns its trimmed output and its error stream.
async fn output_of(
    mut command: Command,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<(String, String), Error> {
    let mut child = command.spawn().map_err(Error::GitNotFound)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let reading = async { tokio::try_join!(read(stdout), read(stderr)) };
    let (is_success, (stdout, stderr)) = wait_for_exit(child, reading, limit, cancel).await?;
    if is_success { Ok((stdout.trim().to_owned(), stderr)) } else { Err(failure(&stderr)) }
}

/// Reads a process to its end, and returns whether it succeeded. On timeout or cancellation, it is
/// killed with its child processes.
async fn wait_for_exit<T>(
    mut child: Child,
    reading: impl Future<Output = std::io::Result<T>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<(bool, T), Error> {
    let exit = async {
        let read = reading.await?;
        let status = child.wait().await?;
        if status.code() == Some(NOT_FOUND) {
            return Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        }
        Ok((status.success(), read))
    };
    let interruption = tokio::select! {
        finished = tokio::time::timeout(limit, exit) => match finished {
            Ok(finished) => return finished.map_err(Error::GitNotFound),
            Err(_) => Error::Timeout(limit.as_secs()),
        },
        () = cancel.cancelled() => Error::Cancelled,
    };
    kill(&mut child).await;
    Err(interruption)
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

/// Reads a stream to its end, field by field.
async fn split(
    stream: Option<impl AsyncRead + Unpin>,
    mut on_field: impl FnMut(&[u8]),
) -> std::io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut field = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let mut rest = &buffer[..read];
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            append(&mut field, &rest[..end]);
            on_field(&field);
            field.clear();
            rest = &rest[end + 1..];
        }
        append(&mut field, rest);
    }
}

/// Appends bytes up to the maximum length of a field.
fn append(field: &mut Vec<u8>, bytes: &[u8]) {
    let capacity = MAX_FIELD.saturating_sub(field.len());
    field.extend_from_slice(&bytes[..bytes.len().min(capacity)]);
}

/// Reads a stream to its end, so that the process never blocks, and returns its start.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let Some(mut stream) = stream else { return Ok(String::new()) };
    let mut start = Vec::new();
    (&mut stream).take(MAX_OUTPUT).read_to_end(&mut start).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}

async fn kill(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(group) = group {
        // Fails if the process has exited already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait().await;
}

/// Messages of git, ssh and common hosts for a repository that does not exist or is not accessible.
/// Errors of the network or the server are not included.
const NOT_FOUND_MESSAGES: &[&str] = &[
    "authentication failed for",
    "could not read password for",
    "could not read username for",
    "does not appear to be a git repository",
    "host key verification failed",
    "permission denied (",
    "project you were looking for could not be found",
    "repository not found",
];

/// Message of git for a redirect that it did not follow.
const REDIRECTED: &str = "The requested URL returned error: 30";

fn failure(stderr: &str) -> Error {
    let lines = || stderr.lines().map(str::trim);
    if lines().any(|line| line.starts_with("fatal:") && line.contains(REDIRECTED)) {
        return Error::Redirected;
    }
    // The line of git names the repository; the lines of the host before it often do not.
    let fatal = lines().filter(|line| line.starts_with("fatal:"));
    match fatal.chain(lines()).find(|line| is_not_found(line)) {
        Some(line) => Error::RepositoryNotFound(format_message(line)),
        None => Error::Unreachable(reason(stderr)),
    }
}

fn is_not_found(line: &str) -> bool {
    let line = line.to_lowercase();
    let is_missing = line.starts_with("fatal: repository '") && line.ends_with("' not found");
    is_missing || NOT_FOUND_MESSAGES.iter().any(|message| line.contains(message))
}

/// Returns the first line of the error stream with a fatal error, else the last line.
fn reason(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    format_message(line.or_else(|| lines().next_back()).unwrap_or("git failed without a message"))
}

fn format_message(line: &str) -> String {
    let line: String = line.chars().take(300).collect();
    format!("git: {}", line.trim_start_matches("fatal: "))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use mc_domain::{Classified, ErrorKind};

    use super::*;

    #[test]
    fn missing_or_forbidden_repository_is_not_retried() {
        for (stderr, expected) in [
            (
                "remote: Repository not found.\nfatal: repository 'https://example.org/a/b/' not \
                found\n",
                "'https://example.org/a/b/'",
            ),
            (
                "ERROR: Repository not found.\nfatal: Could not read from remote repository.\n",
                "Repository not found",
            ),
            (
                "fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read \
                from remote repository.\n",
                "/srv/x",
            ),
            ("fatal: Authentication failed for 'https://example.org/a/b/'\n", "Authentication"),
            (
                "fatal: could not read Username for 'https://example.org': terminal prompts \
                disabled\n",
                "Username",
            ),
            (
                "git@example.org: Permission denied (publickey).\r\nfatal: Could not read from \
                remote repository.\n",
                "publickey",
            ),
            (
                "Host key verification failed.\nfatal: Could not read from remote repository.\n",
                "Host key",
            ),
        ] {
            let error = failure(stderr);
            assert_eq!(error.kind(), ErrorKind::NotFound, "{stderr}");
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.to_string().contains("ssh URL"), "{error}");
        }
    }

    #[test]
    fn redirect_is_not_retried() {
        let error = failure(
            "fatal: unable to access 'https://a.example/b/': The requested URL returned error: \
            301\n",
        );
        assert!(matches!(error, Error::Redirected), "{error}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn git_server_is_recognized_by_its_first_line() {
        for (trace, expected) in [
            (
                "14:51:15.296885 pkt-line.c:86           packet:          git< # \
                service=git-upload-pack\n",
                true,
            ),
            ("14:51:15.331654 pkt-line.c:86           packet:          git< version 2\n", true),
            ("14:51:15.331765 pkt-line.c:86           packet:    ls-remote< version 2\n", true),
            ("14:51:15.331765 pkt-line.c:86           packet:    ls-remote> version 2\n", false),
            ("warning: redirecting to https://example.org/version 2/\n", false),
            ("", false),
        ] {
            assert_eq!(is_from_git_server(trace), expected, "{trace}");
        }
    }

    #[test]
    fn git_version_is_parsed_and_compared() {
        assert!(parse_version("git version 2.36.6") < Some(MIN_PINNING_VERSION));
        assert!(parse_version("git version 2.37.0.rc1") >= Some(MIN_PINNING_VERSION));
        assert!(parse_version("git version 2.50.1 (Apple Git-155)") >= Some(MIN_PINNING_VERSION));
        assert!(parse_version("git version 3.0") >= Some(MIN_PINNING_VERSION));
        assert_eq!(parse_version("git"), None);
    }

    #[test]
    fn git_reaches_only_allowed_hosts_and_no_user_credentials() {
        let url = Url::parse("https://example.org/a/b").expect("a URL");
        let settings = vec!["http.followRedirects=false".to_owned(), "http.proxy=".to_owned()];
        let git = Git::in_directory(Path::new("/")).with_remote(&url, settings);
        let command = git.command(&["fetch"]);
        let arguments: Vec<_> = command.as_std().get_args().filter_map(OsStr::to_str).collect();
        let last = ["-c", "http.followRedirects=false", "-c", "http.proxy=", "fetch"];
        assert!(arguments.ends_with(&last), "{arguments:?}");
        for setting in ["credential.helper=", "http.emptyAuth=false", "transfer.bundleURI=false"] {
            assert!(arguments.windows(2).any(|pair| pair == ["-c", setting]), "{setting}");
        }
        let set = |git: &Git, name: &str| {
            let command = git.command(&[]);
            let found = command.as_std().get_envs().find(|(known, _)| *known == name);
            found.and_then(|(_, value)| value?.to_str().map(str::to_owned))
        };
        assert_eq!(set(&git, "HOME").as_deref(), Some(NO_HOME));
        assert_eq!(set(&git, "XDG_CONFIG_HOME").as_deref(), Some(NO_HOME));
        assert_eq!(set(&git, "GIT_CONFIG_GLOBAL").as_deref(), Some("/dev/null"));
        assert_eq!(set(&git, "GIT_TERMINAL_PROMPT").as_deref(), Some("0"));
        assert_eq!(set(&git, "GIT_ALLOW_PROTOCOL").as_deref(), Some("https:ssh:file"));
        let ssh = Url::parse("ssh://git@example.org/a/b").expect("a URL");
        let over_ssh = Git::in_directory(Path::new("/")).with_remote(&ssh, Vec::new());
        assert_eq!(set(&over_ssh, "HOME"), None);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn memory_of_git_and_its_children_is_limited() {
        let git = Git::in_directory(Path::new("/"));
        let alias = ["-c", "alias.limit=!ulimit -v", "limit"];
        let limit = git.run(&alias, Duration::from_mins(1), &CancellationToken::new()).await;
        assert_eq!(limit.expect("a shell"), "4194304");
    }

    #[tokio::test]
    async fn git_that_is_not_installed_is_named() {
        let git = Git::in_directory(Path::new("/"));
        let mut command = git.command(&["version"]);
        // A path with the shell alone.
        let programs = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/bin/sh", programs.path().join("sh")).expect("a link");
        command.env("PATH", programs.path());
        let found = output_of(command, Duration::from_mins(1), &CancellationToken::new()).await;
        assert!(matches!(found, Err(Error::GitNotFound(_))), "{found:?}");
    }

    #[test]
    fn temporary_git_error_is_retried() {
        for stderr in [
            "fatal: unable to access 'https://example.org/a/b/': Could not resolve host: \
            example.org\n",
            "fatal: unable to access 'https://example.org/a/b/': The requested URL returned \
            error: 503\n",
            "ssh: connect to host example.org port 22: Connection refused\nfatal: Could not read \
            from remote repository.\n",
            "fatal: the remote end hung up unexpectedly\n",
            "fatal: not a git repository (or any of the parent directories): .git\n",
            "",
        ] {
            assert_eq!(failure(stderr).kind(), ErrorKind::Unavailable, "{stderr}");
        }
    }
}
