//! `memory-copilot eval judge`: measures the judge on labeled notes and pairs.

mod confusion;
mod golden;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use mc_chat::{ChatModel, ChatModels, Completion, Content, ModelRole, Usage};
use mc_embed::{Embedder, Purpose};
use mc_memory::judge::{Known, model};
use mc_sanitizer::mask;
use serde_json::{Value, json};

use crate::background::models::provider;
use crate::cli::EvalJudgeArgs;
use crate::config::Config;
use crate::input;
use crate::output::{Format, table};
use confusion::Confusion;
use golden::Row;

/// Labels of notes and pairs.
const LABELS: [&str; 5] = ["keep", "reject", "same", "replaces", "different"];

/// The judges that are measured.
#[derive(Default)]
struct Judges {
    rules: Measured,
    model: Measured,
    both: Measured,
}

/// The judgments of one judge.
#[derive(Default)]
struct Measured {
    notes: Confusion,
    pairs: Confusion,
}

/// Rows that are judged at a time. The model has a limit of its own.
const CONCURRENCY: usize = 8;

/// A row with its judgments.
struct JudgedRow<'a> {
    row: &'a Row,
    rules: &'static str,
    /// The judgments of the model alone and with the rules; `None` without a model.
    model: Option<ByModel>,
}

struct ByModel {
    /// `None` if the model gave no answer: then the rules decide alone.
    alone: Option<&'static str>,
    both: &'static str,
    usage: Usage,
    error: Option<String>,
}

/// Requests to the model.
#[derive(Default)]
struct Requests {
    count: u32,
    failed: u32,
    last_error: Option<String>,
    usage: Usage,
}

/// Judges each row by the rules, and with the configured model if `--model` is set, and prints how
/// far they agree with the labels.
pub async fn run(args: &EvalJudgeArgs, config: &Config, format: Format) -> Result<()> {
    let rows = read(&args.file, args.split.as_deref())?;
    let models = ChatModels::open(&config.chat)?;
    let model = args.model.then(|| models.with_role(ModelRole::Judge)).transpose()?;
    let model = model.map(|model| &**model);
    let embedder = open_embedder(config).await?;
    let judging = stream::iter(&rows).map(|row| judge(row, &*embedder, model));
    let results: Vec<_> = judging.buffered(CONCURRENCY).try_collect().await?;
    let (mut judges, mut requests) = (Judges::default(), Requests::default());
    for row in results {
        judges.rules.add(row.row, row.rules);
        let Some(of_model) = row.model else { continue };
        judges.both.add(row.row, of_model.both);
        if let Some(alone) = of_model.alone {
            judges.model.add(row.row, alone);
        }
        requests.add(of_model);
    }
    format.print(&report(&judges, model, &requests), text);
    Ok(())
}

fn read(file: &Path, split: Option<&str>) -> Result<Vec<Row>> {
    let text = input::text(file)?;
    let mut rows: Vec<Row> = Vec::new();
    for (index, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let row = serde_json::from_str(text);
        rows.push(row.with_context(|| format!("{}, line {}", file.display(), index + 1))?);
    }
    rows.retain(|row| split.is_none_or(|split| row.split == split));
    ensure!(!rows.is_empty(), "{} has no rows of this split", file.display());
    Ok(rows)
}

async fn open_embedder(config: &Config) -> Result<Arc<dyn Embedder>> {
    let settings = provider::configured(config)?;
    let runtime = provider::runtime(&config.embedding);
    mc_embed::open(&settings, &runtime).await.context("the embedding model can't be used")
}

/// Returns the cosine of both texts of a pair.
async fn cosine(embedder: &dyn Embedder, row: &Row) -> Result<Option<f32>> {
    let Some(known) = row.known() else { return Ok(None) };
    let texts = vec![mask(known).text, mask(row.content()).text];
    let vectors = embedder.embed(texts, Purpose::Save).await?;
    let [known, note] = &vectors[..] else { return Ok(None) };
    Ok(Some(known.iter().zip(note).map(|(a, b)| a * b).sum()))
}

impl Measured {
    fn add(&mut self, row: &Row, judged: &'static str) {
        let confusion = if row.known().is_some() { &mut self.pairs } else { &mut self.notes };
        confusion.add(row.label(), judged);
    }

    fn to_json(&self) -> Value {
        let confusion = |confusion: &Confusion| {
            let labels = LABELS.iter().map(|label| (*label, confusion.of(label)));
            let labels = labels.filter(|(_, figures)| figures.count > 0);
            let cells = confusion.cells().map(
                |(label, judged, count)| json!({"label": label, "judged": judged, "count": count}),
            );
            json!({
                "count": confusion.count(),
                "agreement": confusion.agreement(),
                "labels": labels.map(|(label, figures)| (label.to_owned(), json!(figures)))
                    .collect::<serde_json::Map<_, _>>(),
                "cells": cells.collect::<Vec<_>>(),
            })
        };
        json!({"notes": confusion(&self.notes), "pairs": confusion(&self.pairs)})
    }
}

impl Requests {
    fn add(&mut self, of: ByModel) {
        self.count += 1;
        self.failed += u32::from(of.alone.is_none());
        self.usage = self.usage + of.usage;
        self.last_error = of.error.or_else(|| self.last_error.take());
    }
}

async fn judge<'a>(
    row: &'a Row,
    embedder: &dyn Embedder,
    model: Option<&ChatModel>,
) -> Result<JudgedRow<'a>> {
    let known = row.known_record(cosine(embedder, row).await?);
    let rules = row.judged(known.as_ref(), None);
    let model = match model {
        Some(model) => Some(by_model(row, known.as_ref(), model).await),
        None => None,
    };
    Ok(JudgedRow { row, rules, model })
}

async fn by_model(row: &Row, known: Option<&Known>, model: &ChatModel) -> ByModel {
    let mut records: Vec<_> = known.into_iter().cloned().collect();
    let max_bytes = model.max_prompt_bytes();
    let request = model::request(&row.question(), &mut records, max_bytes);
    let completion = model.complete(&request).await;
    let (verdict, usage, error) = match completion {
        Ok(Completion { content: Content::Json(answer), usage }) => {
            let ids: Vec<_> = records.iter().map(|known| known.id).collect();
            (model::verdict(&answer, &ids).ok(), usage, None)
        }
        Ok(Completion { usage, .. }) => (None, usage, None),
        Err(failure) => (None, failure.usage, Some(failure.to_string())),
    };
    ByModel {
        alone: verdict.as_ref().map(|verdict| row.by_model(verdict)),
        both: row.judged(known, verdict.as_ref()),
        usage,
        error,
    }
}

fn report(judges: &Judges, model: Option<&ChatModel>, requests: &Requests) -> Value {
    let mut report = json!({"rules": judges.rules.to_json()});
    if let Some(model) = model {
        report["model"] = judges.model.to_json();
        report["both"] = judges.both.to_json();
        let Usage { prompt_tokens, completion_tokens } = requests.usage;
        report["requests"] = json!({
            "model": model.name(), "count": requests.count, "failed": requests.failed,
            "last_error": requests.last_error, "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens, "cost": model.price().of(requests.usage),
        });
    }
    report
}

fn text(report: &Value) -> String {
    let mut rows = Vec::new();
    for judge in ["rules", "model", "both"] {
        for kind in ["notes", "pairs"] {
            let figures = &report[judge][kind];
            if figures["count"].as_u64().unwrap_or_default() > 0 {
                rows.push(row(judge, kind, "all", figures));
                let labels = figures["labels"].as_object().into_iter().flatten();
                rows.extend(labels.map(|(label, of)| row(judge, kind, label, of)));
            }
        }
    }
    let header = ["judge", "of", "label", "rows", "agreement", "precision", "recall"];
    let mut text = table(header, &rows, Clone::clone);
    if let Some(requests) = report.get("requests") {
        text.push_str(&format!(
            "\n{} requests, {} without an answer; {} and {} tokens; cost {:.4}",
            requests["count"],
            requests["failed"],
            requests["prompt_tokens"],
            requests["completion_tokens"],
            requests["cost"].as_f64().unwrap_or_default()
        ));
        if let Some(error) = requests["last_error"].as_str() {
            text.push_str(&format!("\nThe last request without an answer: {error}"));
        }
    }
    text
}

/// Returns a row of the table: figures of a label, or of all of them.
fn row(judge: &str, of: &str, label: &str, figures: &Value) -> [String; 7] {
    let percent = |field: &str| {
        let share = figures[field].as_f64();
        share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
    };
    let count = figures["count"].to_string();
    let [agreement, precision, recall] = ["agreement", "precision", "recall"].map(percent);
    [judge.to_owned(), of.to_owned(), label.to_owned(), count, agreement, precision, recall]
}
