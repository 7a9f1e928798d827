//! `memory-copilot ingest`: asks for an index run and follows it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::IngestArgs;
use crate::output::{Format, line, number, text};

/// How often the run is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// How often a line is printed where there is no terminal.
const SAY: Duration = Duration::from_secs(5);

/// Indexes a repository.
pub async fn run(args: IngestArgs, remote: &ApiClient, format: Format) -> Result<()> {
    remote.ensure_project(&args.project.project).await?;
    let request = request(&args)?;
    let mut status = remote.post("/ingest/git", request).await?;
    if !args.detach {
        let quiet = format == Format::Json;
        status = follow(remote, status, args.wait_for_vectors, quiet).await?;
    }
    format.print(&status, readable);
    match text(&status, "status") {
        "FAILED" => bail!("the repository was not indexed: {}", reason(&status)),
        _ => Ok(()),
    }
}

fn request(args: &IngestArgs) -> Result<Value> {
    let mut request = json!({
        "project_key": args.project.project,
        "location": absolute(&args.location)?,
        "relocate": args.relocate,
    });
    if let Some(git_ref) = &args.git_ref {
        request["ref"] = git_ref.as_str().into();
    }
    if let Some(name) = &args.name {
        request["name"] = name.as_str().into();
    }
    Ok(request)
}

/// Waits until a run has ended (and its vectors are there, if asked), showing how far it is.
pub async fn follow(
    remote: &ApiClient,
    mut status: Value,
    vectors: bool,
    quiet: bool,
) -> Result<Value> {
    let path = format!("/ingest/runs/{}", text(&status, "ingest_id"));
    let mut shown = Shown::new(quiet);
    loop {
        shown.update(&status);
        let ended = matches!(text(&status, "status"), "SUCCEEDED" | "FAILED");
        let pending = vectors
            && text(&status, "status") == "SUCCEEDED"
            && number(&status, "pending_vectors") > 0;
        if ended && !pending {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        status = remote.get(&path, &[]).await?;
    }
    shown.finish();
    Ok(status)
}

/// A path is the service's business too: it must not depend on where the command ran.
fn absolute(location: &str) -> Result<String> {
    let is_url = location.contains("://") || location.starts_with("git@");
    if is_url || !Path::new(location).exists() {
        return Ok(location.to_owned());
    }
    let path = std::fs::canonicalize(location)
        .with_context(|| format!("the path {location} can't be resolved"))?;
    Ok(path.to_string_lossy().into_owned())
}

fn readable(status: &Value) -> String {
    let skipped: Vec<_> = status["files_skipped"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    let skipped = if skipped.is_empty() {
        String::new()
    } else {
        format!("; skipped: {}", skipped.join(", "))
    };
    let failing = match number(status, "failed_vectors") {
        0 => String::new(),
        n => format!("; {n} passages get no vector, the service's log says why"),
    };
    format!(
        "{} {}: {} files, {} changed, {} deleted; {} chunks new, {} kept{skipped}; {} vectors to \
         come{failing}",
        text(status, "namespace"),
        text(status, "status"),
        number(status, "files_done"),
        number(status, "files_changed"),
        number(status, "files_deleted"),
        number(status, "chunks_written"),
        number(status, "chunks_reused"),
        number(status, "pending_vectors"),
    )
}

/// Why the last attempt failed, of a run that waits for its next.
fn failure(status: &Value) -> Option<String> {
    let error = &status["last_error"];
    let is_waiting = text(status, "status") == "QUEUED" && !error.is_null();
    is_waiting.then(|| {
        format!(
            "attempt {} of {} failed: {}; it will be tried again",
            number(error, "attempt"),
            number(status, "max_attempts"),
            reason(status)
        )
    })
}

fn reason(status: &Value) -> String {
    match status["last_error"]["message"].as_str() {
        Some(message) => message.to_owned(),
        None => "see the service's log".to_owned(),
    }
}

/// Progress: a bar on a terminal, a line now and then elsewhere, nothing when asked.
struct Shown {
    bar: ProgressBar,
    lines: bool,
    said: Option<tokio::time::Instant>,
    most_pending: i64,
    phase: &'static str,
    /// The failure that was shown last.
    told: Option<String>,
}

impl Shown {
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
        let lines = !quiet && bar.is_hidden();
        Self { bar, lines, said: None, most_pending: 0, phase: "", told: None }
    }

    fn update(&mut self, status: &Value) {
        self.tell_failure(status);
        let (phase, done, total) = match text(status, "status") {
            "SUCCEEDED" => {
                let pending = number(status, "pending_vectors");
                self.most_pending = self.most_pending.max(pending);
                ("vectors", self.most_pending - pending, self.most_pending)
            }
            "QUEUED" => ("waiting", 0, 0),
            _ => ("files", number(status, "files_done"), number(status, "files_total")),
        };
        if phase != self.phase {
            self.phase = phase;
            self.said = None;
            self.bar.set_message(phase);
            self.bar.reset();
        }
        self.bar.set_length(u64::try_from(total).unwrap_or_default());
        self.bar.set_position(u64::try_from(done).unwrap_or_default());
        let due = self.said.is_none_or(|at| at.elapsed() >= SAY);
        if self.lines && due && total > 0 {
            line(&format!("{phase}: {done} of {total}"));
            self.said = Some(tokio::time::Instant::now());
        }
    }

    /// Says once why an attempt failed, while the run waits for the next.
    fn tell_failure(&mut self, status: &Value) {
        let Some(failure) = failure(status).filter(|it| self.told.as_ref() != Some(it)) else {
            return;
        };
        if self.lines {
            line(&failure);
        } else {
            self.bar.println(&failure);
        }
        self.told = Some(failure);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn asked(arguments: &[&str]) -> Value {
        let words = ["memory-copilot", "ingest", "https://example.org/a/b", "-p", "shop"];
        let cli = Cli::parse_from(words.iter().chain(arguments));
        let Command::Ingest(args) = cli.command else { panic!("another command") };
        request(&args).expect("a request")
    }

    #[test]
    fn a_name_and_a_move_are_passed_on() {
        let location = "https://example.org/a/b";
        let plain = json!({"project_key": "shop", "location": location, "relocate": false});
        assert_eq!(asked(&[]), plain);
        let moved = asked(&["--name", "core", "--relocate", "--ref", "v1"]);
        assert_eq!(moved["name"], "core");
        assert_eq!(moved["relocate"], true);
        assert_eq!(moved["ref"], "v1");
    }
    #[test]
    fn a_run_that_waits_for_its_next_attempt_says_why() {
        let mut status = json!({
            "status": "QUEUED", "attempt": 2, "max_attempts": 5,
            "last_error": {"message": "git: no route", "attempt": 2},
        });
        let expected = "attempt 2 of 5 failed: git: no route; it will be tried again";
        assert_eq!(failure(&status).as_deref(), Some(expected));
        let mut shown = Shown::new(true);
        shown.update(&status);
        assert_eq!(shown.told.as_deref(), Some(expected));
        status["status"] = "RUNNING".into();
        assert_eq!(failure(&status), None, "its turn has come");
        assert_eq!(failure(&json!({"status": "QUEUED"})), None);
    }
}
