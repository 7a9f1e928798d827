use super::*;
use crate::edit::Change;
use crate::material::{CandidateExample, FrequentError, Material};
use crate::prompt::{Item, Section};

fn material() -> Material {
    let error = |id: &str, count| FrequentError {
        id: id.to_owned(),
        description: format!("The error {id}."),
        remedy: None,
        count,
    };
    let example = |id: &str, uses| CandidateExample {
        id: id.to_owned(),
        text: format!("The example {id}."),
        recalls: 20,
        uses,
        errors: vec![],
    };
    let errors = vec![error("failed-tests", 9), error("failed-lint", 4)];
    Material::from_sources(errors, vec![example("good", 15), example("poor", 1)])
}

fn prompt() -> Prompt {
    let instructions = vec![
        Item::new("run-tests", "Run the tests, please. They are in the directory of tests."),
        Item::new("by-hand", "Speak like a lawyer. Do so in every answer."),
    ];
    Prompt::new(instructions, vec![Item::new("poor", "The example poor.")]).expect("valid")
}

#[test]
fn rules_propose_every_kind_of_edit_in_a_fixed_order() {
    let edits = propose_by_rules(&prompt(), &material());
    let names: Vec<String> = edits.iter().map(ToString::to_string).collect();
    let has = |name: &str| names.iter().any(|found| found == name);
    assert_eq!(names[0], "instructions: add error-".to_owned() + &names[0][24..]);
    for name in [
        "instructions: add run-checks",
        "examples: add good",
        "instructions: drop by-hand",
        "examples: drop poor",
        "instructions: swap run-tests for test-with-fix",
        "examples: swap poor for good",
        "instructions: rephrase run-tests",
        "instructions: shorten run-tests",
        "instructions: shorten by-hand",
        "instructions: move by-hand to 1",
    ] {
        assert!(has(name), "{name} in {names:?}");
    }
    assert_eq!(edits, propose_by_rules(&prompt(), &material()));
}

#[test]
fn instructions_against_frequent_errors_come_first() {
    let names: Vec<String> =
        propose_by_rules(&prompt(), &material()).iter().map(ToString::to_string).collect();
    let position = |name: &str| names.iter().position(|found| found == name).expect(name);
    let tests = position("instructions: add test-with-fix");
    let checks = position("instructions: add run-checks");
    assert!(tests < checks && checks < position("instructions: add check-edges"));
}

#[test]
fn rules_without_material_propose_only_edits_of_the_prompt() {
    let edits = propose_by_rules(&prompt(), &Material::default());
    assert!(!edits.is_empty());
    assert!(edits.iter().all(|edit| !matches!(edit.change, Change::Add { .. })));
    assert!(propose_by_rules(&Prompt::default(), &Material::default()).is_empty());
}

#[test]
fn an_edit_beyond_the_limits_is_refused_unless_it_shortens_the_prompt() {
    let limits = Limits { max_tokens: 5, max_bytes: 1_000 };
    let add = Edit {
        section: Section::Instructions,
        change: Change::Add { item: Item::new("new", "One more text."), position: None },
    };
    let drop =
        Edit { section: Section::Instructions, change: Change::Drop { id: "by-hand".to_owned() } };
    assert_eq!(apply_within(&add, &prompt(), &limits), None);
    let shorter = apply_within(&drop, &prompt(), &limits).expect("a shorter prompt");
    assert!(limits.check(&shorter).is_err());
    assert!(apply_within(&add, &prompt(), &Limits::default()).is_some());
}
