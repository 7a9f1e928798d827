//! Notes that a finished answer proposes to the team's memory.

use mc_domain::{RecordKind, check_line, check_text};

use crate::Schema;
use crate::answer::{Answer, FieldValue};
use crate::limits::{NOTE_CONTENT_MAX_CHARS, NOTE_STEPS_MAX, NOTE_TITLE_MAX_CHARS};

/// Field that explains the result.
const RATIONALE: &str = "rationale";
/// Field that states the problem.
const SUMMARY: &str = "problem_summary";
/// Field with the plan.
const PLAN: &str = "plan_steps";
/// Field with the patch.
const DIFF: &str = "code_diff";

/// A note to propose, within the limits of `POST /save`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// Title in one line, if the answer has a short one.
    pub title: Option<String>,
    /// The text.
    pub content: String,
    /// Steps of a worked example.
    pub steps: Vec<String>,
    /// Labels: the name of the schema.
    pub tags: Vec<String>,
}

/// Returns the notes of an answer: a fact from `rationale`, and a worked example from `plan_steps`
/// and `code_diff`. A note is absent if the answer lacks its fields.
///
/// `problem_summary` is the title if it has one short line, and else part of the content. A field
/// that does not fit into a note is left out whole, and the content says so.
pub fn notes(schema: &Schema, answer: &Answer) -> Vec<Note> {
    [fact(schema, answer), example(schema, answer)].into_iter().flatten().collect()
}

/// Returns the result of an answer as text: the problem and the explanation, if it has these
/// fields.
pub fn summary(answer: &Answer) -> Option<String> {
    let parts = [SUMMARY, RATIONALE].into_iter().filter_map(|field| answer.find_text(field));
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn fact(schema: &Schema, answer: &Answer) -> Option<Note> {
    let rationale = answer.find_text(RATIONALE)?;
    let mut content = Content::new(rationale);
    let title = title(answer);
    if title.is_none()
        && let Some(summary) = answer.find_text(SUMMARY)
    {
        content.add("problem summary", &format!("Problem: {summary}"));
    }
    Some(note(schema, RecordKind::Fact, title, content))
}

fn example(schema: &Schema, answer: &Answer) -> Option<Note> {
    let (plan, diff) = (answer.find(PLAN)?, answer.find(DIFF)?);
    let title = title(answer);
    let statement = match title.as_deref() {
        Some(_) => answer.find_text(RATIONALE).or(title.as_deref()),
        None => answer.find_text(SUMMARY).or_else(|| answer.find_text(RATIONALE)),
    };
    let mut content = statement.map(Content::new).unwrap_or_default();
    let steps = steps(plan);
    if steps.is_empty() {
        content.add("plan", &format!("Plan:\n{}", lines(plan)));
    }
    content.add("patch", &fenced(&lines(diff)));
    Some(Note { steps, ..note(schema, RecordKind::Fewshot, title, content) })
}

fn note(schema: &Schema, kind: RecordKind, title: Option<String>, content: Content) -> Note {
    let tags = vec![schema.name().to_owned()];
    Note { kind, title, content: content.text, steps: Vec::new(), tags }
}

/// Returns the problem summary if it can be a title.
fn title(answer: &Answer) -> Option<String> {
    let summary = answer.find_text(SUMMARY)?.trim();
    let is_title = check_line(summary).is_ok() && summary.chars().count() <= NOTE_TITLE_MAX_CHARS;
    is_title.then(|| summary.to_owned())
}

/// Returns the plan as steps of a note, if they fit.
fn steps(plan: &FieldValue) -> Vec<String> {
    match plan {
        FieldValue::List(items) if items.len() <= NOTE_STEPS_MAX => items.clone(),
        FieldValue::List(_) | FieldValue::Text(_) | FieldValue::Diff(_) => Vec::new(),
    }
}

fn lines(value: &FieldValue) -> String {
    match value {
        FieldValue::Text(text) | FieldValue::Diff(text) => text.clone(),
        FieldValue::List(items) => {
            let numbered = items.iter().enumerate();
            let lines: Vec<_> =
                numbered.map(|(index, item)| format!("{}. {item}", index + 1)).collect();
            lines.join("\n")
        }
    }
}

/// Returns a patch in a fence that its own lines don't close.
fn fenced(diff: &str) -> String {
    let longest = diff.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    // Blanks at the end may be a line of context.
    let diff = diff.strip_suffix('\n').unwrap_or(diff);
    format!("Patch:\n{fence}diff\n{diff}\n{fence}")
}

/// The content of a note, which grows by whole parts.
#[derive(Default)]
struct Content {
    text: String,
    length: usize,
}

impl Content {
    /// Characters that stay free for remarks about parts that are left out.
    const RESERVE_CHARS: usize = 1_000;

    /// Begins with a field of the type `text`, which is always short enough.
    fn new(statement: &str) -> Self {
        let text = statement.trim().to_owned();
        Self { length: text.chars().count(), text }
    }

    /// Adds a part, or a remark that it does not fit.
    fn add(&mut self, name: &str, part: &str) {
        let length = part.chars().count();
        let free = NOTE_CONTENT_MAX_CHARS - Self::RESERVE_CHARS;
        if check_text(part).is_err() {
            self.push(&format!("(The {name} contains control characters and is left out.)"));
        } else if self.length + length > free {
            self.push(&format!(
                "(The {name} of {length} characters is too long for a note and is left out.)"
            ));
        } else {
            self.push(part);
        }
    }

    fn push(&mut self, part: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(part);
        self.length = self.text.chars().count();
    }
}
