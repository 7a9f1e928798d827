//! A simulated team, whose dialogs are the outcomes of a canary.

use mc_domain::DialogOutcome;
use mc_optimizer::arms::{Arm, Arms};
use mc_optimizer::canary::{CanarySettings, DialogReport, decide};
use mc_optimizer::random::Random;
use mc_optimizer::{CanaryDecision, Prompt};

use crate::world::World;

/// Standard deviation of the developers' abilities, in log-odds.
const ABILITY: f64 = 0.4;
/// Share of the unsuccessful dialogs that are abandoned.
const ABANDONED: f64 = 0.25;
/// Share of the dialogs that state the version of the other arm.
const OTHER_ARM: f64 = 0.02;
/// Probability of a dialog's outcome per night, of two kinds of developer, on a working day.
const DIALOGS_PER_DAY: [usize; 4] = [2, 4, 6, 8];

/// A team, and whether the abilities of its developers differ.
pub struct Team {
    names: Vec<String>,
    abilities: Vec<f64>,
    activity: Vec<usize>,
}

impl Team {
    pub fn new(seed: u64, size: usize) -> Self {
        let mut random = Random::new(seed, "team");
        Self {
            names: (0..size).map(|n| format!("dev-{seed}-{n}")).collect(),
            abilities: (0..size).map(|_| ABILITY * random.normal()).collect(),
            activity: (0..size).map(|_| DIALOGS_PER_DAY[random.below(4)]).collect(),
        }
    }

    pub fn arms(&self, percent: u8) -> Arms {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Arms::draw("simulated", 2, &names, percent).expect("developers")
    }

    /// Simulates the dialogs of a canary. Nights 6 and 7 of each week have none.
    pub fn dialogs(
        &self,
        world: &World,
        canary: &Prompt,
        arms: &Arms,
        nights: u32,
        seed: u64,
    ) -> Vec<DialogReport> {
        let mut random = Random::new(seed, "dialogs");
        let mut all = Vec::new();
        for night in (1..=nights).filter(|night| (night - 1) % 7 < 5) {
            for (index, developer) in self.names.iter().enumerate() {
                for _ in 0..random.below(2 * self.activity[index] + 1) {
                    let is_other = random.unit() < OTHER_ARM;
                    let arm =
                        if is_other { other(arms.arm(developer)) } else { arms.arm(developer) };
                    let prompt = if arm == Arm::Canary { canary } else { &world.parent };
                    let ability = self.abilities[index];
                    let is_success = world.dialog_succeeds(prompt, ability, &mut random);
                    let is_abandoned = random.unit() < ABANDONED;
                    all.push(DialogReport {
                        dialog: format!("dialog-{}", all.len()),
                        developer: developer.clone(),
                        arm,
                        outcome: outcome(is_success, is_abandoned),
                        night,
                    });
                }
            }
        }
        all
    }

    /// Runs a canary of a prompt to its decision.
    pub fn canary(
        &self,
        world: &World,
        prompt: &Prompt,
        settings: &CanarySettings,
        seed: u64,
    ) -> CanaryDecision {
        let arms = self.arms(settings.percent);
        let dialogs = self.dialogs(world, prompt, &arms, settings.max_nights, seed);
        decide(&arms, &dialogs, settings.max_nights, settings).decision
    }
}

fn other(arm: Arm) -> Arm {
    if arm == Arm::Canary { Arm::Parent } else { Arm::Canary }
}

fn outcome(is_success: bool, is_abandoned: bool) -> DialogOutcome {
    match (is_success, is_abandoned) {
        (true, _) => DialogOutcome::Succeeded,
        (false, true) => DialogOutcome::Abandoned,
        (false, false) => DialogOutcome::Failed,
    }
}
