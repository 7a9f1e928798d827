//! Properties of every text and every schema.

mod support;

use mc_sgr::limits::{FILE_MAX_BYTES, OUTPUT_MAX_CHARS};
use mc_sgr::{Arguments, FieldType, Schema, SchemaSource, is_unified_diff, notes};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use support::{SEED_BUGFIX, schema};

/// Pieces of YAML and of schemas, of which hostile files consist.
const PIECES: [&str; 44] = [
    "schema: a\n",
    "steps:\n",
    "  - name: A\n",
    "    output: ",
    "a",
    "b_c",
    "\n",
    "    hints: ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "? ",
    "&a ",
    "*a",
    "<<: ",
    "!",
    "!!str ",
    "'",
    "\"",
    "\\",
    "|\n",
    ">-\n",
    "# ",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "{task}",
    "{x}",
    "{{",
    "source: ",
    "memory_bundle",
    "extends: b\n",
    "type: diff\n",
    "required: ",
    "true",
    "1.5",
    "~",
    "\t",
    "\u{feff}",
    "\u{2028}",
];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

/// Edits of a valid file: at an offset, some bytes are replaced by a piece.
fn edited() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0..30_usize, prop::sample::select(&PIECES[..]));
    prop::collection::vec(edit, 1..5).prop_map(|edits| {
        let mut text: Vec<char> = SEED_BUGFIX.chars().collect();
        for (at, length, piece) in edits {
            let start = at.index(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

#[derive(Debug, Clone)]
struct AnyStep {
    name: String,
    hints: Vec<String>,
    field_type: &'static str,
    is_required: bool,
    /// Earlier steps that it works on, by distance.
    sources: Vec<usize>,
}

fn any_step() -> impl Strategy<Value = AnyStep> {
    let hint = prop_oneof!["[a-zA-Zя {}\"'#:,-]{1,40}", Just("See {path} for {task}".to_owned())];
    let hint =
        hint.prop_filter("a template", |hint| !hint.trim().is_empty() && mc_sgr_accepts(hint));
    (
        "[A-Za-zЖ][A-Za-z ]{0,20}",
        prop::collection::vec(hint, 0..4),
        prop::sample::select(&["text", "list", "diff"][..]),
        any::<bool>(),
        prop::collection::vec(0..6_usize, 0..3),
    )
        .prop_map(|(name, hints, field_type, is_required, sources)| AnyStep {
            name,
            hints,
            field_type,
            is_required,
            sources,
        })
}

/// Whether a hint has no unknown placeholder.
fn mc_sgr_accepts(hint: &str) -> bool {
    let file = json!({"schema": "a", "steps": [{"name": "A", "output": "a", "hints": [hint]}]});
    SchemaSource::parse(&file.to_string()).is_ok()
}

/// A valid schema. JSON is YAML.
fn any_schema() -> impl Strategy<Value = String> {
    prop::collection::vec(any_step(), 1..12).prop_map(|steps| {
        let steps: Vec<Value> =
            steps.iter().enumerate().map(|(at, step)| file_step(at, step)).collect();
        json!({"schema": "any", "steps": steps}).to_string()
    })
}

fn file_step(at: usize, step: &AnyStep) -> Value {
    let mut sources: Vec<String> = step
        .sources
        .iter()
        .map(|distance| match at.checked_sub(*distance + 1) {
            Some(earlier) => format!("o{earlier}"),
            None => "memory_bundle".to_owned(),
        })
        .collect();
    sources.sort();
    sources.dedup();
    let mut file = json!({
        "name": step.name, "output": format!("o{at}"), "hints": step.hints,
        "type": step.field_type, "required": step.is_required,
    });
    if !sources.is_empty() {
        file["source"] = json!(sources);
    }
    file
}

/// An answer that a schema accepts.
fn example_answer(schema: &Schema) -> Value {
    let fields = schema.steps().iter().map(|step| {
        let value = match step.field_type {
            FieldType::Text => json!("a"),
            FieldType::List => json!(["a", "b"]),
            FieldType::Diff => json!("--- a/x\n+++ b/x\n"),
        };
        (step.output.clone(), value)
    });
    fields.collect::<Map<_, _>>().into()
}

proptest! {
    #[test]
    fn no_text_panics(text in prop_oneof![hostile(), edited(), any::<String>()]) {
        if let Err(error) = SchemaSource::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(error.to_string().len() < 10_000);
        }
    }

    #[test]
    fn example_answer_of_a_valid_schema_passes(yaml in any_schema()) {
        let schema = schema(&yaml);
        let example = example_answer(&schema);
        let answer = schema.check_answer(&example);
        prop_assert!(answer.is_ok(), "{answer:?}");
        let validator = jsonschema::validator_for(&schema.answer_schema()).expect("a schema");
        prop_assert!(validator.is_valid(&example));
        prop_assert!(!schema.instructions(&Arguments::default()).is_empty());
        let notes = notes(&schema, &answer.expect("an answer"));
        prop_assert!(notes.is_empty(), "no field of a note");
    }

    #[test]
    fn answer_that_passes_is_valid_under_its_schema_with_all_fields(
        yaml in any_schema(),
        values in prop::collection::vec(any_value(), 12),
    ) {
        let schema = schema(&yaml);
        let names = schema.steps().iter().map(|step| step.output.clone());
        let answer: Value = names.zip(values).collect::<Map<_, _>>().into();
        let validator = jsonschema::validator_for(&schema.answer_schema()).expect("a schema");
        if schema.check_answer(&answer).is_ok() {
            prop_assert!(validator.is_valid(&answer), "{answer}");
        }
    }

    #[test]
    fn no_text_panics_as_a_diff(text in any::<String>()) {
        let with_hunk = format!("{text}\n@@ -1 +1 @@\n");
        prop_assert!(is_unified_diff(&with_hunk));
        is_unified_diff(&text);
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("")),
        Just(json!(" ")),
        Just(json!([])),
        Just(json!(["a"])),
        Just(json!(["", "b"])),
        Just(json!(null)),
        Just(json!("@@ -1 +1 @@")),
        any::<String>().prop_map(Value::from),
    ]
}

#[test]
fn largest_valid_schema_is_read() {
    let source: Vec<_> = (0..8)
        .map(|number| format!("o{number:059}"))
        .map(|o| o[..OUTPUT_MAX_CHARS].to_owned())
        .collect();
    let steps: Vec<Value> = (0..32)
        .map(|number| {
            let mut step = json!({
                "name": "N", "output": format!("o{number:059}"), "description": "d".repeat(200),
                "hints": vec!["h".repeat(30); 16], "type": "list", "required": false,
            });
            if number >= 8 {
                step["source"] = json!(source);
            }
            step
        })
        .collect();
    let file = json!({"schema": "a", "title": "t", "description": "d", "steps": steps}).to_string();
    assert!(file.len() <= FILE_MAX_BYTES, "{}", file.len());
    assert_eq!(schema(&file).steps().len(), 32);
}
