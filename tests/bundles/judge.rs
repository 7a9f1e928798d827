//! The evaluation of one question.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::run::{Answer, Saved};
use super::set::{Note, Question, Set};

/// Sections of a bundle, in the order shown; others follow.
const SECTIONS: [&str; 6] = ["gotchas", "facts", "few_shots", "links", "dialogs", "code"];
/// Sections without items.
const NO_SECTIONS: [&str; 1] = ["degraded"];
/// Maximum noise of a correct bundle.
const NOISE_LIMIT: f64 = 0.4;
/// Maximum items in the response to an empty question.
const VAGUE_LIMIT: usize = 2;
/// Characters per token.
const CHARS_PER_TOKEN: f64 = 4.0;

/// An item of a response.
#[derive(Debug, Clone)]
pub struct Item {
    /// The notes in it; several if `save` merged them.
    pub notes: BTreeSet<String>,
    /// Whether the question wants it.
    pub is_welcome: bool,
    /// The text as a model reads it.
    pub text: String,
    /// A label for people.
    pub label: String,
}

/// The result of a question. A figure is absent if the question does not define it.
#[derive(Debug, Default, Serialize)]
pub struct Row {
    /// The id of the question.
    pub id: String,
    /// The purpose of the question.
    pub why: String,
    /// Whether an empty response is correct.
    pub empty: bool,
    /// Whether the question's language differs from the note's.
    pub cross_lingual: bool,
    /// Whether the result is fully correct.
    pub useful: bool,
    /// Share of required notes.
    pub must: Option<f64>,
    /// Share of required phrases that are readable.
    pub complete: Option<f64>,
    /// 1 if the right note is first, else 0.
    pub first: Option<f64>,
    /// Share of unwanted items.
    pub noise: Option<f64>,
    /// Share of unwanted characters.
    pub noise_chars: Option<f64>,
    /// Characters / 4 of the whole response.
    pub tokens: f64,
    /// The confidence that the service reported, from 0 to 1.
    pub confidence: Option<f64>,
    /// Request time, in milliseconds.
    pub ms: f64,
    /// The items.
    pub got: Vec<String>,
    /// The reasons why it is not fully correct.
    pub reasons: Vec<String>,
}

/// Evaluates a bundle.
pub fn bundle(question: &Question, answer: &Answer, saved: &Saved) -> Row {
    let mut row = judge(question, &items_of_bundle(&answer.bundle, question, saved), saved);
    row.confidence = answer.bundle["confidence"].as_f64();
    row.ms = answer.took.as_secs_f64() * 1_000.0;
    row
}

/// Evaluates the first hits of `search` in memory, each note shown completely.
pub fn first_hits(
    set: &Set,
    question: &Question,
    answer: &Answer,
    saved: &Saved,
    count: usize,
) -> Row {
    let names = names(saved);
    let items = answer.hits.iter().take(count).filter_map(|record| {
        let notes = names.get(record.as_str())?;
        let whole = set.notes.iter().filter(|note| notes.contains(note.id.as_str()));
        let text = whole.map(|note| whole_text(note, record)).collect::<Vec<_>>().join("\n");
        Some(item(notes, question, text, record))
    });
    judge(question, &items.collect::<Vec<_>>(), saved)
}

/// Evaluates items in the order shown.
pub fn judge(question: &Question, items: &[Item], saved: &Saved) -> Row {
    let text = items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join("\n");
    let row = Row {
        id: question.id.clone(),
        why: question.why.clone(),
        empty: question.empty,
        cross_lingual: question.cross_lingual,
        tokens: length(&text) / CHARS_PER_TOKEN,
        got: items.iter().map(|item| item.label.clone()).collect(),
        ..Row::default()
    };
    match (question.empty, items) {
        (true, items) => judge_vague(row, items),
        (false, []) => judge_nothing(row, question),
        (false, items) => judge_items(row, question, items, &text, saved),
    }
}

fn judge_vague(mut row: Row, items: &[Item]) -> Row {
    row.useful = items.len() <= VAGUE_LIMIT && items.iter().all(|item| item.is_welcome);
    if !row.useful {
        row.reasons.push(format!("should be empty, has {}", items.len()));
    }
    row
}

fn judge_nothing(row: Row, question: &Question) -> Row {
    Row {
        must: Some(0.0),
        complete: (!question.must_contain.is_empty()).then_some(0.0),
        first: (!question.first.is_empty()).then_some(0.0),
        reasons: vec!["empty".to_owned()],
        ..row
    }
}

fn judge_items(
    mut row: Row,
    question: &Question,
    items: &[Item],
    text: &str,
    saved: &Saved,
) -> Row {
    row.must = Some(judge_must(question, items, saved, &mut row.reasons));
    row.complete = judge_complete(question, text, &mut row.reasons);
    row.first = judge_first(question, &items[0], &mut row.reasons);
    let noise: Vec<_> = items.iter().filter(|item| !item.is_welcome).collect();
    let chars = |item: &Item| length(&item.text);
    let noise_share = noise.len() as f64 / items.len() as f64;
    let noise_chars: f64 = noise.iter().map(|item| chars(item)).sum();
    row.noise = Some(noise_share);
    row.noise_chars = Some(noise_chars / items.iter().map(chars).sum::<f64>());
    if noise_share > NOISE_LIMIT {
        let labels: Vec<_> = noise.iter().map(|item| item.label.as_str()).collect();
        let (some, all) = (noise.len(), items.len());
        row.reasons.push(format!("noise {some} of {all}: {}", labels.join(", ")));
    }
    row.useful = row.reasons.is_empty();
    row
}

/// Returns the share of required notes; without any in the question, 1 if one of its files is
/// present.
fn judge_must(
    question: &Question,
    items: &[Item],
    saved: &Saved,
    reasons: &mut Vec<String>,
) -> f64 {
    if question.must.is_empty() {
        let is_there = items.iter().any(|item| item.is_welcome && item.notes.is_empty());
        reasons.extend((!is_there).then(|| "none of the files".to_owned()));
        return f64::from(u8::from(is_there));
    }
    let is_missing = |note: &&String| !items.iter().any(|item| item.notes.contains(*note));
    let missing: Vec<_> = question.must.iter().filter(is_missing).collect();
    let outcome = |note: &str| saved.get(note).map_or("never saved", |fate| fate.outcome.as_str());
    reasons.extend(missing.iter().map(|note| format!("missing {note} ({})", outcome(note))));
    1.0 - missing.len() as f64 / question.must.len() as f64
}

fn judge_complete(question: &Question, text: &str, reasons: &mut Vec<String>) -> Option<f64> {
    let phrases = &question.must_contain;
    let text = squeezed(text);
    let cut: Vec<_> = phrases.iter().filter(|phrase| !text.contains(&squeezed(phrase))).collect();
    reasons.extend(cut.iter().map(|phrase| format!("not readable: {phrase}")));
    (!phrases.is_empty()).then(|| 1.0 - cut.len() as f64 / phrases.len() as f64)
}

fn judge_first(question: &Question, leading: &Item, reasons: &mut Vec<String>) -> Option<f64> {
    if question.first.is_empty() {
        return None;
    }
    let is_right = !leading.notes.is_disjoint(&question.first);
    reasons.extend((!is_right).then(|| format!("first is {}", leading.label)));
    Some(f64::from(u8::from(is_right)))
}

/// Returns the items of a bundle in the order shown.
pub fn items_of_bundle(bundle: &Value, question: &Question, saved: &Saved) -> Vec<Item> {
    let names = names(saved);
    let lists = bundle.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let others = lists.filter(|name| !SECTIONS.contains(name) && !NO_SECTIONS.contains(name));
    let mut items = Vec::new();
    for section in SECTIONS.into_iter().chain(others) {
        for shown in bundle[section].as_array().into_iter().flatten() {
            let id = shown["id"].as_str().unwrap_or_default();
            let text = rendered(section, shown);
            match names.get(id) {
                Some(notes) => items.push(item(notes, question, text, id)),
                None => items.push(of_no_note(section, shown, question, text)),
            }
        }
    }
    items
}

fn item(notes: &BTreeSet<&str>, question: &Question, text: String, record: &str) -> Item {
    let notes: BTreeSet<_> = notes.iter().map(|note| (*note).to_owned()).collect();
    let is_welcome = question.wanted().any(|note| notes.contains(note));
    let label = notes.iter().map(String::as_str).collect::<Vec<_>>().join("/");
    let label = if label.is_empty() { record.to_owned() } else { label };
    Item { notes, is_welcome, text, label }
}

fn of_no_note(section: &str, shown: &Value, question: &Question, text: String) -> Item {
    let path = placed(shown).or_else(|| shown["url"].as_str()).unwrap_or_default();
    let is_below = |file: &String| file.ends_with('/') && path.starts_with(file.as_str());
    let is_welcome = question.files.iter().any(|file| path == file || is_below(file));
    Item { notes: BTreeSet::new(), is_welcome, text, label: format!("{section}:{path}") }
}

/// Returns the notes of each record.
fn names(saved: &Saved) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut names = BTreeMap::<_, BTreeSet<_>>::new();
    for (note, fate) in saved {
        names.entry(fate.record.as_deref().unwrap_or(note)).or_default().insert(note.as_str());
    }
    names
}

fn placed(item: &Value) -> Option<&str> {
    let at = |field: &str| item[field].as_str().filter(|place| !place.is_empty());
    at("place").or_else(|| at("location"))
}

/// Renders an item as a model reads it.
fn rendered(section: &str, item: &Value) -> String {
    let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
    let kind = item["kind"].as_str().unwrap_or(section).to_owned();
    let mut lines = vec![kind, text("id"), text("trust"), text("title")];
    lines.extend(placed(item).map(|place| with_lines(place, item)));
    lines.extend(["text", "summary", "url", "warning"].map(text));
    lines.extend(strings(&item["steps"]));
    lines.push(strings(&item["scope"]).collect::<Vec<_>>().join(" "));
    lines.extend(cited(&item["citations"]));
    filled(lines)
}

/// Renders a note completely.
fn whole_text(note: &Note, record: &str) -> String {
    let list = |field: &str| note.fields.get(field).unwrap_or(&Value::Null);
    let mut lines = vec![note.text("kind").to_owned(), record.to_owned()];
    lines.extend(["title", "content", "url"].map(|field| note.text(field).to_owned()));
    lines.extend(strings(list("steps")));
    lines.push(strings(list("scope")).collect::<Vec<_>>().join(" "));
    lines.extend(cited(list("citations")));
    filled(lines)
}

fn strings(list: &Value) -> impl Iterator<Item = String> {
    let values = list.as_array().into_iter().flatten();
    values.filter_map(|value| value.as_str().map(str::to_owned))
}

fn cited(citations: &Value) -> impl Iterator<Item = String> {
    let citations = citations.as_array().into_iter().flatten();
    citations.map(|one| with_lines(one["file"].as_str().unwrap_or_default(), one))
}

/// Renders `path:12-20 symbol`. Without lines it prints `None`, as the sets' own script does:
/// characters count.
fn with_lines(path: &str, of: &Value) -> String {
    let [start, end] = ["line_start", "line_end"]
        .map(|field| of[field].as_i64().map_or("None".to_owned(), |line| line.to_string()));
    format!("{path}:{start}-{end} {}", of["symbol"].as_str().unwrap_or_default())
}

fn filled(lines: Vec<String>) -> String {
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Normalizes case and line breaks.
fn squeezed(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn length(text: &str) -> f64 {
    text.chars().count() as f64
}
