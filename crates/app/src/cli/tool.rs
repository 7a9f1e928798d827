//! The tools of the MCP server as commands, derived from their definitions: a new tool is a command
//! the day it is added.

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand, value_parser};
use mc_mcp::{TOOLS, Tool};
use serde_json::{Map, Value, json};

/// A call of a tool.
#[derive(Debug)]
pub struct ToolCall {
    /// Tool to call.
    pub tool: &'static Tool,
    /// Its arguments, by their names in the tool's schema.
    pub arguments: Map<String, Value>,
}

impl Subcommand for ToolCall {
    fn augment_subcommands(command: Command) -> Command {
        let tools = TOOLS.iter().map(|tool| {
            let listed = tool.listed();
            let about = listed.description.as_deref().unwrap_or_default().to_owned();
            let options = properties(tool).map(|(name, schema)| option(tool, name, schema));
            Command::new(tool.name()).about(about).args(options)
        });
        command.subcommand_required(true).arg_required_else_help(true).subcommands(tools)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        TOOLS.iter().any(|tool| tool.name() == name)
    }
}

impl FromArgMatches for ToolCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::raw(ErrorKind::MissingSubcommand, "name a tool\n");
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let tool = TOOLS.iter().find(|tool| tool.name() == name).ok_or_else(missing)?;
        let arguments = properties(tool).filter_map(|(name, schema)| {
            Some((name.clone(), argument(matches, name, kind(schema))?))
        });
        Ok(Self { tool, arguments: arguments.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn properties(tool: &'static Tool) -> impl Iterator<Item = (&'static String, &'static Value)> {
    tool.listed().input_schema["properties"].as_object().into_iter().flatten()
}

fn kind(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or("string")
}

/// Returns the long name of an argument's option: `bundle-id` of `bundle_id`. The option of the
/// project has its name in the other commands.
pub fn option_name(argument: &str) -> String {
    if argument == "project_key" { "project".to_owned() } else { argument.replace('_', "-") }
}

/// Returns the option of an argument.
fn option(tool: &Tool, name: &'static str, schema: &'static Value) -> Arg {
    let is_project = name == "project_key";
    let required = tool.listed().input_schema.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
    let option = Arg::new(name).long(option_name(name)).required(is_required);
    let option = match schema["description"].as_str() {
        Some(words) => option.help(words),
        None => option,
    };
    let of_item = if kind(schema) == "array" { &schema["items"] } else { schema };
    let words = of_item["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<&'static str> = words.collect();
    let option = match kind(of_item) {
        _ if !words.is_empty() => option.value_parser(PossibleValuesParser::new(words)),
        // As text for lists, too: an option may hold a whole list as JSON.
        _ if kind(schema) == "array" => option,
        "integer" => option.value_parser(value_parser!(i64)),
        "number" => option.value_parser(value_parser!(f64)),
        "object" => option.value_name("JSON"),
        "string" => option.allow_hyphen_values(true),
        _ => option,
    };
    match kind(schema) {
        _ if is_project => {
            option.short('p').env("MEMORY_COPILOT_PROJECT").value_name("KEY").help("Project key")
        }
        "boolean" => option.action(ArgAction::SetTrue),
        "array" => option.action(ArgAction::Append),
        _ => option,
    }
}

/// Returns the value of an argument; `None` if it was not given. The tool parses JSON in a text. So
/// a list that is given once may be JSON, such as `[]`.
fn argument(matches: &ArgMatches, name: &str, kind: &str) -> Option<Value> {
    match kind {
        "boolean" => matches.get_flag(name).then_some(Value::Bool(true)),
        "integer" => matches.get_one::<i64>(name).copied().map(Value::from),
        "number" => matches.get_one::<f64>(name).copied().map(Value::from),
        "array" => {
            let items: Vec<&String> = matches.get_many(name)?.collect();
            Some(if let [only] = items[..] { Value::from(only.as_str()) } else { json!(items) })
        }
        _ => matches.get_one::<String>(name).cloned().map(Value::from),
    }
}
