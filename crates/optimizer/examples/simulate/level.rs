//! The rate of false promotions of the canary, and of simpler tests, when nothing differs.

use mc_domain::DialogOutcome;
use mc_optimizer::arms::{Arm, Arms};
use mc_optimizer::canary::{CanarySettings, DialogReport, decide};
use mc_optimizer::{CanaryDecision, Prompt};

use crate::team::Team;
use crate::world::{Kind, World};

/// Canaries for each row.
const RUNS: u64 = 2_000;

/// Prints the rates for teams of several sizes.
pub fn table(first_seed: u64) {
    let world = World::new(first_seed, Kind::NoBetter, 1);
    println!("Promoted although equal, of {RUNS} canaries with looks over 28 nights:");
    println!("| developers | canary | this rule | nightly looks | 5 % per look | dialogs |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for size in [10, 20, 40] {
        let mut counts = [0_u32; 4];
        for run in 0..RUNS {
            let seed = first_seed * 1_000_000 + run;
            let team = Team::new(seed, size);
            let arms = team.arms(10);
            let dialogs = team.dialogs(&world, &Prompt::default(), &arms, 28, seed);
            let is_promoted = promotions(&arms, &dialogs);
            counts.iter_mut().zip(is_promoted).for_each(|(count, is)| *count += u32::from(is));
        }
        let rate = |count: u32| format!("{:.1} %", 100.0 * f64::from(count) / RUNS as f64);
        let cells: Vec<String> = counts.into_iter().map(rate).collect();
        let canary = ((size * 10 + 50) / 100).max(1);
        println!("| {size} | {canary} | {} |", cells.join(" | "));
    }
    println!(
        "\"Nightly looks\" is this rule with `look_interval_nights` 1. \"5 % per look\" compares\n\
         developers at 5 % on every seventh night. \"Dialogs\" compares dialogs as if they were\n\
         independent, at 5 % on every night."
    );
}

/// Returns whether each rule promotes.
fn promotions(arms: &Arms, dialogs: &[DialogReport]) -> [bool; 4] {
    let is_promoted = |settings: &CanarySettings, nights: u32| {
        let decision = decide(arms, dialogs, nights, settings).decision;
        matches!(decision, CanaryDecision::Promote { .. })
    };
    let rule = CanarySettings::default();
    let nightly = CanarySettings { look_interval_nights: 1, ..rule.clone() };
    let at_each_look = |night: u32| {
        let only_look =
            CanarySettings { max_nights: night, look_interval_nights: night, ..rule.clone() };
        is_promoted(&only_look, night)
    };
    [
        is_promoted(&rule, 28),
        is_promoted(&nightly, 28),
        [7, 14, 21, 28].into_iter().any(at_each_look),
        is_promoted_by_dialogs(dialogs),
    ]
}

/// Compares dialogs by a z-test at 5 %, every night.
fn is_promoted_by_dialogs(dialogs: &[DialogReport]) -> bool {
    let mut sums = [(0.0, 0.0); 2];
    let mut dialogs = dialogs.iter().peekable();
    for night in 1..=28 {
        while let Some(dialog) = dialogs.next_if(|dialog| dialog.night <= night) {
            let sum = &mut sums[usize::from(dialog.arm == Arm::Canary)];
            sum.0 += f64::from(u8::from(dialog.outcome == DialogOutcome::Succeeded));
            sum.1 += 1.0;
        }
        let [(parent, parents), (canary, canaries)] = sums;
        let rate: f64 = (parent + canary) / (parents + canaries);
        let error = (rate * (1.0 - rate) * (1.0 / parents + 1.0 / canaries)).sqrt();
        if canaries >= 30.0 && (canary / canaries - parent / parents) / error > 1.645 {
            return true;
        }
    }
    false
}
