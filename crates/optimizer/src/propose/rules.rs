//! Edits that the material of a project suggests.

use std::cmp::Reverse;

use crate::edit::{Change, Edit};
use crate::material::{CandidateExample, CandidateInstruction, Material};
use crate::prompt::{Item, Prompt, Section};

/// Number of examples in the prompt, and of others, that are considered for a swap.
const SWAPPED_EXAMPLES: usize = 2;

/// Returns edits in a fixed order: additions (instructions against the most frequent errors, and
/// examples with the best hit rates, first), removals, swaps, rephrasings, shorter forms and moves
/// to the front. Each fits `prompt`.
pub fn propose_by_rules(prompt: &Prompt, material: &Material) -> Vec<Edit> {
    let mut edits = Vec::new();
    edits.extend(instructions_to_add(prompt, material).map(|candidate| add(candidate.item())));
    edits.extend(examples_to_add(prompt, material).into_iter().map(|candidate| Edit {
        section: Section::Examples,
        change: Change::Add { item: candidate.item(), position: None },
    }));
    edits.extend(drops(prompt));
    edits.extend(swaps_of_instructions(prompt, material));
    edits.extend(swaps_of_examples(prompt, material));
    edits.extend(rephrasings(prompt, material));
    edits.extend(shorter_forms(prompt, material));
    edits.extend(moves_to_front(prompt));
    edits.retain(|edit| edit.apply(prompt).is_some());
    edits
}

fn add(item: Item) -> Edit {
    Edit { section: Section::Instructions, change: Change::Add { item, position: None } }
}

fn instructions_to_add<'a>(
    prompt: &Prompt,
    material: &'a Material,
) -> impl Iterator<Item = &'a CandidateInstruction> {
    let is_new = |candidate: &&CandidateInstruction| {
        prompt.find(Section::Instructions, &candidate.id).is_none()
    };
    let mut candidates: Vec<_> = material.instructions.iter().filter(is_new).collect();
    candidates.sort_by_key(|found| (Reverse(material.count_of(&found.errors)), &found.id));
    candidates.into_iter()
}

/// Returns the examples that are not in the prompt, those with the best hit rate first.
fn examples_to_add<'a>(prompt: &Prompt, material: &'a Material) -> Vec<&'a CandidateExample> {
    let is_new =
        |candidate: &&CandidateExample| prompt.find(Section::Examples, &candidate.id).is_none();
    let mut candidates: Vec<_> = material.examples.iter().filter(is_new).collect();
    candidates.sort_by(|a, b| b.hit_rate().total_cmp(&a.hit_rate()).then(a.id.cmp(&b.id)));
    candidates
}

fn drops(prompt: &Prompt) -> impl Iterator<Item = Edit> {
    prompt
        .all_items()
        .map(|(section, item)| Edit { section, change: Change::Drop { id: item.id.clone() } })
}

/// Proposes other instructions against the same errors.
fn swaps_of_instructions(prompt: &Prompt, material: &Material) -> Vec<Edit> {
    let mut edits = Vec::new();
    for item in prompt.items(Section::Instructions) {
        let errors = material.errors_of(Section::Instructions, &item.id);
        let is_alternative =
            |other: &&CandidateInstruction| other.errors.iter().any(|error| errors.contains(error));
        for other in instructions_to_add(prompt, material).filter(is_alternative) {
            let change = Change::Swap { id: item.id.clone(), item: other.item() };
            edits.push(Edit { section: Section::Instructions, change });
        }
    }
    edits
}

/// Proposes the best examples in place of those with the lowest hit rates. The material may not
/// know an example of the prompt; then its hit rate counts as the lowest.
fn swaps_of_examples(prompt: &Prompt, material: &Material) -> Vec<Edit> {
    let rate = |id: &str| material.example(id).map_or(0.0, CandidateExample::hit_rate);
    let mut present: Vec<&Item> = prompt.items(Section::Examples).iter().collect();
    present.sort_by(|a, b| rate(&a.id).total_cmp(&rate(&b.id)));
    let others = examples_to_add(prompt, material);
    let mut edits = Vec::new();
    for item in present.into_iter().take(SWAPPED_EXAMPLES) {
        for other in others.iter().take(SWAPPED_EXAMPLES) {
            let change = Change::Swap { id: item.id.clone(), item: other.item() };
            edits.push(Edit { section: Section::Examples, change });
        }
    }
    edits
}

fn rephrasings(prompt: &Prompt, material: &Material) -> Vec<Edit> {
    let texts = |item: &Item| {
        let candidate = material.instruction(&item.id)?;
        Some(candidate.rephrasings.iter().chain([&candidate.text]).cloned().collect::<Vec<_>>())
    };
    let items = prompt.items(Section::Instructions).iter();
    items
        .flat_map(|item| texts(item).unwrap_or_default().into_iter().map(move |text| (item, text)))
        .map(|(item, text)| Change::Rephrase { id: item.id.clone(), text })
        .map(|change| Edit { section: Section::Instructions, change })
        .collect()
}

/// Proposes the short forms of the material, and otherwise the first sentence.
fn shorter_forms(prompt: &Prompt, material: &Material) -> Vec<Edit> {
    let short = |item: &Item| {
        let known = material.instruction(&item.id).and_then(|found| found.short.clone());
        known.or_else(|| first_sentence(&item.text))
    };
    let instructions = prompt.items(Section::Instructions).iter();
    instructions
        .filter_map(|item| Some((item, short(item)?)))
        .map(|(item, text)| Change::Shorten { id: item.id.clone(), text })
        .map(|change| Edit { section: Section::Instructions, change })
        .collect()
}

fn first_sentence(text: &str) -> Option<String> {
    let end = [". ", ".\n"].iter().filter_map(|mark| text.find(mark)).min()?;
    Some(text[..=end].to_owned())
}

fn moves_to_front(prompt: &Prompt) -> impl Iterator<Item = Edit> {
    prompt.all_items().map(|(section, item)| Edit {
        section,
        change: Change::Move { id: item.id.clone(), position: 0 },
    })
}
