//! Files with schemas: their form, their limits, and the schemas that they extend.

mod support;

use std::time::{Duration, Instant};

use mc_domain::{Classified, ErrorKind};
use mc_sgr::limits::{EXTENDS_MAX, FILE_MAX_BYTES, HINTS_MAX, PLACEHOLDERS_MAX, STEPS_MAX};
use mc_sgr::{
    BUILT_IN_FILES, FORM, FieldType, InvalidSchema, Schema, SchemaSource, StepSource, built_in,
    built_in_sources, find_built_in_source,
};
use support::{BUGFIX_OUTPUTS, SEED_BUGFIX, built_in_schema, outputs, schema};

/// Time in which any input must be rejected, with reserve for a busy machine.
const TIME_MAX: Duration = Duration::from_secs(5);

fn error(yaml: &str) -> InvalidSchema {
    let start = Instant::now();
    let error = SchemaSource::parse(yaml).expect_err("an invalid schema");
    assert!(start.elapsed() < TIME_MAX, "{:?}", start.elapsed());
    assert!(error.to_string().len() < 8_000, "{} bytes", error.to_string().len());
    error
}

#[test]
fn example_of_the_seed_is_accepted_unchanged() {
    let schema = schema(SEED_BUGFIX);
    assert_eq!(outputs(&schema), BUGFIX_OUTPUTS);
    let recall = schema.find_step("relevant_facts").expect("a step");
    assert_eq!(recall.sources, [StepSource::MemoryBundle]);
    assert_eq!(recall.field_type, FieldType::Text);
    assert!(recall.is_required);
    assert_eq!(schema.steps()[0].hints[0].generic(), "Опиши плохое поведение");
}

#[test]
fn built_in_schemas_are_valid() {
    assert_eq!(built_in().len(), BUILT_IN_FILES.len());
    for (source, (name, yaml)) in built_in_sources().iter().zip(BUILT_IN_FILES) {
        assert_eq!(SchemaSource::parse(yaml).as_ref(), Ok(source));
        assert_eq!(source.name, name);
        assert_eq!(find_built_in_source(name), Some(source));
    }
    assert_eq!(find_built_in_source("other"), None);
    for schema in built_in() {
        assert!(schema.uses_memory_bundle(), "{}", schema.name());
        assert!(schema.title().is_some() && schema.description().is_some());
        let ends_with_rationale = schema.steps().last().is_some_and(|s| s.output == "rationale");
        assert!(ends_with_rationale, "{}", schema.name());
        assert!(schema.steps().iter().all(|step| !step.hints.is_empty() && step.is_required));
    }
}

#[test]
fn built_in_schemas_have_the_fields_of_their_work() {
    assert_eq!(outputs(built_in_schema("bugfix")), BUGFIX_OUTPUTS);
    for name in ["bugfix", "refactor", "migration"] {
        let schema = built_in_schema(name);
        let types = ["plan_steps", "code_diff"].map(|output| schema.find_step(output));
        let types = types.map(|step| step.expect("a step").field_type);
        assert_eq!(types, [FieldType::List, FieldType::Diff], "{name}");
    }
    let names: Vec<_> =
        built_in_schema("refactor").steps().iter().map(|step| step.name.as_str()).collect();
    let expected = ["Identify Smells", "Recall", "Strategy", "Patch", "Safety Nets", "Explain"];
    assert_eq!(names, expected);
    let review = outputs(built_in_schema("review"));
    assert!(review.contains(&"findings") && !review.contains(&"code_diff"));
}

#[test]
fn form_is_a_valid_json_schema() {
    let form: serde_json::Value = serde_json::from_str(FORM).expect("JSON");
    assert!(jsonschema::draft202012::meta::is_valid(&form));
}

/// A file with one step, to which lines of the step are added.
fn step(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("schema: a\nsteps:\n  - name: One\n    output: one\n{lines}")
}

#[test]
fn errors_name_the_field_the_value_and_the_way_out() {
    let fields = "known: `schema`, `title`, `description`, `extends`, `steps`";
    let cases = [
        ("", "is no value; must have fields (`name: value`)"),
        ("- a", "is a list; must have fields"),
        ("text", "is the text \"text\"; must have fields"),
        ("schema: a", "`steps` is missing; add it"),
        ("schema: a\nsteps: []", "steps: is an empty list; add an item"),
        ("schema: a\nsteps: ~", "steps: is no value; must be a list"),
        ("schema: a\nsteps: [1]", "steps[0]: is the number 1; must have fields"),
        ("schema: a\nsteps:\n  - name: x", "steps[0]: `output` is missing; add it"),
        ("schema: A b\nsteps: []", "schema: is the text \"A b\"; must be lower-case letters"),
        ("schema: [a]\nsteps: []", "schema: is a list; must be a text"),
        ("schema: a\nstep: []\nsteps: []", "\"step\" is no field here; did you mean `steps`?"),
        ("schema: a\nxyzzy: 1\nsteps: []", fields),
        (&step("outptu: x"), "steps[0]: \"outptu\" is no field here; did you mean `output`?"),
        (&step("hints: [1.10]"), "steps[0].hints[0]: is the number 1.1; must be a text; put it in"),
        (&step("hints: true"), "steps[0].hints: is the boolean true; must be a list"),
        (&step("hints: ['']"), "steps[0].hints[0]: is empty; write a text"),
        (&step("hints: [' ']"), "steps[0].hints[0]: is blank; write a text"),
        (&step("hints: [\"a\\nb\"]"), "steps[0].hints[0]: must be one line"),
        (&step("hints: [\"a\\0b\"]"), "steps[0].hints[0]: must be one line; it contains the"),
        (&step("description: \"a\\eb\""), "steps[0].description: contains the control character"),
        (&step("type: json"), "steps[0].type: is the text \"json\"; must be one of [\"text\","),
        (&step("required: 'no'"), "steps[0].required: is the text \"no\"; must be true or false"),
        (&step("source: {a: b}"), "steps[0].source: is an object; must be a text or a list"),
        (&step("source: []"), "steps[0].source: is an empty list"),
        (&step("source: [a, a]"), "steps[0].source: has an item twice"),
        (&step("source: 'memory_bundle:other'"), "steps[0].source: is the text \"memory_bundle:"),
        (&step("source: memory_bundel"), "did you mean `memory_bundle`?"),
        ("schema: a\nextends: B\nsteps: []", "extends: is the text \"B\""),
        ("schema: a\nsteps:\n- {name: '{task}', output: a}", "steps[0].name: contains the placeh"),
        ("schema: a\nsteps:\n- {name: 'a', output: memory_bundle}", "is the name of a source"),
        (
            "schema: a\nsteps:\n- {name: 'a', output: a}\n- {name: 'b', output: a}",
            "steps[1].output: `a` is the output of steps[0] too; rename one",
        ),
    ];
    for (yaml, expected) in cases {
        let error = error(yaml).to_string();
        assert!(error.contains(expected), "{yaml}\n{error}");
    }
}

#[test]
fn all_defects_are_named_at_once() {
    let yaml = "schema: A\ntitel: x\nsteps:\n- {name: 1, output: B}\n";
    let error = error(yaml);
    let InvalidSchema::Defects(defects) = &error else { panic!("{error:?}") };
    let mut paths: Vec<_> = defects.iter().map(|defect| defect.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["", "schema", "steps[0].name", "steps[0].output"]);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.field().is_some());
}

#[test]
fn limits_are_enforced() {
    let hint = |length: usize| step(&format!("hints: [{}]", "я".repeat(length)));
    assert!(SchemaSource::parse(&hint(500)).is_ok());
    assert!(error(&hint(501)).to_string().contains("has 501 characters"));
    let hints = |count: usize| step(&format!("hints: [{}]", "a, ".repeat(count)));
    assert!(SchemaSource::parse(&hints(HINTS_MAX)).is_ok());
    assert!(error(&hints(HINTS_MAX + 1)).to_string().contains("has 17 items; the limit is 16"));
    assert!(SchemaSource::parse(&steps("a", 0..STEPS_MAX)).is_ok());
    let error_of_steps = error(&steps("a", 0..STEPS_MAX + 1)).to_string();
    assert!(error_of_steps.contains("steps: has 33 items; the limit is 32"), "{error_of_steps}");
    let tasks = |count: usize| {
        let hint = format!("'{}'", "{task}".repeat(count / 4));
        step(&format!("hints: [{hint}, {hint}, {hint}, {hint}]"))
    };
    assert!(SchemaSource::parse(&tasks(PLACEHOLDERS_MAX)).is_ok());
    let error_of_tasks = error(&tasks(PLACEHOLDERS_MAX + 4)).to_string();
    assert!(error_of_tasks.contains("68 placeholders; the limit is 64"), "{error_of_tasks}");
}

fn steps(name: &str, numbers: std::ops::Range<usize>) -> String {
    let steps: String =
        numbers.map(|number| format!("- {{name: n, output: o{number}}}\n")).collect();
    format!("schema: {name}\nsteps:\n{steps}")
}

#[test]
fn template_cannot_request_the_data_of_another_project() {
    for name in ["project:other", "memory_bundle:other", "env.TOKEN", "secrets"] {
        for field in ["hints: ['Use {NAME}']", "description: 'Use {NAME}'"] {
            let error = error(&step(&field.replace("NAME", name))).to_string();
            assert!(error.contains(&format!("`{{{name}}}`")), "{error}");
            assert!(error.contains("allowed are `{task}`, `{path}`, `{symbols}`"), "{error}");
        }
        let title = format!("title: 'Use {{{name}}}'\n{}", step(""));
        assert!(error(&title).to_string().contains("title: contains the placeholder"));
    }
}

#[test]
fn braces_of_code_are_accepted() {
    let schema = schema(&step("hints: ['{\"a\": {\"b\": 1}}', 'a{1, 2} { }', '{{task}']"));
    let hints: Vec<_> = schema.steps()[0].hints.iter().map(mc_sgr::Template::generic).collect();
    assert_eq!(hints, ["{\"a\": {\"b\": 1}}", "a{1, 2} { }", "{task}"]);
}

#[test]
fn huge_file_is_rejected_by_its_size() {
    for text in ["[".repeat(100_000), "a".repeat(10 << 20), "- ".repeat(5 << 20)] {
        let error = error(&text);
        assert_eq!(error, InvalidSchema::TooLarge(text.len()));
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("the limit is 65536"), "{error}");
    }
}

#[test]
fn hostile_files_of_the_largest_size_are_rejected_in_time() {
    let repeat = |text: &str| text.repeat(FILE_MAX_BYTES / text.len());
    for unit in [
        "[",
        "{",
        "- ",
        "? ",
        "[a,",
        "{a: ",
        "a: ",
        "&a ",
        "*a ",
        "&a [*a,",
        "!a ",
        "!!str ",
        "- - ",
        "%TAG ! x\n",
        "---\n",
        "\"",
        "'",
        "|\n ",
        ">\n ",
        "# ",
        "\\",
        "\t",
        "\n",
        "<<: ",
        "a: b\n ",
        "[a]: ",
        "{{task",
        "k: {v: ",
        "? - ",
        "- ? ",
    ] {
        for prefix in ["", "schema: a\nsteps: ", "schema: a\nsteps:\n  - hints: [\""] {
            let text = repeat(unit);
            let file = format!("{prefix}{}", &text[..text.len() - prefix.len()]);
            let start = Instant::now();
            assert!(SchemaSource::parse(&file).is_err(), "{unit:?}");
            let time = start.elapsed();
            assert!(time < TIME_MAX, "{unit:?} after {prefix:?}: {time:?}");
        }
    }
}

#[test]
fn deepest_brackets_that_are_scanned_are_rejected_in_time() {
    for unit in ["a,", ",", "a: b,", "? a,", "a\n,"] {
        let tokens = unit.repeat((FILE_MAX_BYTES - 2_000) / unit.len());
        let error = error(&format!("{}{tokens}", "[".repeat(2_000))).to_string();
        assert!(error.contains("can't be read as YAML"), "{error}");
    }
    let error = error(&"[".repeat(60_000)).to_string();
    assert!(error.contains("has 60000 opening brackets"), "{error}");
}

#[test]
fn alias_bomb_is_rejected() {
    let mut yaml = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, next) in ('a'..='y').zip('b'..='z') {
        yaml.push_str(&format!("{next}: &{next} [{}]\n", vec![format!("*{name}"); 9].join(", ")));
    }
    let error = error(&yaml).to_string();
    assert!(error.contains("remove aliases"), "{error}");
}

#[test]
fn many_steps_that_depend_on_all_later_ones_are_rejected_in_time() {
    let steps: String = (0..STEPS_MAX)
        .map(|number| {
            let sources: Vec<_> =
                (number + 1..STEPS_MAX.min(number + 9)).map(|later| format!("o{later}")).collect();
            let sources =
                if sources.is_empty() { "memory_bundle".into() } else { sources.join(", ") };
            format!("- {{name: n, output: o{number}, source: [{sources}]}}\n")
        })
        .collect();
    let error = error(&format!("schema: a\nsteps:\n{steps}")).to_string();
    assert!(error.contains("later step") && error.contains("more"), "{error}");
}

#[test]
fn source_is_an_earlier_step() {
    let file = |first: &str, second: &str| {
        format!(
            "schema: a\nsteps:\n- {{name: A, output: one, source: {first}}}\n- {{name: B, output: \
             two, source: {second}}}\n"
        )
    };
    assert!(SchemaSource::parse(&file("memory_bundle", "[memory_bundle, one]")).is_ok());
    for (first, second, expected) in [
        ("two", "memory_bundle", "steps[0].source: `two`, the source of `one`, is the output of a"),
        ("one", "one", "the sources form a cycle (one -> one)"),
        ("two", "one", "the sources form a cycle (one -> two -> one)"),
        ("memory_bundle", "onee", "did you mean `one`?"),
        ("memory_bundle", "xyzzy", "known: `one`, `memory_bundle`"),
    ] {
        let error = error(&file(first, second)).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn sources(files: &[&str]) -> Vec<SchemaSource> {
    files.iter().map(|file| SchemaSource::parse(file).expect("a schema")).collect()
}

fn resolve(sources: &[SchemaSource]) -> Result<Schema, InvalidSchema> {
    sources[0].resolve(|_, name| sources.iter().find(|source| source.name == name))
}

#[test]
fn steps_are_inherited_and_replaced_in_their_place() {
    let child = "schema: team-bugfix\nextends: bugfix\ntitle: Ours\nsteps:\n\
                 - {name: Ours, output: checks, type: list, source: code_diff}\n\
                 - {name: Report, output: report, source: [checks, rationale]}\n";
    let source = SchemaSource::parse(child).expect("a schema");
    let schema = source.resolve(|_, name| find_built_in_source(name)).expect("a schema");
    let mut expected = BUGFIX_OUTPUTS.to_vec();
    expected.push("report");
    assert_eq!(outputs(&schema), expected);
    assert_eq!(schema.find_step("checks").map(|step| step.name.as_str()), Some("Ours"));
    assert_eq!(schema.title().map(mc_sgr::Template::generic), Some("Ours".to_owned()));
    assert_eq!(schema.description(), built_in_schema("bugfix").description());
    assert_eq!(schema.name(), "team-bugfix");
}

#[test]
fn schema_may_extend_the_built_in_one_that_it_overrides() {
    let own = "schema: bugfix\nextends: bugfix\nsteps: [{name: Report, output: report}]\n";
    let child = "schema: hotfix\nextends: bugfix\nsteps: [{name: Ship, output: ship}]\n";
    let [own, child] = [own, child].map(|file| SchemaSource::parse(file).expect("a schema"));
    let find = |asking: &SchemaSource, name: &str| {
        let is_own = name == "bugfix" && asking.name != "bugfix";
        if is_own { Some(&own) } else { find_built_in_source(name) }
    };
    let schema = child.resolve(find).expect("a schema");
    assert_eq!(outputs(&schema), [&BUGFIX_OUTPUTS[..], &["report", "ship"]].concat());
}

fn extending(name: &str, parent: &str) -> String {
    format!("schema: {name}\nextends: {parent}\nsteps: [{{name: N, output: o_{name}}}]\n")
}

#[test]
fn cycle_of_schemas_is_rejected_with_its_chain() {
    for (files, expected) in [
        (vec![extending("a", "a")], "a -> a"),
        (vec![extending("a", "b"), extending("b", "a")], "a -> b -> a"),
        (vec![extending("a", "b"), extending("b", "c"), extending("c", "b")], "a -> b -> c -> b"),
    ] {
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        let error = resolve(&sources(&files)).expect_err("a cycle");
        assert!(matches!(error, InvalidSchema::ExtendsCycle(_)), "{error:?}");
        assert!(error.to_string().contains(&format!("cycle ({expected})")), "{error}");
        assert_eq!(error.field().as_deref(), Some("extends"));
    }
}

#[test]
fn missing_schema_is_named_with_the_chain() {
    let files = [extending("a", "b"), extending("b", "c")];
    let error = resolve(&sources(&[&files[0], &files[1]])).expect_err("a missing schema");
    let expected = "the schema `c` does not exist (chain: a -> b -> c)";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn chain_of_schemas_is_limited() {
    let files = |count: usize| -> Vec<SchemaSource> {
        let root =
            SchemaSource::parse(&format!("schema: s{count}\nsteps: [{{name: N, output: o}}]"));
        let extending = (0..count).map(|number| {
            SchemaSource::parse(&extending(&format!("s{number}"), &format!("s{}", number + 1)))
        });
        extending.chain([root]).map(|source| source.expect("a schema")).collect()
    };
    let longest = resolve(&files(EXTENDS_MAX)).expect("a schema");
    assert_eq!(outputs(&longest), ["o", "o_s3", "o_s2", "o_s1", "o_s0"]);
    let error = resolve(&files(EXTENDS_MAX + 1)).expect_err("too deep").to_string();
    assert!(error.contains("s0 -> s1 -> s2 -> s3 -> s4 -> s5"), "{error}");
}

#[test]
fn rules_hold_for_inherited_steps_too() {
    let files = [
        "schema: a\nextends: b\nsteps:\n- {name: A, output: one, source: two}\n",
        "schema: b\nsteps:\n- {name: A, output: one}\n- {name: B, output: two, source: one}\n",
    ];
    let error = resolve(&sources(&files)).expect_err("a cycle").to_string();
    assert!(
        error.contains("steps[0].source: the sources form a cycle (one -> two -> one)"),
        "{error}"
    );
    let many = [
        steps("a", 0..STEPS_MAX).replace("steps:", "extends: b\nsteps:"),
        steps("b", STEPS_MAX..STEPS_MAX + 1),
    ];
    let error = resolve(&sources(&[&many[0], &many[1]])).expect_err("too many").to_string();
    assert!(error.contains("has 33 steps with those of the schemas"), "{error}");
}
