//! The edits that lead from one prompt to another.

use super::{Change, Edit};
use crate::prompt::{Item, Prompt, Section};

/// Returns edits that lead from one prompt to another: removals, new texts, then additions and
/// moves. Items that both have are kept.
pub fn edits_between(from: &Prompt, to: &Prompt) -> Vec<Edit> {
    Section::ALL
        .into_iter()
        .flat_map(|section| {
            let changes = changes_between(from.items(section), to.items(section));
            let is_complete =
                apply_all(&changes, from, section).as_deref() == Some(to.items(section));
            let changes = if is_complete {
                changes
            } else {
                replacement(from.items(section), to.items(section))
            };
            changes.into_iter().map(move |change| Edit { section, change })
        })
        .collect()
}

fn changes_between(from: &[Item], to: &[Item]) -> Vec<Change> {
    let target = |id: &str| to.iter().find(|item| item.id == id);
    let (kept, dropped): (Vec<&Item>, Vec<&Item>) =
        from.iter().partition(|item| target(&item.id).is_some());
    let drops = dropped.into_iter().map(|item| Change::Drop { id: item.id.clone() });
    let mut changes: Vec<Change> = drops.collect();
    for item in &kept {
        let text = target(&item.id).map_or(&item.text, |found| &found.text);
        changes.extend((*text != item.text).then(|| new_text(item, text)));
    }
    let mut order: Vec<&str> = kept.iter().map(|item| item.id.as_str()).collect();
    for (position, item) in to.iter().enumerate() {
        let found = order.iter().position(|id| *id == item.id);
        match found {
            Some(index) if index == position => continue,
            Some(index) => {
                order.remove(index);
                changes.push(Change::Move { id: item.id.clone(), position });
            }
            None => changes.push(Change::Add { item: item.clone(), position: Some(position) }),
        }
        order.insert(position, &item.id);
    }
    changes
}

fn new_text(item: &Item, text: &str) -> Change {
    let (id, text) = (item.id.clone(), text.to_owned());
    if text.len() < item.text.len() {
        Change::Shorten { id, text }
    } else {
        Change::Rephrase { id, text }
    }
}

fn apply_all(changes: &[Change], from: &Prompt, section: Section) -> Option<Vec<Item>> {
    let edited = changes.iter().try_fold(from.clone(), |prompt, change| {
        Edit { section, change: change.clone() }.apply(&prompt)
    });
    edited.map(|prompt| prompt.items(section).to_vec())
}

/// Replaces all items. This is needed if two items exchange their texts: one after the other, both
/// would have the same one.
fn replacement(from: &[Item], to: &[Item]) -> Vec<Change> {
    let drops = from.iter().map(|item| Change::Drop { id: item.id.clone() });
    let adds = to.iter().map(|item| Change::Add { item: item.clone(), position: None });
    drops.chain(adds).collect()
}
