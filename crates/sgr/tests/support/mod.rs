//! Schemas of the tests.

#![allow(dead_code, reason = "each test target uses a part")]

use mc_sgr::{Part, Schema, SchemaSource, Section, built_in};

/// The example of seed 001, section 7, unchanged.
pub const SEED_BUGFIX: &str = r#"schema: bugfix
steps:
  - name: Understand
    output: problem_summary
    hints: ["Опиши плохое поведение", "Логи/условия"]
  - name: Locate
    output: suspected_components
    hints: ["Файлы/методы/символы", "Связанные коммиты/таски"]
  - name: Recall
    output: relevant_facts
    source: memory_bundle
  - name: Plan
    output: plan_steps
    hints: ["Минимальное правка", "Риски/границы"]
  - name: Patch
    output: code_diff
  - name: Verify
    output: checks
    hints: ["Юнит/интеграция", "Регрессия"]
  - name: Explain
    output: rationale
"#;

/// Outputs of a bug fix, in their order.
pub const BUGFIX_OUTPUTS: [&str; 7] = [
    "problem_summary",
    "suspected_components",
    "relevant_facts",
    "plan_steps",
    "code_diff",
    "checks",
    "rationale",
];

/// Parses and resolves a schema that extends none.
pub fn schema(yaml: &str) -> Schema {
    let source = SchemaSource::parse(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    source.resolve(|_, _| None).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// Returns a schema of the program.
pub fn built_in_schema(name: &str) -> &'static Schema {
    built_in().iter().find(|schema| schema.name() == name).expect("a schema")
}

/// Returns the outputs of a schema.
pub fn outputs(schema: &Schema) -> Vec<&str> {
    schema.steps().iter().map(|step| step.output.as_str()).collect()
}

/// Writes instructions with the origin of each part: `[schema]`, `<argument>`.
pub fn marked(sections: &[Section]) -> String {
    let texts = sections.iter().map(|section| match section {
        Section::MemoryBundle => "(bundle)".to_owned(),
        Section::Lines(lines) => {
            let lines = lines.iter().map(|line| line.iter().map(part).collect::<String>());
            lines.collect::<Vec<_>>().join("\n")
        }
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn part(part: &Part) -> String {
    match part {
        Part::Ours(text) => (*text).to_owned(),
        Part::Number(number) => number.to_string(),
        Part::Schema(text) => format!("[{text}]"),
        Part::Argument(text) => format!("<{text}>"),
    }
}
