//! Measures the optimizer on simulated projects: `simulate [SEEDS] [FIRST_SEED] [SETTINGS]`.
//!
//! Each seed is another project with other effects, cases, developers and dialogs. The table counts
//! seeds. The settings are the defaults, which were chosen on seeds from 1001, or those of a JSON
//! object such as `{"width": 8}`; then only the search is measured.

#![expect(clippy::print_stdout, reason = "a measuring tool")]

mod baselines;
mod level;
mod team;
mod world;

use futures::executor::block_on;
use mc_optimizer::canary::CanarySettings;
use mc_optimizer::{CanaryDecision, NightReport, Prompt, Settings, optimize};

use team::Team;
use world::{Kind, World};

/// Cases of a project.
const CASES: usize = 250;
/// Developers of a project.
const DEVELOPERS: usize = 40;
/// Share of the planted gain that counts as found.
const FOUND_SHARE: f64 = 0.8;

/// Results of one way to search, over all seeds.
#[derive(Default)]
struct Results {
    proposed: u32,
    found: u32,
    all_edits: u32,
    promoted: u32,
    gain_share: f64,
    tokens: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| {
        arguments.get(index).map_or(default, |text| text.parse().expect("a number"))
    };
    let (count, first) = (number(0, 20), number(1, 1));
    let seeds: Vec<u64> = (first..first + count).collect();
    if let Some(json) = arguments.get(2) {
        let settings = serde_json::from_str(json).expect("settings");
        return print_searches(&seeds, &settings, &METHODS[..1]);
    }
    search_table(&seeds);
    canary_table(&seeds);
    level::table(first);
}

type Run = fn(&World, &Settings) -> Option<Prompt>;

const METHODS: [(&str, Kind, Run); 5] = [
    ("beam search", Kind::Better, beam),
    ("beam search, one edit per child", Kind::Better, single_edits),
    ("random search", Kind::Better, baselines::random),
    ("greedy search", Kind::Better, baselines::greedy),
    ("beam search, half of the effects", Kind::SlightlyBetter, beam),
];

fn search_table(seeds: &[u64]) {
    println!("A better prompt is planted; {} seeds, {CASES} cases:", seeds.len());
    print_searches(seeds, &Settings::default(), &METHODS);
    for kind in [Kind::Better, Kind::SlightlyBetter] {
        print_truth(seeds, kind);
    }
    let is_equal = seeds.iter().take(5).all(|seed| is_reproducible(*seed));
    println!("Same seed, same bytes of the report: {is_equal} (first 5 seeds, twice each).\n");
}

fn print_searches(seeds: &[u64], settings: &Settings, methods: &[(&str, Kind, Run)]) {
    println!("| search | proposed | found | all edits | promoted | share of the gain | tokens |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, kind, run) in methods {
        let mut results = Results::default();
        for seed in seeds {
            results.add(*seed, *kind, settings, *run);
        }
        results.print(name, seeds.len());
    }
}

fn print_truth(seeds: &[u64], kind: Kind) {
    let (mut rates, mut gains, mut harm) = (0.0, Vec::new(), 0.0);
    let mut sizes = [0, 0];
    for seed in seeds {
        let world = World::new(*seed, kind, 1);
        let rate = world.true_rate(&world.parent);
        rates += rate;
        gains.push(world.true_rate(&world.planted) - rate);
        harm += rate - world.true_rate(&world.worse);
        sizes[0] += world.parent.size().tokens;
        sizes[1] += world.planted.size().tokens;
    }
    let count = seeds.len() as f64;
    println!(
        "{kind:?}: the parent succeeds in {:.3} of the cases on average, the planted prompt in \
         {:.3} more (at least {:.3}), the worse one in {:.3} less. Tokens: {} and {}.",
        rates / count,
        gains.iter().sum::<f64>() / count,
        gains.iter().copied().fold(1.0, f64::min),
        harm / count,
        sizes[0] / seeds.len(),
        sizes[1] / seeds.len(),
    );
}

impl Results {
    fn add(&mut self, seed: u64, kind: Kind, settings: &Settings, run: Run) {
        let world = World::new(seed, kind, CASES);
        let Some(prompt) = run(&world, &Settings { seed, ..settings.clone() }) else { return };
        let parent = world.true_rate(&world.parent);
        let planted = world.true_rate(&world.planted) - parent;
        let share = (world.true_rate(&prompt) - parent) / planted;
        self.proposed += 1;
        self.gain_share += share;
        self.tokens += prompt.size().tokens;
        self.found += u32::from(share >= FOUND_SHARE);
        self.all_edits += u32::from(has_all_edits(&world, &prompt));
        let team = Team::new(seed, DEVELOPERS);
        let decision = team.canary(&world, &prompt, &CanarySettings::default(), seed);
        self.promoted += u32::from(matches!(decision, CanaryDecision::Promote { .. }));
    }

    fn print(&self, name: &str, seeds: usize) {
        println!(
            "| {name} | {} | {} | {} | {} | {:.2} | {} |",
            self.proposed,
            self.found,
            self.all_edits,
            self.promoted,
            self.gain_share / seeds as f64,
            self.tokens / self.proposed.max(1) as usize
        );
    }
}

fn beam(world: &World, settings: &Settings) -> Option<Prompt> {
    night(world, settings).proposed().map(|finalist| finalist.prompt.clone())
}

fn single_edits(world: &World, settings: &Settings) -> Option<Prompt> {
    beam(world, &Settings { edits_per_child: 1, ..settings.clone() })
}

fn night(world: &World, settings: &Settings) -> NightReport {
    let night = optimize(&world.parent, &world.cases, &world.material, world, None, settings);
    block_on(night).expect("valid settings")
}

/// Returns whether a prompt has the planted items, and lacks the harmful one.
fn has_all_edits(world: &World, prompt: &Prompt) -> bool {
    let differs = |from: &Prompt, to: &Prompt, is_present: bool| {
        let missing =
            from.all_items().filter(|(section, item)| to.find(*section, &item.id).is_none());
        missing
            .into_iter()
            .all(|(section, item)| prompt.find(section, &item.id).is_some() == is_present)
    };
    differs(&world.planted, &world.parent, true) && differs(&world.parent, &world.planted, false)
}

fn is_reproducible(seed: u64) -> bool {
    let settings = Settings { seed, ..Settings::default() };
    let report = || {
        let world = World::new(seed, Kind::Better, CASES);
        serde_json::to_string(&night(&world, &settings)).expect("JSON")
    };
    report() == report()
}

fn canary_table(seeds: &[u64]) {
    let settings = CanarySettings::default();
    let (mut worse, mut nights) = (0, 0);
    let (mut proposed, mut promoted, mut equal) = (0, 0, 0);
    for seed in seeds {
        let world = World::new(*seed, Kind::Better, CASES);
        let team = Team::new(*seed, DEVELOPERS);
        if let CanaryDecision::RollBack { night, .. } =
            team.canary(&world, &world.worse, &settings, *seed)
        {
            worse += 1;
            nights += night;
        }
        let world = World::new(*seed, Kind::NoBetter, CASES);
        let decide = |prompt: &Prompt| {
            let decision = team.canary(&world, prompt, &settings, *seed);
            u32::from(matches!(decision, CanaryDecision::Promote { .. }))
        };
        if let Some(prompt) = beam(&world, &Settings { seed: *seed, ..Settings::default() }) {
            proposed += 1;
            promoted += decide(&prompt);
        }
        equal += decide(&world.planted);
    }
    let count = seeds.len();
    println!("Canaries, {count} seeds, {DEVELOPERS} developers, 10 % in the canary:");
    println!("| project | result |\n| --- | --- |");
    println!(
        "| worse prompt in the canary | rolled back {worse}, after {:.1} nights on average |",
        f64::from(nights) / f64::from(worse.max(1))
    );
    println!(
        "| no prompt is better, night and canary | proposed {proposed}, promoted {promoted} |"
    );
    println!("| equal prompt, put in the canary by hand | promoted {equal} |\n");
}
