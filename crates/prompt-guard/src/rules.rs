//! The combinations of words that are signals, with their confidence.

use crate::detection::Family;
use crate::lexicon::{Class as C, Hit};

/// A combination of words that is a signal.
pub(crate) struct Rule {
    pub family: Family,
    /// The classes of the words, all within [`Rule::window`] of the first.
    pub classes: &'static [C],
    /// Maximum distance between the first word and each other one, in bytes.
    pub window: usize,
    pub confidence: f32,
    pub reason: &'static str,
}

const fn rule(
    family: Family,
    classes: &'static [C],
    window: usize,
    confidence: f32,
    reason: &'static str,
) -> Rule {
    Rule { family, classes, window, confidence, reason }
}

/// All rules. A window is a clause (40), a sentence (80) or two (120).
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    rule(Family::Override, &[C::Ignore, C::Earlier, C::Instruction], 80, 0.9,
        "orders the reader to ignore earlier instructions"),
    rule(Family::Override, &[C::Ignore, C::Earlier, C::Rule, C::All], 60, 0.8,
        "orders the reader to ignore all earlier rules"),
    rule(Family::Override, &[C::Ignore, C::Earlier, C::Rule], 60, 0.6,
        "orders the reader to ignore earlier rules"),
    rule(Family::Override, &[C::Ignore, C::All, C::Instruction], 45, 0.7,
        "orders the reader to ignore all instructions"),
    rule(Family::Override, &[C::Ignore, C::All, C::Rule, C::Model], 80, 0.7,
        "orders a model to ignore its rules"),
    rule(Family::Override, &[C::Ignore, C::All, C::Earlier], 30, 0.5,
        "orders the reader to ignore all earlier text"),
    rule(Family::Override, &[C::Revoked, C::Earlier, C::Instruction], 80, 0.8,
        "declares earlier instructions invalid"),
    rule(Family::Override, &[C::Revoked, C::All, C::Instruction], 80, 0.6,
        "declares instructions invalid"),
    rule(Family::Override, &[C::New, C::Command], 80, 0.6,
        "gives new instructions"),
    rule(Family::Override, &[C::New, C::Ignore], 120, 0.8,
        "replaces the earlier instructions"),
    rule(Family::Override, &[C::New, C::Model], 120, 0.6,
        "gives a model new instructions"),
    rule(Family::Override, &[C::New], 0, 0.4,
        "announces new instructions"),
    rule(Family::Role, &[C::Impersonate, C::Persona], 45, 0.8,
        "gives the reader another role"),
    rule(Family::Role, &[C::Authority, C::Command], 80, 0.85,
        "claims authority over the model"),
    rule(Family::Role, &[C::Authority, C::Ignore], 80, 0.85,
        "claims authority over the model"),
    rule(Family::Role, &[C::Authority, C::Model], 80, 0.6,
        "claims authority over the model"),
    rule(Family::Role, &[C::Authority], 0, 0.4,
        "claims authority"),
    rule(Family::Concealment, &[C::Conceal, C::Person, C::This], 60, 0.8,
        "orders to keep this from the user"),
    rule(Family::Concealment, &[C::Conceal, C::Person], 40, 0.5,
        "orders to keep something from a person"),
    rule(Family::Persistence, &[C::Keep, C::Forever, C::Memory], 80, 0.85,
        "orders to remember it permanently"),
    rule(Family::Persistence, &[C::Keep, C::Forever, C::Response], 80, 0.7,
        "orders to remember it in every response"),
    rule(Family::Persistence, &[C::Keep, C::Memory], 40, 0.5,
        "orders to remember it"),
    rule(Family::Persistence, &[C::Add, C::Every, C::Response], 60, 0.6,
        "orders to add it to every response"),
    rule(Family::Persistence, &[C::Add, C::Every, C::Response, C::Forever], 80, 0.8,
        "orders to add it to every response permanently"),
    rule(Family::Persistence, &[C::Approve, C::Reviewed], 45, 0.8,
        "orders to approve everything"),
    rule(Family::Persistence, &[C::Approve, C::Blindly], 80, 0.85,
        "orders to approve everything without review"),
    rule(Family::Exfiltration, &[C::Send, C::Secret, C::Url], 100, 0.8,
        "orders to send secrets to a URL"),
    rule(Family::Exfiltration, &[C::Disclose, C::SystemPrompt], 45, 0.5,
        "orders to disclose the system prompt"),
    rule(Family::Exfiltration, &[C::Disclose, C::SystemPrompt, C::Earlier], 60, 0.6,
        "orders to disclose the system prompt"),
    rule(Family::ToolCall, &[C::Call, C::Tool, C::Arguments], 50, 0.45,
        "orders a tool call"),
    rule(Family::ToolCall, &[C::Call, C::Tool, C::Arguments, C::Secret], 100, 0.7,
        "orders a tool call with secrets"),
    rule(Family::ToolCall, &[C::Call, C::Tool, C::Arguments, C::Url], 100, 0.6,
        "orders a tool call with a URL"),
];

/// A match of a rule, with its bytes of the folded form.
pub(crate) struct Match {
    pub rule: &'static Rule,
    pub start: usize,
    pub end: usize,
}

/// Returns the matches of all rules in `hits`, sorted by their first word.
pub(crate) fn matches(hits: &[Hit], folded: &str) -> Vec<Match> {
    let mut matches = Vec::new();
    for (at, first) in hits.iter().enumerate() {
        for rule in RULES.iter().filter(|rule| rule.classes[0] == first.class) {
            if let Some((start, end)) = match_at(rule, hits, at, folded) {
                matches.push(Match { rule, start, end });
            }
        }
    }
    matches
}

/// Maximum number of words compared on either side: more than any window of ordinary text has.
const MAX_WORDS: usize = 48;

fn match_at(rule: &Rule, hits: &[Hit], at: usize, folded: &str) -> Option<(usize, usize)> {
    let first = hits[at];
    let (mut start, mut end) = (first.start, first.end);
    for class in &rule.classes[1..] {
        let behind = hits[at + 1..].iter().take(MAX_WORDS);
        let behind = behind.take_while(|hit| hit.start <= first.end + rule.window);
        let before = hits[..at].iter().rev().take(MAX_WORDS);
        // A role may precede its verb only in the same sentence. Other objects may be in the
        // sentence before: "You have instructions. Ignore them."
        let before = before.take_while(|hit| {
            let between = folded.get(hit.end..first.start).unwrap_or_default();
            let is_apart = *class == C::Persona && ends_sentence(between);
            hit.end + rule.window >= first.start && !is_apart
        });
        // Another word, even if one word has several classes.
        let is_other_word =
            |hit: &&Hit| hit.class == *class && (hit.start, hit.end) != (first.start, first.end);
        let near = behind.chain(before).find(is_other_word)?;
        (start, end) = (start.min(near.start), end.max(near.end));
    }
    // A blank line separates statements.
    (!folded[start..end].contains('\n')).then_some((start, end))
}

/// Whether a sentence ends between two words.
fn ends_sentence(text: &str) -> bool {
    text.contains(". ") || text.contains("! ") || text.contains("? ")
}
