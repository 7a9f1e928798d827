//! `memory-copilot ingest`: requests an index run and follows it.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::cli::IngestArgs;
use crate::output::{Format, line, list, number, one_line, replacement, text};
use crate::terminal;

/// Interval between requests for the status of the run.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Interval of printed lines if there is no terminal.
const PRINT_INTERVAL: Duration = Duration::from_secs(5);

pub async fn run(
    args: IngestArgs,
    remote: &ApiClient,
    format: Format,
    interrupt: impl FnOnce() -> Result<CancellationToken>,
) -> Result<()> {
    remote.ensure_project(&args.project.project).await?;
    let request = request(&args)?;
    let mut status = remote.post("/ingest/git", request).await?;
    if !args.detach {
        let quiet = format == Format::Json;
        let run = text(&status, "ingest_id").to_owned();
        let following = follow(remote, status, args.wait_for_vectors, quiet);
        status = interrupt()?.run_until_cancelled(following).await.ok_or(Interrupted { run })??;
    }
    format.print(&status, readable);
    check(&status)
}

/// The command stops following a run, and the service goes on with it.
#[derive(Debug)]
pub struct Interrupted {
    run: String,
}

impl std::error::Error for Interrupted {}

impl Display for Interrupted {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "interrupted; the service continues the index run. `memory-copilot repos cancel {}` \
             cancels it",
            self.run
        )
    }
}

/// Returns an error for a run that failed, or that lacks files.
fn check(status: &Value) -> Result<()> {
    match (text(status, "status"), number(status, "failed_files")) {
        ("FAILED", _) => bail!("the repository was not indexed: {}", reason(status)),
        (_, 0) => Ok(()),
        (_, 1) => bail!("1 file could not be read or stored; correct its cause, then ingest again"),
        (_, failed) => bail!(
            "{failed} files could not be read or stored; correct their causes, then ingest again"
        ),
    }
}

fn request(args: &IngestArgs) -> Result<Value> {
    Ok(json!({
        "project_key": args.project.project,
        "location": absolute(&args.location)?,
        "ref": args.git_ref,
        "name": args.name,
        "relocate": args.relocate,
        "include": replacement(&args.patterns.include),
        "exclude": replacement(&args.patterns.exclude),
    }))
}

/// Waits until a run has ended and shows its progress. With `wait_for_vectors`, also waits for the
/// vectors of a run that succeeded.
pub async fn follow(
    remote: &ApiClient,
    mut status: Value,
    wait_for_vectors: bool,
    quiet: bool,
) -> Result<Value> {
    let path = format!("/ingest/runs/{}", text(&status, "ingest_id"));
    let mut progress = Progress::new(quiet);
    loop {
        progress.update(&status);
        let ended = matches!(text(&status, "status"), "SUCCEEDED" | "FAILED");
        let pending = wait_for_vectors
            && text(&status, "status") == "SUCCEEDED"
            && number(&status, "pending_vectors") > 0;
        if ended && !pending {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        status = remote.get(&path, &[]).await?;
    }
    Ok(status)
}

/// Makes a path absolute, because the service has another working directory.
fn absolute(location: &str) -> Result<String> {
    let is_url = location.contains("://") || location.starts_with("git@");
    if is_url || !Path::new(location).exists() {
        return Ok(location.to_owned());
    }
    let path = std::fs::canonicalize(location)
        .with_context(|| format!("the path {location} can't be resolved"))?;
    Ok(path.to_string_lossy().into_owned())
}

/// Describes a run for a person.
pub fn readable(status: &Value) -> String {
    let is_failure = |reason: &str| matches!(reason, "failed" | "unreadable");
    let skipped: Vec<_> = status["files_skipped"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(reason, _)| !is_failure(reason))
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    let skipped = if skipped.is_empty() {
        String::new()
    } else {
        format!("; skipped: {}", skipped.join(", "))
    };
    let failed = match number(status, "failed_vectors") {
        0 => String::new(),
        n => format!("; {n} passages failed to get a vector (see the log of the service)"),
    };
    format!(
        "{} {}: {} files, {} changed, {} deleted; {} chunks new, {} reused{skipped}; {} vectors \
        pending{failed}{}",
        text(status, "namespace"),
        text(status, "status"),
        number(status, "files_done"),
        number(status, "files_changed"),
        number(status, "files_deleted"),
        number(status, "chunks_written"),
        number(status, "chunks_reused"),
        number(status, "pending_vectors"),
        failed_files(status),
    )
}

/// Lists the first files that could not be read or stored, one a line.
fn failed_files(status: &Value) -> String {
    let errors = list(status, "file_errors");
    let lines = errors.iter().map(|error| {
        format!("\n  failed: {}: {}", one_line(error, "path"), one_line(error, "cause"))
    });
    let named: String = lines.collect();
    let count = i64::try_from(errors.len()).unwrap_or(i64::MAX);
    match number(status, "failed_files") - count {
        more if more > 0 && !named.is_empty() => format!("{named}\n  and {more} more"),
        _ => named,
    }
}

/// Describes the failure of the last attempt if the run waits for the next one.
fn failure(status: &Value) -> Option<String> {
    let error = &status["last_error"];
    let is_waiting = text(status, "status") == "QUEUED" && !error.is_null();
    is_waiting.then(|| {
        format!(
            "attempt {} of {} failed: {}; it will be retried",
            number(error, "attempt"),
            number(status, "max_attempts"),
            reason(status)
        )
    })
}

fn reason(status: &Value) -> String {
    match status["last_error"]["message"].as_str() {
        Some(message) => message.to_owned(),
        None => "see the log of the service".to_owned(),
    }
}

/// Progress of a run: a bar on a terminal, otherwise lines at intervals, or nothing if quiet.
struct Progress {
    bar: ProgressBar,
    prints_lines: bool,
    printed_at: Option<tokio::time::Instant>,
    max_pending: i64,
    phase: &'static str,
    /// The last printed failure.
    printed_failure: Option<String>,
}

impl Progress {
    fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(0),
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() },
        );
        let style =
            ProgressStyle::with_template("{msg:<10} [{bar:40}] {pos}/{len} {elapsed} eta {eta}")
                .expect("a valid template")
                .progress_chars("=> ");
        bar.set_style(style);
        let prints_lines = !quiet && bar.is_hidden();
        Self {
            bar,
            prints_lines,
            printed_at: None,
            max_pending: 0,
            phase: "",
            printed_failure: None,
        }
    }

    fn update(&mut self, status: &Value) {
        self.print_failure(status);
        let (phase, done, total) = match text(status, "status") {
            "SUCCEEDED" => {
                let pending = number(status, "pending_vectors");
                self.max_pending = self.max_pending.max(pending);
                ("vectors", self.max_pending - pending, self.max_pending)
            }
            "QUEUED" => ("waiting", 0, 0),
            _ => ("files", number(status, "files_done"), number(status, "files_total")),
        };
        if phase != self.phase {
            self.phase = phase;
            self.printed_at = None;
            self.bar.set_message(phase);
            self.bar.reset();
        }
        self.bar.set_length(u64::try_from(total).unwrap_or_default());
        self.bar.set_position(u64::try_from(done).unwrap_or_default());
        let due = self.printed_at.is_none_or(|printed| printed.elapsed() >= PRINT_INTERVAL);
        if self.prints_lines && due && total > 0 {
            line(&format!("{phase}: {done} of {total}"));
            self.printed_at = Some(tokio::time::Instant::now());
        }
    }

    /// Prints the failure of an attempt once.
    fn print_failure(&mut self, status: &Value) {
        let is_new = |failure: &String| self.printed_failure.as_ref() != Some(failure);
        let Some(failure) = failure(status).filter(is_new) else { return };
        if self.prints_lines {
            line(&failure);
        } else {
            self.bar.println(terminal::lines(failure.as_str()));
        }
        self.printed_failure = Some(failure);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn request_of(arguments: &[&str]) -> Value {
        let command = ["memory-copilot", "ingest", "https://example.org/a/b", "-p", "shop"];
        let cli = Cli::parse_from(command.iter().chain(arguments));
        let Command::Ingest(args) = cli.command else { panic!("another command") };
        request(&args).expect("a request")
    }

    #[test]
    fn name_and_relocation_are_sent() {
        let location = "https://example.org/a/b";
        let plain = json!({
            "project_key": "shop", "location": location, "ref": null, "name": null,
            "relocate": false, "include": null, "exclude": null,
        });
        assert_eq!(request_of(&[]), plain);
        let options =
            ["--name", "core", "--relocate", "--ref", "v1", "--include", "src/", "--exclude", ""];
        let moved = request_of(&options);
        assert_eq!((&moved["include"], &moved["exclude"]), (&json!(["src/"]), &json!([])));
        assert_eq!(moved["name"], "core");
        assert_eq!(moved["relocate"], true);
        assert_eq!(moved["ref"], "v1");
    }

    #[test]
    fn run_with_failed_files_is_an_error_that_names_the_first() {
        let status = json!({
            "status": "SUCCEEDED", "namespace": "repo:local/a", "files_done": 14,
            "files_skipped": {"unreadable": 12, "binary": 1}, "failed_files": 12,
            "file_errors": [{"path": "a\nb.rs", "cause": "Permission denied (os error 13)"}],
        });
        let shown = readable(&status);
        assert!(shown.contains("; skipped: 1 binary;"), "{shown}");
        let expected = "\n  failed: a\\nb.rs: Permission denied (os error 13)\n  and 11 more";
        assert!(shown.ends_with(expected), "{shown}");
        let error = check(&status).expect_err("failed files").to_string();
        assert!(error.starts_with("12 files could not be read or stored"), "{error}");
        check(&json!({"status": "SUCCEEDED", "failed_files": 0})).expect("all are stored");
    }

    #[test]
    fn run_that_waits_for_a_retry_shows_its_failure() {
        let mut status = json!({
            "status": "QUEUED", "attempt": 2, "max_attempts": 5,
            "last_error": {"message": "git: no route", "attempt": 2},
        });
        let expected = "attempt 2 of 5 failed: git: no route; it will be retried";
        assert_eq!(failure(&status).as_deref(), Some(expected));
        let mut progress = Progress::new(true);
        progress.update(&status);
        assert_eq!(progress.printed_failure.as_deref(), Some(expected));
        status["status"] = "RUNNING".into();
        assert_eq!(failure(&status), None, "the retry is running");
        assert_eq!(failure(&json!({"status": "QUEUED"})), None);
    }
}
