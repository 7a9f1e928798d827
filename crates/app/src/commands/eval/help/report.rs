//! The report of an evaluation, as JSON and as text.

use anyhow::{Context as _, Result};
use mc_chat::{ChatModel, Usage};
use serde_json::{Value, json};

use super::Evaluation;
use super::figures::{Figures, Sides};
use super::outcome::{Bundle, Outcome};
use super::scorer::Scorer;
use crate::output::{list, number, one_line, table, text as field};

/// Number of questions below which the interval is too narrow to be relied on.
const FEW_QUESTIONS: i64 = 20;
/// Maximum length of a question in a list, in characters.
const EXCERPT_CHARS: usize = 80;

/// Returns the report as JSON.
pub fn json(evaluation: &Evaluation<'_>, outcomes: &[Outcome<'_>]) -> Result<Value> {
    let stated: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome.failure.is_none())
        .map(|outcome| Sides { without: &outcome.stated.without, with: &outcome.stated.with })
        .collect();
    let figures = Figures::of(&stated).context("no question was answered")?;
    let mut report = serde_json::to_value(figures)?;
    report["asked"] = json!(outcomes.len());
    report["project"] = json!(evaluation.args.project.project);
    let writer = evaluation.writer;
    report["writer"] = json!(writer.name());
    for (side, usage) in [
        ("without", outcomes.iter().map(|outcome| outcome.usage.without).sum()),
        ("with", outcomes.iter().map(|outcome| outcome.usage.with).sum()),
    ] {
        add_costs(&mut report[side], usage, writer);
    }
    report["scorer"] = match evaluation.scorer {
        Scorer::Phrases => json!({"kind": "phrases"}),
        Scorer::Model(judge) => {
            let mut scorer = json!({"kind": "model", "model": judge.name()});
            let usage = outcomes.iter().map(|outcome| outcome.scoring_usage).sum();
            add_costs(&mut scorer, usage, judge);
            scorer
        }
    };
    report["bundles"] = bundles(outcomes);
    report["worse"] = outcomes.iter().filter(|outcome| outcome.is_worse()).map(place).collect();
    report["failed"] =
        outcomes.iter().filter(|outcome| outcome.failure.is_some()).map(place).collect();
    report["results"] = outcomes.iter().map(result).collect();
    Ok(report)
}

fn add_costs(of: &mut Value, usage: Usage, model: &ChatModel) {
    let Usage { prompt_tokens, completion_tokens } = usage;
    of["prompt_tokens"] = json!(prompt_tokens);
    of["completion_tokens"] = json!(completion_tokens);
    of["cost"] = json!(model.price().of(usage));
}

fn bundles(outcomes: &[Outcome<'_>]) -> Value {
    let bundles: Vec<&Bundle> =
        outcomes.iter().filter_map(|outcome| outcome.bundle.as_ref()).collect();
    let facts: Vec<bool> =
        bundles.iter().flat_map(|bundle| bundle.facts.iter().flatten().copied()).collect();
    json!({
        "recalled": bundles.len(),
        "empty": bundles.iter().filter(|bundle| bundle.is_empty).count(),
        "degraded": bundles.iter().filter(|bundle| bundle.is_degraded).count(),
        "facts_with_phrases": facts.len(),
        "facts_with_phrases_in_bundle": facts.iter().filter(|is_found| **is_found).count(),
    })
}

fn place(outcome: &Outcome<'_>) -> Value {
    json!(outcome.question.place)
}

fn result(outcome: &Outcome<'_>) -> Value {
    json!({
        "place": outcome.question.place,
        "question": outcome.question.text,
        "facts": outcome.question.expected.iter().map(|fact| &fact.fact).collect::<Vec<_>>(),
        "stated": outcome.stated,
        "in_bundle": outcome.bundle.as_ref().map(|bundle| &bundle.facts),
        "answers": outcome.answers,
        "failure": outcome.failure,
    })
}

/// Returns the report as text.
pub fn text(report: &Value) -> String {
    let of = |field: &str, whole: &str| {
        ["without", "with"].map(|side| format!("{} of {}", report[side][field], report[whole]))
    };
    let percent = |field: &str| ["without", "with"].map(|side| share(&report[side][field]));
    let plain = |field: &str| ["without", "with"].map(|side| report[side][field].to_string());
    let costs = ["without", "with"].map(|side| cost(&report[side]));
    let rows = [
        ("facts found", of("facts_found", "facts")),
        ("mean share of the facts of a question", percent("mean_share")),
        ("questions with all facts", of("complete", "questions")),
        ("share of those questions", percent("complete_share")),
        ("prompt tokens", plain("prompt_tokens")),
        ("completion tokens", plain("completion_tokens")),
        ("cost", costs),
    ];
    let header = ["", "without the bundle", "with the bundle"];
    let table = table(header, &rows, |(name, [without, with])| {
        [(*name).to_owned(), without.clone(), with.clone()]
    });
    let answered =
        format!("{} of {} questions were answered.", report["questions"], report["asked"]);
    let mut lines = vec![table, String::new(), answered, difference(report), bundle_line(report)];
    lines.push(format!("{} wrote the answers. {}", field(report, "writer"), scorer(report)));
    for (name, title) in
        [("worse", "Worse with the bundle:"), ("failed", "Failed, and in no figure:")]
    {
        let named = listed(report, name);
        if !named.is_empty() {
            lines.extend([String::new(), title.to_owned()]);
            lines.extend(named);
        }
    }
    lines.join("\n")
}

fn difference(report: &Value) -> String {
    let [mean, low, high] = ["mean", "low", "high"].map(|field| {
        let share = report["difference"][field].as_f64().unwrap_or_default();
        format!("{:+.1}", 100.0 * share)
    });
    let p = report["difference"]["p"].as_f64().unwrap_or_default();
    let few = if number(report, "questions") < FEW_QUESTIONS {
        format!(
            "\nFewer than {FEW_QUESTIONS} questions: the true value is outside the interval more \
             often than in 5 % of the cases."
        )
    } else {
        String::new()
    };
    format!(
        "Difference of the mean share: {mean} percentage points, 95 % interval {low} to {high}; \
         one-sided p = {p:.4}{few}"
    )
}

fn bundle_line(report: &Value) -> String {
    let bundles = &report["bundles"];
    let count = |field: &str| &bundles[field];
    format!(
        "{} bundles, {} of them empty and {} without a step of the ranking; they have phrases of \
         {} of {} facts.",
        count("recalled"),
        count("empty"),
        count("degraded"),
        count("facts_with_phrases_in_bundle"),
        count("facts_with_phrases")
    )
}

fn scorer(report: &Value) -> String {
    let scorer = &report["scorer"];
    match field(scorer, "model") {
        "" => "Facts were found by their phrases.".to_owned(),
        model => format!(
            "{model} found the facts, with {} and {} tokens; cost {}.",
            scorer["prompt_tokens"],
            scorer["completion_tokens"],
            cost(scorer)
        ),
    }
}

/// Returns a line for each question that a list of the report names.
fn listed(report: &Value, name: &str) -> Vec<String> {
    let named = list(report, name);
    let results = list(report, "results").iter().filter(|result| named.contains(&result["place"]));
    let line = |result: &Value| {
        let question: String = one_line(result, "question").chars().take(EXCERPT_CHARS).collect();
        let failure = &result["failure"];
        let what = if failure.is_null() {
            let count = |side: &str| {
                let stated = list(&result["stated"], side).iter();
                stated.filter(|is_stated| **is_stated == Value::Bool(true)).count()
            };
            let all = list(result, "facts").len();
            format!("{} of {all} facts without, {} with", count("without"), count("with"))
        } else {
            format!("{}: {}", field(failure, "step"), one_line(failure, "error"))
        };
        format!("  {}: {question}\n    {what}", field(result, "place"))
    };
    results.map(line).collect()
}

fn share(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
}

/// Returns the cost; without a configured price, it is unknown.
fn cost(of: &Value) -> String {
    match of["cost"].as_f64().unwrap_or_default() {
        0.0 => "unknown".to_owned(),
        cost => format!("{cost:.4}"),
    }
}
