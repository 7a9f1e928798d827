//! A file with a schema, before the schemas that it extends are added.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Defect, Defects};
use crate::template::Template;
use crate::{InvalidSchema, check, form, yaml};

/// The source name of the memory bundle.
pub const MEMORY_BUNDLE: &str = "memory_bundle";

/// A file with a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaSource {
    /// Name.
    pub name: String,
    /// Title in one line.
    pub title: Option<Template>,
    /// Purpose.
    pub description: Option<Template>,
    /// Name of the schema whose steps come first.
    pub extends: Option<String>,
    /// The steps of this file.
    pub steps: Vec<Step>,
}

/// A step of reasoning, which fills one field of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name in one line.
    pub name: String,
    /// Name of the field.
    pub output: String,
    /// Type of the field.
    pub field_type: FieldType,
    /// Whether the field must have content.
    pub is_required: bool,
    /// Purpose.
    pub description: Option<Template>,
    /// Hints, each in one line.
    pub hints: Vec<Template>,
    /// What the step works on.
    pub sources: Vec<StepSource>,
}

/// Type of a field of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// A text.
    #[default]
    Text,
    /// A list of texts.
    List,
    /// A unified diff.
    Diff,
}

/// What a step works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepSource {
    /// The memory bundle.
    MemoryBundle,
    /// The output of an earlier step.
    Output(String),
}

impl StepSource {
    fn parse(name: String) -> Self {
        if name == MEMORY_BUNDLE { Self::MemoryBundle } else { Self::Output(name) }
    }

    /// Returns the name in a file.
    pub fn as_str(&self) -> &str {
        match self {
            Self::MemoryBundle => MEMORY_BUNDLE,
            Self::Output(name) => name,
        }
    }
}

impl SchemaSource {
    /// Parses and validates a file. References to steps of schemas that it extends are checked when
    /// it is resolved.
    pub fn parse(yaml: &str) -> Result<Self, InvalidSchema> {
        Self::from_json(yaml::parse(yaml)?)
    }

    /// Validates a file that is parsed already.
    pub(crate) fn from_json(value: Value) -> Result<Self, InvalidSchema> {
        form::check(&value).map_err(InvalidSchema::Defects)?;
        let file = File::read(value)?;
        let source = file.into_source().map_err(InvalidSchema::Defects)?;
        if source.extends.is_none() {
            check::sources(&source.steps).map_err(InvalidSchema::Defects)?;
        }
        Ok(source)
    }
}

/// A file as it is written.
#[derive(Deserialize)]
struct File {
    schema: String,
    title: Option<String>,
    description: Option<String>,
    extends: Option<String>,
    steps: Vec<FileStep>,
}

#[derive(Deserialize)]
struct FileStep {
    name: String,
    output: String,
    description: Option<String>,
    #[serde(default)]
    hints: Vec<String>,
    #[serde(default)]
    source: OneOrMany,
    #[serde(default, rename = "type")]
    field_type: FieldType,
    #[serde(default = "yes")]
    required: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl OneOrMany {
    fn into_sources(self) -> Vec<StepSource> {
        let names = match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        };
        names.into_iter().map(StepSource::parse).collect()
    }
}

fn yes() -> bool {
    true
}

impl File {
    /// Reads a value that has passed [`form::check`].
    fn read(value: Value) -> Result<Self, InvalidSchema> {
        serde_json::from_value(value).map_err(|error| InvalidSchema::at("", error.to_string()))
    }

    fn into_source(self) -> Result<SchemaSource, Defects> {
        let mut reader = TextReader::default();
        let title = self.title.map(|text| reader.line("title", &text));
        let description = self.description.map(|text| reader.prose("description", &text));
        let steps = self.steps.into_iter().enumerate();
        let steps: Vec<_> = steps.map(|(index, step)| step.read(index, &mut reader)).collect();
        let mut defects = reader.defects;
        defects.extend(check::outputs(&steps));
        let source =
            SchemaSource { name: self.schema, title, description, extends: self.extends, steps };
        defects.extend(check::placeholders(source.placeholder_count()));
        Defects::check(defects)?;
        Ok(source)
    }
}

impl FileStep {
    fn read(self, index: usize, reader: &mut TextReader) -> Step {
        let path = format!("steps[{index}]");
        let hint = |(at, text): (usize, &String), reader: &mut TextReader| {
            reader.line(&format!("{path}.hints[{at}]"), text)
        };
        Step {
            name: reader.name(&format!("{path}.name"), &self.name),
            output: self.output,
            field_type: self.field_type,
            is_required: self.required,
            description: self
                .description
                .map(|text| reader.prose(&format!("{path}.description"), &text)),
            hints: self.hints.iter().enumerate().map(|entry| hint(entry, reader)).collect(),
            sources: self.source.into_sources(),
        }
    }
}

impl SchemaSource {
    pub(crate) fn placeholder_count(&self) -> usize {
        placeholder_count(self.title.iter().chain(&self.description), &self.steps)
    }
}

/// Counts the placeholders of templates and steps.
pub(crate) fn placeholder_count<'a>(
    texts: impl Iterator<Item = &'a Template>,
    steps: &'a [Step],
) -> usize {
    let of_steps = steps.iter().flat_map(|step| step.description.iter().chain(&step.hints));
    texts.chain(of_steps).map(|template| template.placeholders().count()).sum()
}

/// Reader of the texts of a file, which collects their defects.
#[derive(Default)]
struct TextReader {
    defects: Vec<Defect>,
}

impl TextReader {
    /// Reads a text of one line.
    fn line(&mut self, path: &str, text: &str) -> Template {
        let text = text.trim();
        let rule = mc_domain::check_line(text);
        let problem = rule.err().map(|error| format!("must be one line; it {error}"));
        self.template(path, text, problem)
    }

    /// Reads a text of several lines.
    fn prose(&mut self, path: &str, text: &str) -> Template {
        let text = text.trim();
        let problem = mc_domain::check_text(text).err().map(|error| error.to_string());
        self.template(path, text, problem)
    }

    /// Reads the name of a step, which has no placeholders.
    fn name(&mut self, path: &str, text: &str) -> String {
        let name = self.line(path, text);
        if let Some(placeholder) = name.placeholders().next() {
            let problem = format!(
                "contains the placeholder `{{{}}}`; names have none, so move it to a hint",
                placeholder.as_str()
            );
            self.defects.push(Defect::new(path, problem));
        }
        name.generic()
    }

    fn template(&mut self, path: &str, text: &str, problem: Option<String>) -> Template {
        let blank = text.is_empty().then(|| "is blank; write a text, or remove it".to_owned());
        let parsed = Template::parse(text);
        let unknown = parsed.as_ref().err().cloned();
        let problems = [problem, blank, unknown].into_iter().flatten();
        self.defects.extend(problems.map(|problem| Defect::new(path, problem)));
        parsed.unwrap_or_default()
    }
}
