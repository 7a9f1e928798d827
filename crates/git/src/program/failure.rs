//! Errors of git, from its messages.

use crate::Error;

/// Messages of git, ssh and common hosts for a repository that does not exist or is not accessible.
/// Errors of the network or the server are not included.
const NOT_FOUND_MESSAGES: &[&str] = &[
    "the requested url returned error: 403",
    "authentication failed for",
    "could not read password for",
    "could not read username for",
    "does not appear to be a git repository",
    "host key verification failed",
    "permission denied (",
    "project you were looking for could not be found",
    "repository not found",
];

/// Message of git for a server whose repository has other names of objects.
const MISMATCHED: &str = "mismatched algorithms";
/// Parts of the message of git for a file that another git has locked.
const LOCKED: (&str, &str) = ("Unable to create '", ".lock'");
/// Message of git for a ref that another git has locked, or has moved.
const REF_LOCKED: &str = "cannot lock ref";

/// Message of git for a redirect that it did not follow.
const REDIRECTED: &str = "The requested URL returned error: 30";

/// Returns the error of a git that failed with these messages.
pub(crate) fn failure(stderr: &str) -> Error {
    let lines = || stderr.lines().map(str::trim);
    if lines().any(|line| line.starts_with("fatal:") && line.contains(REDIRECTED)) {
        return Error::Redirected;
    }
    if stderr.contains(MISMATCHED) {
        return Error::InvalidLocation(
            "the repository names its objects by SHA-256, which the service does not support; \
             give a repository with SHA-1"
                .into(),
        );
    }
    if stderr.contains(LOCKED.0) && stderr.contains(LOCKED.1) || stderr.contains(REF_LOCKED) {
        return Error::Locked(reason(stderr));
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

/// Messages of a git whose connection was closed. The error stream of the server has the cause.
const CLOSED_MESSAGES: &[&str] = &[
    "Could not read from remote repository",
    "Copying data between",
    "early EOF",
    "invalid index-pack output",
    "read(remote input) failed",
    "the remote end hung up",
    "unexpected disconnect",
];

/// Returns the most specific line of the error streams of git and its server: the first fatal error
/// with a cause, else the message of ssh, else another fatal error, else the last line.
pub(super) fn reason(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = || lines().filter(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    let is_closed = |line: &str| CLOSED_MESSAGES.iter().any(|message| line.contains(message));
    let of_ssh = |line: &&str| line.starts_with("ssh: ") || line.ends_with("ssh: not found");
    let line = fatal().find(|line| !is_closed(line)).or_else(|| lines().find(of_ssh));
    let line = line.or_else(|| fatal().next());
    format_message(line.or_else(|| lines().next_back()).unwrap_or("git failed without a message"))
}

fn format_message(line: &str) -> String {
    let line: String = line.chars().take(300).collect();
    format!("git: {}", line.trim_start_matches("fatal: "))
}
