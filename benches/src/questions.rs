//! A repository is fetched over smart HTTP into a workspace of the real service, indexed and asked.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::git_server::GitServer;
use crate::harness::report::{Report, Table};
use crate::harness::service::{Service, Setup, without_rate_limits};
use crate::harness::stats::{Spread, Times};
use crate::harness::{ServiceArgs, remove, say};
use crate::question_sets::{Question, parse, rank};
use crate::rag::Repository;

/// Questions about the generated repository.
const GENERATED: &str = "weigh_2\tpart0/file1.rs\n";
/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The repository and the questions.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    repository: Repository,
    /// A file with a question and the path that answers it in each line, separated by a tab; those
    /// of the generated repository without it
    #[arg(long)]
    questions: Option<PathBuf>,
}

/// Measures, and writes the report; fails if a question does not find its file.
pub async fn run(args: Args) -> Result<()> {
    let common = &args.service.common;
    let (work, source) = args.repository.copy(common, "questions", 0)?;
    let text = match &args.questions {
        Some(file) => std::fs::read_to_string(file).with_context(|| file.display().to_string())?,
        None => GENERATED.to_owned(),
    };
    let questions = parse(&text);
    ensure!(!questions.is_empty(), "--questions has no line with a tab");
    let server = GitServer::start(&work).await?;
    let certificate = work.join("certificate.pem");
    std::fs::write(&certificate, &server.certificate)?;
    let data_dir = work.join("data");
    remove(&data_dir)?;
    let mut settings: Vec<(&str, OsString)> = without_rate_limits().into();
    settings.push(("GIT_SSL_CAINFO", certificate.into()));
    let setup = Setup {
        binary: args.service.binary.clone(),
        cache_dir: common.cache_dir.clone(),
        data_dir,
        settings,
    };
    let service = Service::start(&setup).await?;
    let mut report = Report::new("questions");
    report.note(args.repository.describe(&source));
    report.note("fetched over smart HTTP with TLS; found: in an answer with default settings");
    let asked = fetch_and_ask(&service, &server.url("bare"), &questions, &mut report).await;
    service.stop()?;
    let missed = asked?;
    report.write(&common.out)?;
    ensure!(missed == 0, "{missed} of {} questions did not find their file", questions.len());
    Ok(())
}

/// Returns the number of questions that did not find their file.
async fn fetch_and_ask(
    service: &Service,
    url: &str,
    questions: &[Question<'_>],
    report: &mut Report,
) -> Result<usize> {
    let api = &service.api;
    api.post("/projects", &json!({"key": "measured"})).await?;
    let began = Instant::now();
    let request = json!({
        "project_key": "measured", "location": url, "owner": "acme", "name": "measured",
    });
    let created = api.post("/workspaces", &request).await?;
    let path = format!("/workspaces/{}", text(&created["workspaceId"])?);
    let is_over = |found: &Value| found["state"] == "ready" || found["state"] == "failed";
    let workspace = api.until(&path, POLL_INTERVAL, is_over).await?;
    if workspace["state"] != "ready" {
        bail!("the fetch failed: {}", workspace["lastError"]);
    }
    let seconds = |since: Instant| Spread::of([since.elapsed().as_secs_f64()]);
    report.add("fetched after", "s", seconds(began));
    let inspected = api.get(&format!("{path}/inspection?depth=1")).await?;
    say(&format!("{} files fetched", inspected["files"]));
    report.add("size", "MB", Spread::of([inspected["bytes"].as_f64().unwrap_or(0.0) / 1e6]));
    let run = format!("/ingest/runs/{}", text(&workspace["ingestId"])?);
    let is_over = |run: &Value| run["completed_at"].is_string();
    let run = api.until(&run, POLL_INTERVAL, is_over).await?;
    ensure!(run["status"] == "SUCCEEDED", "the index run failed: {run}");
    report.add("indexed after", "s", seconds(began));
    api.until("/projects/measured", POLL_INTERVAL, |project| project["pending_vectors"] == 0)
        .await?;
    report.add("embedded after", "s", seconds(began));
    let (mut rows, mut times, mut missed) = (Vec::new(), Vec::new(), 0);
    for question in questions {
        let request = json!({"project_key": "measured", "rawQuery": question.text});
        let started = Instant::now();
        let response = api.post("/rag/search", &request).await?;
        times.push(started.elapsed());
        let matches = response["matches"].as_array().context("no matches")?;
        let rank = rank(*question, matches.iter().filter_map(|found| found["path"].as_str()));
        missed += usize::from(rank.is_none());
        let rank = rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        rows.push(vec![question.text.to_owned(), question.path.to_owned(), rank]);
    }
    let times = Times::of(times);
    report.add("question p50", "ms", Spread::of([times.percentile(0.5)]));
    report.add("question p99", "ms", Spread::of([times.percentile(0.99)]));
    report.set_table(Table { header: vec!["question", "file", "rank"], rows });
    Ok(missed)
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("{value} is no text"))
}
