//! Placeholders of findings.

use std::ops::Range;
use std::sync::LazyLock;

use mc_sanitizer::{Class, Finding};
use regex::Regex;

use crate::line::lines;
use crate::mapped_text::{Kind, MappedText};

/// The category of a text that is masked as a whole, as in the sanitizer.
const UNSTABLE: &str = "unstable-text";

/// Maximum length of a placeholder, in bytes.
pub(crate) const MAX_PLACEHOLDER_BYTES: usize = 80;
/// A placeholder of the sanitizer.
pub(crate) static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[(?:secret|personal):[A-Za-z0-9._-]{1,64}\]").expect("the regex is valid")
});

/// A masked part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask {
    /// The bytes of the text.
    pub text: Range<usize>,
    /// Secret or personal data.
    pub class: Class,
    /// Category of the finding.
    pub category: &'static str,
}

/// Returns the masks of findings, in order and without overlaps. Their ends are widened to the ends
/// of characters and line endings.
pub(crate) fn masks(text: &str, findings: &[Finding]) -> Vec<Mask> {
    let widened = findings.iter().filter_map(|finding| {
        let mut start = text.floor_char_boundary(finding.span.start);
        let mut end = text.ceil_char_boundary(finding.span.end.min(text.len()));
        start -= usize::from(start < end && splits_line_ending(text, start));
        end += usize::from(splits_line_ending(text, end));
        let (class, category) = (finding.class, finding.category);
        (start < end).then_some(Mask { text: start..end, class, category })
    });
    let mut sorted: Vec<Mask> = widened.collect();
    sorted.sort_by_key(|mask| mask.text.start);
    let mut masks: Vec<Mask> = Vec::with_capacity(sorted.len());
    for mask in sorted {
        match masks.last_mut().filter(|last| mask.text.start < last.text.end) {
            Some(last) => last.text.end = last.text.end.max(mask.text.end),
            None => masks.push(mask),
        }
    }
    masks
}

/// Returns a mask of the whole text.
pub(super) fn whole(text: &str) -> Vec<Mask> {
    vec![Mask { text: 0..text.len(), class: Class::Secret, category: UNSTABLE }]
}

/// Returns the text with placeholders. The line endings of masked text follow its placeholder, so
/// that line numbers stay the same.
pub(super) fn masked(text: &str, masks: &[Mask]) -> MappedText {
    let mut mapped = MappedText::default();
    let mut kept_to = 0;
    for mask in masks {
        push_verbatim(&mut mapped, text, kept_to..mask.text.start);
        push_masked(&mut mapped, text, mask);
        kept_to = mask.text.end;
    }
    push_verbatim(&mut mapped, text, kept_to..text.len());
    mapped
}

fn push_verbatim(mapped: &mut MappedText, text: &str, range: Range<usize>) {
    if !range.is_empty() {
        mapped.push(&text[range.clone()], range, Kind::Verbatim);
    }
}

fn push_masked(mapped: &mut MappedText, text: &str, mask: &Mask) {
    let mut lines = lines(&text[mask.text.clone()]).into_iter();
    let Some(first) = lines.next() else { return };
    let start = mask.text.start;
    let placeholder = format!("[{}:{}]", mask.class.as_str(), mask.category);
    mapped.push(&placeholder, start..start + first.text.end, Kind::Masked);
    let mut before = first;
    // Each line ending has the rest of the text up to the next one.
    while let Some(ending) = before.ending {
        let next = lines.next();
        let end = next.as_ref().map_or(before.end(), |next| next.text.end);
        mapped.push(ending.as_str(), start + before.text.end..start + end, Kind::Masked);
        let Some(next) = next else { break };
        before = next;
    }
}

fn splits_line_ending(text: &str, at: usize) -> bool {
    at > 0 && text.as_bytes()[at - 1] == b'\r' && text.as_bytes().get(at) == Some(&b'\n')
}
