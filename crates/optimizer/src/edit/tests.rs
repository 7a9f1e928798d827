use proptest::prelude::*;

use super::*;

fn prompt() -> Prompt {
    let items = ["a", "b", "c"].map(|id| Item::new(id, format!("The long text of {id}.")));
    Prompt::new(items.to_vec(), vec![Item::new("e", "An example.")]).expect("a valid prompt")
}

fn apply(change: Change) -> Option<String> {
    let edit = Edit { section: Section::Instructions, change };
    let items = edit.apply(&prompt())?;
    let ids = items.items(Section::Instructions).iter().map(|item| item.id.as_str());
    Some(ids.collect())
}

fn owned(text: &str) -> String {
    text.to_owned()
}

#[test]
fn each_kind_of_edit_changes_what_its_name_says() {
    let item = Item::new("d", "Another text.");
    let add = |position| Change::Add { item: item.clone(), position };
    assert_eq!(apply(add(None)).as_deref(), Some("abcd"));
    assert_eq!(apply(add(Some(0))).as_deref(), Some("dabc"));
    assert_eq!(apply(Change::Drop { id: owned("b") }).as_deref(), Some("ac"));
    assert_eq!(apply(Change::Move { id: owned("a"), position: 2 }).as_deref(), Some("bca"));
    let swap = Change::Swap { id: owned("b"), item };
    assert_eq!(apply(swap).as_deref(), Some("adc"));
    for change in [
        Change::Rephrase { id: owned("b"), text: owned("Other and even longer words for it.") },
        Change::Shorten { id: owned("b"), text: owned("Short.") },
    ] {
        let edit = Edit { section: Section::Instructions, change: change.clone() };
        let edited = edit.apply(&prompt()).expect("the edit fits");
        let (Change::Rephrase { text, .. } | Change::Shorten { text, .. }) = change else {
            panic!("another kind");
        };
        assert_eq!(edited.find(Section::Instructions, "b").map(|item| &item.text), Some(&text));
    }
}

#[test]
fn an_edit_that_no_longer_fits_returns_none() {
    for change in [
        Change::Add { item: Item::new("a", "New text."), position: None },
        Change::Add { item: Item::new("d", "the long TEXT of a."), position: None },
        Change::Add { item: Item::new("d", "New text."), position: Some(4) },
        Change::Add { item: Item::new("D", "New text."), position: None },
        Change::Drop { id: owned("d") },
        Change::Move { id: owned("a"), position: 0 },
        Change::Move { id: owned("a"), position: 3 },
        Change::Move { id: owned("d"), position: 0 },
        Change::Rephrase { id: owned("d"), text: owned("New text.") },
        Change::Rephrase { id: owned("a"), text: owned("the long text of A.") },
        Change::Rephrase { id: owned("a"), text: owned("The long text of b.") },
        Change::Rephrase { id: owned("a"), text: owned(" ") },
        Change::Shorten { id: owned("a"), text: owned("A text that is longer than before.") },
        Change::Swap { id: owned("a"), item: Item::new("b", "New text.") },
        Change::Swap { id: owned("a"), item: Item::new("a", "New text.") },
        Change::Swap { id: owned("a"), item: Item::new("d", "The long text of c.") },
    ] {
        assert_eq!(apply(change.clone()), None, "{change:?}");
    }
}

#[test]
fn an_edit_is_stored_as_one_flat_object() {
    let edit = Edit { section: Section::Examples, change: Change::Drop { id: owned("e") } };
    let json = r#"{"section":"examples","kind":"drop","id":"e"}"#;
    assert_eq!(serde_json::to_string(&edit).ok().as_deref(), Some(json));
    assert_eq!(serde_json::from_str::<Edit>(json).ok(), Some(edit));
}

fn change() -> impl Strategy<Value = Change> {
    let id = "[a-e]";
    let item = || ("[a-e]", "[a-c ]{0,3}").prop_map(|(id, text)| Item::new(id, text));
    prop_oneof![
        (item(), proptest::option::of(0..5_usize))
            .prop_map(|(item, position)| Change::Add { item, position }),
        id.prop_map(|id| Change::Drop { id }),
        (id, 0..5_usize).prop_map(|(id, position)| Change::Move { id, position }),
        (id, "[a-c ]{0,3}").prop_map(|(id, text)| Change::Rephrase { id, text }),
        (id, "[a-c ]{0,2}").prop_map(|(id, text)| Change::Shorten { id, text }),
        (id, item()).prop_map(|(id, item)| Change::Swap { id, item }),
    ]
}

#[test]
fn edits_between_prompts_are_few() {
    let before = prompt();
    let items = ["c", "d", "a"].map(|id| match id {
        "d" => Item::new(id, "New."),
        "a" => Item::new(id, "Short."),
        _ => Item::new(id, "The long text of c."),
    });
    let after = before.with_items(Section::Instructions, items.to_vec()).expect("valid");
    let names: Vec<String> =
        edits_between(&before, &after).iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "instructions: drop b",
            "instructions: shorten a",
            "instructions: move c to 1",
            "instructions: add d",
        ]
    );
    assert!(edits_between(&before, &before).is_empty());
}

#[test]
fn texts_can_be_exchanged() {
    let before = prompt();
    let mut items = before.items(Section::Instructions).to_vec();
    let (first, second) = (items[0].text.clone(), items[1].text.clone());
    (items[0].text, items[1].text) = (second, first);
    let after = before.with_items(Section::Instructions, items).expect("valid");
    let edits = edits_between(&before, &after);
    let edited = edits.iter().try_fold(before, |prompt, edit| edit.apply(&prompt));
    assert_eq!(edited, Some(after));
}

proptest! {
    #[test]
    fn any_sequence_of_edits_keeps_a_prompt_valid(
        edits in proptest::collection::vec((any::<bool>(), change()), 0..30),
    ) {
        let mut prompt = prompt();
        for (is_example, change) in edits {
            let section = if is_example { Section::Examples } else { Section::Instructions };
            if let Some(edited) = (Edit { section, change }).apply(&prompt) {
                prop_assert_ne!(edited.key(), prompt.key());
                prompt = edited;
            }
            let items = |section| prompt.items(section).to_vec();
            let again = Prompt::new(items(Section::Instructions), items(Section::Examples));
            prop_assert_eq!(again.as_ref(), Ok(&prompt));
        }
        let edits = edits_between(&self::prompt(), &prompt);
        let edited = edits.iter().try_fold(self::prompt(), |prompt, edit| edit.apply(&prompt));
        prop_assert_eq!(edited, Some(prompt));
    }
}
