//! The operations of the OpenAPI document, and what is needed to make requests of them.

use http::Method;
use serde_json::Value;

/// An id that nothing has.
pub const MISSING_ID: &str = "019a0000-0000-7000-8000-00000000dead";

/// An operation of the document.
#[derive(Clone)]
pub struct Operation<'a> {
    document: &'a Value,
    pub path: &'a str,
    pub method: Method,
    pub spec: &'a Value,
}

/// Returns the operations of the document.
pub fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths.flat_map(move |(path, item)| {
        item.as_object().expect("methods").iter().map(move |(method, spec)| Operation {
            document,
            path,
            method: method.to_uppercase().parse().expect("a method"),
            spec,
        })
    })
}

impl<'a> Operation<'a> {
    /// Returns its parameters with their names.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let parameters = self.spec["parameters"].as_array().into_iter().flatten();
        parameters.map(|one| (one["name"].as_str().expect("a name"), one))
    }

    /// Returns its path and query with the percent-encoded values that `value` has for parameters.
    pub fn target(&self, value: impl Fn(&str, &Value) -> Option<String>) -> String {
        let (mut path, mut query) = (self.path.to_owned(), Vec::new());
        for (name, spec) in self.parameters() {
            let Some(value) = value(name, spec) else { continue };
            match spec["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &value),
                Some("query") => query.push(format!("{name}={value}")),
                _ => {}
            }
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    /// Returns the schema of its JSON body, if it has one.
    pub fn body(&self) -> Option<&'a Value> {
        let schema = self.spec.pointer("/requestBody/content/application~1json/schema")?;
        let name = schema["$ref"].as_str()?.rsplit('/').next()?;
        Some(&self.document["components"]["schemas"][name])
    }
}

/// Returns the example of a schema.
pub fn example(schema: &Value) -> Option<&Value> {
    schema.get("example").or_else(|| schema.pointer("/examples/0"))
}

/// Returns a value that the schema allows; `None` for a text without a format.
pub fn any_value(schema: &Value) -> Option<&str> {
    match (schema["enum"][0].as_str(), schema["format"].as_str(), schema["type"].as_str()) {
        (Some(word), ..) => Some(word),
        (_, Some("uuid"), _) => Some(MISSING_ID),
        (.., Some("integer")) => Some("1"),
        (.., Some("boolean")) => Some("true"),
        _ => None,
    }
}
