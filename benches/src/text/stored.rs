//! A note as the service stores it.

use chrono::{TimeDelta, Utc};
use mc_domain::{RecordKind, SourceKind};
use mc_memory::normalize::content_hash;
use mc_memory::simhash::simhash;
use mc_memory::text::{cut, sentences};
use mc_sanitizer::{Sanitized, mask};
use mc_store::passages::{NewPassage, embedding_text};
use mc_store::records::RecordBody;

use super::Note;

/// Maximum characters of a title, which is the first sentence.
const TITLE_CHARS: usize = 80;
const KINDS: [RecordKind; 4] =
    [RecordKind::Fact, RecordKind::Gotcha, RecordKind::Pattern, RecordKind::Rule];

/// Returns the kind of the record with this number.
pub fn kind(number: usize) -> RecordKind {
    KINDS[number % KINDS.len()]
}

/// Returns the record.
pub fn body(number: usize, note: &Note) -> RecordBody {
    RecordBody {
        kind: kind(number),
        title: mask(&title(note)).text,
        content: mask(&note.text).text,
        scope: vec![note.scope.clone()],
        tags: vec![note.tag.clone()],
        owner: None,
        ttl: Utc::now() + TimeDelta::days(i64::from(mc_store::records::DEFAULT_TTL_DAYS)),
        is_ttl_explicit: false,
        quality: serde_json::json!({ "novelty": 1.0, "dup": 0.0, "usefulness": 0.6 }),
        meta: mc_domain::RecordMeta::default(),
        task: None,
        dialog: None,
        content_hash: content_hash(&note.text),
        simhash: simhash(&note.text),
    }
}

/// Returns the passage.
pub fn passage(number: usize, note: &Note) -> NewPassage {
    NewPassage {
        record_kind: Some(kind(number)),
        title: mask(&title(note)).text,
        location: Sanitized::default(),
        symbols: vec![],
        scope: vec![note.scope.clone()],
        tags: vec![note.tag.clone()],
        language: String::new(),
        author: Sanitized::default(),
        context: Sanitized::default(),
        text: mask(&note.text).text,
        lines: None,
    }
}

/// Returns the text of a record that the service embeds.
pub fn text_to_embed(note: &Note) -> String {
    embedding_text(SourceKind::Memory, &title(note), "", "", &note.text)
}

fn title(note: &Note) -> String {
    let first = sentences(&note.text).next().unwrap_or_default();
    cut(first, TITLE_CHARS)
}
