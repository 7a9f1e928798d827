//! Edits of JSON with comments that keep everything else as it is.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

use super::EventCommand;

/// Comments and trailing commas are what clients accept, and nothing else.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Sets the entry `name` in the object `servers`.
pub fn set_entry(
    old: Option<&str>,
    servers: &str,
    name: &str,
    value: &Value,
) -> Result<String, String> {
    edit(old, |root| {
        let servers = object(root, servers)?;
        if only(&servers, name)?.and_then(|known| known.to_serde_value()).as_ref() == Some(value) {
            return Ok(false);
        }
        match servers.get(name) {
            Some(known) => known.set_value(input(value)),
            None => drop(servers.append(name, input(value))),
        }
        Ok(true)
    })
}

/// Sets the commands of events in the settings of Claude Code. Commands of others stay.
pub fn set_commands(old: Option<&str>, commands: &[EventCommand]) -> Result<String, String> {
    edit(old, |root| {
        let events = object(root, "hooks")?;
        let mut is_changed = false;
        for command in commands {
            is_changed |= set_command(&events, command)?;
        }
        Ok(is_changed)
    })
}

fn set_command(events: &CstObject, command: &EventCommand) -> Result<bool, String> {
    let event = command.event;
    only(events, event)?;
    let not_list = || format!("\"{event}\" is not a list");
    let groups = events.array_value_or_create(event).ok_or_else(not_list)?;
    let commands = groups
        .elements()
        .into_iter()
        .filter_map(|group| Some(group.as_object()?.array_value("hooks")?.elements()));
    let is_ours = |known: &CstObject| {
        let text = known.get("command").and_then(|command| command.to_serde_value());
        text.as_ref().and_then(Value::as_str).is_some_and(|text| text.contains(&command.mark))
    };
    let ours = commands.flatten().filter_map(|known| known.as_object()).find(is_ours);
    match ours {
        Some(known) if known.to_serde_value().as_ref() == Some(&command.value) => Ok(false),
        Some(known) => {
            known.replace_with(input(&command.value));
            Ok(true)
        }
        None => {
            groups.append(input(&group(command)));
            Ok(true)
        }
    }
}

fn group(command: &EventCommand) -> Value {
    json!({ "hooks": [command.value] })
}

/// Edits the object of a file, which may be missing or empty.
fn edit(
    old: Option<&str>,
    change: impl FnOnce(&CstObject) -> Result<bool, String>,
) -> Result<String, String> {
    let old = old.unwrap_or_default();
    let text = old.trim_start_matches('\u{feff}');
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| error.to_string())?;
    let object = root.object_value().ok_or("it is not a JSON object")?;
    if change(&object)? { Ok(root.to_string()) } else { Ok(old.to_owned()) }
}

/// Returns the object in a property, and creates it if there is none.
fn object(parent: &CstObject, name: &str) -> Result<CstObject, String> {
    only(parent, name)?;
    parent.object_value_or_create(name).ok_or_else(|| format!("\"{name}\" is not an object"))
}

/// Returns the value of a property. Readers differ in which of two with one name they take.
fn only(object: &CstObject, name: &str) -> Result<Option<CstNode>, String> {
    let has_name = |property: &jsonc_parser::cst::CstObjectProp| {
        property.decoded_name().is_some_and(|other| other == name)
    };
    let mut properties = object.properties().into_iter().filter(has_name);
    let first = properties.next();
    match properties.next() {
        Some(_) => Err(format!("\"{name}\" is there twice")),
        None => Ok(first.and_then(|property| property.value())),
    }
}

/// Order of the fields of an entry, as the documents of clients have it.
const FIELDS: [&str; 5] = ["type", "command", "args", "env", "timeout"];

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| FIELDS.iter().position(|field| field == name));
            let fields = fields.into_iter().map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}
