use super::*;
use crate::random::Random;

const SUCCESS: DialogOutcome = DialogOutcome::Succeeded;

fn names() -> Vec<String> {
    (0..40).map(|n| format!("dev-{n}")).collect()
}

fn arms() -> Arms {
    let names = names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Arms::draw("billing", 2, &names, 10).expect("developers")
}

fn outcome(
    index: usize,
    developer: &str,
    arm: Arm,
    outcome: DialogOutcome,
    night: u32,
) -> DialogReport {
    let (dialog, developer) = (format!("dialog-{index}"), developer.to_owned());
    DialogReport { dialog, developer, arm, outcome, night }
}

/// Dialogs of four weeks, of which the given shares succeed. Success does not depend on the
/// developer.
fn dialogs(parent: f64, canary: f64, seed: u64) -> Vec<DialogReport> {
    let (arms, mut random) = (arms(), Random::new(seed, "dialogs"));
    let mut all = Vec::new();
    for night in 1..=28 {
        for name in names() {
            for _ in 0..random.below(7) {
                let arm = arms.arm(&name);
                let rate = if arm == Arm::Canary { canary } else { parent };
                let result = if random.unit() < rate { SUCCESS } else { DialogOutcome::Failed };
                all.push(outcome(all.len(), &name, arm, result, night));
            }
        }
    }
    all
}

fn decision(outcomes: &[DialogReport], night: u32) -> CanaryDecision {
    decide(&arms(), outcomes, night, &CanarySettings::default()).decision
}

#[test]
fn a_better_canary_is_promoted_at_a_weekly_look() {
    for seed in 0..5 {
        match decision(&dialogs(0.4, 0.6, seed), 28) {
            CanaryDecision::Promote { night, gain, interval } => {
                assert!(night % 7 == 0, "night {night}");
                assert!(0.0 < interval.0 && interval.0 < gain && gain < interval.1);
                assert!(interval.0 < 0.2 && 0.2 < interval.1, "{interval:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_worse_canary_is_rolled_back_before_the_time_limit() {
    for seed in 0..5 {
        match decision(&dialogs(0.6, 0.4, seed), 28) {
            CanaryDecision::RollBack {
                night,
                reason: RollBackReason::Worse { gain, interval },
            } => {
                assert!(night < 28 && gain < 0.0 && interval.1 < 0.0, "{night} {gain}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_equal_canary_is_rolled_back_at_the_time_limit() {
    let outcomes = dialogs(0.5, 0.5, 1);
    assert!(matches!(decision(&outcomes, 27), CanaryDecision::Continue { .. }));
    let expected = |decision| {
        matches!(
            decision,
            CanaryDecision::RollBack {
                night: 28,
                reason: RollBackReason::NoSignificantGain { .. }
            }
        )
    };
    assert!(expected(decision(&outcomes, 28)));
    assert!(expected(decision(&outcomes, 40)));
}

#[test]
fn the_limit_of_dialogs_ends_a_canary_early() {
    let settings = CanarySettings { max_canary_dialogs: 100, ..CanarySettings::default() };
    let report = decide(&arms(), &dialogs(0.5, 0.5, 1), 28, &settings);
    let CanaryDecision::RollBack { night, .. } = report.decision else {
        panic!("{report:?}");
    };
    assert!(night < 14, "night {night}");
    assert!((100..140).contains(&report.canary.dialogs), "{report:?}");
}

#[test]
fn a_decision_does_not_depend_on_nights_without_a_call() {
    for (parent, canary) in [(0.4, 0.6), (0.6, 0.4), (0.5, 0.5)] {
        let outcomes = dialogs(parent, canary, 3);
        let first = (1..=28)
            .map(|night| decision(&outcomes, night))
            .find(|decision| !matches!(decision, CanaryDecision::Continue { .. }));
        assert_eq!(first, Some(decision(&outcomes, 28)));
    }
}

#[test]
fn without_dialogs_a_canary_continues_and_is_rolled_back_in_the_end() {
    for outcomes in [vec![], dialogs(0.5, 0.5, 1)[..1].to_vec()] {
        let CanaryDecision::Continue { reason, needed } = decision(&outcomes, 3) else {
            panic!("a decision without dialogs");
        };
        assert_eq!(reason, ContinueReason::NoDialogs);
        assert_eq!(needed.next_look_night, 7);
        assert!(needed.canary_dialogs >= 29 && needed.parent_dialogs >= 29);
        let reason = RollBackReason::TooFewDialogs { needed: 30 };
        assert_eq!(decision(&outcomes, 28), CanaryDecision::RollBack { night: 28, reason });
    }
}

#[test]
fn a_developer_who_changes_arms_counts_for_the_assigned_one_only() {
    let arms = arms();
    let name = names().into_iter().find(|name| arms.arm(name) == Arm::Canary).expect("one");
    let mut outcomes: Vec<_> =
        (0..10).map(|n| outcome(n, &name, Arm::Canary, SUCCESS, 1)).collect();
    outcomes.extend((10..30).map(|n| outcome(n, &name, Arm::Parent, DialogOutcome::Failed, 2)));
    let report = decide(&arms, &outcomes, 3, &CanarySettings::default());
    assert_eq!((report.canary.dialogs, report.canary.succeeded), (10, 10));
    assert_eq!((report.parent.dialogs, report.ignored.other_arm), (0, 20));
}

#[test]
fn repeated_reports_count_once_and_contradictory_ones_never() {
    let arms = arms();
    let name = names().into_iter().find(|name| arms.arm(name) == Arm::Parent).expect("one");
    let report = |index, result, night| outcome(index, &name, Arm::Parent, result, night);
    let outcomes = [
        report(1, SUCCESS, 1),
        report(1, SUCCESS, 2),
        report(2, SUCCESS, 1),
        report(2, DialogOutcome::Failed, 2),
        report(3, DialogOutcome::Abandoned, 1),
    ];
    let report = decide(&arms, &outcomes, 5, &CanarySettings::default());
    assert_eq!(
        (report.parent.dialogs, report.parent.succeeded, report.parent.abandoned),
        (2, 1, 1)
    );
    assert_eq!(report.ignored, Ignored { other_arm: 0, contradictory: 1 });
}

#[test]
fn able_developers_in_the_canary_are_no_evidence() {
    // Developers differ much, and the prompts do not.
    let is_promoted = |seed: u64| {
        let mut random = Random::new(seed, "abilities");
        let rates: Vec<f64> = (0..40).map(|_| random.unit()).collect();
        let mut outcomes = dialogs(0.5, 0.5, seed);
        for found in &mut outcomes {
            let index: usize = found.developer["dev-".len()..].parse().expect("a number");
            let is_success = random.unit() < rates[index];
            found.outcome = if is_success { SUCCESS } else { DialogOutcome::Failed };
        }
        let report = decide(&arms(), &outcomes, 28, &CanarySettings::default());
        matches!(report.decision, CanaryDecision::Promote { .. })
    };
    let promoted = (0..40).filter(|seed| is_promoted(*seed)).count();
    assert!(promoted <= 4, "{promoted} of 40");
}

#[test]
fn developers_who_all_succeed_have_no_certain_rate() {
    let developer = |arm, dialogs| count::Developer { arm, dialogs, succeeded: dialogs };
    let all = [developer(Arm::Canary, 3), developer(Arm::Parent, 3), developer(Arm::Parent, 3)];
    let estimate = compare(&all).expect("three developers");
    assert!(estimate.error > 0.1, "{estimate:?}");
    assert_eq!(compare(&all[..2]), None);
    assert_eq!(compare(&all[1..]), None);
}

#[test]
fn the_looks_spend_the_error_probability_exactly() {
    let settings = CanarySettings::default();
    let (counts, _) = Counts::new(&arms(), &[], 28);
    let mut state = State { counts, settings: &settings, spent: 0.0 };
    let parts: Vec<f64> = [7, 14, 21].iter().map(|night| state.spend(*night, false)).collect();
    let last = state.spend(28, true);
    assert!(parts.is_sorted() && (parts.iter().sum::<f64>() + last - 0.05).abs() < 1e-12);
}

#[test]
fn settings_out_of_range_are_refused_with_their_value() {
    let settings = CanarySettings { percent: 60, ..CanarySettings::default() };
    let error = settings.check().expect_err("60 %").to_string();
    assert_eq!(error, "percent is 60, and must be from 1 to 50");
    CanarySettings::default().check().expect("the defaults are valid");
}
