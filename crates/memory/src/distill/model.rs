//! A chat model that selects the statements of a long note. It answers with numbers, and writes no
//! text: each sentence of a record and its title are the note's own. The rules are the floor
//! ([`super::distill`]); an answer that is no selection leaves their text.

use std::sync::{Arc, LazyLock};

use mc_chat::{ChatRequest, JsonAnswer};
use mc_domain::RecordKind;
use mc_prompt_guard::neutralize;
use mc_sanitizer::{Sanitized, mask};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{MAX_CHARS, markdown, select};

/// Most statements in a request: those that the rules rank highest.
pub const STATEMENTS_MAX: usize = 200;

static INSTRUCTIONS: LazyLock<Sanitized> =
    LazyLock::new(|| mask(include_str!("../../../../system_prompts/distill.txt")).text);

/// A sentence, list item or code block of a long note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Position in the note.
    position: usize,
    text: String,
}

/// A note to select from.
#[derive(Debug, Clone, Copy)]
pub struct Note<'a> {
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// Title, if the caller named one.
    pub title: Option<&'a str>,
}

/// A request with the statements that it shows, in their order.
#[derive(Debug)]
pub struct Question {
    /// The request.
    pub request: ChatRequest,
    shown: Vec<Statement>,
}

/// Statements that a model selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Positions in the note, the most important one first.
    pub(super) positions: Vec<usize>,
    /// Position of the statement that names the subject.
    pub(super) title: Option<usize>,
}

/// Why an answer selects nothing.
#[derive(Debug, thiserror::Error)]
pub enum Defect {
    /// It has other fields than its schema.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    /// It names a statement that the request does not have.
    #[error("it names statement {0}, which does not exist")]
    UnknownNumber(f64),
    /// It names a statement twice.
    #[error("it names statement {0} twice")]
    RepeatedNumber(f64),
    /// It names none.
    #[error("it selects no statement")]
    Empty,
}

/// The answer of a model. JSON may write whole numbers as `1.0`.
#[derive(Deserialize)]
struct Answer {
    keep: Vec<f64>,
    title: f64,
}

static ANSWER: LazyLock<Arc<JsonAnswer>> = LazyLock::new(|| {
    let number = json!({"type": "integer", "minimum": 1, "maximum": STATEMENTS_MAX});
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["keep", "title"],
        "properties": {
            "keep": {"type": "array", "maxItems": STATEMENTS_MAX, "items": number},
            "title": {"type": "integer", "minimum": 0, "maximum": STATEMENTS_MAX},
        },
    });
    Arc::new(JsonAnswer::new("selection", schema).expect("a test compiles the schema"))
});

/// Returns the statements of a text that a record may hold, those that the rules rank highest
/// first. `mask` masks each by the project's policy, as removed markup may have hidden a secret.
pub fn statements(text: &str, mut mask: impl FnMut(&str) -> String) -> Vec<Statement> {
    let units = markdown::read(text).units;
    let ranked = select::candidates(&units, MAX_CHARS).into_iter().take(STATEMENTS_MAX);
    ranked.map(|position| Statement { position, text: mask(&units[position].text) }).collect()
}

/// Returns the texts of statements as one text, in the order of the note.
pub fn joined(statements: &[Statement]) -> String {
    let mut sorted: Vec<_> = statements.iter().collect();
    sorted.sort_by_key(|statement| statement.position);
    sorted.iter().map(|statement| statement.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Returns the question about a note: with all of its `ranked` statements, or the first ones that
/// fit into `max_bytes`. `None` if fewer than two fit.
pub fn question(note: &Note<'_>, mut ranked: Vec<Statement>, max_bytes: usize) -> Option<Question> {
    let mut room = max_bytes.saturating_sub(request_about(note, &[]).bytes());
    let mut fits = |statement: &Statement| {
        let cost = shown(STATEMENTS_MAX, statement).to_string().len() + 1;
        let fits = cost <= room;
        room = room.saturating_sub(cost);
        fits
    };
    ranked.truncate(ranked.iter().take_while(|statement| fits(statement)).count());
    while ranked.len() > 1 {
        let mut shown = ranked.clone();
        shown.sort_by_key(|statement| statement.position);
        let request = request_about(note, &shown);
        if request.bytes() <= max_bytes {
            return Some(Question { request, shown });
        }
        // A mask may be longer than the text that it covers.
        ranked.truncate(ranked.len() * 7 / 8);
    }
    None
}

fn request_about(note: &Note<'_>, statements: &[Statement]) -> ChatRequest {
    let title = note.title.map(neutralize);
    let statements = statements.iter().enumerate();
    let statements: Vec<_> =
        statements.map(|(index, statement)| shown(index + 1, statement)).collect();
    let data = json!({
        "note": {"kind": note.kind, "title": title},
        "max_chars": MAX_CHARS,
        "statements": statements,
    });
    let request = ChatRequest::new(INSTRUCTIONS.clone(), mask(&data.to_string()).text);
    request.greedy().with_json(Arc::clone(&ANSWER))
}

/// Returns a statement as the model receives it: without the special tokens of chat templates.
fn shown(number: usize, statement: &Statement) -> Value {
    json!({"number": number, "text": neutralize(&statement.text)})
}

impl Question {
    /// Reads the answer. One with a number that was not shown, or shown once and named twice, is
    /// no selection at all: the model did not understand the request.
    pub fn selection(&self, answer: &Value) -> Result<Selection, Defect> {
        let Answer { keep, title } = Answer::deserialize(answer)?;
        let mut positions = Vec::with_capacity(keep.len());
        for number in keep {
            let position = self.position(number)?;
            if positions.contains(&position) {
                return Err(Defect::RepeatedNumber(number));
            }
            positions.push(position);
        }
        if positions.is_empty() {
            return Err(Defect::Empty);
        }
        let title = if title < 0.5 { None } else { Some(self.position(title)?) };
        Ok(Selection { positions, title })
    }

    /// Returns the position of the statement with a number.
    fn position(&self, number: f64) -> Result<usize, Defect> {
        let is_meant = |(at, _): &(u16, &Statement)| (f64::from(*at) - number).abs() < 0.5;
        let statement = (1..).zip(&self.shown).find(is_meant);
        statement.map(|(_, statement)| statement.position).ok_or(Defect::UnknownNumber(number))
    }
}

#[cfg(test)]
mod tests;
