//! Answers, checked against their schema.

use mc_domain::{check_text, shorten};
use serde_json::{Map, Value};

use crate::diff::is_unified_diff;
use crate::error::{Defect, Defects, InvalidAnswer, quote, type_name};
use crate::limits::{DIFF_MAX_BYTES, ITEM_MAX_CHARS, LIST_MAX, TEXT_MAX_CHARS};
use crate::source::{FieldType, Step};
use crate::suggestion::suggest;
use crate::{Schema, limits::OUTPUT_MAX_CHARS};

/// Defects of items of one list that are collected.
const ITEM_DEFECTS_MAX: usize = 5;
/// Unknown fields that are collected.
const UNKNOWN_MAX: usize = 20;

/// An answer that follows its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    fields: Vec<(String, FieldValue)>,
}

/// The content of a field; never blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// A text.
    Text(String),
    /// A list of texts, at least one.
    List(Vec<String>),
    /// A unified diff.
    Diff(String),
}

impl Answer {
    /// Iterates over the fields with content, in the order of the steps.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the content of a field. A field that is optional and empty has none.
    pub fn find(&self, name: &str) -> Option<&FieldValue> {
        self.fields().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// Returns a field of the type `text`.
    pub fn find_text(&self, name: &str) -> Option<&str> {
        match self.find(name)? {
            FieldValue::Text(text) => Some(text),
            FieldValue::List(_) | FieldValue::Diff(_) => None,
        }
    }

    /// Returns a field of the type `list`.
    pub fn find_list(&self, name: &str) -> Option<&[String]> {
        match self.find(name)? {
            FieldValue::List(items) => Some(items),
            FieldValue::Text(_) | FieldValue::Diff(_) => None,
        }
    }

    /// Returns a field of the type `diff`.
    pub fn find_diff(&self, name: &str) -> Option<&str> {
        match self.find(name)? {
            FieldValue::Diff(diff) => Some(diff),
            FieldValue::Text(_) | FieldValue::List(_) => None,
        }
    }
}

impl Schema {
    /// Checks an answer. The error has all defects: missing, unknown and empty fields, other types,
    /// too long texts.
    ///
    /// An optional field may be absent, blank, or an empty list. A required field has at least one
    /// character that is not blank. A diff with content has to look like one
    /// ([`is_unified_diff`]), also in an optional field.
    pub fn check_answer(&self, answer: &Value) -> Result<Answer, InvalidAnswer> {
        self.read_answer(answer).map_err(InvalidAnswer)
    }

    fn read_answer(&self, answer: &Value) -> Result<Answer, Defects> {
        let Value::Object(object) = answer else {
            let is = type_name(answer);
            let problem = format!("is {is}; must be a JSON object with one field for each step");
            return Err(Defects::from(Defect::new("", problem)));
        };
        let mut defects = Vec::new();
        let mut fields = Vec::new();
        for step in self.steps() {
            match read_field(step, object.get(&step.output)) {
                Ok(Some(value)) => fields.push((step.output.clone(), value)),
                Ok(None) => {}
                Err(of_field) => defects.extend(of_field),
            }
        }
        defects.extend(self.unknown_fields(object));
        Defects::check(defects)?;
        Ok(Answer { fields })
    }

    fn unknown_fields(&self, object: &Map<String, Value>) -> impl Iterator<Item = Defect> {
        let unknown = object.keys().filter(|name| self.find_step(name).is_none());
        unknown.take(UNKNOWN_MAX).map(|name| {
            let known = self.steps().iter().map(|step| step.output.as_str());
            let problem =
                format!("{} is no field of the answer; {}", quote(name), suggest(name, known));
            Defect::new(shorten(name, OUTPUT_MAX_CHARS), problem)
        })
    }
}

fn read_field(step: &Step, value: Option<&Value>) -> Result<Option<FieldValue>, Vec<Defect>> {
    let one = |problem: &str| vec![Defect::new(&step.output, problem)];
    let Some(value) = value else {
        let missing = one("is missing; add the field");
        return if step.is_required { Err(missing) } else { Ok(None) };
    };
    let read = match step.field_type {
        FieldType::Text => read_text(value, TEXT_MAX_CHARS)
            .map(|text| text.map(FieldValue::Text))
            .map_err(|problem| one(&problem)),
        FieldType::List => read_list(step, value),
        FieldType::Diff => {
            read_diff(value).map(|diff| diff.map(FieldValue::Diff)).map_err(|problem| one(&problem))
        }
    };
    match read? {
        None if step.is_required => Err(one("is empty; the field is required, so fill it")),
        content => Ok(content),
    }
}

/// Reads a text; nothing if it is blank.
fn read_text(value: &Value, max: usize) -> Result<Option<String>, String> {
    let Value::String(text) = value else {
        return Err(format!("is {}; must be a text", type_name(value)));
    };
    check_text(text).map_err(|error| error.to_string())?;
    let length = text.chars().count();
    if length > max {
        return Err(format!("has {length} characters; the limit is {max}, so shorten it"));
    }
    Ok((!text.trim().is_empty()).then(|| text.clone()))
}

fn read_list(step: &Step, value: &Value) -> Result<Option<FieldValue>, Vec<Defect>> {
    let Value::Array(items) = value else {
        let problem = format!("is {}; must be a list of texts", type_name(value));
        return Err(vec![Defect::new(&step.output, problem)]);
    };
    if items.len() > LIST_MAX {
        let count = items.len();
        let problem = format!("has {count} items; the limit is {LIST_MAX}, so join some");
        return Err(vec![Defect::new(&step.output, problem)]);
    }
    let mut texts = Vec::new();
    let mut defects = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = || format!("{}[{index}]", step.output);
        match read_text(item, ITEM_MAX_CHARS) {
            Ok(Some(text)) => texts.push(text),
            Ok(None) => defects.push(Defect::new(path(), "is empty; fill it, or remove the item")),
            Err(problem) => defects.push(Defect::new(path(), problem)),
        }
    }
    defects.truncate(ITEM_DEFECTS_MAX);
    if defects.is_empty() {
        Ok((!texts.is_empty()).then_some(FieldValue::List(texts)))
    } else {
        Err(defects)
    }
}

/// Reads a diff; nothing if it is blank. Files may contain control characters other than NUL.
fn read_diff(value: &Value) -> Result<Option<String>, String> {
    let Value::String(diff) = value else {
        return Err(format!("is {}; must be a unified diff as a text", type_name(value)));
    };
    if diff.len() > DIFF_MAX_BYTES {
        let size = diff.len();
        return Err(format!(
            "has {size} bytes; the limit is {DIFF_MAX_BYTES}, so split the change"
        ));
    }
    if diff.contains('\0') {
        return Err("contains the character NUL; leave binary files out".to_owned());
    }
    if diff.trim().is_empty() {
        return Ok(None);
    }
    if !is_unified_diff(diff) {
        return Err(
            "is no unified diff; it needs the lines `--- a/file` and `+++ b/file`, or a hunk \
             (`@@ -1,2 +1,2 @@`)"
                .to_owned(),
        );
    }
    Ok(Some(diff.clone()))
}
