//! Neutralizing: makes text safe as data in a prompt.

use std::borrow::Cow;
use std::ops::Range;

use mc_sanitizer::visible_text::{
    InvisibleKind, bare_sequence_end, invisible_kind, is_other_line_break, is_unprintable,
    sequence_end,
};
use unicode_normalization::UnicodeNormalization as _;

use crate::fold::Offsets;
use crate::special_tokens::TOKEN;

/// The character that replaces a run of invisible characters.
const REPLACEMENT: char = '\u{fffd}';
/// The brackets of special tokens, each with the one that replaces it.
const BRACKETS: [(char, char); 4] = [('<', '‹'), ('>', '›'), ('[', '⟦'), (']', '⟧')];

/// Returns `text` without invisible characters and special tokens of chat templates, with `\n` as
/// its only line break.
///
/// Zero-width and layout characters are removed; a run of others, or a terminal sequence, becomes
/// one `�`, so that a reader sees that something was there. The brackets of special tokens become
/// `‹›` and `⟦⟧`, even if a token contains invisible characters or full-width letters.
/// Escapes such as `\n` stay as they are written. Most text has none of these and is borrowed
/// unchanged. Neutralizing again changes nothing.
pub fn neutralize(text: &str) -> Cow<'_, str> {
    match without_invisible(text) {
        Cow::Borrowed(text) => with_replaced_brackets(text).map_or(Cow::Borrowed(text), Cow::Owned),
        Cow::Owned(text) => Cow::Owned(with_replaced_brackets(&text).unwrap_or(text)),
    }
}

/// Returns the bracket of special tokens that [`neutralize`] replaces by `c`; `None` if `c`
/// replaces no bracket.
pub fn original_bracket(c: char) -> Option<char> {
    BRACKETS.iter().find(|(_, replacement)| *replacement == c).map(|(bracket, _)| *bracket)
}

fn replaced_bracket(c: char) -> char {
    BRACKETS.iter().find(|(bracket, _)| *bracket == c).map_or(c, |(_, replacement)| *replacement)
}

fn without_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_unprintable(None, c, None)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let kind = invisible_kind(c);
        let sequence = kind.and_then(|_| sequence_end(text, at));
        at = sequence.unwrap_or(at + c.len_utf8());
        let after = text[at..].chars().next();
        // The next character can't belong to a removed one.
        let before = shown.chars().next_back();
        if !is_unprintable(before, c, after) {
            shown.push(c);
        } else if c == '\r' && after == Some('\n') {
            // The line feed follows.
        } else if is_other_line_break(c) {
            shown.push('\n');
        } else if !is_removed(kind) && before != Some(REPLACEMENT) {
            shown.push(REPLACEMENT);
        }
    }
    Cow::Owned(shown)
}

/// Whether an invisible character is removed instead of being replaced.
fn is_removed(kind: Option<InvisibleKind>) -> bool {
    matches!(kind, Some(InvisibleKind::ZeroWidth | InvisibleKind::Layout))
}

/// Returns `text` with other brackets around special tokens; `None` without any. The tokens are
/// matched as a reader sees them.
fn with_replaced_brackets(text: &str) -> Option<String> {
    if !text.chars().any(is_opening) {
        return None;
    }
    let (plain, offsets) = plain(text);
    let mut safe = String::new();
    let mut copied = 0;
    for found in TOKEN.find_iter(&plain) {
        for (at, bracket) in found.as_str().match_indices(BRACKETS.map(|pair| pair.0)) {
            let Range { start, end } = character(text, offsets.origin(found.start() + at));
            safe.push_str(&text[copied..start]);
            safe.extend(bracket.chars().map(replaced_bracket));
            copied = end;
        }
    }
    if copied == 0 {
        return None;
    }
    safe.push_str(&text[copied..]);
    Some(safe)
}

/// Whether a special token may begin with `c` or with a form of it.
fn is_opening(c: char) -> bool {
    match c {
        '<' | '[' => true,
        // Compatibility forms of brackets have higher code points.
        ..'\u{2000}' => false,
        _ => matches!(std::iter::once(c).nfkc().next(), Some('<' | '[')),
    }
}

/// Returns `text` without the characters that may be inside of a token, and with compatibility
/// forms replaced.
fn plain(text: &str) -> (Cow<'_, str>, Offsets) {
    let mut offsets = Offsets::default();
    if text.is_ascii() && !has_bare_sequence(text) {
        offsets.add(0, 0);
        return (Cow::Borrowed(text), offsets);
    }
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let bare = bare_sequence_end(text, at);
        at = bare.unwrap_or(at + c.len_utf8());
        if bare.is_some() || c == REPLACEMENT || invisible_kind(c).is_some() {
            continue;
        }
        for c in std::iter::once(c).nfkc() {
            offsets.add(plain.len(), start);
            plain.push(c);
        }
    }
    (Cow::Owned(plain), offsets)
}

fn has_bare_sequence(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| bare_sequence_end(text, at).is_some())
}

/// Returns the bytes of the character at `at`.
fn character(text: &str, at: usize) -> Range<usize> {
    at..at + text[at..].chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_brackets_have_an_original() {
        let text = concat!("<thi", "nk> [IN", "ST]");
        let neutral = neutralize(text);
        assert_ne!(neutral, text);
        let restored: String = neutral.chars().map(|c| original_bracket(c).unwrap_or(c)).collect();
        assert_eq!(restored, text);
        assert_eq!(original_bracket('<'), None);
    }

    #[test]
    fn invisible_characters_are_removed_or_shown() {
        for (text, expected) in [
            ("a\u{200b}b\u{ad}c\u{2060}", "abc"),
            ("a\u{202e}b\u{2066}\u{2069}c", "a\u{fffd}b\u{fffd}c"),
            ("x\u{e0041}\u{e0042}\u{e007f}y", "x\u{fffd}y"),
            ("a\r\nb\rc\u{2028}d\u{85}e", "a\nb\nc\nd\ne"),
            ("\u{1b}[2Jx", "\u{fffd}x"),
            ("\u{1b} x [31mred[0m", "\u{fffd} x [31mred[0m"),
            ("<|im_start|>system", "‹|im_start|›system"),
            ("[INST] <<SYS>> </s>", "⟦INST⟧ ‹‹SYS›› ‹/s›"),
            ("<s><bos><eos>", "‹s›‹bos›‹eos›"),
            ("<BOS_TOKEN> <EOS_TOKEN>", "‹BOS_TOKEN› ‹EOS_TOKEN›"),
            ("<tool_call>{}</tool_call>", "‹tool_call›{}‹/tool_call›"),
            ("<tool_response></tool_response>", "‹tool_response›‹/tool_response›"),
            ("<think>a</think>", "‹think›a‹/think›"),
            ("[THINK]a[/THINK]", "⟦THINK⟧a⟦/THINK⟧"),
            ("[TOOL_CALLS]a[CALL_ID]b[ARGS]{}", "⟦TOOL_CALLS⟧a⟦CALL_ID⟧b⟦ARGS⟧{}"),
            ("[TOOL_RESULTS]a[TOOL_CONTENT]b", "⟦TOOL_RESULTS⟧a⟦TOOL_CONTENT⟧b"),
            ("<th\u{200b}ink><<tool_call>>", "‹think›<‹tool_call›>"),
            ("\u{1b}]8;;https://a.example\u{7}x\u{9b}31m", "\u{fffd}x\u{fffd}"),
            ("\u{1b}]0;<think>\u{7}x\u{1b}]open <eos>", "\u{fffd}x\u{fffd}]open ‹eos›"),
            ("<|\u{200b}im_end|>", "‹|im_end|›"),
        ] {
            assert_eq!(neutralize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn tokens_are_matched_as_a_reader_sees_them() {
        for (text, expected) in [
            ("<tool\u{ad}_call>", "‹tool_call›"),
            ("＜think＞ ＜／ｔｈｉｎｋ＞", "‹think› ‹／ｔｈｉｎｋ›"),
            ("<tool\u{1b}[0m_call>", "‹tool\u{fffd}_call›"),
            ("<tool[0m_call>", "‹tool[0m_call›"),
            ("<|im\u{1b}]8;;https://a.example\u{1b}\\_start|>", "‹|im\u{fffd}_start|›"),
            ("[IN\u{e0041}ST] ［ＡＲＧＳ］", "⟦IN\u{fffd}ST⟧ ⟦ＡＲＧＳ⟧"),
            ("<\u{fe0f}s> <<S\u{202e}YS>>", "‹\u{fe0f}s› ‹‹S\u{fffd}YS››"),
            ("﹤eos﹥ <\u{fb06}art_of_turn>", "‹eos› ‹\u{fb06}art_of_turn›"),
            ("</rec\u{200b}alled x> ＜ ＲＥＣＡＬＬＥＤ", "‹/recalled x> ‹ ＲＥＣＡＬＬＥＤ"),
        ] {
            let safe = neutralize(text);
            assert_eq!(safe, expected, "{text:?}");
            assert_eq!(neutralize(&safe), safe, "{text:?}");
        }
    }

    #[test]
    fn escapes_stay_as_they_are_written() {
        let code = r#"let a = "one\ntwo\x1b[31m\u200b \u003cthink\u003e \e]0;title\a";"#;
        assert_eq!(neutralize(code), code);
        assert_eq!(neutralize(r"\e]0;<think>\a \x1b[ARGS]"), r"\e]0;‹think›\a \x1b⟦ARGS⟧");
    }

    #[test]
    fn characters_that_a_script_needs_stay() {
        for text in [
            "👨\u{200d}👩\u{200d}👧",
            "می\u{200c}خواهم",
            "❤\u{fe0f}",
            "f <| x |> g",
            "a[0] <b>",
            "Vec<sort> <thinking> <small> [args] [THINKING]",
            "कि\u{200d}",
        ] {
            assert_eq!(neutralize(text), text);
        }
    }
}
