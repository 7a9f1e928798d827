//! Refusal of notes that would not help, or that may do harm.

use std::sync::LazyLock;

use mc_prompt_guard::QUARANTINE_THRESHOLD;
use mc_sanitizer::Policy;
use regex::Regex;

use crate::note::{Import, Note, Reason, Refused};
use crate::text::{RECORD_MAX_CHARS, excerpt, fits, words};

/// Fewest words of a statement that names nothing in code.
const MIN_WORDS: usize = 4;
/// Fewest words of a statement that has a code span.
const MIN_WORDS_WITH_CODE: usize = 2;
/// Most words of a sentence that only refers to another file.
const POINTER_MAX_WORDS: usize = 14;

static ABOUT_FILE: LazyLock<Regex> = LazyLock::new(|| {
    let file = r"(?:file|document|guide|page|rule file|readme)";
    regex(&format!(r"(?i)^this {file}\b|^(?:the|these) (?:rules|instructions) in this {file}\b"))
});
static POINTER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:@\S+$|(?:also[, ]+)?(?:(?:for|when) [^.,]{1,80},?\s*)?(?:please |also )?",
        r"(?:see|refer to|check ?out|read|follow our|we['’]ve documented)\b)",
    ))
});

/// Names of what a pointer refers to.
static TARGET: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)[`/@]|\.md\b|\b(?:docs?|documentation|guides?|readme|section)\b"));

/// A note that is not screened yet: `statement` is the part of its content that is not a heading.
pub struct Candidate {
    pub note: Note,
    pub statement: String,
}

impl Import {
    /// Adds a note, or refuses it with a reason.
    pub(crate) fn add(&mut self, candidate: Candidate) {
        match reason_to_refuse(&candidate) {
            None => self.notes.push(candidate.note),
            Some(reason) => self.refuse(candidate.note.origin, &candidate.statement, reason),
        }
    }

    /// Refuses a part of the file.
    pub(crate) fn refuse(&mut self, origin: crate::Origin, text: &str, reason: Reason) {
        self.refused.push(Refused { origin, text: excerpt(text), reason });
    }
}

fn reason_to_refuse(candidate: &Candidate) -> Option<Reason> {
    let (content, statement) = (candidate.note.content.as_str(), candidate.statement.trim());
    if let Some(secret) = secret(content) {
        return Some(Reason::Secret(secret));
    }
    if let Some(family) = injection(content) {
        return Some(Reason::Injection(family));
    }
    let (count, has_code) = (words(statement), statement.contains('`'));
    let is_short = count < MIN_WORDS && !(has_code && count >= MIN_WORDS_WITH_CODE);
    let is_sentence = !statement.contains('\n');
    if ABOUT_FILE.is_match(statement) {
        Some(Reason::AboutFile)
    } else if is_pointer(statement) && is_sentence {
        Some(Reason::Pointer)
    } else if statement.ends_with('?') && is_sentence {
        Some(Reason::Question)
    } else if statement.ends_with(':') {
        Some(Reason::Incomplete)
    } else if is_short {
        Some(Reason::TooShort)
    } else if !fits(content, RECORD_MAX_CHARS) {
        Some(Reason::TooLong)
    } else {
        None
    }
}

fn is_pointer(statement: &str) -> bool {
    let is_short = words(statement) <= POINTER_MAX_WORDS;
    is_short && POINTER.is_match(statement) && TARGET.is_match(statement)
}

/// Returns the category of the first secret.
fn secret(text: &str) -> Option<&'static str> {
    let findings = mc_sanitizer::find(text, &Policy::default());
    let is_secret = |finding: &mc_sanitizer::Finding| finding.class == mc_sanitizer::Class::Secret;
    Some(findings.into_iter().find(is_secret)?.category)
}

/// Returns the family of a prompt injection.
fn injection(text: &str) -> Option<&'static str> {
    let detections = mc_prompt_guard::inspect(text);
    let sure = detections.iter().find(|one| one.confidence >= QUARANTINE_THRESHOLD)?;
    Some(sure.family.as_str())
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}
