//! Dry runs of a patch in a workspace of the real service, beside a plain copy with `git apply`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::harness::report::Report;
use crate::harness::service::{Service, Setup, without_rate_limits};
use crate::harness::stats::{Spread, Times};
use crate::harness::{ServiceArgs, make_dir, remove};
use crate::patches::repository::git;

/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Files of a directory of the workspace.
const FILES_OF_DIRECTORY: usize = 50;
/// A command that does nothing, so that all of the time is that of the dry run.
const COMMAND: &str = "./gradlew";

/// The size of the workspace, and how often a patch is tried.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    /// Files of the workspace, each of 4 KB
    #[arg(long, default_value_t = 2_000)]
    files: usize,
    /// Dry runs, and plain copies in turn with them
    #[arg(long, default_value_t = 50)]
    runs: usize,
}

/// Measures, and writes the report; fails if a dry run fails.
pub async fn run(args: Args) -> Result<()> {
    let common = &args.service.common;
    let work = common.work("preview")?;
    let (shop, data_dir) = (work.join("repository"), work.join("data"));
    remove(&shop)?;
    remove(&data_dir)?;
    make_dir(&shop)?;
    let diff = create(&shop, args.files)?;
    let patch = work.join("patch");
    fs::write(&patch, &diff)?;
    let setup = Setup {
        binary: args.service.binary.clone(),
        cache_dir: common.cache_dir.clone(),
        data_dir,
        settings: without_rate_limits().into(),
    };
    let service = Service::start(&setup).await?;
    let measured = measure(&service, &shop, &diff, &args).await;
    service.stop()?;
    let mut report = measured?;
    let copy = work.join("copy");
    let plain = (0..args.runs).map(|_| plain(&shop, &copy, &patch));
    let plain = Times::of(plain.collect::<Result<Vec<_>>>()?);
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let spread = Spread::of([plain.percentile(share)]);
        report.add(format!("cp, git apply and rm: {name}"), "ms", spread);
    }
    report.write(&common.out)
}

async fn measure(service: &Service, shop: &Path, diff: &str, args: &Args) -> Result<Report> {
    let api = &service.api;
    api.post("/projects", &json!({"key": "measured"})).await?;
    api.put("/projects/measured/policy", &json!({"allowed_commands": [COMMAND]})).await?;
    let request = json!({"project_key": "measured", "location": shop});
    let workspace = api.post("/workspaces", &request).await?;
    let workspace = format!("/workspaces/{}", text(&workspace["workspaceId"])?);
    let is_over = |found: &Value| found["state"] == "ready" || found["state"] == "failed";
    let found = api.until(&workspace, POLL_INTERVAL, is_over).await?;
    ensure!(found["state"] == "ready", "the fetch failed: {}", found["lastError"]);
    // Nothing else works while dry runs are measured.
    let index = format!("/ingest/runs/{}", text(&found["ingestId"])?);
    api.until(&index, POLL_INTERVAL, |run| run["completed_at"].is_string()).await?;
    api.until("/projects/measured", POLL_INTERVAL, |project| project["pending_vectors"] == 0)
        .await?;
    let proposal = json!({"instructions": "Change a line.", "diff": diff});
    let run = api.post(&format!("{workspace}/patches"), &proposal).await?;
    let patch = text(&run["patch"]["patchId"])?.to_owned();
    let preview = format!("{workspace}/patches/{patch}/preview");
    let mut report = Report::new("preview");
    report.note(format!("{} files of 4 KB; {} dry runs of a patch", args.files, args.runs));
    for (name, commands) in [("with a command", vec![COMMAND]), ("without a command", vec![])] {
        let (mut requests, mut parts) = (Vec::new(), [const { Vec::new() }; 3]);
        for _ in 0..args.runs {
            let started = Instant::now();
            let run = api.post(&preview, &json!({"commands": commands})).await?;
            requests.push(started.elapsed());
            let found = &run["preview"];
            let has_failed = |command: &Value| command["exitCode"] != 0;
            let failed = found["commands"].as_array().is_some_and(|all| all.iter().any(has_failed));
            ensure!(found["applied"] == true && !failed, "the dry run failed: {run}");
            for (part, times) in ["copyMs", "patchApplyMs", "dockerRunMs"].iter().zip(&mut parts) {
                times.push(found["metrics"][part].as_f64().context("a number")?);
            }
        }
        let times = Times::of(requests);
        let p50 = Spread::of([times.percentile(0.5)]);
        report.add_budgeted(format!("{name}: p50"), "ms", p50, "< 150");
        report.add(format!("{name}: p99"), "ms", Spread::of([times.percentile(0.99)]));
        for (part, times) in ["copy", "check and apply", "commands"].iter().zip(parts) {
            report.add(format!("{name}: {part}"), "ms", Spread::of(times));
        }
    }
    Ok(report)
}

/// Creates a repository, and returns a patch of one of its files.
fn create(shop: &Path, files: usize) -> Result<String> {
    let body =
        "    return weigh(parcel) + 1  # one of many lines of the generated file\n".repeat(55);
    for number in 0..files.max(1) {
        let directory = shop.join(format!("part{}", number / FILES_OF_DIRECTORY));
        fs::create_dir_all(&directory)?;
        let content = format!("def weigh_{number}(parcel):\n{body}");
        fs::write(directory.join(format!("file{number}.py")), content)?;
    }
    let command = shop.join(COMMAND);
    fs::write(&command, "#!/bin/sh\n")?;
    fs::set_permissions(&command, Permissions::from_mode(0o755))?;
    git(shop, &["init", "--quiet", "--initial-branch=main"])?;
    git(shop, &["add", "--all"])?;
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(shop, &[&author[..], &["commit", "--quiet", "--message=Start"]].concat())?;
    Ok("--- a/part0/file0.py\n+++ b/part0/file0.py\n@@ -1,2 +1,2 @@\n-def weigh_0(parcel):\n+def \
        weigh_0(parcel, unit):\n     return weigh(parcel) + 1  # one of many lines of the \
        generated file\n"
        .to_owned())
}

/// Copies a tree with `cp`, applies the patch with `git apply`, and deletes the copy.
fn plain(shop: &Path, copy: &Path, patch: &Path) -> Result<Duration> {
    let started = Instant::now();
    let run = |command: &mut Command| -> Result<()> {
        let status = command.stdout(Stdio::null()).status()?;
        ensure!(status.success(), "{command:?} failed");
        Ok(())
    };
    run(Command::new("cp").arg("-a").arg(shop).arg(copy))?;
    run(Command::new("git").arg("-C").arg(copy).arg("apply").arg(patch))?;
    run(Command::new("rm").arg("-rf").arg(copy))?;
    Ok(started.elapsed())
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("{value} is no text"))
}
