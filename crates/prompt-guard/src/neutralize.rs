//! Text made safe to stand in a prompt as data.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::invisible::{InvisibleKind, is_at_home, unseen};

/// Stands for characters that nobody would have seen.
const SHOWN: char = '\u{fffd}';

/// What a tokenizer may read as the end of a turn instead of as text.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<(?P<pipe>[|｜][A-Za-z0-9_▁]{1,40}[|｜])>|<(?P<turn>/s|start_of_turn|end_of_turn|<SYS>|</SYS>)>|\[(?P<inst>/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS))\]")
        .expect("the pattern is tested")
});

/// `text` with nothing unseen in it, `\n` as its only line break, and no special token of a chat template.
///
/// Unseen characters of the layout vanish; a run of others shows as one `�`, so that a reader knows
/// that something was there. The brackets of special tokens become `‹›` and `⟦⟧`. Text without any of
/// these, which is nearly all text, comes back as it is. Doing it again changes nothing.
pub fn neutralize(text: &str) -> Cow<'_, str> {
    let seen = seen(text);
    if !TOKEN.is_match(&seen) {
        return seen;
    }
    let defused = TOKEN.replace_all(&seen, |found: &regex::Captures<'_>| {
        let part = |name| found.name(name).map(|part| part.as_str());
        match (part("inst"), part("pipe").or(part("turn"))) {
            (Some(inst), _) => format!("⟦{inst}⟧"),
            (None, token) => format!("‹{}›", token.unwrap_or_default().replace(['<', '>'], "")),
        }
    });
    Cow::Owned(defused.into_owned())
}

fn seen(text: &str) -> Cow<'_, str> {
    let breaks_otherwise =
        |c: char| matches!(c, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if !text.chars().any(|c| unseen(c).is_some() || breaks_otherwise(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let after = characters.peek().copied();
        match unseen(c) {
            _ if c == '\r' && after == Some('\n') => {}
            _ if breaks_otherwise(c) => shown.push('\n'),
            None => shown.push(c),
            Some(_) if is_at_home(before, c, after) => shown.push(c),
            Some(InvisibleKind::ZeroWidth | InvisibleKind::Layout) => {}
            Some(_) if shown.ends_with(SHOWN) => {}
            Some(_) => shown.push(SHOWN),
        }
        // What was left out is nobody's neighbour.
        before = shown.chars().next_back();
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unseen_is_left() {
        for (text, expected) in [
            ("a\u{200b}b\u{ad}c\u{2060}", "abc"),
            ("a\u{202e}b\u{2066}\u{2069}c", "a\u{fffd}b\u{fffd}c"),
            ("x\u{e0041}\u{e0042}\u{e007f}y", "x\u{fffd}y"),
            ("a\r\nb\rc\u{2028}d\u{85}e", "a\nb\nc\nd\ne"),
            ("\u{1b}[2Jx", "\u{fffd}[2Jx"),
            ("<|im_start|>system", "‹|im_start|›system"),
            ("[INST] <<SYS>> </s>", "⟦INST⟧ ‹SYS› ‹/s›"),
            ("<|\u{200b}im_end|>", "‹|im_end|›"),
        ] {
            assert_eq!(neutralize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_belongs_to_its_script_stays() {
        for text in [
            "👨\u{200d}👩\u{200d}👧",
            "می\u{200c}خواهم",
            "❤\u{fe0f}",
            "f <| x |> g",
            "a[0] <b>",
            "कि\u{200d}",
        ] {
            assert_eq!(neutralize(text), text);
        }
    }
}
