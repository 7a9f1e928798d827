//! A simulated project: cases whose success depends on the prompt by hidden effects.
//!
//! The success of a case is a coin toss. Its log-odds are the ease of the case and of the developer
//! plus the effects of the items of the prompt. An instruction acts mainly on cases with the errors
//! that it addresses, and a little on all cases. Effects interact: two items against one error add
//! less than their sum, one instruction of the parent weakens a good one, another one conflicts
//! with it, and long prompts cost a little.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use mc_optimizer::evaluate::EvaluationError;
use mc_optimizer::material::{CandidateExample, FrequentError, catalog};
use mc_optimizer::random::{Random, stable_hash};
use mc_optimizer::{Case, Evaluate, Evaluation, Item, Material, Prompt, Section};

/// Which effects a world has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A better prompt is four edits away from the parent: drop one instruction, add two, and add
    /// one example.
    Better,
    /// As [`Kind::Better`], with half of the planted effects.
    SlightlyBetter,
    /// No item has an effect, so no prompt is better.
    NoBetter,
}

/// Number of kinds of error.
const ERRORS: usize = 8;
/// Number of candidate examples.
const EXAMPLES: usize = 8;
/// Cases of the true success rate.
const POPULATION: usize = 1_500;
/// Share of the evaluations of a case that have the luck of the case, for all prompts.
const SHARED_LUCK: f64 = 0.5;
/// Number of items that cost nothing, and the log-odds that each further one costs.
const FREE_ITEMS: usize = 12;
const COST_OF_ITEM: f64 = 0.03;

/// Hidden effects of an item, in log-odds.
#[derive(Debug, Clone, Copy, Default)]
struct Hidden {
    on_its_errors: f64,
    on_all: f64,
}

/// A simulated project.
pub struct World {
    pub seed: u64,
    pub material: Material,
    pub parent: Prompt,
    pub planted: Prompt,
    pub worse: Prompt,
    /// The case repository.
    pub cases: Vec<Case>,
    hidden: BTreeMap<(Section, String), Hidden>,
    errors_of: BTreeMap<(Section, String), Vec<String>>,
    /// The good instruction that others weaken, the parent's instruction that weakens it, and the
    /// candidate that conflicts with it.
    fragile: String,
    weakening: String,
    conflicting: String,
    shares: Vec<(String, f64)>,
    population: Vec<(Case, f64)>,
}

impl World {
    pub fn new(seed: u64, kind: Kind, case_count: usize) -> Self {
        let mut random = Random::new(seed, "world");
        let errors = errors(&mut random);
        let examples = examples(&mut random, &errors);
        let shares = shares(&errors);
        let material = Material::from_sources(errors, examples);
        let mut instructions: Vec<String> =
            material.instructions.iter().map(|found| found.id.clone()).collect();
        random.shuffle(&mut instructions);
        let mut examples: Vec<String> =
            material.examples.iter().map(|found| found.id.clone()).collect();
        random.shuffle(&mut examples);
        let mut world = Self {
            seed,
            parent: Prompt::default(),
            planted: Prompt::default(),
            worse: Prompt::default(),
            cases: vec![],
            hidden: BTreeMap::new(),
            errors_of: BTreeMap::new(),
            fragile: instructions[6].clone(),
            weakening: "by-hand".to_owned(),
            conflicting: instructions[8].clone(),
            shares,
            population: vec![],
            material,
        };
        world.draw_effects(kind, &mut random);
        world.plant(kind, &instructions, &examples);
        world.cases = (0..case_count).map(|n| world.case(&format!("case-{n}"))).collect();
        world.population = (0..POPULATION)
            .map(|n| world.case(&format!("population-{n}")))
            .map(|case| (case.clone(), world.ease(&case.id)))
            .collect();
        world
    }

    /// Draws small effects of all items.
    fn draw_effects(&mut self, kind: Kind, random: &mut Random) {
        let instructions = self.material.instructions.iter();
        let instructions =
            instructions.map(|found| ((Section::Instructions, found.id.clone()), &found.errors));
        let examples = self.material.examples.iter();
        let examples = examples.map(|found| ((Section::Examples, found.id.clone()), &found.errors));
        let spread = if kind == Kind::NoBetter { 0.0 } else { 1.0 };
        for (item, errors) in instructions.chain(examples) {
            let hidden = Hidden {
                on_its_errors: spread * 0.25 * random.normal(),
                on_all: spread * (0.06 * random.normal() - 0.02),
            };
            self.hidden.insert(item.clone(), hidden);
            self.errors_of.insert(item, errors.clone());
        }
    }

    /// Makes the parent, the planted better prompt and the worse one.
    fn plant(&mut self, kind: Kind, instructions: &[String], examples: &[String]) {
        let item = |id: &String| self.material.instruction(id).expect("known").item();
        let example = |id: &String| self.material.example(id).expect("known").item();
        let by_hand = Item::new(&self.weakening, "Answer like a lawyer. Be exhaustive always.");
        let mut parent: Vec<Item> = instructions[..6].iter().map(item).collect();
        parent.insert(2, by_hand);
        let few: Vec<Item> = examples[..2].iter().map(example).collect();
        let kept = parent.iter().filter(|item| item.id != self.weakening).cloned();
        let better = kept.chain(instructions[6..8].iter().map(item)).collect();
        let more = few.iter().cloned().chain([example(&examples[2])]).collect();
        let bad = Item::new("bad", "Skip the tests. Finish fast.");
        let worse = parent.iter().cloned().chain([bad]).collect();
        self.parent = Prompt::new(parent, few.clone()).expect("valid");
        self.planted = Prompt::new(better, more).expect("valid");
        self.worse = Prompt::new(worse, few).expect("valid");
        let bad = Hidden { on_its_errors: 0.0, on_all: -0.6 };
        self.hidden.insert((Section::Instructions, "bad".to_owned()), bad);
        match kind {
            Kind::Better => self.plant_effects(instructions, &examples[2], 1.0),
            Kind::SlightlyBetter => self.plant_effects(instructions, &examples[2], 0.5),
            Kind::NoBetter => {}
        }
    }

    fn plant_effects(&mut self, instructions: &[String], example: &str, scale: f64) {
        let names: Vec<String> = self.shares.iter().map(|(id, _)| id.clone()).collect();
        let some = |indices: &[usize]| indices.iter().map(|i| names[*i].clone()).collect();
        let planted = [
            (Section::Instructions, instructions[6].as_str(), 1.1, 0.05, some(&[0, 3])),
            (Section::Instructions, instructions[7].as_str(), 1.0, 0.05, some(&[1, 4])),
            (Section::Examples, example, 0.8, 0.05, some(&[2, 5, 6])),
            (Section::Instructions, "by-hand", 0.0, -0.4, vec![]),
            (Section::Instructions, instructions[8].as_str(), 0.3, 0.0, some(&[0])),
        ];
        for (section, id, on_its_errors, on_all, errors) in planted {
            let key = (section, id.to_owned());
            let (on_its_errors, on_all) = (scale * on_its_errors, scale * on_all);
            self.hidden.insert(key.clone(), Hidden { on_its_errors, on_all });
            self.errors_of.insert(key, errors);
        }
    }

    /// Draws the error of a case by its id.
    fn case(&self, id: &str) -> Case {
        let mut random = Random::new(self.seed, &format!("case {id}"));
        let mut left = random.unit();
        let error = self.shares.iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        Case { id: id.to_owned(), errors: error.map(|(id, _)| id.clone()).into_iter().collect() }
    }

    /// Returns the ease of a case: log-odds of success without any effect.
    fn ease(&self, case_id: &str) -> f64 {
        Random::new(self.seed, &format!("ease {case_id}")).normal() + 0.1
    }

    /// Returns the log-odds that a prompt adds on a case.
    fn effect(&self, prompt: &Prompt, errors: &[String]) -> f64 {
        let mut on_errors: Vec<f64> = Vec::new();
        let mut sum = 0.0;
        let has = |id: &str| prompt.find(Section::Instructions, id).is_some();
        for (section, item) in prompt.all_items() {
            let key = (section, item.id.clone());
            let Some(hidden) = self.hidden.get(&key) else { continue };
            let wording = self.wording(section, item);
            sum += hidden.on_all * wording;
            let own = self.errors_of.get(&key).map_or(&[][..], Vec::as_slice);
            if own.iter().any(|error| errors.contains(error)) {
                let is_weakened = item.id == self.fragile && has(&self.weakening);
                let factor = if is_weakened { 0.5 } else { 1.0 };
                on_errors.push(hidden.on_its_errors * wording * factor);
                if item.id == self.fragile && has(&self.conflicting) {
                    sum -= 0.5;
                }
            }
        }
        // The best item against an error has its full effect, and each further one half of it.
        on_errors.sort_by(|a, b| b.total_cmp(a));
        let positive = on_errors.iter().filter(|effect| **effect > 0.0);
        sum += positive.enumerate().map(|(n, e)| if n == 0 { *e } else { e / 2.0 }).sum::<f64>();
        sum += on_errors.iter().filter(|effect| **effect < 0.0).sum::<f64>();
        let items = prompt.all_items().count();
        sum - COST_OF_ITEM * items.saturating_sub(FREE_ITEMS) as f64
    }

    /// Returns a factor of an item's effects for its wording: other words work up to a fifth better
    /// or worse.
    fn wording(&self, section: Section, item: &Item) -> f64 {
        let known = match section {
            Section::Instructions => self.material.instruction(&item.id).map(|found| &found.text),
            Section::Examples => self.material.example(&item.id).map(|found| &found.text),
        };
        if known.is_none_or(|text| *text == item.text) {
            return 1.0;
        }
        let hash = stable_hash(&[&self.seed.to_string(), &item.id, &item.text]);
        0.8 + 0.4 * (hash % 1_000) as f64 / 1_000.0
    }

    /// Returns the true success rate of a prompt, for a developer of average ability.
    pub fn true_rate(&self, prompt: &Prompt) -> f64 {
        let rates = self
            .population
            .iter()
            .map(|(case, ease)| logistic(ease + self.effect(prompt, &case.errors)));
        rates.sum::<f64>() / POPULATION as f64
    }

    /// Returns whether a dialog on a random case succeeds, for a developer of some ability.
    pub fn dialog_succeeds(&self, prompt: &Prompt, ability: f64, random: &mut Random) -> bool {
        let (case, ease) = &self.population[random.below(POPULATION)];
        random.unit() < logistic(ease + ability + self.effect(prompt, &case.errors))
    }
}

impl Evaluate for World {
    fn evaluate<'a>(
        &'a self,
        prompt: &'a Prompt,
        case: &'a Case,
    ) -> BoxFuture<'a, Result<Evaluation, EvaluationError>> {
        let key = prompt.key().to_string();
        let mut own = Random::new(self.seed, &format!("luck {} {key}", case.id));
        let is_shared = own.unit() < SHARED_LUCK;
        let mut shared = Random::new(self.seed, &format!("luck {}", case.id));
        let luck = if is_shared { shared.unit() } else { own.unit() };
        let rate = logistic(self.ease(&case.id) + self.effect(prompt, &case.errors));
        let score = f64::from(u8::from(luck < rate));
        future::ready(Ok(Evaluation { score, feedback: None })).boxed()
    }
}

fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// Draws errors that the catalog knows, with counts in proportion to their frequency.
fn errors(random: &mut Random) -> Vec<FrequentError> {
    let mut ids: Vec<&String> = catalog().iter().flat_map(|found| &found.errors).collect();
    ids.sort();
    ids.dedup();
    random.shuffle(&mut ids);
    let error = |(rank, id): (usize, &&String)| FrequentError {
        id: (*id).clone(),
        description: format!("Reviewers report {id} in many changes."),
        remedy: None,
        count: 60 / (u32::try_from(rank).expect("small") + 2),
    };
    ids.iter().take(ERRORS).enumerate().map(error).collect()
}

/// Returns the share of the cases that each error has: 85 % in all, the first most often.
fn shares(errors: &[FrequentError]) -> Vec<(String, f64)> {
    let weight = |rank: usize| 1.0 / (rank as f64 + 2.0);
    let total: f64 = (0..errors.len()).map(weight).sum();
    let share =
        |(rank, error): (usize, &FrequentError)| (error.id.clone(), 0.85 * weight(rank) / total);
    errors.iter().enumerate().map(share).collect()
}

/// Draws examples whose hit rates say nothing about their effects.
fn examples(random: &mut Random, errors: &[FrequentError]) -> Vec<CandidateExample> {
    let mut example = |n: usize| {
        let recalls = 10 + u32::try_from(random.below(40)).expect("small");
        let error = errors[random.below(errors.len())].id.clone();
        CandidateExample {
            id: format!("example-{n}"),
            text: format!("Task {n}: a change of module {n}.\nAnswer: the diff number {n}."),
            recalls,
            uses: u32::try_from(random.below(recalls as usize)).expect("small"),
            errors: vec![error],
        }
    };
    (0..EXAMPLES).map(&mut example).collect()
}
