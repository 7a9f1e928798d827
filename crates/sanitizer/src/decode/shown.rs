//! The visible text, where it differs from the text: invisible characters, escapes, terminal
//! sequences, full-width forms.

use std::ops::Range;

use super::regions::regions;
use super::{View, ViewKind};
use crate::visible_text::{self, Shown};

/// Returns the visible text of each region with a change. A region with terminal sequences has two
/// views: a sequence may be inside of a token, or between a token and a word.
pub(super) fn views(text: &str) -> impl Iterator<Item = View> + '_ {
    let mut from = 0;
    let changes = std::iter::from_fn(move || {
        let at = visible_text::next_change(text, from)?;
        from = at + 1;
        Some(at)
    });
    regions(text, changes).flat_map(move |region| {
        let region = with_key_block(text, region);
        let (joined, has_sequences) = view(text, &region, None);
        let spaced = has_sequences.then(|| view(text, &region, Some(' ')).0);
        std::iter::once(joined).chain(spaced)
    })
}

/// Returns the region with the key block that it may be the frame of.
fn with_key_block(text: &str, region: Range<usize>) -> Range<usize> {
    const MAX_BLOCK: usize = 4096;
    if !text[region.clone()].contains("---") {
        return region;
    }
    region.start..text.ceil_char_boundary((region.end + MAX_BLOCK).min(text.len()))
}

/// Returns the visible text of a region with `sequence` in place of each terminal sequence, and whether
/// there is one.
fn view(text: &str, region: &Range<usize>, sequence: Option<char>) -> (View, bool) {
    let mut view = View::empty(ViewKind::Decoded);
    let mut has_sequences = false;
    for piece in visible_text::pieces(&text[region.clone()]) {
        let at = region.start + piece.at.start..region.start + piece.at.end;
        match piece.shown {
            Shown::Char(c) => view.push(c, at),
            Shown::Sequence => {
                has_sequences = true;
                if let Some(c) = sequence {
                    view.push(c, at);
                }
            }
        }
    }
    (view, has_sequences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_spans_map_to_escapes_and_invisible_characters() {
        let text = "first\nsay \"a\\u003db\u{200b}c\\n\"\nlast";
        let view = views(text).next().expect("one region");
        assert_eq!(view.text, "say \"a=bc\n\"");
        assert_eq!(&text[view.origin(&(5..9))], "a\\u003db\u{200b}c");
    }

    #[test]
    fn sequence_is_removed_and_separates() {
        let texts: Vec<String> = views("a\u{1b}[1mb").map(|view| view.text).collect();
        assert_eq!(texts, ["ab", "a b"]);
        assert_eq!(views("a[0] = 'b';").count(), 0);
    }
}
