//! Prompts: the reasoning schemas of a project, filled with a task and what the team knows about
//! it.

use mc_contract::limits;
use mc_sgr::{Arguments, Line, Part, Schema, Section};
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use serde_json::{Value, json};

use crate::render::ModelText;
use crate::tools::FieldError;

/// Maximum length of a title, in characters.
const TITLE: usize = limits::TITLE;
/// Maximum length of a part of the instructions from outside, in characters: the longest is a
/// description.
const PART: usize = 4_000;
/// Maximum length of the argument `task`, in characters.
const TASK: usize = 4_000;

/// An argument of every prompt: its name, description, and maximum length in characters.
const ARGUMENTS: [(&str, &str, usize); 3] = [
    ("task", "What to do: a sentence, or the id of an issue", TASK),
    ("path", "File or directory, relative to the repository's root", limits::PATH),
    ("symbols", "Names of definitions, separated by commas", TASK),
];

/// Returns the prompts of the Core's list of schemas.
pub fn listed(answer: &Value) -> Vec<Prompt> {
    answer["items"].as_array().into_iter().flatten().filter_map(summary).collect()
}

/// Returns the prompts of the built-in schemas, for a client that can't reach the Core yet.
pub fn built_in() -> Vec<Prompt> {
    let prompt = |schema: &Schema| {
        let text = |text: Option<&mc_sgr::Template>| text.map(mc_sgr::Template::generic);
        prompt(schema.name(), text(schema.title()), text(schema.description()))
    };
    mc_sgr::built_in().iter().map(prompt).collect()
}

fn summary(schema: &Value) -> Option<Prompt> {
    let text = |field: &str| schema[field].as_str().map(str::to_owned);
    Some(prompt(schema["schema"].as_str()?, text("title"), text("description")))
}

fn prompt(name: &str, title: Option<String>, description: Option<String>) -> Prompt {
    let arguments = ARGUMENTS.map(|(name, description, _)| {
        PromptArgument::new(name).with_description(description).with_required(false)
    });
    let line = |text: Option<String>, max| text.map(|text| ModelText::from_line(&text, max));
    let name = ModelText::from_line(name, TITLE);
    name.into_prompt(line(title, TITLE), line(description, PART), arguments.into())
}

/// The arguments of a prompt.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PromptArguments {
    task: Option<String>,
    path: Option<String>,
    symbols: Vec<String>,
}

impl PromptArguments {
    /// Reads the arguments of a request. The error names the argument and its rule.
    pub fn read(arguments: &JsonObject) -> Result<Self, FieldError> {
        let mut read = Self::default();
        for (name, value) in arguments {
            let known = ARGUMENTS.iter().find(|(known, _, _)| known == name);
            let Some((known, _, max)) = known else {
                let rule = "is no argument of this prompt; use task, path and symbols";
                return Err(FieldError::new(name.as_str(), rule));
            };
            let text = text(known, value, *max)?;
            match *known {
                "task" => read.task = text,
                "path" => read.path = text,
                _ => read.symbols = symbols(text.as_deref().unwrap_or_default()),
            }
        }
        Ok(read)
    }

    /// Returns the arguments of the tool `recall`; `None` if there is nothing to recall by.
    pub fn recall(&self) -> Option<JsonObject> {
        let mut recall = JsonObject::new();
        recall.extend(self.task.as_ref().map(|task| ("query".to_owned(), json!(task))));
        recall.extend(self.path.as_ref().map(|path| ("repo_path".to_owned(), json!(path))));
        if !self.symbols.is_empty() {
            recall.insert("symbols".to_owned(), json!(self.symbols));
        }
        (!recall.is_empty()).then_some(recall)
    }
}

fn text(name: &str, value: &Value, max: usize) -> Result<Option<String>, FieldError> {
    let Some(text) = value.as_str().map(str::trim) else {
        return Err(FieldError::new(name, "must be a text"));
    };
    let length = text.chars().count();
    if length > max {
        let rule = format!("holds {length} characters; the limit is {max}");
        return Err(FieldError::new(name, rule));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn symbols(text: &str) -> Vec<String> {
    let symbols = text.split(',').map(str::trim).filter(|symbol| !symbol.is_empty());
    symbols.map(str::to_owned).collect()
}

/// Returns the text of a prompt: the instructions of a schema, as the Core represents it, with the
/// bundle in its place.
pub fn filled(
    schema: &Value,
    arguments: &PromptArguments,
    bundle: &ModelText,
) -> Result<ModelText, mc_sgr::InvalidSchema> {
    let fields = ["schema", "title", "description", "steps"].map(|field| (field, &schema[field]));
    let present = fields.into_iter().filter(|(_, value)| !value.is_null());
    let file = present.map(|(field, value)| (field.to_owned(), value.clone())).collect();
    let schema = Schema::from_json(Value::Object(file))?;
    let PromptArguments { task, path, symbols } = arguments;
    let (task, path) = (task.as_deref(), path.as_deref());
    let mut text = ModelText::default();
    for section in schema.instructions(&Arguments { task, path, symbols }) {
        match section {
            Section::Lines(lines) => lines.iter().for_each(|line| add_line(&mut text, line)),
            Section::MemoryBundle => {
                text.append(bundle).add("\n");
            }
        }
        text.add("\n");
    }
    Ok(text)
}

fn add_line(text: &mut ModelText, line: &Line) {
    for part in line {
        match part {
            Part::Ours(constant) => text.add(constant),
            Part::Number(number) => text.add_number(*number as u64),
            Part::Schema(part) | Part::Argument(part) => text.add_line(part, PART),
        };
    }
    text.add("\n");
}
