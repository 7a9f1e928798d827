//! `memory-copilot eval`: retrieval measured on data in the BEIR layout, through the service itself.

mod corpus;
mod metrics;
mod set;

use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use crate::cli::EvalArgs;
use crate::output::{Format, line, list, text};
use crate::remote::Remote;
use corpus::DocumentIds;
use metrics::{Scores, Summary};
use set::{Corpus, EvalSet};

/// How many results a query asks for; enough that several passages of a file leave ten files.
const RESULTS: u32 = 100;
/// An evaluation measures what retrieval can find, so a slow leg is waited for.
const TIME_BUDGET_MS: u32 = 10_000;

/// Indexes each set into a scratch project, asks its queries and prints the figures.
pub async fn run(args: EvalArgs, remote: &Remote, format: Format) -> Result<()> {
    let mut summaries = Vec::new();
    for dir in &args.sets {
        let set = EvalSet::read(dir)?;
        let project = format!("eval-{}", set.name);
        let prepared = corpus::prepare(&set, &project, args.repo_dir.as_deref(), remote, format);
        let ids = prepared.await.with_context(|| format!("set {}", set.name))?;
        let scores = measure(&set, &ids, &project, remote).await?;
        summaries.push(scores.summary(&set.name));
        if !args.keep {
            remote.delete(&format!("/projects/{project}")).await?;
        }
    }
    match format {
        Format::Json => {
            let sets: Vec<_> = summaries.iter().map(Summary::to_json).collect();
            line(&format!(
                "{:#}",
                json!({ "sets": sets, "average": metrics::macro_average(&summaries) })
            ));
        }
        Format::Text => line(&table(&summaries).to_string()),
    }
    Ok(())
}

async fn measure(
    set: &EvalSet,
    ids: &DocumentIds,
    project: &str,
    remote: &Remote,
) -> Result<Scores> {
    let mut scores = Scores::default();
    for query in &set.queries {
        let mut request = json!({
            "project_key": project,
            "query": query.text,
            "limit": RESULTS,
            "time_budget_ms": TIME_BUDGET_MS,
        });
        if matches!(set.corpus, Corpus::Repository(_)) {
            request["sources"] = json!(["code"]);
        }
        let began = Instant::now();
        let answer = remote.post("/search", request).await?;
        let took = began.elapsed();
        scores.degraded += usize::from(!list(&answer, "degraded").is_empty());
        scores.add(&ranked(set, ids, list(&answer, "results")), &query.relevant, took);
    }
    Ok(scores)
}

/// The set's ids in ranking order: documents for a corpus, candidate files by their best passage
/// for a repository.
fn ranked(set: &EvalSet, ids: &DocumentIds, results: &[Value]) -> Vec<String> {
    let mut seen = HashSet::new();
    results
        .iter()
        .filter_map(|result| match set.corpus {
            Corpus::Documents(_) => ids.get(text(result, "doc_id")).map(String::as_str),
            Corpus::Repository(_) => Some(text(result, "place")).filter(|p| set.is_candidate(p)),
        })
        .filter(|id| seen.insert(*id))
        .map(str::to_owned)
        .collect()
}

fn table(summaries: &[Summary]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "set",
        "queries",
        "recall@5",
        "recall@10",
        "MRR@10",
        "nDCG@10",
        "p50 ms",
        "p95 ms",
        "degraded",
    ]);
    for summary in summaries {
        table.add_row(summary.row());
    }
    if summaries.len() > 1 {
        table.add_row(metrics::average_row(summaries));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
