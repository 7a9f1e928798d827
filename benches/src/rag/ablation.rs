//! Finds the files that commits changed by their messages: the pipeline with each module off in
//! turn, and the search below it.

mod changes;
mod set;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use mc_contract::operations::rag::{CONTEXT_TOKENS_MAX, RagMatch, RagModule};
use mc_domain::SourceKind;
use mc_search::{Options, Query};
use mc_store::passages::PassageFilter;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Repository;
use super::engine::Engine;
use crate::harness::Common;
use crate::harness::report::{Report, Table};
use crate::harness::stats::Times;
use changes::ChangedLines;
use set::{Question, Set};

/// Modules that act without a chat model.
const MODULES: [RagModule; 7] = [
    RagModule::MultiQuery,
    RagModule::Documents,
    RagModule::LowThreshold,
    RagModule::OverviewSeed,
    RagModule::HeuristicRerank,
    RagModule::NeighborExpand,
    RagModule::ContextBudget,
];
/// Matches and hits that are ranked.
const LIMIT: usize = 40;

/// The set to measure.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Directory of the set: `meta.json`, `queries.jsonl`, `qrels.tsv`
    #[arg(long)]
    set: Option<PathBuf>,
    /// A clone of its repository, which also has the commits of the questions; a small generated
    /// one without it
    #[arg(long)]
    repo: Option<PathBuf>,
    /// Questions, at most
    #[arg(long, default_value_t = 1_000)]
    questions: usize,
}

/// Where lines are: path, first and last line.
type Span = (String, i32, i32);

/// The spans of one answer, best first.
struct Answer {
    ranked: Vec<Span>,
    /// Those that fit the budget; `None` if the answer has no budget.
    shown: Option<Vec<Span>>,
    took: Duration,
}

/// Measures, and writes the report.
pub async fn run(args: Args) -> Result<()> {
    let (set, tip) = match &args.set {
        Some(directory) => Set::read(directory, args.questions)?,
        None => (Set::default(), "HEAD".to_owned()),
    };
    let repository = Repository { repo: args.repo.clone(), tip };
    let (work, source) = repository.copy(&args.common, "ablation", 0)?;
    let engine = Engine::start(&args.common, &work, &source).await?;
    let set = set.or_generated();
    let bare = work.join("bare");
    let changes = set.questions.iter().map(|question| {
        ChangedLines::of(&bare, &source.commits[0], &question.commit, &question.files)
    });
    let changes = changes.collect::<Result<Vec<_>>>()?;
    let mut report = Report::new("ablation");
    report.note(repository.describe(&source));
    let with_lines = changes.iter().filter(|lines| !lines.is_empty()).count();
    report.note(format!(
        "{} questions, {with_lines} of which changed lines of the indexed commit; files are ranked \
         by their best passage; at most {LIMIT} matches and hits; without a chat model",
        set.questions.len()
    ));
    report.note(format!(
        "lines: mean share of the changed lines within {CONTEXT_TOKENS_MAX} tokens; of the search, \
         the hits that fit, in their order"
    ));
    let mut rows = Vec::new();
    let warm_up = set.questions.first().map_or("warm up", |question| &*question.text);
    engine.ask(warm_up, &json!({})).await?;
    rows.push(
        measure("search alone", &set, &changes, async |question| {
            search(&engine, &question.text).await
        })
        .await?,
    );
    let row = measure("search alone, hits within the budget", &set, &changes, async |question| {
        search_within_budget(&engine, &question.text).await
    });
    rows.push(row.await?);
    let mut variants = vec![
        ("pipeline".to_owned(), json!({"topK": LIMIT})),
        ("pipeline, default topK".to_owned(), json!({})),
        ("without any module".to_owned(), json!({"topK": LIMIT, "disabledModules": MODULES})),
    ];
    variants.extend(MODULES.map(|module| {
        (format!("without {module}"), json!({"topK": LIMIT, "disabledModules": [module]}))
    }));
    for (what, fields) in &variants {
        let row = measure(what, &set, &changes, async |question| {
            pipeline(&engine, &question.text, fields).await
        });
        rows.push(row.await?);
    }
    let stop = CancellationToken::new();
    let fields = json!({});
    let row =
        measure("pipeline, default topK, during index runs", &set, &changes, async |question| {
            pipeline(&engine, &question.text, &fields).await
        });
    let (row, runs) = tokio::join!(
        async {
            let row = row.await;
            stop.cancel();
            row
        },
        engine.index_repeatedly(&source, &work, &stop),
    );
    rows.push(row?);
    report.note(format!("{} index runs of the whole repository with embedding under load", runs?));
    engine.close().await;
    let header = vec!["what", "recall@5", "recall@10", "MRR@10", "lines", "p50 ms", "p99 ms"];
    report.set_table(Table { header, rows });
    report.write(&args.common.out)
}

/// Asks all questions, and returns the row of the table.
async fn measure(
    what: &str,
    set: &Set,
    changes: &[ChangedLines],
    ask: impl AsyncFn(&Question) -> Result<Answer>,
) -> Result<Vec<String>> {
    let (mut at_5, mut at_10, mut reciprocal, mut lines) = (0.0, 0.0, 0.0, Vec::new());
    let (mut times, mut has_budget) = (Vec::new(), true);
    for (question, changed) in set.questions.iter().zip(changes) {
        let answer = ask(question).await?;
        times.push(answer.took);
        let files = set.ranked_files(&answer.ranked);
        let share = |limit: usize| {
            let found = files.iter().take(limit).filter(|file| question.files.contains(**file));
            found.count() as f64 / question.files.len() as f64
        };
        at_5 += share(5);
        at_10 += share(10);
        let first = files.iter().take(10).position(|file| question.files.contains(*file));
        reciprocal += first.map_or(0.0, |position| 1.0 / (position + 1) as f64);
        match &answer.shown {
            Some(shown) if !changed.is_empty() => lines.push(changed.share_in(shown)),
            Some(_) => {}
            None => has_budget = false,
        }
    }
    let count = set.questions.len() as f64;
    let times = Times::of(times);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    Ok(vec![
        what.to_owned(),
        format!("{:.3}", at_5 / count),
        format!("{:.3}", at_10 / count),
        format!("{:.3}", reciprocal / count),
        if has_budget { format!("{:.3}", mean(&lines)) } else { "-".to_owned() },
        format!("{:.1}", times.percentile(0.5)),
        format!("{:.1}", times.percentile(0.99)),
    ])
}

/// Asks the pipeline.
async fn pipeline(engine: &Engine, text: &str, fields: &Value) -> Result<Answer> {
    let started = Instant::now();
    let response = engine.ask(text, fields).await?;
    let took = started.elapsed();
    let span =
        |found: &RagMatch| (found.path.clone(), found.metadata.line_start, found.metadata.line_end);
    let ranked = response.matches.iter().map(span).collect();
    let is_within = response.context_tokens <= usize::try_from(CONTEXT_TOKENS_MAX)?;
    let in_context = response.matches.iter().filter(|found| found.metadata.in_context);
    let shown = is_within.then(|| in_context.map(span).collect());
    Ok(Answer { ranked, shown, took })
}

/// Searches with the search that the pipeline uses, and fills the budget with its hits.
async fn search(engine: &Engine, text: &str) -> Result<Answer> {
    let context = &engine.context;
    let filter = PassageFilter {
        sources: vec![SourceKind::Code],
        ..PassageFilter::project(context.project)
    };
    let options =
        Options { limit: LIMIT, time_budget: Duration::from_secs(2), ..Options::default() };
    let started = Instant::now();
    let query = Query::text(text, filter);
    let response = mc_search::search(&context.search, &query, &options).await?;
    let took = started.elapsed();
    let (mut ranked, mut shown) = (Vec::new(), Vec::new());
    let mut tokens_left = usize::try_from(CONTEXT_TOKENS_MAX)?;
    for hit in response.hits {
        let Some(code) = hit.passage.code else { continue };
        let span = (hit.passage.indexed.location, code.line_start, code.line_end);
        let tokens = mc_tokens::count(&hit.passage.indexed.text);
        if tokens <= tokens_left {
            tokens_left -= tokens;
            shown.push(span.clone());
        }
        ranked.push(span);
    }
    Ok(Answer { ranked, shown: Some(shown), took })
}

/// The same, with only the hits that fit the budget.
async fn search_within_budget(engine: &Engine, text: &str) -> Result<Answer> {
    let answer = search(engine, text).await?;
    Ok(Answer { ranked: answer.shown.clone().unwrap_or_default(), ..answer })
}

impl Set {
    /// Returns the candidate files in the order of their best spans.
    fn ranked_files<'a>(&self, spans: &'a [Span]) -> Vec<&'a str> {
        let mut seen = BTreeSet::new();
        let paths = spans.iter().map(|(path, ..)| path.as_str());
        paths.filter(|path| self.is_candidate(path) && seen.insert(*path)).collect()
    }
}
