//! `memory-copilot doctor`: checks the installation and suggests fixes.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::future::join_all;
use mc_connectors::client::Connector;
use mc_postgres::server_version::{self, Versions};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::config::{Config, EmbeddingProvider};
use crate::output::{Format, line, list, text};

/// Time limit of the check of a configured database.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(3);

/// Time limit of the check of a connector.
const CONNECTOR_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of jobs in one page.
const JOBS_MAX: &str = "200";

/// The result of one check.
#[derive(Serialize)]
struct CheckResult {
    check: String,
    ok: bool,
    says: String,
    fix: &'static str,
}

/// Runs every check; fails if one of them failed.
pub async fn run(config: &Config, format: Format) -> Result<()> {
    let remote = ApiClient::new(config)?;
    let status = remote.get("/status", &[]).await;
    let mut findings = vec![
        git(),
        postgres(config).await,
        redis(config).await,
        onnx(config),
        model(config),
        token(config),
    ];
    findings.push(match &status {
        Ok(status) => {
            good("service", format!("version {} at {}", text(status, "version"), config.base_url()))
        }
        Err(error) => bad("service", error.to_string(), "memory-copilot serve, or make run"),
    });
    if let Ok(status) = &status {
        findings.push(good("inside", inside(status)));
        findings.extend(count_discarded(&remote).await);
        findings.push(keyword_index(status));
    }
    findings.extend(connectors(config).await);
    let failed = findings.iter().filter(|f| !f.ok).count();
    match format {
        Format::Json => line(&format!("{:#}", json!(findings))),
        Format::Text => findings.iter().for_each(|finding| line(&as_text(finding))),
    }
    match failed {
        0 => Ok(()),
        n => bail!("{n} of {} checks failed; the lines above say how to fix them", findings.len()),
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
    let says = match tokio::time::timeout(DATABASE_TIMEOUT, server_version::inspect(url)).await {
        Ok(Ok(versions)) => {
            let advice = versions.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
            let Versions { postgres, pgvector } = versions;
            let says = format!("yours, PostgreSQL {postgres} with pgvector {pgvector}{advice}");
            return good("database", says);
        }
        Ok(Err(error)) => error.to_string(),
        // The service itself tries for longer, since the database may be starting as well.
        Err(_elapsed) => {
            format!("no PostgreSQL answered within {} s", DATABASE_TIMEOUT.as_secs())
        }
    };
    let fix = "check DATABASE_URL and that the server runs, or unset it to use the embedded one";
    bad("database", says, fix)
}

/// Checks the Redis that nodes share. The service works without it, but more slowly.
async fn redis(config: &Config) -> CheckResult {
    let url = &config.redis.url;
    if url.is_empty() {
        return good("redis", "not configured: limits and caches are each node's own".into());
    }
    let began = Instant::now();
    match mc_redis::version(url).await {
        Ok(version) => {
            let ms = began.elapsed().as_millis();
            good("redis", format!("version {version}, answered within {ms} ms of connecting"))
        }
        Err(error) => bad(
            "redis",
            error.to_string(),
            "check that it runs and that redis.url is right; without it the service works, but \
             each node counts limits alone",
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
        let says = format!("{} is missing", path.display());
        bad("onnx runtime", says, "make setup, or set embedding.onnxruntime_library")
    }
}

fn model(config: &Config) -> CheckResult {
    let embedding = &config.embedding;
    if embedding.provider != EmbeddingProvider::Local {
        return good("model", format!("{} ({:?})", embedding.model, embedding.provider));
    }
    let path = embedding.dir.join("model.onnx");
    if path.exists() {
        good("model", format!("{} in {}", embedding.name, embedding.dir.display()))
    } else {
        let says = format!("{} is missing", path.display());
        bad("model", says, "make setup, or set embedding.dir")
    }
}

fn token(config: &Config) -> CheckResult {
    let path = config.token_file();
    let fix =
        "start the service once to create the token; if others can read the file, chmod 600 it";
    match std::fs::metadata(&path) {
        Ok(meta) if meta.permissions().mode().trailing_zeros() >= 6 => {
            good("token", path.display().to_string())
        }
        Ok(_) => bad("token", format!("{} can be read by others", path.display()), fix),
        Err(_) => bad("token", format!("{} is not there", path.display()), fix),
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
    let (name, kind) = (connector.name(), connector.kind());
    let fix = "docs/integrations.md lists what each provider needs";
    match tokio::time::timeout(CONNECTOR_TIMEOUT, connector.check_access()).await {
        Ok(Ok(user)) => good(name, format!("{kind} answers, as {user}")),
        Ok(Err(error)) => bad(name, error.to_string(), fix),
        Err(_elapsed) => {
            let seconds = CONNECTOR_TIMEOUT.as_secs();
            bad(name, format!("{kind} did not answer within {seconds} s"), fix)
        }
    }
}

/// Checks the keyword index. A broken index loses no data: it is rebuilt from the database.
fn keyword_index(status: &Value) -> CheckResult {
    let fix = "free space on the disk of data_dir; the service's log has the error. The index \
                catches up by itself";
    match text(&status["index"], "phase") {
        "stuck" => bad(
            "index",
            "the keyword index can't be written; searches find what is new by vectors alone".into(),
            fix,
        ),
        "unbuilt" => bad(
            "index",
            "the keyword index can't be built; searches find what is not in it by vectors alone"
                .into(),
            fix,
        ),
        phase => good("index", format!("the keyword index is {phase}")),
    }
}

fn inside(status: &Value) -> String {
    format!(
        "PostgreSQL {}, pgvector {}, model {}, {} vectors to come",
        text(status, "postgres"),
        text(status, "pgvector"),
        text(&status["model"], "name"),
        status["pending_vectors"]
    )
}

/// Counts the discarded jobs; returns nothing if the user may not list jobs.
async fn count_discarded(remote: &ApiClient) -> Option<CheckResult> {
    let dead = remote.get("/jobs", &[("state", "discarded"), ("limit", JOBS_MAX)]).await.ok()?;
    let more = if dead["next_cursor"].is_null() { "" } else { " or more" };
    Some(match list(&dead, "items").len() {
        0 => good("jobs", "none was given up".to_owned()),
        count => {
            let fix = "see `memory-copilot jobs list --state discarded`; then run `jobs retry` or \
                        `jobs delete`";
            bad("jobs", format!("given up: {count}{more}"), fix)
        }
    })
}

fn good(what: &str, says: String) -> CheckResult {
    CheckResult { check: what.to_owned(), ok: true, says, fix: "" }
}

fn bad(what: &str, says: String, fix: &'static str) -> CheckResult {
    CheckResult { check: what.to_owned(), ok: false, says, fix }
}

fn as_text(finding: &CheckResult) -> String {
    if finding.ok {
        format!("ok    {:<13} {}", finding.check, finding.says)
    } else {
        format!("FAIL  {:<13} {}\n      to fix: {}", finding.check, finding.says, finding.fix)
    }
}
