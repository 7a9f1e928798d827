use futures::FutureExt;
use futures::executor::block_on;
use futures::future::{BoxFuture, ready};

use super::*;
use crate::edit::{Change, Edit};
use crate::evaluate::{Evaluation, EvaluationError};
use crate::prompt::{Item, Limits, Section};
use crate::propose::{FailedCase, ProposalError};
use crate::random::Random;

/// Scores by a rule, or fails where the rule has no score.
struct Rule<F>(F);

impl<F: Fn(&Prompt, &Case) -> Option<f64> + Send + Sync> Evaluate for Rule<F> {
    fn evaluate<'a>(
        &'a self,
        prompt: &'a Prompt,
        case: &'a Case,
    ) -> BoxFuture<'a, Result<Evaluation, EvaluationError>> {
        let evaluation =
            |score| Evaluation { score, feedback: Some("no tests were run".to_owned()) };
        let error = || EvaluationError("connection refused".to_owned());
        ready((self.0)(prompt, case).map(evaluation).ok_or_else(error)).boxed()
    }
}

/// Tosses a coin that succeeds at this rate.
fn toss(rate: f64, prompt: &Prompt, case: &Case) -> f64 {
    let luck = Random::new(1, &format!("{} {}", case.id, prompt.key())).unit();
    f64::from(u8::from(luck < rate))
}

/// Succeeds more often the more of these ids the prompt has.
fn likes(ids: &'static [&'static str]) -> impl Evaluate {
    Rule(move |prompt: &Prompt, case: &Case| {
        let has = |id: &&&str| prompt.all_items().any(|(_, item)| item.id == **id);
        Some(toss(0.2 + 0.3 * ids.iter().filter(has).count() as f64, prompt, case))
    })
}

fn down() -> impl Evaluate {
    Rule(|_: &Prompt, _: &Case| None)
}

/// A model that proposes one good instruction, among edits that are invalid.
struct Model;

impl Propose for Model {
    fn propose<'a>(
        &'a self,
        _prompt: &'a Prompt,
        failures: &'a [FailedCase],
    ) -> BoxFuture<'a, Result<Vec<Edit>, ProposalError>> {
        let add = |id: &str, text: &str| Edit {
            section: Section::Instructions,
            change: Change::Add { item: Item::new(id, text), position: None },
        };
        let edits = vec![
            add("NOT AN ID", "text"),
            add("control", "a\u{1b}[2J"),
            add("huge", &"word ".repeat(100_000)),
            add("invented", &failures[0].feedback.clone().expect("feedback")),
        ];
        ready(Ok(edits)).boxed()
    }
}

/// A model whose calls fail.
struct BrokenModel;

impl Propose for BrokenModel {
    fn propose<'a>(
        &'a self,
        _prompt: &'a Prompt,
        _failures: &'a [FailedCase],
    ) -> BoxFuture<'a, Result<Vec<Edit>, ProposalError>> {
        ready(Err(ProposalError("timed out".to_owned()))).boxed()
    }
}

fn cases(count: usize) -> Vec<Case> {
    (0..count).map(|n| Case { id: format!("case-{n}"), errors: vec![] }).collect()
}

fn parent() -> Prompt {
    Prompt::new(vec![Item::new("old", "Be nice.")], vec![]).expect("a valid prompt")
}

fn material() -> Material {
    Material::from_sources(vec![], vec![])
}

fn settings() -> Settings {
    Settings { budget: 2_500, ..Settings::default() }
}

fn run(cases: &[Case], evaluator: &dyn Evaluate, settings: &Settings) -> NightReport {
    let (parent, material) = (parent(), material());
    let night = optimize(&parent, cases, &material, evaluator, None, settings);
    block_on(night).expect("valid settings")
}

fn reason(report: &NightReport) -> &KeepReason {
    match &report.decision {
        Decision::Keep { reason } => reason,
        Decision::Propose { .. } => panic!("a proposal: {:?}", report.finalists),
    }
}

#[test]
fn a_night_finds_the_instructions_that_help() {
    let report = run(&cases(150), &likes(&["run-tests", "reuse-code"]), &settings());
    let best = report.proposed().expect("a proposal");
    for id in ["run-tests", "reuse-code"] {
        assert!(best.prompt.find(Section::Instructions, id).is_some(), "{}", best.diff);
        assert!(best.diff.contains(&format!("+[{id}]")), "{}", best.diff);
    }
    assert!(best.held_out.adjusted_p <= 0.05 && best.held_out.gain > 0.3);
    assert!(report.spending.spent <= 2_500);
    assert!(report.effects.iter().take(4).any(|effect| effect.change.ends_with("run-tests")));
    let prompt = best.edits.iter().try_fold(parent(), |prompt, edit| edit.apply(&prompt));
    assert_eq!(prompt.as_ref(), Some(&best.prompt));
}

#[test]
fn a_night_is_reproducible_and_its_report_is_stored_as_json() {
    let report = |concurrency| {
        let settings = Settings { concurrency, budget: 1_200, ..settings() };
        run(&cases(100), &likes(&["run-tests"]), &settings)
    };
    let json = |report: &NightReport| serde_json::to_string(report).expect("JSON");
    assert_eq!(json(&report(4)), json(&report(4)));
    let (one, four) = (report(1), report(4));
    assert_eq!((one.levels, one.decision), (four.levels.clone(), four.decision.clone()));
    let stored: NightReport = serde_json::from_str(&json(&four)).expect("the report is read");
    assert_eq!((stored.decision, stored.spending), (four.decision, four.spending));
}

#[test]
fn a_night_without_enough_cases_keeps_the_parent_and_says_why() {
    let likes = likes(&["run-tests"]);
    assert_eq!(reason(&run(&[], &likes, &settings())), &KeepReason::NoCases);
    let report = run(&cases(1), &likes, &settings());
    assert!(matches!(reason(&report), KeepReason::TooFewHeldOut { needed: 20, .. }));
    assert_eq!(report.spending.spent, 0);
    assert!(reason(&report).to_string().contains("add cases"));
    let same = vec![Case { id: "same".to_owned(), errors: vec![] }; 500];
    assert!(matches!(reason(&run(&same, &likes, &settings())), KeepReason::TooFewHeldOut { .. }));
}

#[test]
fn a_budget_below_one_round_and_the_test_is_not_spent() {
    for budget in [0, 1, 200] {
        let report = run(&cases(150), &likes(&["run-tests"]), &Settings { budget, ..settings() });
        assert!(matches!(reason(&report), KeepReason::BudgetTooSmall { .. }));
        assert_eq!(report.spending.spent, 0);
    }
}

#[test]
fn an_evaluator_that_is_down_ends_the_night_with_a_reason() {
    let report = run(&cases(150), &down(), &settings());
    assert!(matches!(reason(&report), KeepReason::EvaluatorUnavailable { failed: 10 }));
}

#[test]
fn a_prompt_that_is_no_better_is_rarely_proposed() {
    // Each night may propose one with a probability of 5 %.
    let is_proposed = |seed: &u64| {
        let case = |n| Case { id: format!("case-{seed}-{n}"), errors: vec![] };
        let cases: Vec<Case> = (0..100).map(case).collect();
        let settings = Settings { seed: *seed, budget: 600, ..settings() };
        run(&cases, &likes(&[]), &settings).proposed().is_some()
    };
    assert!((1..=8).filter(is_proposed).count() <= 2);
}

#[test]
fn valid_edits_of_a_model_are_tried_and_others_are_ignored() {
    let (parent, material, cases) = (parent(), Material::default(), cases(150));
    let settings = settings();
    let likes = likes(&["invented"]);
    let night = optimize(&parent, &cases, &material, &likes, Some(&Model), &settings);
    let report = block_on(night).expect("valid settings");
    let best = report.proposed().expect("a proposal");
    let invented = best.prompt.find(Section::Instructions, "invented").expect("the instruction");
    assert_eq!(invented.text, "no tests were run");
    assert!(best.prompt.find(Section::Instructions, "huge").is_none());
}

#[test]
fn a_model_that_fails_costs_its_proposals_only() {
    let (parent, material, cases) = (parent(), material(), cases(150));
    let (likes, settings) = (likes(&["run-tests"]), settings());
    let night = optimize(&parent, &cases, &material, &likes, Some(&BrokenModel), &settings);
    let report = block_on(night).expect("valid settings");
    assert!(report.failed_proposals > 0);
    assert!(report.proposed().is_some());
}

#[test]
fn a_parent_that_is_too_long_is_shortened_to_the_limits() {
    let instructions = (0..8).map(|n| Item::new(format!("rule-{n}"), format!("Rule number {n}.")));
    let parent = Prompt::new(instructions.collect(), vec![]).expect("a valid prompt");
    let limits = Limits { max_tokens: 40, max_bytes: 1_000 };
    assert!(limits.check(&parent).is_err());
    let settings = Settings { limits, ..settings() };
    let material = Material::default();
    let cases = cases(150);
    let without_a_rule = Rule(|prompt: &Prompt, case: &Case| {
        let is_bad = prompt.find(Section::Instructions, "rule-3").is_some();
        Some(toss(if is_bad { 0.2 } else { 0.8 }, prompt, case))
    });
    let report = block_on(optimize(&parent, &cases, &material, &without_a_rule, None, &settings))
        .expect("valid settings");
    let best = report.proposed().expect("a proposal");
    assert!(limits.check(&best.prompt).is_ok() && best.size.tokens <= 40);
}

#[test]
fn a_candidate_pays_for_failed_evaluations_and_the_parent_does_not() {
    let fails_for = |id: &'static str| {
        Rule(move |prompt: &Prompt, case: &Case| {
            let is_own = prompt.find(Section::Instructions, id).is_some();
            (!is_own || !case.id.ends_with(['0', '3', '6'])).then_some(1.0)
        })
    };
    let cases = cases(30);
    let all: Vec<usize> = (0..30).collect();
    let other = Prompt::new(vec![Item::new("new", "New.")], vec![]).expect("a valid prompt");
    let measure = |evaluator: &dyn Evaluate| {
        let mut ledger = Ledger::new(evaluator, &cases, 100, 1);
        block_on(ledger.evaluate(&[&parent(), &other], &all));
        differences(&ledger, parent().key(), other.key(), &all)
    };
    let of_candidate = measure(&fails_for("new"));
    assert_eq!(of_candidate.len(), 30);
    assert!(mean(&of_candidate) < Some(-0.25));
    let of_parent = measure(&fails_for("old"));
    assert_eq!(of_parent.len(), 21);
    assert!(of_parent.iter().all(|difference| *difference == 0.0));
}

#[test]
fn a_night_can_be_moved_to_another_thread() {
    let (parent, material, cases, settings) = (parent(), material(), cases(40), settings());
    let likes = likes(&["run-tests"]);
    let night = optimize(&parent, &cases, &material, &likes, Some(&Model), &settings);
    let report = std::thread::scope(|scope| scope.spawn(|| block_on(night)).join());
    assert!(report.expect("no panic").is_ok());
}

#[test]
fn settings_out_of_range_are_refused() {
    let settings = Settings { significance: 0.9, ..Settings::default() };
    let (parent, material, down) = (parent(), Material::default(), down());
    let night = optimize(&parent, &[], &material, &down, None, &settings);
    let error = block_on(night).expect_err("a significance of 0.9").to_string();
    assert_eq!(error, "significance is 0.9, and must be above 0 and at most 0.5");
    Settings::default().check().expect("the defaults are valid");
}
