use super::*;
use crate::prompt::{Item, Section};

fn prompt(ids: &[&str]) -> Prompt {
    let items = ids.iter().map(|id| Item::new(*id, format!("Text of {id}."))).collect();
    Prompt::new(items, vec![]).expect("a valid prompt")
}

fn names(before: &Prompt, after: &Prompt) -> Vec<String> {
    features::between(before, after).iter().map(ToString::to_string).collect()
}

#[test]
fn features_name_the_differences_from_the_parent() {
    let parent = prompt(&["a", "b"]);
    assert!(names(&parent, &parent).is_empty());
    assert_eq!(
        names(&parent, &prompt(&["b", "c"])),
        ["with instructions c", "without instructions a"]
    );
    assert_eq!(names(&parent, &prompt(&["b", "a"])), ["first in instructions b"]);
    let items = vec![Item::new("a", "Other words."), Item::new("b", "Text of b.")];
    let reworded = Prompt::new(items, vec![]).expect("a valid prompt");
    assert_eq!(names(&parent, &reworded), ["reworded instructions a"]);
}

#[test]
fn batches_cover_all_training_cases_in_turn() {
    let cases = [4, 7, 9];
    let mut next = 0;
    let mut batch = |size| next_batch(&cases, &mut next, size);
    assert_eq!(batch(2), [4, 7]);
    assert_eq!(batch(2), [9, 4]);
    assert_eq!(batch(9), [7, 9, 4]);
    assert!(next_batch(&[], &mut 0, 5).is_empty());
}

#[test]
fn a_swap_is_two_differences() {
    let parent = prompt(&["a"]);
    let swap = Edit {
        section: Section::Instructions,
        change: crate::Change::Swap { id: "a".to_owned(), item: Item::new("b", "B.") },
    };
    let prompt = swap.apply(&parent).expect("the swap fits");
    let candidate = Candidate::new(prompt, &parent);
    assert_eq!(candidate.features.len(), 2);
    assert!((candidate.gain - 0.0).abs() < f64::EPSILON);
}

#[test]
fn undoing_all_differences_leads_to_the_items_of_the_parent() {
    let parent = prompt(&["a", "b"]);
    let items = vec![Item::new("c", "Text of c."), Item::new("b", "Other words.")];
    let changed = Prompt::new(items, vec![]).expect("a valid prompt");
    let undone = features::between(&parent, &changed)
        .iter()
        .filter_map(|feature| feature.undo(&parent))
        .try_fold(changed, |prompt, edit| edit.apply(&prompt))
        .expect("each edit fits");
    assert!(
        edits_between(&parent, &undone)
            .iter()
            .all(|edit| { matches!(edit.change, crate::Change::Move { .. }) })
    );
}
