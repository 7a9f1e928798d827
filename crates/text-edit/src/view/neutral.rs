//! Neutralizing with a mapping to the text.
//!
//! [`mc_prompt_guard::neutralize`] first replaces invisible characters, then the brackets of
//! special tokens. The first step is repeated here by the same functions. The second replaces
//! single characters, so its result is compared with its input. Property tests compare the shown
//! text with that of `neutralize`.

use std::borrow::Cow;
use std::ops::Range;

use mc_prompt_guard::neutralize;
use mc_sanitizer::visible_text::{
    InvisibleKind, invisible_kind, is_other_line_break, is_unprintable, sequence_end,
};

use crate::mapped_text::{Kind, MappedText};

/// The character that replaces a run of invisible characters.
pub(crate) const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Returns the neutralized form; `None` if its characters can't be matched to those of `masked`.
pub(super) fn neutral(masked: &MappedText) -> Option<MappedText> {
    let visible = match neutralize(&masked.shown) {
        Cow::Borrowed(_) => return Some(masked.clone()),
        Cow::Owned(_) => visible(masked),
    };
    match neutralize(&visible.shown) {
        Cow::Borrowed(_) => Some(visible),
        Cow::Owned(neutral) => with_brackets(&visible, &neutral),
    }
}

/// Replaces or removes invisible characters.
fn visible(masked: &MappedText) -> MappedText {
    let text = masked.shown.as_str();
    let mut mapped = MappedText::default();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let kind = invisible_kind(c);
        let sequence = kind.and_then(|_| sequence_end(text, at));
        at = sequence.unwrap_or(at + c.len_utf8());
        let after = text[at..].chars().next();
        let before = mapped.shown.chars().next_back();
        if !is_unprintable(before, c, after) {
            let (range, kind) = origin(masked, start..at);
            mapped.push(&text[start..at], range, kind);
            continue;
        }
        let is_crlf = c == '\r' && after == Some('\n');
        at += usize::from(is_crlf);
        let (range, origin) = origin(masked, start..at);
        let origin = origin.max(Kind::Converted);
        if is_crlf || is_other_line_break(c) {
            mapped.push("\n", range, origin);
        } else if before == Some(REPLACEMENT) {
            // Without the replacement character before, it would be shown.
            mapped.extend_last(range, origin);
        } else if is_removed(kind) {
            mapped.push_hidden(range, origin);
        } else {
            mapped.push("\u{fffd}", range, origin);
        }
    }
    mapped
}

/// Whether an invisible character is removed instead of being replaced.
fn is_removed(kind: Option<InvisibleKind>) -> bool {
    matches!(kind, Some(InvisibleKind::ZeroWidth | InvisibleKind::Layout))
}

/// Returns the bytes of the text and the kind of a part of the masked text.
fn origin(masked: &MappedText, part: Range<usize>) -> (Range<usize>, Kind) {
    (masked.text_range(&part, false), masked.kind(&part))
}

/// Returns `visible` with the characters of `neutral`, which replaces single characters of it.
fn with_brackets(visible: &MappedText, neutral: &str) -> Option<MappedText> {
    let mut mapped = MappedText::default();
    let mut replaced = neutral.chars();
    for segment in &visible.segments {
        let part = &visible.shown[segment.shown.clone()];
        if part.is_empty() {
            mapped.push_hidden(segment.text.clone(), segment.kind);
        }
        for (offset, c) in part.char_indices() {
            let new = replaced.next()?;
            let range = match segment.kind {
                Kind::Verbatim => {
                    let start = segment.text.start + offset;
                    start..start + c.len_utf8()
                }
                Kind::Converted | Kind::Masked => segment.text.clone(),
            };
            let kind = if new == c { segment.kind } else { segment.kind.max(Kind::Converted) };
            mapped.push(new.encode_utf8(&mut [0; 4]), range, kind);
        }
    }
    replaced.next().is_none().then_some(mapped)
}
