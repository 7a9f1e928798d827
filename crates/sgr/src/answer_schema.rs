//! JSON Schema of the answer.

use serde_json::{Map, Value, json};

use crate::limits::{DIFF_MAX_BYTES, ITEM_MAX_CHARS, LIST_MAX, TEXT_MAX_CHARS};
use crate::source::{FieldType, Step};
use crate::{Schema, StepSource};

impl Schema {
    /// Returns the JSON Schema (draft 2020-12) of the expected answer: an object with one property
    /// for each step, in the order of the steps.
    ///
    /// It is made for structured output of model providers. It has no references and only plain
    /// keywords, and all fields are in `required`, as strict modes demand; a field that is optional
    /// in the schema may be empty. [`Schema::check_answer`] accepts such a field if it is absent,
    /// too, and measures a diff in bytes.
    pub fn answer_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.steps().iter().map(|step| (step.output.clone(), property(step))).collect();
        let names: Vec<&String> = properties.keys().collect();
        json!({
            "type": "object",
            "required": names,
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

fn property(step: &Step) -> Value {
    let min = usize::from(step.is_required);
    let description = description(step);
    match step.field_type {
        FieldType::Text => json!({
            "type": "string", "description": description,
            "minLength": min, "maxLength": TEXT_MAX_CHARS,
        }),
        FieldType::List => json!({
            "type": "array", "description": description,
            "minItems": min, "maxItems": LIST_MAX,
            "items": {"type": "string", "minLength": 1, "maxLength": ITEM_MAX_CHARS},
        }),
        FieldType::Diff => json!({
            "type": "string", "description": description,
            "minLength": min, "maxLength": DIFF_MAX_BYTES,
        }),
    }
}

/// Describes a field by the step's name, purpose, sources and hints.
fn description(step: &Step) -> String {
    let mut text = step.name.clone();
    if let Some(description) = &step.description {
        text.push_str(&format!(": {}", description.generic()));
    }
    if !step.sources.is_empty() {
        let names: Vec<&str> = step.sources.iter().map(source_name).collect();
        text.push_str(&format!("\nWorks on: {}", names.join(", ")));
    }
    if step.field_type == FieldType::Diff {
        text.push_str("\nA unified diff.");
    }
    for hint in &step.hints {
        text.push_str(&format!("\n- {}", hint.generic()));
    }
    text
}

fn source_name(source: &StepSource) -> &str {
    match source {
        StepSource::MemoryBundle => "the memory bundle",
        StepSource::Output(output) => output,
    }
}
