//! `memory-copilot eval`: measures retrieval of the running service on data in the BEIR layout.

mod corpus;
pub mod help;
pub mod judge;
mod metrics;
mod report;
mod set;

use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Context, Result};
use mc_search::Step;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::EvalArgs;
use crate::output::{self, Format, line, list, number, text};
use corpus::DocumentIds;
use metrics::Scores;
use report::Variant;
use set::{Corpus, EvalSet};

/// Number of results of a query: enough for ten files if a file has several passages.
const RESULT_LIMIT: u32 = 100;
/// Time budget of a query: long, because the figures must not depend on skipped steps.
const TIME_BUDGET_MS: u32 = 10_000;

/// Indexes each set into a temporary project, runs its queries and prints the metrics.
pub async fn run(args: EvalArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let mut variants = variants(&args);
    for dir in &args.sets {
        let set = EvalSet::read(dir)?;
        let project = format!("eval-{}", set.name);
        let prepared = corpus::prepare(&set, &project, args.repo_dir.as_deref(), remote, format);
        let ids = prepared.await.with_context(|| format!("set {}", set.name))?;
        for variant in &mut variants {
            let scores = measure(&set, &ids, &project, &variant.without, remote).await?;
            variant.sets.push(scores.summary(&set.name));
        }
        if !args.keep {
            remote.delete(&format!("/projects/{project}")).await?;
        }
    }
    match (format, variants.as_slice()) {
        (Format::Text, [only]) => line(&report::sets(&only.sets).to_string()),
        (Format::Text, several) => line(&report::ablation(several).to_string()),
        (Format::Json, [only]) => line(&output::json(&only.to_json())),
        (Format::Json, several) => {
            let variants: Vec<_> = several.iter().map(Variant::to_json).collect();
            line(&output::json(&json!({ "variants": variants })));
        }
    }
    Ok(())
}

/// Returns the variants to measure: the ranking without the disabled steps, and for an ablation
/// also without each step.
fn variants(args: &EvalArgs) -> Vec<Variant> {
    let mut variants = vec![Variant::without(args.disabled_steps.clone())];
    if args.ablation {
        variants.extend(Step::ALL.iter().map(|step| Variant::without(vec![step.to_string()])));
    }
    variants
}

async fn measure(
    set: &EvalSet,
    ids: &DocumentIds,
    project: &str,
    without: &[String],
    remote: &ApiClient,
) -> Result<Scores> {
    let mut scores = Scores::default();
    for query in &set.queries {
        let mut request = json!({
            "project_key": project,
            "query": query.text,
            "limit": RESULT_LIMIT,
            "time_budget_ms": TIME_BUDGET_MS,
            "disabled_steps": without,
        });
        if matches!(set.corpus, Corpus::Repository(_)) {
            request["sources"] = json!(["code"]);
        }
        let started = Instant::now();
        let response = remote.post("/search", request).await?;
        let elapsed = started.elapsed();
        scores.degraded += usize::from(!list(&response, "degraded").is_empty());
        scores.add(&ranked(set, ids, list(&response, "results")), &query.relevant, elapsed);
    }
    Ok(scores)
}

/// Returns the ids of the set in ranking order: documents for a corpus, candidate files by their
/// best passage for a repository.
fn ranked(set: &EvalSet, ids: &DocumentIds, results: &[Value]) -> Vec<String> {
    let mut seen = HashSet::new();
    results
        .iter()
        .filter_map(|result| match set.corpus {
            Corpus::Documents(_) => ids.at(text(result, "doc_id"), number(result, "line_start")),
            Corpus::Repository(_) => Some(text(result, "location")).filter(|p| set.is_candidate(p)),
        })
        .filter(|id| seen.insert(*id))
        .map(str::to_owned)
        .collect()
}
