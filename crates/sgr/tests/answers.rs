//! Answers: their JSON Schema, the instructions, the check, and the notes that they propose.

mod support;

use mc_contract::operations::save::SaveRequest;
use mc_domain::{Classified, RecordKind};
use mc_sgr::limits::{
    DIFF_MAX_BYTES, ITEM_MAX_CHARS, LIST_MAX, NOTE_CONTENT_MAX_CHARS, TEXT_MAX_CHARS,
};
use mc_sgr::{
    Answer, Arguments, FieldValue, InvalidAnswer, Note, Schema, Section, built_in, notes,
};
use serde_json::{Value, json};
use support::{BUGFIX_OUTPUTS, SEED_BUGFIX, built_in_schema, marked, schema};

const DIFF: &str = "--- a/setting.rb\n+++ b/setting.rb\n@@ -1 +1 @@\n-minutes\n+seconds\n";

const ALL_TYPES: &str = "schema: a\nsteps:\n\
                         - {name: T, output: text, hints: ['About {task}']}\n\
                         - {name: L, output: list, type: list, required: false}\n\
                         - {name: D, output: diff, type: diff, required: false}\n";

fn bugfix_answer() -> Value {
    json!({
        "problem_summary": "The delay is nil when the units differ",
        "suspected_components": ["CartSessions::Setting"],
        "relevant_facts": ["m1: units must match"],
        "plan_steps": ["Write a failing test", "Convert the unit"],
        "code_diff": DIFF,
        "checks": ["rspec spec/setting_spec.rb: passes"],
        "rationale": "delay_unit and trigger_delay_unit were compared without a conversion.",
    })
}

fn defects(schema: &Schema, answer: &Value) -> Vec<(String, String)> {
    let InvalidAnswer(defects) = schema.check_answer(answer).expect_err("an invalid answer");
    defects.iter().map(|defect| (defect.path.clone(), defect.problem.clone())).collect()
}

#[test]
fn answer_gives_its_fields_by_name_and_type() {
    let answer = built_in_schema("bugfix").check_answer(&bugfix_answer()).expect("an answer");
    let names: Vec<_> = answer.fields().map(|(name, _)| name).collect();
    assert_eq!(names, BUGFIX_OUTPUTS);
    assert_eq!(answer.find_diff("code_diff"), Some(DIFF));
    assert_eq!(answer.find_list("plan_steps").map(<[_]>::len), Some(2));
    assert!(answer.find_text("rationale").is_some_and(|text| text.starts_with("delay_unit")));
    assert_eq!(answer.find_text("code_diff"), None);
    assert_eq!(answer.find_list("other"), None);
}

#[test]
fn all_defects_of_an_answer_are_named_without_its_values() {
    let mut answer = bugfix_answer();
    answer["problem_summary"] = json!(["SECRET"]);
    answer["relevant_facts"] = json!([]);
    answer["plan_steps"] = json!(["SECRET", 7, " "]);
    answer["code_diff"] = json!("I changed SECRET");
    answer["checks"] = json!("SECRET");
    answer["rationale"] = json!(" \n");
    answer["plan_step"] = json!("SECRET");
    answer.as_object_mut().expect("an object").remove("suspected_components");
    let schema = built_in_schema("bugfix");
    let error = schema.check_answer(&answer).expect_err("an invalid answer");
    assert!(!error.to_string().contains("SECRET"), "{error}");
    assert_eq!(error.field().as_deref(), Some("problem_summary"));
    let defects = defects(schema, &answer);
    for (path, expected) in [
        ("problem_summary", "is a list; must be a text"),
        ("suspected_components", "is missing; add the field"),
        ("relevant_facts", "is empty; the field is required"),
        ("plan_steps[1]", "is a number; must be a text"),
        ("plan_steps[2]", "is empty; fill it, or remove the item"),
        ("code_diff", "is no unified diff; it needs the lines"),
        ("checks", "is a text; must be a list of texts"),
        ("rationale", "is empty; the field is required"),
        ("plan_step", "\"plan_step\" is no field of the answer; did you mean `plan_steps`?"),
    ] {
        let is_named = |(at, problem): &(String, String)| at == path && problem.contains(expected);
        assert!(defects.iter().any(is_named), "{path}: {defects:?}");
    }
    assert_eq!(defects.len(), 9, "{defects:?}");
}

#[test]
fn answer_must_be_an_object() {
    let schema = schema(ALL_TYPES);
    for (answer, expected) in [
        (json!(null), "is null"),
        (json!([]), "is a list"),
        (json!("SECRET"), "is a text"),
        (json!(1), "is a number"),
    ] {
        let defects = defects(&schema, &answer);
        assert_eq!(defects.len(), 1);
        let expected = format!("{expected}; must be a JSON object with one field for each step");
        assert_eq!(defects[0], (String::new(), expected));
    }
}

#[test]
fn optional_field_may_be_absent_or_empty() {
    let schema = schema(ALL_TYPES);
    for answer in [
        json!({"text": "x"}),
        json!({"text": "x", "list": [], "diff": ""}),
        json!({"text": "x", "list": [], "diff": " \n"}),
    ] {
        let answer = schema.check_answer(&answer).expect("an answer");
        let fields: Vec<_> = answer.fields().collect();
        assert_eq!(fields, [("text", &FieldValue::Text("x".to_owned()))]);
    }
    let with_text = json!({"text": "x", "diff": "no diff"});
    assert!(defects(&schema, &with_text)[0].1.starts_with("is no unified diff"));
    let with_null = json!({"text": "x", "list": null});
    assert_eq!(defects(&schema, &with_null)[0].1, "is null; must be a list of texts");
}

#[test]
fn limits_of_an_answer_are_enforced() {
    let schema = schema(ALL_TYPES);
    let answer = |text: usize, items: usize, item: usize, diff: usize| {
        let start = "@@ -1 +1 @@\n";
        json!({
            "text": "я".repeat(text),
            "list": vec!["я".repeat(item); items],
            "diff": format!("{start}{}", "a".repeat(diff - start.len())),
        })
    };
    let largest = answer(TEXT_MAX_CHARS, LIST_MAX, ITEM_MAX_CHARS, DIFF_MAX_BYTES);
    assert!(schema.check_answer(&largest).is_ok());
    let validator = jsonschema::validator_for(&schema.answer_schema()).expect("a schema");
    assert!(validator.is_valid(&largest));
    for (answer, path, problem) in [
        (answer(TEXT_MAX_CHARS + 1, 1, 1, 99), "text", "has 20001 characters; the limit is 20000"),
        (answer(1, LIST_MAX + 1, 1, 99), "list", "has 101 items; the limit is 100"),
        (answer(1, 1, ITEM_MAX_CHARS + 1, 99), "list[0]", "has 4001 characters; the limit is 4000"),
        (answer(1, 1, 1, DIFF_MAX_BYTES + 1), "diff", "has 262145 bytes; the limit is 262144"),
    ] {
        assert!(!validator.is_valid(&answer), "{path}");
        let defects = defects(&schema, &answer);
        assert_eq!(defects.len(), 1, "{path}");
        assert_eq!(defects[0].0, path);
        assert!(defects[0].1.starts_with(problem), "{}", defects[0].1);
    }
}

#[test]
fn control_characters_are_rejected() {
    let schema = schema(ALL_TYPES);
    let answer = json!({"text": "a\u{0}", "list": ["\u{1b}[2J"], "diff": format!("{DIFF}\0")});
    let defects = defects(&schema, &answer);
    let paths: Vec<_> = defects.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["text", "list[0]", "diff"]);
    let form_feed = json!({"text": "a", "diff": format!("{DIFF}\u{c}")});
    assert!(schema.check_answer(&form_feed).is_ok(), "source files may contain a form feed");
}

#[test]
fn error_of_a_hostile_answer_is_bounded() {
    let schema = built_in_schema("bugfix");
    let fields: serde_json::Map<_, _> =
        (0..2_000).map(|number| (format!("{number}{}", "x".repeat(5_000)), json!(1))).collect();
    let error = schema.check_answer(&Value::Object(fields)).expect_err("unknown fields");
    assert!(error.to_string().len() < 8_000, "{}", error.to_string().len());
    let items = json!({"plan_steps": vec![json!(1); 100]});
    assert!(defects(schema, &items).len() < 20);
}

#[test]
fn answer_schema_has_plain_keywords_in_the_order_of_the_steps() {
    for schema in built_in() {
        let json = schema.answer_schema();
        assert!(jsonschema::draft202012::meta::is_valid(&json));
        let properties = json["properties"].as_object().expect("properties");
        let names: Vec<_> = properties.keys().map(String::as_str).collect();
        assert_eq!(names, support::outputs(schema));
        assert_eq!(json["required"], json!(names));
        assert_eq!(json["additionalProperties"], json!(false));
        check_keywords(&json);
        for property in properties.values() {
            check_keywords(property);
            property.get("items").into_iter().for_each(check_keywords);
        }
    }
}

/// Checks that a schema uses keywords only that structured output of providers knows.
fn check_keywords(schema: &Value) {
    const PLAIN: [&str; 10] = [
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ];
    for keyword in schema.as_object().expect("an object").keys() {
        assert!(PLAIN.contains(&keyword.as_str()), "{keyword}");
    }
}

#[test]
fn answer_schema_describes_fields_by_name_and_hints() {
    let schema = schema(ALL_TYPES);
    let json = schema.answer_schema();
    assert_eq!(json["properties"]["text"]["description"], "T\n- About the task");
    assert_eq!(json["properties"]["diff"]["description"], "D\nA unified diff.");
    assert_eq!(json["properties"]["text"]["minLength"], 1);
    assert_eq!(json["properties"]["diff"]["minLength"], 0);
    let recall = &built_in_schema("bugfix").answer_schema()["properties"]["relevant_facts"];
    let description = recall["description"].as_str().expect("a text");
    assert!(description.starts_with("Recall\nWorks on: the memory bundle\n- "), "{description}");
}

#[test]
fn instructions_keep_texts_apart_by_origin() {
    let yaml = "schema: a\ntitle: 'Fix {task}'\nsteps:\n\
                - {name: Look, output: problem, hints: ['See {path}', 'At {symbols}']}\n\
                - {name: Recall, output: facts, type: list, source: memory_bundle}\n\
                - {name: Do, output: patch, type: diff, required: false, \
                source: [problem, facts], description: 'Write it.'}\n";
    let arguments = Arguments { task: Some("CS-214: {path}"), path: None, symbols: &[] };
    let expected = "\
Work through the steps below in their order. Each step fills one field of your answer, and may use \
the fields before it.
Schema: [a]
Title: [Fix ]<CS-214: {path}>
Task: <CS-214: {path}>

The memory bundle: what the team knows about this task.

(bundle)

Steps:
1. [Look] (field `[problem]`, text)
   - [See ]the path
   - [At ]the symbols
2. [Recall] (field `[facts]`, list of texts)
   Works on: the memory bundle
3. [Do] (field `[patch]`, unified diff)
   [Write it.]
   Works on: `[problem]`, `[facts]`

Answer with one JSON object that has exactly these fields, in this order, and no text before or \
after it:
- `[problem]`: text of at most 20000 characters; required
- `[facts]`: list of at most 100 texts, each of at most 4000 characters; required
- `[patch]`: text with a unified diff of at most 262144 bytes; may be empty";
    assert_eq!(marked(&schema(yaml).instructions(&arguments)), expected);
}

#[test]
fn instructions_have_the_values_of_the_caller() {
    let symbols = ["A#a".to_owned(), "B".to_owned()];
    let arguments = Arguments { task: Some("T"), path: Some("app/x.rb"), symbols: &symbols };
    for schema in built_in() {
        let text = marked(&schema.instructions(&arguments));
        for value in ["Task: <T>", "Path: <app/x.rb>", "Symbols: <A#a, B>"] {
            assert!(text.contains(value), "{text}");
        }
        assert!(!text.contains('{'), "{text}");
    }
}

#[test]
fn bundle_has_a_place_only_if_a_step_works_on_it() {
    let is_bundle = |section: &Section| *section == Section::MemoryBundle;
    let with = schema(SEED_BUGFIX).instructions(&Arguments::default());
    assert_eq!(with.iter().filter(|section| is_bundle(section)).count(), 1);
    let without = schema(ALL_TYPES).instructions(&Arguments::default());
    assert!(!without.iter().any(is_bundle));
}

fn answer(schema: &Schema, changes: &[(&str, Value)]) -> Answer {
    let mut answer = bugfix_answer();
    for (field, value) in changes {
        answer[field] = value.clone();
    }
    schema.check_answer(&answer).expect("an answer")
}

/// Returns the notes of an answer to `bugfix`, each of which `POST /save` accepts.
fn bugfix_notes(changes: &[(&str, Value)]) -> Vec<Note> {
    let schema = built_in_schema("bugfix");
    let notes = notes(schema, &answer(schema, changes));
    notes.iter().for_each(check_save);
    notes
}

fn check_save(note: &Note) {
    let request = json!({
        "project_key": "shop", "kind": note.kind, "title": note.title, "content": note.content,
        "steps": note.steps, "tags": note.tags,
    });
    serde_json::from_value::<SaveRequest>(request).expect("a request that is accepted");
}

#[test]
fn answer_proposes_a_fact_and_a_worked_example() {
    let rationale = "delay_unit and trigger_delay_unit were compared without a conversion.";
    let title = Some("The delay is nil when the units differ".to_owned());
    let tags = vec!["bugfix".to_owned()];
    let fact = Note {
        kind: RecordKind::Fact,
        title: title.clone(),
        content: rationale.to_owned(),
        steps: vec![],
        tags: tags.clone(),
    };
    let example = Note {
        kind: RecordKind::Fewshot,
        title,
        content: format!("{rationale}\n\nPatch:\n```diff\n{}\n```", DIFF.trim_end()),
        steps: vec!["Write a failing test".to_owned(), "Convert the unit".to_owned()],
        tags,
    };
    assert_eq!(bugfix_notes(&[]), [fact, example]);
}

#[test]
fn long_summary_is_context_instead_of_a_title() {
    let summary = "The delay is nil.\nIt happens when the units differ.";
    let notes = bugfix_notes(&[("problem_summary", json!(summary))]);
    assert!(notes.iter().all(|note| note.title.is_none()));
    assert!(notes[0].content.ends_with(&format!("\n\nProblem: {summary}")), "{:?}", notes[0]);
    assert!(notes[1].content.starts_with(summary), "{:?}", notes[1]);
    let long = "я".repeat(TEXT_MAX_CHARS);
    let notes = bugfix_notes(&[("problem_summary", json!(long)), ("rationale", json!(long))]);
    let remark =
        "(The problem summary of 20009 characters is too long for a note and is left out.)";
    assert!(notes[0].content.ends_with(remark));
}

#[test]
fn patch_is_whole_or_left_out_with_a_remark() {
    let diff = |length: usize| format!("{DIFF}{}", " я\n".repeat((length - DIFF.len()) / 3));
    let whole = diff(NOTE_CONTENT_MAX_CHARS - 1_500);
    let notes = bugfix_notes(&[("code_diff", json!(whole))]);
    assert!(notes[1].content.contains(whole.trim_end()));
    let notes = bugfix_notes(&[("code_diff", json!(diff(NOTE_CONTENT_MAX_CHARS)))]);
    assert!(!notes[1].content.contains("@@"), "no part of the patch");
    let remark = "characters is too long for a note and is left out.)";
    assert!(notes[1].content.ends_with(remark), "{}", notes[1].content);
    let binary = format!("{DIFF}+\u{c}\n");
    let notes = bugfix_notes(&[("code_diff", json!(binary))]);
    let remark = "(The patch contains control characters and is left out.)";
    assert!(notes[1].content.ends_with(remark), "{}", notes[1].content);
}

#[test]
fn long_plan_is_part_of_the_content_or_left_out_with_a_remark() {
    let short = vec!["Convert"; LIST_MAX];
    let notes = bugfix_notes(&[("plan_steps", json!(short))]);
    assert_eq!(notes[1].steps, [""; 0]);
    assert!(notes[1].content.contains("Plan:\n1. Convert\n2. Convert"), "{}", notes[1].content);
    let long = vec!["я".repeat(ITEM_MAX_CHARS); LIST_MAX];
    let notes = bugfix_notes(&[("plan_steps", json!(long))]);
    assert!(notes[1].content.contains("(The plan of 400"), "{}", notes[1].content);
    assert!(notes[1].content.contains("```diff"));
}

#[test]
fn fence_of_a_patch_is_not_closed_by_its_lines() {
    let diff = format!("{DIFF}+````\n");
    let notes = bugfix_notes(&[("code_diff", json!(diff))]);
    assert!(notes[1].content.contains("\n`````diff\n"), "{}", notes[1].content);
    assert!(notes[1].content.ends_with("\n`````"), "{}", notes[1].content);
}

#[test]
fn answer_to_the_example_of_the_seed_proposes_notes() {
    let schema = schema(SEED_BUGFIX);
    let fields = BUGFIX_OUTPUTS.map(|output| (output.to_owned(), json!(format!("The {output}"))));
    let answer: Value = serde_json::Map::from_iter(fields).into();
    let answer = schema.check_answer(&answer).expect("an answer");
    let notes = notes(&schema, &answer);
    notes.iter().for_each(check_save);
    assert_eq!(notes[0].content, "The rationale");
    let example = "The rationale\n\nPlan:\nThe plan_steps\n\nPatch:\n```diff\nThe code_diff\n```";
    assert_eq!(notes[1].content, example);
}

#[test]
fn answer_without_the_fields_proposes_nothing() {
    let schema = schema(ALL_TYPES);
    let answer = schema.check_answer(&json!({"text": "x", "diff": DIFF})).expect("an answer");
    assert_eq!(notes(&schema, &answer), []);
}
