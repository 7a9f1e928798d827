//! Beam search over edits of a prompt.
//!
//! Each level expands every prompt of the beam by children that carry several edits at once. The
//! children race: all are evaluated on a small batch of training cases, the worse half is
//! eliminated, and the others meet the next batch. One model of the edits' effects
//! ([`effects`]) shares what a batch shows between all prompts with the same edit; it ranks the
//! prompts and chooses the edits of the next level.

mod effects;
mod expand;
mod features;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::edit::{Edit, edits_between};
use crate::evaluate::Ledger;
use crate::material::Material;
use crate::prompt::Prompt;
use crate::propose::{MAX_MODEL_EDITS, Propose, propose_by_rules};
use crate::random::Random;

use effects::Effects;
use expand::Proposals;
use features::Feature;

pub use settings::Settings;
pub(crate) use settings::check_setting;

/// Failed cases that a model sees with a prompt.
const CASES_SHOWN: usize = 8;

/// Gain that a change must have to be worth the reading and the tokens.
const COST_OF_CHANGE: f64 = 0.003;

/// Batches on which simpler prompts are compared with those of the beam.
const SIMPLIFICATION_BATCHES: usize = 3;

/// A prompt that the search evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The prompt.
    pub prompt: Prompt,
    /// The edits that lead to it from the parent.
    pub edits: Vec<Edit>,
    /// Estimated gain over the parent on training cases.
    pub gain: f64,
    key: u64,
    features: Vec<Feature>,
}

/// One level of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Edits that were proposed for the prompts of the beam.
    pub edits: usize,
    /// New prompts that were evaluated.
    pub candidates: usize,
    /// Evaluations of one prompt on one case.
    pub evaluations: usize,
    /// Estimated gain of the best prompt.
    pub best_gain: f64,
}

/// Estimated effect of a change of the prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The change, such as `with instructions run-tests`.
    pub change: String,
    /// Estimated gain in successes, from -1 to 1.
    pub gain: f64,
    /// Standard error of the gain.
    pub error: f64,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Evaluated prompts other than the parent, the best first.
    pub ranked: Vec<Candidate>,
    /// Levels of the beam.
    pub levels: Vec<Level>,
    /// Effects of single changes, the largest first.
    pub effects: Vec<Effect>,
    /// Calls of the model that failed.
    pub failed_proposals: usize,
}

/// Searches better prompts than `parent` on the training cases until the depth or the budget of the
/// ledger is reached.
pub async fn search(
    ledger: &mut Ledger<'_>,
    parent: &Prompt,
    material: &Material,
    proposer: Option<&dyn Propose>,
    training: &[usize],
    settings: &Settings,
) -> Found {
    let mut search = Search::new(parent, material, proposer, training, settings);
    let budget = ledger.spending().budget;
    let reserve = search.cost_of_simplification().min(budget / 4);
    ledger.set_budget(budget - reserve);
    for _ in 0..settings.depth {
        let (edits, children) = search.expand(ledger).await;
        if children.is_empty() || ledger.remaining() == 0 || training.is_empty() {
            break;
        }
        search.level(ledger, edits, children).await;
    }
    ledger.set_budget(budget);
    search.simplify(ledger).await;
    search.finish(ledger)
}

struct Search<'a> {
    parent: Candidate,
    material: &'a Material,
    proposer: Option<&'a dyn Propose>,
    settings: &'a Settings,
    /// Training cases in a random order.
    cases: Vec<usize>,
    /// Index of the first case of the next batch.
    next_case: usize,
    random: Random,
    beam: Vec<Candidate>,
    evaluated: Vec<Candidate>,
    known: BTreeSet<u64>,
    effects: Effects,
    levels: Vec<Level>,
    failed_proposals: usize,
}

impl<'a> Search<'a> {
    fn new(
        parent: &Prompt,
        material: &'a Material,
        proposer: Option<&'a dyn Propose>,
        training: &[usize],
        settings: &'a Settings,
    ) -> Self {
        let mut cases = training.to_vec();
        Random::new(settings.seed, "training cases").shuffle(&mut cases);
        let parent = Candidate::new(parent.clone(), parent);
        Self {
            beam: vec![parent.clone()],
            known: BTreeSet::from([parent.key]),
            parent,
            material,
            proposer,
            settings,
            cases,
            next_case: 0,
            random: Random::new(settings.seed, "search"),
            evaluated: vec![],
            effects: Effects::default(),
            levels: vec![],
            failed_proposals: 0,
        }
    }

    async fn level(&mut self, ledger: &mut Ledger<'_>, edits: usize, children: Vec<Candidate>) {
        let spent = ledger.spending().spent;
        let candidates = children.len();
        self.race(ledger, children).await;
        let best_gain = self.beam.first().map_or(0.0, |best| best.gain);
        let evaluations = ledger.spending().spent - spent;
        self.levels.push(Level { edits, candidates, evaluations, best_gain });
    }

    /// Returns the number of evaluations that a simplification may need.
    fn cost_of_simplification(&self) -> usize {
        let prompts = 2 * self.settings.width + 1;
        SIMPLIFICATION_BATCHES * prompts * self.settings.minibatch
    }

    /// Compares the prompts of the beam with simpler ones, which lack the changes that have no
    /// clear effect. A simpler one precedes if it is hardly worse.
    async fn simplify(&mut self, ledger: &mut Ledger<'_>) {
        let simpler: Vec<Candidate> =
            self.beam.clone().iter().filter_map(|member| self.simpler(member)).collect();
        if simpler.is_empty() || ledger.remaining() == 0 {
            return;
        }
        for _ in 1..SIMPLIFICATION_BATCHES {
            let prompts: Vec<&Prompt> =
                simpler.iter().chain(&self.beam).map(|candidate| &candidate.prompt).collect();
            let batch = next_batch(&self.cases, &mut self.next_case, self.settings.minibatch);
            ledger.evaluate(&prompts, &batch).await;
        }
        self.level(ledger, 0, simpler).await;
    }

    /// Returns the number of proposed edits, and the children of the beam.
    async fn expand(&mut self, ledger: &Ledger<'_>) -> (usize, Vec<Candidate>) {
        let mut children = Vec::new();
        let mut edit_count = 0;
        let beam = self.beam.clone();
        // The first level has one prompt, which gets the children of all.
        let count = self.settings.width * self.settings.children / beam.len();
        for member in beam {
            let proposals = self.proposals(ledger, &member).await;
            edit_count += proposals.by_rules.len() + proposals.by_model.len();
            children.extend(self.children_of(&member, &proposals, count));
        }
        (edit_count, children)
    }

    /// Returns the edits that rules and the model propose for a prompt of the beam.
    async fn proposals(&mut self, ledger: &Ledger<'_>, member: &Candidate) -> Proposals {
        let by_rules = propose_by_rules(&member.prompt, self.material);
        let mut by_model = Vec::new();
        let failures = ledger.failed_cases(member.key, CASES_SHOWN);
        if let Some(proposer) = self.proposer.filter(|_| !failures.is_empty()) {
            match proposer.propose(&member.prompt, &failures).await {
                Ok(proposed) => by_model.extend(proposed.into_iter().take(MAX_MODEL_EDITS)),
                Err(_) => self.failed_proposals += 1,
            }
        }
        Proposals { by_rules, by_model }
    }

    /// Races the children against the prompts of the beam, and makes the best the next beam.
    async fn race(&mut self, ledger: &mut Ledger<'_>, children: Vec<Candidate>) {
        self.evaluated.extend(children.iter().cloned());
        let former: Vec<Prompt> = self.beam.iter().map(|member| member.prompt.clone()).collect();
        let mut racing = children;
        loop {
            let mut prompts: Vec<&Prompt> = racing.iter().map(|child| &child.prompt).collect();
            prompts.push(&self.parent.prompt);
            prompts.extend(&former);
            let batch = next_batch(&self.cases, &mut self.next_case, self.settings.minibatch);
            ledger.evaluate(&prompts, &batch).await;
            self.effects.fit(ledger, &self.parent, &self.evaluated);
            self.rank(ledger, &mut racing);
            if racing.len() <= self.settings.width || ledger.remaining() == 0 {
                break;
            }
            racing.truncate(racing.len().div_ceil(2).max(self.settings.width));
        }
        racing.append(&mut self.beam);
        self.rank(ledger, &mut racing);
        racing.truncate(self.settings.width);
        self.beam = racing;
    }

    /// Updates the estimated gains, and sorts by them, less a small cost of each change.
    fn rank(&self, ledger: &Ledger<'_>, candidates: &mut [Candidate]) {
        for candidate in candidates.iter_mut().filter(|found| found.key != self.parent.key) {
            candidate.gain = self.effects.gain(ledger, candidate);
        }
        let merit = |found: &Candidate| found.gain - COST_OF_CHANGE * found.features.len() as f64;
        candidates.sort_by(|a, b| merit(b).total_cmp(&merit(a)).then(a.key.cmp(&b.key)));
    }

    fn finish(mut self, ledger: &Ledger<'_>) -> Found {
        let mut ranked = std::mem::take(&mut self.evaluated);
        self.rank(ledger, &mut ranked);
        ranked.retain(|candidate| ledger.scores_of(candidate.key).next().is_some());
        Found {
            ranked,
            levels: self.levels,
            effects: self.effects.list(),
            failed_proposals: self.failed_proposals,
        }
    }
}

impl Candidate {
    /// Creates a candidate with gain 0.
    pub fn new(prompt: Prompt, parent: &Prompt) -> Self {
        let features = features::between(parent, &prompt);
        let edits = edits_between(parent, &prompt);
        Self { key: prompt.key(), prompt, edits, gain: 0.0, features }
    }
}

/// Returns the next cases in a cycle, each at most once.
fn next_batch(cases: &[usize], next: &mut usize, size: usize) -> Vec<usize> {
    let size = size.min(cases.len());
    let batch = (0..size).map(|offset| cases[(*next + offset) % cases.len()]).collect();
    *next = (*next + size) % cases.len().max(1);
    batch
}
