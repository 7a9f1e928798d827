//! Tool without the types of its definition.

use std::fmt;
use std::sync::OnceLock;

use http::Method;
use mc_contract::{ValidationError, read};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{CallToolResult, JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::Value;

use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use super::{FieldError, arguments, schemas};
use crate::core::{CoreCall, CoreError};
use crate::settings::Toolset;

/// Characters to encode in a segment of a path: all but the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Tool of this server.
pub struct Tool {
    /// Description for models, and behavior.
    pub spec: Spec,
    list: fn(&Spec) -> Listed,
    listed: OnceLock<Listed>,
    check_request: fn(JsonObject) -> Result<(), ValidationError>,
    check_own: fn(JsonObject) -> Result<(), ValidationError>,
    result: fn(&JsonObject, Value) -> Result<CallToolResult, CoreError>,
    /// Example of the response, from the contract.
    #[cfg(test)]
    pub example: fn() -> Value,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Tool {
    /// Creates the tool that `T` defines.
    pub const fn new<T: Definition>() -> Self {
        Self {
            spec: T::SPEC,
            list: list::<T>,
            listed: OnceLock::new(),
            check_request: |request| read::from_object::<T::Request>(request).map(|_| ()),
            check_own: |own| read::from_object::<T::Own>(own).map(|_| ()),
            result: T::result,
            #[cfg(test)]
            example: || {
                serde_json::json!(<T::Response as utoipa::PartialSchema>::schema())["example"]
                    .clone()
            },
        }
    }

    /// Returns the name in `tools/list`.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Returns whether one of `toolsets` includes this tool.
    pub fn is_in(&self, toolsets: &[Toolset]) -> bool {
        self.spec.toolsets.iter().any(|toolset| toolsets.contains(toolset))
    }

    /// Returns whether the tool works in the edit phase of a navigation only.
    pub fn is_of_edit_phase(&self) -> bool {
        self.spec.is_of_edit_phase()
    }

    /// Returns whether the tool saves a note, which the client's model may judge.
    pub fn is_save(&self) -> bool {
        self.spec.name == super::save::Save::SPEC.name
    }

    /// Returns the entry of this tool in `tools/list`.
    pub fn listed(&self) -> &Listed {
        self.listed.get_or_init(|| (self.list)(&self.spec))
    }

    /// Normalizes `arguments`, and checks their names, ids and own arguments. Nulls, which many
    /// models send for absent arguments, are removed.
    pub fn read(&self, arguments: JsonObject) -> Result<JsonObject, FieldError> {
        let schema = &self.listed().input_schema;
        let arguments = match self.spec.handles {
            Handles::None => arguments::read_as_given(schema, arguments)?,
            _ => arguments::read(schema, arguments)?,
        };
        (self.check_own)(self.fields(&arguments, true)).map_err(|error| self.field_error(error))?;
        Ok(arguments)
    }

    /// Returns the call of the Core for `arguments`, in which handles and project are resolved;
    /// `None` for a tool that makes several calls.
    pub fn core_call(&self, arguments: &JsonObject) -> Result<Option<CoreCall>, FieldError> {
        let mut request = self.request(arguments)?;
        let Route::Call(method, path) = &self.spec.route else { return Ok(None) };
        let path = fill(path, &mut request);
        let call = if matches!(*method, Method::GET | Method::DELETE) {
            CoreCall::get(path, self.query(&request))
        } else {
            CoreCall::post(path, Value::Object(request))
        };
        Ok(Some(CoreCall { method: method.clone(), ..call }))
    }

    fn query(&self, request: &JsonObject) -> Vec<(&'static str, String)> {
        let fields = self.spec.arguments.iter().map(|argument| argument.field);
        let fields = fields.chain(self.spec.fixed.map(|(name, _)| name)).chain(["project_key"]);
        let present = fields.filter_map(|field| Some((field, request.get(field)?)));
        // Each item of a list is a parameter of its own.
        let single = |(field, value): (&'static str, &Value)| match value {
            Value::Array(items) => items.iter().map(|item| (field, plain(item))).collect(),
            value => vec![(field, plain(value))],
        };
        present.flat_map(single).collect()
    }

    /// Returns the operation's request for `arguments`, checked.
    pub fn request(&self, arguments: &JsonObject) -> Result<JsonObject, FieldError> {
        let mut request = self.fields(arguments, false);
        if let Some(key) = arguments.get("project_key").filter(|_| self.spec.names_project) {
            request.insert("project_key".to_owned(), key.clone());
        }
        if let Some((name, items)) = self.spec.fixed {
            request.insert(name.to_owned(), items.into());
        }
        (self.check_request)(request.clone()).map_err(|error| self.field_error(error))?;
        Ok(request)
    }

    /// Renders the Core's `response` to a call with `arguments`.
    pub fn result(
        &self,
        arguments: &JsonObject,
        response: Value,
    ) -> Result<CallToolResult, CoreError> {
        (self.result)(arguments, response)
    }

    /// Returns the Core's error with the name that the field has here.
    pub fn explain(&self, error: CoreError) -> CoreError {
        match error {
            CoreError::Refused { status, mut problem } => {
                problem.rename_field(|field| self.name_of(field));
                CoreError::Refused { status, problem }
            }
            error => error,
        }
    }

    /// Returns the own arguments or those of the request, by the names of their fields.
    fn fields(&self, arguments: &JsonObject, is_own: bool) -> JsonObject {
        let selected = self.spec.arguments.iter().filter(|argument| argument.is_own == is_own);
        let present = selected.filter_map(|argument| {
            Some((argument.field.to_owned(), arguments.get(argument.name)?.clone()))
        });
        present.collect()
    }

    fn field_error(&self, error: ValidationError) -> FieldError {
        FieldError::new(self.name_of(&error.field), error.reason)
    }

    /// Returns the argument's name for a field of the request, with the path inside the field.
    fn name_of(&self, field: &str) -> String {
        let end = field.find(['.', '[']).unwrap_or(field.len());
        let (root, rest) = field.split_at(end);
        let argument = self.spec.arguments.iter().find(|argument| argument.field == root);
        format!("{}{rest}", argument.map_or(root, |argument: &Argument| argument.name))
    }
}

/// Replaces each placeholder of `path` by the field of this name, which leaves the request.
fn fill(path: &str, request: &mut JsonObject) -> String {
    let mut parts = path.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let value = request.remove(name).map(|value| plain(&value)).unwrap_or_default();
        filled.extend(utf8_percent_encode(&value, SEGMENT));
        filled.push_str(rest);
    }
    filled
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn list<T: Definition>(spec: &Spec) -> Listed {
    let hints = ToolAnnotations::new()
        .read_only(spec.effect == Effect::Reads)
        .destructive(spec.effect == Effect::Replaces)
        .idempotent(!spec.is_of_edit_phase())
        .open_world(false);
    Listed::new(spec.name, spec.description, schemas::input::<T::Request, T::Own>(spec))
        .with_title(spec.title)
        .with_raw_output_schema(schemas::output::<T::Response>(spec).into())
        .with_annotations(hints)
}
