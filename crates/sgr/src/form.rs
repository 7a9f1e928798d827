//! The form of a file: validation by `sgr/schema.json`, and its errors.

use std::borrow::Cow;
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

use crate::error::{Defect, Defects, describe, quote};
use crate::suggestion::suggest;

/// JSON Schema of a file.
pub const FORM: &str = include_str!("../../../sgr/schema.json");

/// Defects that are collected; a file of many faults repeats them.
const DEFECTS_MAX: usize = 50;

struct Form {
    json: Value,
    validator: Validator,
}

#[expect(clippy::expect_used, reason = "the file is compiled in, and every test reads it")]
static COMPILED: LazyLock<Form> = LazyLock::new(|| {
    let json = serde_json::from_str(FORM).expect("sgr/schema.json is JSON");
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    let validator = options.build(&json).expect("sgr/schema.json is a JSON Schema");
    Form { json, validator }
});

/// Checks the form of a file.
pub(crate) fn check(file: &Value) -> Result<(), Defects> {
    let errors = COMPILED.validator.iter_errors(file).take(DEFECTS_MAX);
    Defects::check(errors.flat_map(|error| defects(&error)).collect())
}

fn defects(error: &ValidationError<'_>) -> Vec<Defect> {
    let path = dotted(error.instance_path().as_str());
    let one = |problem: String| vec![Defect::new(path.clone(), problem)];
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            let known = known_fields(error.schema_path().as_str());
            let unknown = |name: &String| {
                let problem = format!(
                    "{} is no field here; {}",
                    quote(name),
                    suggest(name, known.iter().map(String::as_str))
                );
                Defect::new(path.clone(), problem)
            };
            unexpected.iter().map(unknown).collect()
        }
        kind => one(problem(kind, error.instance())),
    }
}

fn problem(kind: &Kind, value: &Value) -> String {
    let is = describe(value);
    match kind {
        Kind::Required { property } => {
            format!("`{}` is missing; add it", property.as_str().unwrap_or_default())
        }
        Kind::Type { .. } => format!("is {is}; {}", expected_type(kind)),
        Kind::MinLength { .. } => "is empty; write a text, or leave the field out".to_owned(),
        Kind::MinItems { .. } => "is an empty list; add an item".to_owned(),
        Kind::MaxLength { limit } => {
            let length = value.as_str().map_or(0, |text| text.chars().count());
            format!("has {length} characters ({is}); the limit is {limit}, so shorten it")
        }
        Kind::MaxItems { limit } => {
            let count = value.as_array().map_or(0, Vec::len);
            format!("has {count} items; the limit is {limit}, so remove some")
        }
        Kind::UniqueItems => "has an item twice; keep one".to_owned(),
        Kind::Enum { options } => format!("is {is}; must be one of {options}"),
        Kind::Pattern { pattern } => format!(
            "is {is}; must be lower-case letters, digits and {}, begin with a letter, and match \
             {pattern}",
            if pattern.contains("_-") { "`_` or `-`" } else { "`_`" }
        ),
        other => format!("is {is}, which breaks the rule `{}` of schema.json", other.keyword()),
    }
}

fn expected_type(kind: &Kind) -> Cow<'static, str> {
    let Kind::Type { kind } = kind else { return "".into() };
    let expected = match kind {
        jsonschema::error::TypeKind::Single(one) => one.to_string(),
        jsonschema::error::TypeKind::Multiple(_) => return "must be a text or a list".into(),
    };
    match expected.as_str() {
        "string" => "must be a text; put it in quotes".into(),
        "array" => "must be a list".into(),
        "object" => "must have fields (`name: value`)".into(),
        "boolean" => "must be true or false".into(),
        other => format!("must be of the type {other}").into(),
    }
}

/// Returns the fields of the object whose rule `additionalProperties` is at this pointer.
fn known_fields(pointer: &str) -> Vec<String> {
    let object = pointer.rsplit_once('/').map_or("", |(object, _)| object);
    let fields = COMPILED.json.pointer(object).and_then(|object| object["properties"].as_object());
    fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// Writes a JSON pointer (`/steps/2/output`) as the path of a field (`steps[2].output`).
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(part);
        }
    }
    path
}
