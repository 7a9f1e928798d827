//! Schemas of `tools/list`, derived from the types of the contract.
//!
//! They have only what a model needs: types, enums and ranges. Patterns and lengths are omitted,
//! because every word costs tokens in every conversation, and the types enforce them anyway.
//! Clients forward the schemas to model providers, which support different parts of JSON Schema. So
//! every enum has a type, and no string has a format.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::spec::{Argument, Spec};

/// Returns the schema of a tool's arguments.
pub fn input<Request: ToSchema, Own: ToSchema>(spec: &Spec) -> JsonObject {
    let (request, own) = (Fields::new::<Request>(), Fields::new::<Own>());
    let property = |argument: &Argument| {
        let fields = if argument.is_own { &own } else { &request };
        let mut schema = fields.slim(argument.field, Detail::Input);
        if argument.words.is_empty() {
            fields.describe_object(argument.field, &mut schema);
        } else {
            schema["description"] = json!(argument.words);
        }
        (argument.name.to_owned(), schema)
    };
    let mut properties: Map<String, Value> = spec.arguments.iter().map(property).collect();
    properties.insert("project_key".to_owned(), json!({"type": "string"}));
    let required = spec.arguments.iter().filter(|argument| argument.is_required);
    let required: Vec<&str> = required.map(|argument| argument.name).collect();
    let mut schema = object(properties, &required);
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// Returns the schema of a tool's structured content, which may have other fields, too.
pub fn output<Response: ToSchema>(spec: &Spec) -> JsonObject {
    let fields = Fields::new::<Response>();
    let property = |name: &&str| ((*name).to_owned(), fields.slim(name, Detail::Output));
    let properties = spec.output.iter().map(property).collect();
    let required: Vec<&str> =
        spec.output.iter().copied().filter(|name| fields.is_required(name)).collect();
    object(properties, &required)
}

fn object(properties: Map<String, Value>, required: &[&str]) -> JsonObject {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// Detail of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Types, including the items of lists.
    Input,
    /// Types without the items of lists.
    Output,
}

/// Schema of a type, with the schemas that it references.
struct Fields {
    schema: Value,
    others: Map<String, Value>,
}

impl Fields {
    fn new<T: ToSchema>() -> Self {
        let mut others = Vec::new();
        T::schemas(&mut others);
        let others = others.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
        Self { schema: json!(T::schema()), others }
    }

    /// # Panics
    /// If the type has no such field: the definition of the tool is wrong, and its test says so.
    fn slim(&self, field: &str, detail: Detail) -> Value {
        let schema = self.schema["properties"].get(field);
        self.slimmed(schema.unwrap_or_else(|| panic!("the type has no field {field}")), detail)
    }

    /// Adds the fields of an object, which no words describe.
    fn describe_object(&self, field: &str, slim: &mut Value) {
        let schema = self.resolved(&self.schema["properties"][field]);
        if let Some(properties) = schema["properties"].as_object() {
            slim["properties"] = self.bare_fields(properties);
        }
    }

    fn is_required(&self, field: &str) -> bool {
        self.schema["required"].as_array().is_some_and(|names| names.contains(&json!(field)))
    }

    fn slimmed(&self, schema: &Value, detail: Detail) -> Value {
        let schema = self.resolved(schema);
        // Any value.
        if ["type", "properties"].iter().all(|name| schema[*name].is_null()) {
            return json!({});
        }
        let kind = kind_of(schema);
        let mut slim = json!({ "type": kind });
        for name in ["enum", "minimum", "maximum"] {
            if let Some(value) = schema.get(name) {
                slim[name] = value.clone();
            }
        }
        if kind == "array" && detail == Detail::Input {
            let item = self.resolved(&schema["items"]);
            slim["items"] = self.slimmed(item, detail);
            if let Some(properties) = item["properties"].as_object() {
                slim["items"]["properties"] = self.bare_fields(properties);
                slim["items"]["required"] = item["required"].clone();
            }
        }
        slim
    }

    /// Returns the schemas of the fields of an item or object: only their types.
    fn bare_fields(&self, properties: &Map<String, Value>) -> Value {
        properties.iter().map(|(name, schema)| (name.clone(), self.bare(schema))).collect()
    }

    /// Returns the schema of a field of an item: only its type, and that of its items.
    fn bare(&self, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        let mut bare = json!({ "type": kind_of(schema) });
        if bare["type"] == "array" {
            bare["items"] = self.bare(&schema["items"]);
        }
        bare
    }

    /// Returns the schema behind a reference or an optional value.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(path) = schema["$ref"].as_str() {
            let name = path.rsplit('/').next().unwrap_or(path);
            return self.others.get(name).map_or(schema, |schema| self.resolved(schema));
        }
        let mut choices = schema["oneOf"].as_array().into_iter().flatten();
        let present = choices.find(|choice| choice["type"] != "null");
        present.map_or(schema, |schema| self.resolved(schema))
    }
}

/// Returns the type of a value that is not null.
fn kind_of(schema: &Value) -> Value {
    let kinds = schema["type"].as_array().into_iter().flatten();
    kinds.into_iter().find(|kind| **kind != "null").cloned().unwrap_or_else(|| {
        if schema["type"].is_string() { schema["type"].clone() } else { json!("object") }
    })
}
