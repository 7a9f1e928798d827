//! Neutralizing: makes text safe as data in a prompt.

use std::borrow::Cow;
use std::sync::LazyLock;

use mc_sanitizer::visible_text::{InvisibleKind, invisible_kind, is_legitimate};
use regex::Regex;

use crate::patterns::regex;

/// The character that replaces a run of invisible characters.
const REPLACEMENT: char = '\u{fffd}';

/// Special tokens, which a tokenizer may read as the end of a turn, as a tool call or as a thought
/// instead of as text. Llama, Gemma, Qwen and Command R have angle brackets, Mistral square ones.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"<(?P<pipe>[|｜][A-Za-z0-9_▁]{1,40}[|｜])>|<(?P<angle>/?s|bos|eos|BOS_TOKEN|EOS_TOKEN|",
        r"start_of_turn|end_of_turn|<SYS>|</SYS>|/?(?:tool_call|tool_response|think))>|",
        r"\[(?P<square>/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|",
        r"TOOL_CONTENT|CALL_ID|ARGS|THINK))\]",
    ))
});

/// Returns `text` without invisible characters and special tokens of chat templates, with `\n` as
/// its only line break.
///
/// Zero-width and layout characters are removed; a run of others becomes one `�`, so that a reader
/// sees that something was there. The brackets of special tokens become `‹›` and `⟦⟧`. Most text
/// has none of these and is borrowed unchanged. Neutralizing again changes nothing.
pub fn neutralize(text: &str) -> Cow<'_, str> {
    let without_invisible = without_invisible(text);
    if !TOKEN.is_match(&without_invisible) {
        return without_invisible;
    }
    let defused = TOKEN.replace_all(&without_invisible, |found: &regex::Captures<'_>| {
        let part = |name| found.name(name).map(|part| part.as_str());
        match (part("square"), part("pipe").or(part("angle"))) {
            (Some(token), _) => format!("⟦{token}⟧"),
            (None, token) => format!("‹{}›", token.unwrap_or_default().replace(['<', '>'], "")),
        }
    });
    Cow::Owned(defused.into_owned())
}

fn without_invisible(text: &str) -> Cow<'_, str> {
    let is_other_line_break =
        |c: char| matches!(c, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if !text.chars().any(|c| invisible_kind(c).is_some() || is_other_line_break(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let after = characters.peek().copied();
        match invisible_kind(c) {
            _ if c == '\r' && after == Some('\n') => {}
            _ if is_other_line_break(c) => shown.push('\n'),
            None => shown.push(c),
            Some(_) if is_legitimate(before, c, after) => shown.push(c),
            Some(InvisibleKind::ZeroWidth | InvisibleKind::Layout) => {}
            Some(_) if shown.ends_with(REPLACEMENT) => {}
            Some(_) => shown.push(REPLACEMENT),
        }
        // A removed character is no neighbor.
        before = shown.chars().next_back();
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed_or_shown() {
        for (text, expected) in [
            ("a\u{200b}b\u{ad}c\u{2060}", "abc"),
            ("a\u{202e}b\u{2066}\u{2069}c", "a\u{fffd}b\u{fffd}c"),
            ("x\u{e0041}\u{e0042}\u{e007f}y", "x\u{fffd}y"),
            ("a\r\nb\rc\u{2028}d\u{85}e", "a\nb\nc\nd\ne"),
            ("\u{1b}[2Jx", "\u{fffd}[2Jx"),
            ("<|im_start|>system", "‹|im_start|›system"),
            ("[INST] <<SYS>> </s>", "⟦INST⟧ ‹SYS› ‹/s›"),
            ("<s><bos><eos>", "‹s›‹bos›‹eos›"),
            ("<BOS_TOKEN> <EOS_TOKEN>", "‹BOS_TOKEN› ‹EOS_TOKEN›"),
            ("<tool_call>{}</tool_call>", "‹tool_call›{}‹/tool_call›"),
            ("<tool_response></tool_response>", "‹tool_response›‹/tool_response›"),
            ("<think>a</think>", "‹think›a‹/think›"),
            ("[THINK]a[/THINK]", "⟦THINK⟧a⟦/THINK⟧"),
            ("[TOOL_CALLS]a[CALL_ID]b[ARGS]{}", "⟦TOOL_CALLS⟧a⟦CALL_ID⟧b⟦ARGS⟧{}"),
            ("[TOOL_RESULTS]a[TOOL_CONTENT]b", "⟦TOOL_RESULTS⟧a⟦TOOL_CONTENT⟧b"),
            ("<th\u{200b}ink><<tool_call>>", "‹think›<‹tool_call›>"),
            (
                "\u{1b}]8;;https://a.example\u{7}x\u{9b}31m",
                "\u{fffd}]8;;https://a.example\u{fffd}x\u{fffd}31m",
            ),
            ("<|\u{200b}im_end|>", "‹|im_end|›"),
        ] {
            assert_eq!(neutralize(text), expected, "{text:?}");
        }
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
