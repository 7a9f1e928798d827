//! The visible text, where it differs from the text: invisible characters, escapes, terminal
//! sequences, full-width forms.

use std::ops::Range;

use super::regions::regions;
use super::{View, ViewKind};
use crate::visible_text::{
    self, Part, Piece, Shown, ascii_of_tag, invisible_kind, string_of_sequence,
};

/// Returns the visible text of each region with a change, and a view for each other way to see it.
pub(super) fn views(text: &str) -> impl Iterator<Item = View> + '_ {
    let mut from = 0;
    let changes = std::iter::from_fn(move || {
        let at = visible_text::next_change(text, from)?;
        from = at + 1;
        Some(at)
    });
    regions(text, changes).flat_map(move |region| {
        let region = with_key_block(text, region);
        let (usual, mut others) = view(text, &region, Rendering::Visible);
        add_ways(&mut others, &text[region.clone()]);
        let others = others.into_iter().map(move |way| view(text, &region, way).0);
        std::iter::once(usual).chain(others)
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

/// A way to see a text: readers and renderers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rendering {
    /// The visible text.
    Visible,
    /// With a space for each terminal sequence, which may be between a token and a word.
    Spaced,
    /// With the strings of sequences, such as titles: a renderer that escapes shows them.
    WithStrings,
    /// Without the tag characters of Unicode, which stand for letters or split a token.
    WithoutTags,
    /// Without the characters that a backspace erases.
    Overstruck,
    /// With escapes as they are written, as renderers print them.
    RawEscapes,
}

const BACKSPACE: char = '\u{8}';

/// Adds and removes ways to see a region that depend on its whole text.
fn add_ways(ways: &mut Vec<Rendering>, region: &str) {
    let is_invisible = |c| invisible_kind(c).is_some();
    ways.retain(|way| *way != Rendering::RawEscapes || region.contains(is_invisible));
    if region.contains(BACKSPACE) {
        ways.push(Rendering::Overstruck);
    }
}

/// Returns a view of a region, and the ways in which others may see its pieces.
fn view(text: &str, region: &Range<usize>, way: Rendering) -> (View, Vec<Rendering>) {
    let mut view = View::with_capacity(ViewKind::Decoded, region.len());
    let mut others = Vec::new();
    let mut end = region.start;
    for part in visible_text::parts(&text[region.clone()]) {
        let at = region.start + part.at().start..region.start + part.at().end;
        let is_escape = at.len() > 1 && text.as_bytes()[at.start] == b'\\';
        if is_escape {
            add(&mut others, Rendering::RawEscapes);
        }
        if way == Rendering::RawEscapes {
            push_written(&mut view, text, end..at.start);
        }
        end = at.end;
        match part {
            _ if is_escape && way == Rendering::RawEscapes => push_written(&mut view, text, at),
            Part::Plain(_) => {
                let is_erased = way == Rendering::Overstruck && is_before_backspace(text, at.end);
                view.push_plain(text, at.start..at.end - usize::from(is_erased));
            }
            Part::Piece(Piece { shown: Shown::Sequence, .. }) => {
                push_sequence(&mut view, &mut others, text, at, way);
            }
            Part::Piece(Piece { shown: Shown::Char(c), .. }) => {
                let is_tag = is_tag(text, &at);
                if is_tag {
                    add(&mut others, Rendering::WithoutTags);
                }
                let is_left_out = match way {
                    Rendering::Overstruck => is_before_backspace(text, at.end),
                    Rendering::WithoutTags => is_tag,
                    _ => false,
                };
                if !is_left_out {
                    view.push(c, at);
                }
            }
        }
    }
    if way == Rendering::RawEscapes {
        push_written(&mut view, text, end..region.end);
    }
    (view, others)
}

fn is_before_backspace(text: &str, end: usize) -> bool {
    text[end..].starts_with(BACKSPACE)
}

fn add(ways: &mut Vec<Rendering>, way: Rendering) {
    if !ways.contains(&way) {
        ways.push(way);
    }
}

/// Appends the replacement of a terminal sequence.
fn push_sequence(
    view: &mut View,
    others: &mut Vec<Rendering>,
    text: &str,
    at: Range<usize>,
    way: Rendering,
) {
    add(others, Rendering::Spaced);
    let string = string_of_sequence(text, &at);
    if string.is_some() {
        add(others, Rendering::WithStrings);
    }
    match (way, string) {
        (Rendering::Spaced, _) => view.push(' ', at),
        (Rendering::WithStrings, Some(string)) => {
            for piece in visible_text::pieces(&text[string.clone()]) {
                if let Shown::Char(c) = piece.shown {
                    view.push(c, string.start + piece.at.start..string.start + piece.at.end);
                }
            }
        }
        _ => {}
    }
}

/// Appends the characters of a part of the text that are not invisible.
fn push_written(view: &mut View, text: &str, part: Range<usize>) {
    // The pieces of one form have the same bytes, so a part may end before its start.
    if part.is_empty() {
        return;
    }
    for (at, c) in text[part.clone()].char_indices() {
        if invisible_kind(c).is_none() {
            view.push(c, part.start + at..part.start + at + c.len_utf8());
        }
    }
}

/// Whether the bytes `at` are a tag character of Unicode that stands for a letter.
fn is_tag(text: &str, at: &Range<usize>) -> bool {
    /// Length of a tag, in bytes.
    const LENGTH: usize = 4;
    at.len() == LENGTH && text[at.clone()].chars().next().and_then(ascii_of_tag).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        views(text).map(|view| view.text).collect()
    }

    #[test]
    fn view_spans_map_to_escapes_and_invisible_characters() {
        let text = "first\nsay \"a\\u003db\u{200b}c\\n\"\nlast";
        let view = views(text).next().expect("one region");
        assert_eq!(view.text, "say \"a=bc\n\"");
        assert_eq!(&text[view.origin(&(5..9))], "a\\u003db\u{200b}c");
    }

    #[test]
    fn sequence_is_removed_and_separates() {
        assert_eq!(texts("a\u{1b}[1mb"), ["ab", "a b"]);
        assert_eq!(views("a[0] = 'b';").count(), 0);
    }

    #[test]
    fn parts_are_seen_as_each_renderer_shows_them() {
        assert_eq!(texts("a\u{1b}]0;b\u{200b}c\u{7}d"), ["ad", "a d", "a0;bcd"]);
        assert_eq!(texts(r"a\e]0;b\ad"), ["ad", "a d", "a0;bd"]);
        assert_eq!(texts("a\u{e0062}c"), ["abc", "ac"]);
        assert_eq!(texts("a\u{8}ab\u{8}b"), ["aabb", "ab"]);
        assert_eq!(texts("a\u{ad}b\\x3dc\\x00ｄ"), ["ab=cd", "ab\\x3dc\\x00d"]);
    }

    #[test]
    fn other_ways_have_the_bytes_that_they_stand_for() {
        let text = "a\u{1b}]0;b\u{200b}c\u{7}d\\x3d";
        let origins = |way| {
            let (view, _) = view(text, &(0..text.len()), way);
            let part = view.text.find('b').map(|at| view.origin(&(at..view.text.len())));
            part.map(|at| text[at].to_owned())
        };
        assert_eq!(origins(Rendering::WithStrings).as_deref(), Some("b\u{200b}c\u{7}d\\x3d"));
        assert_eq!(origins(Rendering::RawEscapes), None);
        assert_eq!(view(text, &(0..text.len()), Rendering::RawEscapes).0.text, "ad\\x3d");
    }
}
