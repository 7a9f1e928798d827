//! Answers in JSON: the schema that they follow.

use jsonschema::{Draft, Validator};
use mc_sanitizer::mask;
use serde_json::Value;

/// A text that is no JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema {name} is invalid: {reason}")]
pub struct InvalidSchema {
    /// Name of the schema.
    pub name: String,
    /// Message of the validator.
    pub reason: String,
}

/// A schema for answers, compiled.
#[derive(Debug)]
pub struct JsonAnswer {
    name: String,
    schema: Value,
    validator: Validator,
}

impl JsonAnswer {
    /// Compiles a JSON Schema (draft 2020-12). References outside the schema are not followed.
    pub fn new(name: &str, schema: Value) -> Result<Self, InvalidSchema> {
        let validator = jsonschema::options().with_draft(Draft::Draft202012).build(&schema);
        let validator = validator.map_err(|error| InvalidSchema {
            name: name.to_owned(),
            reason: error.masked().to_string(),
        })?;
        Ok(Self { name: name.to_owned(), schema, validator })
    }

    /// Returns the name of the schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the instruction to answer by the schema, for a model that is not forced to.
    pub fn instruction(&self) -> String {
        format!("Answer with JSON only, by this JSON Schema:\n{}", self.schema)
    }

    /// Parses an answer, checks it and masks its texts. The error is the defect, which names the
    /// rule of the schema and quotes nothing of the answer.
    pub(crate) fn parse(&self, answer: &str) -> Result<Value, String> {
        let json = without_fence(answer);
        let mut value: Value = serde_json::from_str(json)
            .map_err(|error| format!("text that is no JSON (line {})", error.line()))?;
        if let Err(error) = self.validator.validate(&value) {
            return Err(format!("JSON that breaks its schema at {}", error.schema_path()));
        }
        mask_texts(&mut value);
        Ok(value)
    }
}

/// Returns the content of a fenced code block, in which many models wrap JSON.
fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(answer).trim()
}

/// Masks every text of a value, and the names of its fields.
fn mask_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = mask(text).text.into_string(),
        Value::Array(items) => items.iter_mut().for_each(mask_texts),
        Value::Object(fields) => {
            let masked = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                mask_texts(&mut value);
                (mask(&name).text.into_string(), value)
            });
            *fields = masked.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn score() -> JsonAnswer {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["score"],
            "properties": {"score": {"type": "number", "maximum": 1}, "why": {"type": "string"}},
        });
        JsonAnswer::new("score", schema).expect("a schema")
    }

    #[test]
    fn answer_follows_the_schema() {
        for answer in
            ["{\"score\": 0.5}", " ```json\n{\"score\": 0.5}\n``` ", "```{\"score\":0.5}```"]
        {
            assert_eq!(score().parse(answer), Ok(json!({"score": 0.5})), "{answer}");
        }
    }

    #[test]
    fn defect_names_the_rule_and_not_the_text() {
        for (answer, place) in [
            ("I can't say.", "no JSON (line 1)"),
            ("{\"score\": 0.5", "no JSON"),
            ("{}", "at /required"),
            ("{\"score\": 7}", "at /properties/score/maximum"),
            ("{\"score\": 0.5, \"hunter2\": 1}", "at /additionalProperties"),
            ("{\"score\": \"hunter2\"}", "at /properties/score/type"),
        ] {
            let defect = score().parse(answer).expect_err("a defect");
            assert!(defect.contains(place), "{answer}: {defect}");
            assert!(!defect.contains("hunter2"), "{defect}");
        }
    }

    #[test]
    fn texts_of_an_answer_are_masked() {
        let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let answer = format!("{{\"score\": 1, \"why\": \"it has {key}\"}}");
        let masked = score().parse(&answer).expect("an answer");
        assert_eq!(masked["why"], "it has [secret:github-token]");
    }

    #[test]
    fn schema_with_a_reference_elsewhere_is_rejected() {
        for schema in [
            json!({"$ref": "https://example.org/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"type": "no type"}),
        ] {
            assert!(JsonAnswer::new("s", schema).is_err());
        }
    }
}
