//! Runs the `git` program on repositories that nobody vouches for.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::Error;

/// Most of git's output that is kept.
const MAX_OUTPUT: u64 = 64 * 1024;

/// Settings that a repository's own configuration can't undo: no code of its own is run, and no
/// transport but these is spoken.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.pager=cat",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    // Folders of other users may be read; nothing in them is run.
    "safe.directory=*",
    "submodule.recurse=false",
];

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
}

impl Git {
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
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
        let mut child = self.command(arguments).spawn().map_err(Error::NoGit)?;
        let finished = tokio::select! {
            finished = tokio::time::timeout(limit, outcome(&mut child)) => finished,
            () = cancel.cancelled() => {
                kill(&mut child).await;
                return Err(Error::Cancelled);
            }
        };
        let Ok(finished) = finished else {
            kill(&mut child).await;
            return Err(Error::Timeout(limit.as_secs()));
        };
        let (is_success, output, complaint) = finished.map_err(Error::NoGit)?;
        if is_success { Ok(output.trim().to_owned()) } else { Err(failure(&complaint)) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        for name in UNSET {
            command.env_remove(name);
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
            .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

async fn outcome(child: &mut Child) -> std::io::Result<(bool, String, String)> {
    let (output, complaint) = (child.stdout.take(), child.stderr.take());
    let (output, complaint) = tokio::try_join!(read(output), read(complaint))?;
    Ok((child.wait().await?.success(), output, complaint))
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

/// What git, ssh and the usual hosts say of a repository that is not there or not for us. The network
/// and the server's own faults are not among them.
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

fn failure(complaint: &str) -> Error {
    let lines = || complaint.lines().map(str::trim);
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
    use mc_domain::{Classified, ErrorKind};

    use super::*;

    #[test]
    fn a_repository_that_is_not_there_or_not_for_us_is_not_asked_again() {
        for (complaint, told) in [
            (
                "remote: Repository not found.\nfatal: repository 'https://example.org/a/b/' not found\n",
                "'https://example.org/a/b/'",
            ),
            (
                "ERROR: Repository not found.\nfatal: Could not read from remote repository.\n",
                "Repository not found",
            ),
            (
                "fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n",
                "/srv/x",
            ),
            ("fatal: Authentication failed for 'https://example.org/a/b/'\n", "Authentication"),
            (
                "fatal: could not read Username for 'https://example.org': terminal prompts disabled\n",
                "Username",
            ),
            (
                "git@example.org: Permission denied (publickey).\r\nfatal: Could not read from remote repository.\n",
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
    fn what_may_pass_is_asked_again() {
        for complaint in [
            "fatal: unable to access 'https://example.org/a/b/': Could not resolve host: example.org\n",
            "fatal: unable to access 'https://example.org/a/b/': The requested URL returned error: 503\n",
            "ssh: connect to host example.org port 22: Connection refused\nfatal: Could not read from remote repository.\n",
            "fatal: the remote end hung up unexpectedly\n",
            "fatal: not a git repository (or any of the parent directories): .git\n",
            "",
        ] {
            assert_eq!(failure(complaint).kind(), ErrorKind::Unavailable, "{complaint}");
        }
    }
}
