//! Runs the `git` program on repositories that nobody vouches for.

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

/// Most of git's output that is kept.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Most bytes of one field of git's output, such as a commit message.
const MAX_FIELD: usize = 64 * 1024;

/// Settings that a repository's own configuration can't undo: no code of its own is run, and no
/// transport but these is spoken.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    // Larger files pass through git piece by piece; below it one is in its memory as a whole.
    "core.bigFileThreshold=16m",
    "core.pager=cat",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    // No login of the user whom the service runs as is offered to a host that asks for one.
    "http.emptyAuth=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    // Folders of other users may be read; nothing in them is run.
    "safe.directory=*",
    "submodule.recurse=false",
    // All comes from where it was asked for, whatever else a host names.
    "transfer.bundleURI=false",
];

/// A home without `.netrc`, `.gitconfig` or attributes, and in which nobody can put any. Without
/// one they would be looked for in that of the user whom the service runs as.
const NO_HOME: &str = "/dev/null";

/// The first git that can be held to the addresses of a host.
const CAN_BE_PINNED: (u32, u32) = (2, 37);

/// Has git tell which lines of its protocol it hears.
const TRACE: &str = "GIT_TRACE_PACKET";
/// The first line of a git server's answer over the web, by the versions of the protocol; git hears
/// none of another server.
const GREETINGS: &[&str] = &["< # service=git-upload-pack", "< version 2"];
/// Said where something else answers in place of a git server.
const NO_GIT_SERVER: &str = "what answers there is no git server, and git takes it for an empty \
    repository; see \
                             that no proxy on the way is out of order, then try again";

/// Variables by which the surroundings would steer git.
const UNSET: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ASKPASS",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
    "SSH_ASKPASS",
];

/// git, in one folder.
#[derive(Debug)]
pub(super) struct Git {
    folder: PathBuf,
    /// Beside [`SETTINGS`].
    settings: Vec<String>,
    /// Whether it may start ssh.
    is_ssh: bool,
    /// Whether it asks over the web, where anything may answer in place of git.
    is_web: bool,
    /// Whether it must not fetch anything, whatever the repository lacks.
    is_offline: bool,
}

impl Git {
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            settings: Vec::new(),
            is_ssh: false,
            is_web: false,
            is_offline: false,
        }
    }

    /// The same without any transport: what a partial clone lacks is not fetched, from wherever its
    /// own configuration says, but an error.
    pub fn offline(self) -> Self {
        Self { is_offline: true, ..self }
    }

    /// The same with what it needs to fetch from there.
    pub fn on_the_way_to(self, url: &Url, settings: Vec<String>) -> Self {
        let is_web = matches!(url.scheme(), "http" | "https");
        Self { settings, is_ssh: url.scheme() == "ssh", is_web, ..self }
    }

    /// Refuses a git that would pass over a setting that holds it to addresses.
    pub async fn check_version(
        &self,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        if !network_policy::needs_pinning(&self.settings) {
            return Ok(());
        }
        let told = self.run(&["version"], limit, cancel).await?;
        match version(&told) {
            Some(version) if version >= CAN_BE_PINNED => Ok(()),
            _ => Err(Error::OldGit(told)),
        }
    }

    /// Runs git and answers what it printed, trimmed. Its own message comes back as
    /// [`Error::NoRepository`] where another try is of no use, else as [`Error::Unreachable`]; on a
    /// timeout or a cancel it is killed with all that it started.
    pub async fn run(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let (output, _) = finish(self.command(arguments), limit, cancel).await?;
        Ok(output)
    }

    /// Like [`Git::run`], but returns what git printed on its error stream beside the result.
    pub async fn run_with_warnings(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let (_, warnings) = finish(self.command(arguments), limit, cancel).await?;
        Ok(warnings)
    }

    /// Runs git and hands over its output of any size, field by field, as the NUL bytes end them. A
    /// field is cut at [`MAX_FIELD`] bytes. `take` runs on this task, between reads.
    pub async fn fields(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
        take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut child = self.command(arguments).spawn().map_err(Error::NoGit)?;
        let (output, complaint) = (child.stdout.take(), child.stderr.take());
        let reading = async { tokio::try_join!(split(output, take), read(complaint)) };
        let (is_success, ((), complaint)) = ended(child, reading, limit, cancel).await?;
        if is_success { Ok(()) } else { Err(failure(&complaint)) }
    }

    /// Runs `git ls-remote` with these arguments. That there is nothing is believed of a git server
    /// alone: over the web git takes whatever is answered with next to nothing for an empty
    /// repository. So it is asked once more, by whom.
    pub async fn list(
        &self,
        arguments: &[&str],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        let listed = self.run(arguments, limit, cancel).await?;
        if !listed.is_empty() || !self.is_web {
            return Ok(listed);
        }
        let mut traced = self.command(arguments);
        traced.env(TRACE, "1");
        let (listed, heard) = finish(traced, limit, cancel).await?;
        if listed.is_empty() && !is_of_git(&heard) {
            return Err(Error::Unreachable(NO_GIT_SERVER.into()));
        }
        Ok(listed)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        for name in UNSET {
            command.env_remove(name);
        }
        // What ssh starts by its user's settings may look for more of them there.
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

/// What it printed, trimmed, and what it said beside that.
async fn finish(
    mut command: Command,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<(String, String), Error> {
    let mut child = command.spawn().map_err(Error::NoGit)?;
    let (output, complaint) = (child.stdout.take(), child.stderr.take());
    let reading = async { tokio::try_join!(read(output), read(complaint)) };
    let (is_success, (output, complaint)) = ended(child, reading, limit, cancel).await?;
    if is_success { Ok((output.trim().to_owned(), complaint)) } else { Err(failure(&complaint)) }
}

/// Whether a program succeeded and what was read of it, to the end. It is killed, with all that it
/// started, where it takes longer or is cancelled.
async fn ended<T>(
    mut child: Child,
    reading: impl Future<Output = std::io::Result<T>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<(bool, T), Error> {
    let ending = async {
        let read = reading.await?;
        Ok((child.wait().await?.success(), read))
    };
    let cut_short = tokio::select! {
        finished = tokio::time::timeout(limit, ending) => match finished {
            Ok(finished) => return finished.map_err(Error::NoGit),
            Err(_) => Error::Timeout(limit.as_secs()),
        },
        () = cancel.cancelled() => Error::Cancelled,
    };
    kill(&mut child).await;
    Err(cut_short)
}

/// Whether git heard a git server, by what it told of that.
fn is_of_git(heard: &str) -> bool {
    heard.lines().any(|line| GREETINGS.iter().any(|greeting| line.ends_with(greeting)))
}

/// Of `git version 2.47.3`, the first two numbers.
fn version(told: &str) -> Option<(u32, u32)> {
    let mut numbers = told.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Reads to the end, field by field.
async fn split(
    stream: Option<impl AsyncRead + Unpin>,
    mut take: impl FnMut(&[u8]),
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
            keep(&mut field, &rest[..end]);
            take(&field);
            field.clear();
            rest = &rest[end + 1..];
        }
        keep(&mut field, rest);
    }
}

/// Appends as much as a field may hold.
fn keep(field: &mut Vec<u8>, bytes: &[u8]) {
    let room = MAX_FIELD.saturating_sub(field.len());
    field.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Reads to the end and keeps the beginning, so that the program never waits for a reader.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let Some(mut stream) = stream else { return Ok(String::new()) };
    let mut kept = Vec::new();
    (&mut stream).take(MAX_OUTPUT).read_to_end(&mut kept).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&kept).into_owned())
}

async fn kill(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(group) = group {
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait().await;
}

/// What git, ssh and the usual hosts say of a repository that is not there or not for us. The
/// network and the server's own faults are not among them.
const REFUSALS: &[&str] = &[
    "authentication failed for",
    "could not read password for",
    "could not read username for",
    "does not appear to be a git repository",
    "host key verification failed",
    "permission denied (",
    "project you were looking for could not be found",
    "repository not found",
];

/// How git says that a host sent it on, and it did not go.
const SENT_ON: &str = "The requested URL returned error: 30";

fn failure(complaint: &str) -> Error {
    let lines = || complaint.lines().map(str::trim);
    if lines().any(|line| line.starts_with("fatal:") && line.contains(SENT_ON)) {
        return Error::SentOn;
    }
    // git's own line names the repository; what the host said before it often doesn't.
    let fatal = lines().filter(|line| line.starts_with("fatal:"));
    match fatal.chain(lines()).find(|line| is_refusal(line)) {
        Some(line) => Error::NoRepository(said(line)),
        None => Error::Unreachable(reason(complaint)),
    }
}

fn is_refusal(line: &str) -> bool {
    let line = line.to_lowercase();
    let is_missing = line.starts_with("fatal: repository '") && line.ends_with("' not found");
    is_missing || REFUSALS.iter().any(|refusal| line.contains(refusal))
}

/// git's own words: the first line that says what is fatal.
fn reason(complaint: &str) -> String {
    let lines = || complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    said(line.or_else(|| lines().next_back()).unwrap_or("git failed without a word"))
}

fn said(line: &str) -> String {
    let line: String = line.chars().take(300).collect();
    format!("git: {}", line.trim_start_matches("fatal: "))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use mc_domain::{Classified, ErrorKind};

    use super::*;

    #[test]
    fn a_missing_or_forbidden_repository_is_not_retried() {
        for (complaint, told) in [
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
            let error = failure(complaint);
            assert_eq!(error.kind(), ErrorKind::NotFound, "{complaint}");
            assert!(error.to_string().contains(told), "{error}");
            assert!(error.to_string().contains("ssh URL"), "{error}");
        }
    }

    #[test]
    fn a_host_that_sends_git_on_is_not_asked_again() {
        let error = failure(
            "fatal: unable to access 'https://a.example/b/': The requested URL returned error: \
            301\n",
        );
        assert!(matches!(error, Error::SentOn), "{error}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn a_git_server_is_known_by_its_first_line() {
        for (heard, expected) in [
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
            assert_eq!(is_of_git(heard), expected, "{heard}");
        }
    }

    #[test]
    fn an_old_git_is_known() {
        assert!(version("git version 2.36.6") < Some(CAN_BE_PINNED));
        assert!(version("git version 2.37.0.rc1") >= Some(CAN_BE_PINNED));
        assert!(version("git version 2.50.1 (Apple Git-155)") >= Some(CAN_BE_PINNED));
        assert!(version("git version 3.0") >= Some(CAN_BE_PINNED));
        assert_eq!(version("git"), None);
    }

    #[test]
    fn git_reaches_only_allowed_hosts_and_no_user_credentials() {
        let url = Url::parse("https://example.org/a/b").expect("a URL");
        let held = vec!["http.followRedirects=false".to_owned(), "http.proxy=".to_owned()];
        let git = Git::in_folder(Path::new("/")).on_the_way_to(&url, held);
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
        let ssh = Url::parse("ssh://git@example.org/a/b").expect("a URL");
        let over_ssh = Git::in_folder(Path::new("/")).on_the_way_to(&ssh, Vec::new());
        assert_eq!(set(&over_ssh, "HOME"), None);
    }

    #[test]
    fn a_temporary_git_error_is_retried() {
        for complaint in [
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
            assert_eq!(failure(complaint).kind(), ErrorKind::Unavailable, "{complaint}");
        }
    }
}
