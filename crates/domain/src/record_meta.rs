//! Additional data of a record.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The `meta` of a record: the fields that the service reads, and the caller's own. It has this
/// form in responses and in the row (`memory_records.meta`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordMeta {
    /// Steps of a worked example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Commit or URL of the patch of a worked example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_ref: Option<String>,
    /// URL of a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Fields of the caller.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl RecordMeta {
    /// Returns a text field of the caller.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    /// Adds the fields of `other`. Fields that both have keep their value.
    pub fn add_missing(&mut self, other: &Self) {
        if self.steps.is_empty() {
            self.steps.clone_from(&other.steps);
        }
        self.patch_ref = self.patch_ref.take().or_else(|| other.patch_ref.clone());
        self.url = self.url.take().or_else(|| other.url.clone());
        for (name, value) in &other.fields {
            self.fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// Returns the JSON object of the row.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("texts and JSON values")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_the_caller_are_kept_as_they_are() {
        let stored = json!({"steps": ["a"], "url": "https://x", "patch_sha": "abc", "n": {"m": 1}});
        let meta: RecordMeta = serde_json::from_value(stored.clone()).expect("meta");
        assert_eq!(meta.text("patch_sha"), Some("abc"));
        assert_eq!(meta.to_json(), stored);
        assert_eq!(RecordMeta::default().to_json(), json!({}));
    }

    #[test]
    fn own_fields_take_precedence_over_added_ones() {
        let read = |value: Value| serde_json::from_value::<RecordMeta>(value).expect("meta");
        let mut meta = read(json!({"steps": ["a"], "n": 1}));
        meta.add_missing(&read(json!({"steps": ["b"], "patch_ref": "p", "n": 2, "m": 3})));
        assert_eq!(meta.to_json(), json!({"steps": ["a"], "patch_ref": "p", "n": 1, "m": 3}));
    }
}
