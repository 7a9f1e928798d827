//! `memory-copilot doctor`: checks the installation and suggests fixes.

mod chat;
mod files;
mod model;
mod sandbox;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::future::join_all;
use mc_connectors::client::Connector;
use mc_postgres::server_version::{self, Versions};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::config::{Config, EmbeddingProvider};
use crate::output::{self, Format, line, list, text};

/// Time limit of the check of a connector.
const CONNECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of jobs in one page.
const JOBS_MAX: &str = "200";

/// The result of one check.
#[derive(Serialize)]
struct CheckResult {
    check: String,
    ok: bool,
    message: String,
    fix: Cow<'static, str>,
}

/// Runs every check; fails if one of them failed.
pub async fn run(config: &Config, format: Format) -> Result<()> {
    let remote = ApiClient::new(config)?;
    let status = remote.get("/status", &[]).await;
    let mut results = vec![
        git(),
        postgres(config).await,
        redis(config).await,
        onnx(config),
        model::configured(config).await,
        sandbox::holds(config).await,
    ];
    results.extend(chat::models(config).await);
    results.extend([files::token(config), files::data_dir(config)]);
    results.extend(files::disk(config));
    results.push(match &status {
        Ok(status) => good("service", format!("{} at {}", version(status), config.base_url())),
        Err(error) => bad("service", error.to_string(), "memory-copilot serve, or make run"),
    });
    if let Ok(status) = &status {
        results.push(good("components", components(status)));
        results.extend(count_discarded(&remote).await);
        results.extend(model::previous(status));
        results.push(keyword_index(status));
    }
    // Of a service that does not respond, the check of the service reports the error.
    results.extend(remote.unready_reason().await.map(|reason| {
        bad("readiness", reason, "follow the line above; GET /readyz returns 200 once it is ready")
    }));
    results.extend(connectors(config).await);
    let failed = results.iter().filter(|f| !f.ok).count();
    match format {
        Format::Json => line(&output::json(&json!(results))),
        Format::Text => results.iter().for_each(|result| line(&as_text(result))),
    }
    match failed {
        0 => Ok(()),
        n => bail!("{n} of {} checks failed; the lines above say how to fix them", results.len()),
    }
}

fn git() -> CheckResult {
    match std::process::Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            good("git", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        _ => bad("git", "git does not run".into(), "install git"),
    }
}

async fn postgres(config: &Config) -> CheckResult {
    if !config.database.url.is_empty() {
        return configured_server(&config.database.url).await;
    }
    match mc_postgres::embedded::discover(&config.postgres_installations()).await {
        Ok(found) => {
            let programs = found.first().map(|i| i.bin.display().to_string()).unwrap_or_default();
            good("database", format!("embedded, {programs}"))
        }
        Err(error) => bad("database", error.to_string(), "make setup, or set DATABASE_URL"),
    }
}

/// Connects as the service does, which rejects a server that is too old.
async fn configured_server(url: &str) -> CheckResult {
    let message = match server_version::inspect(url).await {
        Ok(versions) => {
            let advice = versions.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
            let Versions { postgres, pgvector } = versions;
            let message =
                format!("configured, PostgreSQL {postgres} with pgvector {pgvector}{advice}");
            return good("database", message);
        }
        Err(error) => error.to_string(),
    };
    let fix = "check DATABASE_URL and that the server runs, or unset it to use the embedded one";
    bad("database", message, fix)
}

/// Checks the Redis that nodes share. The service works without it, but more slowly.
async fn redis(config: &Config) -> CheckResult {
    let url = &config.redis.url;
    if url.is_empty() {
        return good("redis", "not configured: each node has its own limits and caches".into());
    }
    let started = Instant::now();
    match mc_redis::version(url).await {
        Ok(version) => {
            let ms = started.elapsed().as_millis();
            good("redis", format!("version {version}, connected and responded within {ms} ms"))
        }
        Err(error) => bad(
            "redis",
            error.to_string(),
            "check that it runs and that redis.url is right; without it the service works, but \
             each node enforces its limits alone",
        ),
    }
}

fn onnx(config: &Config) -> CheckResult {
    if config.embedding.provider == EmbeddingProvider::Openai {
        return good("onnx runtime", "not needed by this provider".into());
    }
    let path = &config.embedding.onnxruntime_library;
    if path.exists() {
        good("onnx runtime", path.display().to_string())
    } else {
        let message = format!("{} is missing", path.display());
        bad("onnx runtime", message, "make setup, or set embedding.onnxruntime_library")
    }
}

/// Checks each configured connector: whether its provider accepts the credential.
async fn connectors(config: &Config) -> Vec<CheckResult> {
    match config.connectors.open() {
        Ok(connectors) => join_all(connectors.all().map(connector)).await,
        Err(error) => {
            let fix = "set connectors as config/memory-copilot.yaml documents";
            vec![bad("connectors", format!("{error:#}"), fix)]
        }
    }
}

async fn connector(connector: &Connector) -> CheckResult {
    let (name, provider) = (connector.name(), connector.kind());
    let fix = "docs/integrations.md lists what each provider needs";
    match tokio::time::timeout(CONNECTOR_TIMEOUT, connector.check_access()).await {
        Ok(Ok(user)) => good(name, format!("{provider} accepts the credential of {user}")),
        Ok(Err(error)) => bad(name, error.to_string(), fix),
        Err(_elapsed) => {
            let seconds = CONNECTOR_TIMEOUT.as_secs();
            bad(name, format!("{provider} did not respond within {seconds} s"), fix)
        }
    }
}

/// Checks the keyword index. A broken index loses no data: it is rebuilt from the database.
fn keyword_index(status: &Value) -> CheckResult {
    let fix = "free space on the disk of data_dir; the service's log has the error. The index \
                catches up by itself";
    let is_disk_full = status["index"]["is_disk_full"] == true;
    let cause = if is_disk_full { ": its disk is full" } else { "" };
    match text(&status["index"], "phase") {
        "read_only" => bad(
            "index",
            format!(
                "the keyword index can't be written{cause}; recent changes are found by vectors \
                 only"
            ),
            fix,
        ),
        "incomplete" => bad(
            "index",
            format!(
                "the keyword index is incomplete{cause}; passages missing from it are found by \
                 vectors only"
            ),
            fix,
        ),
        phase => good("index", format!("the keyword index is {phase}")),
    }
}

/// Describes the service's version, which only service administrators see.
fn version(status: &Value) -> String {
    match status["version"].as_str() {
        Some(version) => format!("version {version}"),
        None => "responds".to_owned(),
    }
}

fn components(status: &Value) -> String {
    let model = format!("model {}", text(&status["model"], "name"));
    if status["postgres"].is_null() {
        return model;
    }
    format!(
        "PostgreSQL {}, pgvector {}, {model}, {} passages without a vector",
        text(status, "postgres"),
        text(status, "pgvector"),
        status["pending_vectors"]
    )
}

/// Counts the discarded jobs; returns nothing if the user may not list jobs.
async fn count_discarded(remote: &ApiClient) -> Option<CheckResult> {
    let page = remote.get("/jobs", &[("state", "discarded"), ("limit", JOBS_MAX)]).await.ok()?;
    let more = if page["next_cursor"].is_null() { "" } else { " or more" };
    Some(match list(&page, "items").len() {
        0 => good("jobs", "no discarded jobs".to_owned()),
        count => {
            let fix = "see `memory-copilot jobs list --state discarded`; then run `jobs retry` or \
                        `jobs delete`";
            bad("jobs", format!("{count}{more} discarded"), fix)
        }
    })
}

fn good(check: &str, message: String) -> CheckResult {
    CheckResult { check: check.to_owned(), ok: true, message, fix: Cow::Borrowed("") }
}

fn bad(check: &str, message: String, fix: impl Into<Cow<'static, str>>) -> CheckResult {
    CheckResult { check: check.to_owned(), ok: false, message, fix: fix.into() }
}

fn as_text(result: &CheckResult) -> String {
    if result.ok {
        format!("ok    {:<13} {}", result.check, result.message)
    } else {
        format!("FAIL  {:<13} {}\n      to fix: {}", result.check, result.message, result.fix)
    }
}
