//! Random search and plain greedy search, for comparison: with the same edits, cases, budget and
//! test of the finalists as the beam search.

use futures::executor::block_on;
use mc_optimizer::evaluate::Ledger;
use mc_optimizer::night::{Split, test_finalists};
use mc_optimizer::propose::{apply_within, propose_by_rules};
use mc_optimizer::random::Random;
use mc_optimizer::search::Candidate;
use mc_optimizer::stats::mean;
use mc_optimizer::{Decision, Prompt, Settings};

use crate::world::World;

/// Maximum number of edits of a random prompt.
const RANDOM_EDITS: usize = 6;

/// Training cases of one round of elimination in the random search.
const RANDOM_CASES: usize = 20;

/// Training cases on which greedy search compares the edits of a step.
const GREEDY_CASES: usize = 10;

/// Evaluates random prompts, of one to six random edits, on a batch of training cases, and the
/// better half on the next batch, until one is left or the budget is spent.
pub fn random(world: &World, settings: &Settings) -> Option<Prompt> {
    run(world, settings, |ledger, split| {
        let mut random = Random::new(settings.seed, "random search");
        let mut cases = split.training.clone();
        random.shuffle(&mut cases);
        let count = ledger.remaining() / (2 * RANDOM_CASES);
        let draw = |_| random_candidate(world, settings, &mut random);
        let mut racing: Vec<Candidate> = (0..count).map(draw).collect();
        let mut seen = 0;
        while racing.len() > 1 && ledger.remaining() > 0 {
            let batch: Vec<usize> = cases.iter().take(RANDOM_CASES).copied().collect();
            cases.rotate_left(batch.len());
            seen = (seen + batch.len()).min(cases.len());
            let prompts: Vec<&Prompt> = racing.iter().map(|candidate| &candidate.prompt).collect();
            score(ledger, &[&world.parent], &batch);
            score(ledger, &prompts, &batch);
            sort_by_gain(ledger, world, &mut racing, &split.training);
            racing.truncate((racing.len() / 2).max(settings.finalists));
            if racing.len() == settings.finalists && seen == cases.len() {
                break;
            }
        }
        racing
    })
}

fn random_candidate(world: &World, settings: &Settings, random: &mut Random) -> Candidate {
    let mut prompt = world.parent.clone();
    for _ in 0..=random.below(RANDOM_EDITS) {
        let proposed = propose_by_rules(&prompt, &world.material);
        let edit = &proposed[random.below(proposed.len())];
        prompt = apply_within(edit, &prompt, &settings.limits).unwrap_or(prompt);
    }
    Candidate::new(prompt, &world.parent)
}

/// Evaluates all edits of the current prompt on a batch of training cases, takes the best one, and
/// repeats this from there. A step without a gain ends the search.
pub fn greedy(world: &World, settings: &Settings) -> Option<Prompt> {
    run(world, settings, |ledger, split| {
        let mut cases = split.training.clone();
        Random::new(settings.seed, "greedy search").shuffle(&mut cases);
        let mut current = Candidate::new(world.parent.clone(), &world.parent);
        let mut path = Vec::new();
        while ledger.remaining() > 0 && !cases.is_empty() {
            let batch: Vec<usize> = cases.iter().take(GREEDY_CASES).copied().collect();
            cases.rotate_left(batch.len());
            let Some(next) = greedy_step(ledger, world, settings, &current, &batch) else { break };
            path.push(next.clone());
            current = next;
        }
        path.reverse();
        path
    })
}

fn greedy_step(
    ledger: &mut Ledger<'_>,
    world: &World,
    settings: &Settings,
    current: &Candidate,
    batch: &[usize],
) -> Option<Candidate> {
    score(ledger, &[&current.prompt, &world.parent], batch);
    let edits = propose_by_rules(&current.prompt, &world.material);
    let mut best: Option<(f64, Prompt)> = None;
    for edit in edits {
        let Some(edited) = apply_within(&edit, &current.prompt, &settings.limits) else { continue };
        score(ledger, &[&edited], batch);
        let gain = gain(ledger, &current.prompt, &edited, batch);
        if gain > best.as_ref().map_or(0.0, |(gain, _)| *gain) {
            best = Some((gain, edited));
        }
    }
    best.map(|(_, prompt)| Candidate::new(prompt, &world.parent))
}

/// Runs a search, and tests its best candidates like those of the beam search.
fn run(
    world: &World,
    settings: &Settings,
    search: impl FnOnce(&mut Ledger<'_>, &Split) -> Vec<Candidate>,
) -> Option<Prompt> {
    let split = Split::new(&world.cases, settings);
    let budget = split.search_budget(settings);
    let mut ledger = Ledger::new(world, &world.cases, budget, settings.concurrency);
    let mut candidates = search(&mut ledger, &split);
    sort_by_gain(&ledger, world, &mut candidates, &split.training);
    ledger.set_budget(settings.budget);
    let test = test_finalists(&mut ledger, &world.parent, &candidates, &split, settings);
    let (finalists, decision) = block_on(test);
    match decision {
        Decision::Propose { finalist } => Some(finalists[finalist].prompt.clone()),
        Decision::Keep { .. } => None,
    }
}

fn sort_by_gain(ledger: &Ledger<'_>, world: &World, candidates: &mut [Candidate], cases: &[usize]) {
    for candidate in candidates.iter_mut() {
        candidate.gain = gain(ledger, &world.parent, &candidate.prompt, cases);
    }
    candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
}

fn score(ledger: &mut Ledger<'_>, prompts: &[&Prompt], cases: &[usize]) {
    block_on(ledger.evaluate(prompts, cases));
}

/// Returns the mean difference of two prompts on the cases that both have a score for.
fn gain(ledger: &Ledger<'_>, before: &Prompt, after: &Prompt, cases: &[usize]) -> f64 {
    let (before, after) = (before.key(), after.key());
    let difference =
        |case: &usize| Some(ledger.score(after, *case)? - ledger.score(before, *case)?);
    mean(&cases.iter().filter_map(difference).collect::<Vec<_>>()).unwrap_or(0.0)
}
