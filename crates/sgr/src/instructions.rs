//! The text that a model receives.

use crate::Schema;
use crate::limits::{DIFF_MAX_BYTES, ITEM_MAX_CHARS, LIST_MAX, TEXT_MAX_CHARS};
use crate::source::{FieldType, Step, StepSource};
use crate::template::{Piece, Placeholder, Template};

/// Values of the caller for the placeholders of a schema. The caller limits their length: each is
/// inserted at most [`PLACEHOLDERS_MAX`](crate::limits::PLACEHOLDERS_MAX) times.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arguments<'a> {
    /// The task: its id, title or text.
    pub task: Option<&'a str>,
    /// The place in the repository.
    pub path: Option<&'a str>,
    /// Names of definitions.
    pub symbols: &'a [String],
}

/// A part of the instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// Lines of text.
    Lines(Vec<Line>),
    /// The place of the memory bundle, which the caller renders. The line before it announces it.
    MemoryBundle,
}

/// A line of the instructions. A part from outside may have several lines of its own.
pub type Line = Vec<Part>;

/// A text by its origin, which decides how the caller prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A constant of this program.
    Ours(&'static str),
    /// A number of this program.
    Number(usize),
    /// A text of the schema, which a member of the project wrote. It was checked to have one line,
    /// but for descriptions.
    Schema(String),
    /// A value of the caller, unchanged.
    Argument(String),
}

use Part::{Number, Ours};

impl Schema {
    /// Returns the instructions for a model: an introduction, the place of the memory bundle if a
    /// step works on it, the steps, and the form of the answer. The text of an argument is not
    /// searched for placeholders.
    pub fn instructions(&self, arguments: &Arguments<'_>) -> Vec<Section> {
        let mut sections = vec![Section::Lines(self.introduction(arguments))];
        if self.uses_memory_bundle() {
            sections.push(Section::Lines(vec![vec![Ours(
                "The memory bundle: what the team knows about this task.",
            )]]));
            sections.push(Section::MemoryBundle);
        }
        sections.push(Section::Lines(self.step_lines(arguments)));
        sections.push(Section::Lines(self.answer_lines()));
        sections
    }

    fn introduction(&self, arguments: &Arguments<'_>) -> Vec<Line> {
        let mut lines = vec![vec![Ours(
            "Work through the steps below in their order. Each step fills one field of your \
             answer, and may use the fields before it.",
        )]];
        lines.push(vec![Ours("Schema: "), Part::Schema(self.name().to_owned())]);
        let texts = [("Title: ", self.title()), ("Purpose: ", self.description())];
        for (label, text) in texts {
            lines.extend(text.map(|text| labelled(label, text, arguments)));
        }
        for (label, placeholder) in [
            ("Task: ", Placeholder::Task),
            ("Path: ", Placeholder::Path),
            ("Symbols: ", Placeholder::Symbols),
        ] {
            let value = arguments.value(placeholder);
            lines.extend(value.map(|value| vec![Ours(label), Part::Argument(value)]));
        }
        lines
    }

    fn step_lines(&self, arguments: &Arguments<'_>) -> Vec<Line> {
        let mut lines = vec![vec![Ours("Steps:")]];
        for (index, step) in self.steps().iter().enumerate() {
            lines.extend(step_lines(index + 1, step, arguments));
        }
        lines
    }

    fn answer_lines(&self) -> Vec<Line> {
        let mut lines = vec![vec![Ours(
            "Answer with one JSON object that has exactly these fields, in this order, and no \
             text before or after it:",
        )]];
        lines.extend(self.steps().iter().map(field_line));
        lines
    }
}

impl Arguments<'_> {
    fn value(&self, placeholder: Placeholder) -> Option<String> {
        let text = match placeholder {
            Placeholder::Task => self.task.map(str::to_owned),
            Placeholder::Path => self.path.map(str::to_owned),
            Placeholder::Symbols => Some(self.symbols.join(", ")),
        };
        text.filter(|text| !text.trim().is_empty())
    }
}

fn step_lines(number: usize, step: &Step, arguments: &Arguments<'_>) -> Vec<Line> {
    let mut lines = vec![vec![
        Number(number),
        Ours(". "),
        Part::Schema(step.name.clone()),
        Ours(" (field `"),
        Part::Schema(step.output.clone()),
        Ours(match step.field_type {
            FieldType::Text => "`, text)",
            FieldType::List => "`, list of texts)",
            FieldType::Diff => "`, unified diff)",
        }),
    ]];
    lines.extend(step.description.iter().map(|text| labelled("   ", text, arguments)));
    if !step.sources.is_empty() {
        lines.push(source_line(&step.sources));
    }
    lines.extend(step.hints.iter().map(|hint| labelled("   - ", hint, arguments)));
    lines
}

fn source_line(sources: &[StepSource]) -> Line {
    let mut line = vec![Ours("   Works on: ")];
    for (index, source) in sources.iter().enumerate() {
        line.push(Ours(if index == 0 { "" } else { ", " }));
        match source {
            StepSource::MemoryBundle => line.push(Ours("the memory bundle")),
            StepSource::Output(output) => {
                line.extend([Ours("`"), Part::Schema(output.clone()), Ours("`")]);
            }
        }
    }
    line.retain(|part| *part != Ours(""));
    line
}

fn field_line(step: &Step) -> Line {
    let mut line = vec![Ours("- `"), Part::Schema(step.output.clone())];
    line.extend(match step.field_type {
        FieldType::Text => {
            vec![Ours("`: text of at most "), Number(TEXT_MAX_CHARS), Ours(" characters")]
        }
        FieldType::List => vec![
            Ours("`: list of at most "),
            Number(LIST_MAX),
            Ours(" texts, each of at most "),
            Number(ITEM_MAX_CHARS),
            Ours(" characters"),
        ],
        FieldType::Diff => vec![
            Ours("`: text with a unified diff of at most "),
            Number(DIFF_MAX_BYTES),
            Ours(" bytes"),
        ],
    });
    line.push(Ours(if step.is_required { "; required" } else { "; may be empty" }));
    line
}

/// Returns a line of a label and a template with the values of the caller.
fn labelled(label: &'static str, template: &Template, arguments: &Arguments<'_>) -> Line {
    let parts = template.pieces().iter().map(|piece| match piece {
        Piece::Text(text) => Part::Schema(text.clone()),
        Piece::Placeholder(placeholder) => {
            arguments.value(*placeholder).map_or(Ours(placeholder.generic()), Part::Argument)
        }
    });
    [Ours(label)].into_iter().chain(parts).collect()
}
