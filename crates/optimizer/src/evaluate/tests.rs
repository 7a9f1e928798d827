use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::executor::block_on;

use super::*;
use crate::material::{CandidateExample, FrequentError, Material};
use crate::prompt::{Item, Limits};

/// Counts its calls, and fails on cases whose id starts with `bad`.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Evaluate for Counter {
    fn evaluate<'a>(
        &'a self,
        _prompt: &'a Prompt,
        case: &'a Case,
    ) -> BoxFuture<'a, Result<Evaluation, EvaluationError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let score = if case.id.starts_with("odd") { f64::NAN } else { 0.25 };
        let evaluation = Evaluation { score, feedback: Some("too long".to_owned()) };
        let is_bad = case.id.starts_with("bad");
        let result = if is_bad { Err(EvaluationError("down".to_owned())) } else { Ok(evaluation) };
        futures::future::ready(result).boxed()
    }
}

fn cases(ids: impl IntoIterator<Item = String>) -> Vec<Case> {
    ids.into_iter().map(|id| Case { id, errors: vec![] }).collect()
}

fn prompt(text: &str) -> Prompt {
    Prompt::new(vec![Item::new("a", text)], vec![]).expect("a valid prompt")
}

#[test]
fn no_pair_is_paid_twice() {
    let (counter, cases) = (Counter::default(), cases((0..5).map(|n| format!("c{n}"))));
    let (a, b) = (prompt("a"), prompt("b"));
    let mut ledger = Ledger::new(&counter, &cases, 100, 3);
    block_on(ledger.evaluate(&[&a, &b, &a], &[0, 1, 1]));
    block_on(ledger.evaluate(&[&a], &[0, 1, 2]));
    assert_eq!(counter.0.load(Ordering::Relaxed), 5);
    assert_eq!(ledger.spending(), Spending { budget: 100, spent: 5, failed: 0, reused: 2 });
    assert_eq!(ledger.scores_of(a.key()).count(), 3);
    assert_eq!(ledger.failed_cases(a.key(), 2).len(), 2);
}

#[test]
fn the_budget_is_never_exceeded() {
    let (counter, cases) = (Counter::default(), cases((0..50).map(|n| format!("c{n}"))));
    let all: Vec<usize> = (0..50).collect();
    let mut ledger = Ledger::new(&counter, &cases, 7, 4);
    block_on(ledger.evaluate(&[&prompt("a"), &prompt("b")], &all));
    block_on(ledger.evaluate(&[&prompt("c")], &all));
    assert_eq!(counter.0.load(Ordering::Relaxed), 7);
    assert_eq!(ledger.remaining(), 0);
}

#[test]
fn a_failed_evaluation_has_no_score_and_is_not_repeated() {
    let (counter, cases) = (Counter::default(), cases(["bad", "odd", "c"].map(str::to_owned)));
    let a = prompt("a");
    let mut ledger = Ledger::new(&counter, &cases, 100, 1);
    for _ in 0..2 {
        block_on(ledger.evaluate(&[&a], &[0, 1, 2]));
    }
    assert_eq!(counter.0.load(Ordering::Relaxed), 3);
    assert_eq!(ledger.spending().failed, 2);
    assert_eq!(ledger.score(a.key(), 0), None);
    assert!(ledger.has_failed(a.key(), 0) && !ledger.has_failed(a.key(), 2));
    assert_eq!(ledger.score(a.key(), 2), Some(0.25));
}

#[test]
fn an_evaluator_that_keeps_failing_is_not_called_any_more() {
    let (counter, cases) = (Counter::default(), cases((0..90).map(|n| format!("bad{n}"))));
    let all: Vec<usize> = (0..90).collect();
    let mut ledger = Ledger::new(&counter, &cases, 1_000, 1);
    block_on(ledger.evaluate(&[&prompt("a")], &all));
    block_on(ledger.evaluate(&[&prompt("b")], &all));
    assert_eq!(counter.0.load(Ordering::Relaxed), MAX_FAILURES_IN_A_ROW);
    assert!(ledger.is_unavailable());
}

#[test]
fn a_case_is_held_out_by_its_id_alone() {
    let cases = cases((0..1_000).map(|n| format!("case-{n}")));
    let count = cases.iter().filter(|case| case.is_held_out(40)).count();
    assert!((350..450).contains(&count), "{count}");
    let with_errors = Case { id: cases[0].id.clone(), errors: vec!["x".to_owned()] };
    assert_eq!(with_errors.is_held_out(40), cases[0].is_held_out(40));
    assert!(cases.iter().all(|case| !case.is_held_out(0) && case.is_held_out(100)));
}

fn material() -> Material {
    let error = |id: &str, description: &str| FrequentError {
        id: id.to_owned(),
        description: description.to_owned(),
        remedy: None,
        count: 3,
    };
    let example = CandidateExample {
        id: "good".to_owned(),
        text: "An example.".to_owned(),
        recalls: 100,
        uses: 90,
        errors: vec![],
    };
    let errors = vec![
        error("failed-tests", "Tests fail after the change."),
        error("own", "Invoices are rounded twice."),
    ];
    Material::from_sources(errors, vec![example])
}

#[test]
fn the_heuristic_prefers_prompts_about_the_errors_of_a_case() {
    let material = material();
    let heuristic = Heuristic::new(&material, Limits::default());
    let case = |error: &str| Case { id: "c".to_owned(), errors: vec![error.to_owned()] };
    let known = Prompt::new(vec![Item::new("run-tests", "Run them.")], vec![]).expect("valid");
    let by_words = prompt("Check that invoices are never rounded twice.");
    let covers = |prompt: &Prompt, error: &str| heuristic.parts(prompt, &case(error)).coverage;
    assert!((covers(&known, "failed-tests") - 1.0).abs() < 1e-9);
    assert!(covers(&known, "own").abs() < 1e-9);
    assert!((covers(&by_words, "own") - 1.0).abs() < 1e-9);
    assert!((covers(&known, "unheard-of") - 0.5).abs() < 1e-9);
}

#[test]
fn the_heuristic_counts_hit_rates_redundancy_and_length() {
    let material = material();
    let heuristic = Heuristic::new(&material, Limits { max_tokens: 50, max_bytes: 1_000 });
    let case = Case { id: "c".to_owned(), errors: vec![] };
    let parts = |prompt: &Prompt| heuristic.parts(prompt, &case);
    let with_example =
        |id: &str| Prompt::new(vec![], vec![Item::new(id, "An example.")]).expect("a valid prompt");
    assert!(parts(&with_example("good")).hit_rate > parts(&with_example("other")).hit_rate);
    let redundant = Prompt::new(
        vec![Item::new("a", "Always check every value."), Item::new("b", "Check every value.")],
        vec![],
    );
    assert!(parts(&redundant.expect("valid")).distinctness < 0.5);
    assert!(parts(&prompt("a")).brevity > parts(&prompt(&"long ".repeat(20))).brevity);
    assert!(parts(&prompt(&"long ".repeat(200))).brevity.abs() < 1e-9);
}
