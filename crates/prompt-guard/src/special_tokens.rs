//! Special tokens, which a tokenizer may read as the end of a turn, as a tool call or as a thought
//! instead of as text. Each part is a list of alternatives of a regex.

use std::sync::LazyLock;

use regex::Regex;

use crate::patterns::regex;

/// Name of the delimiters around recalled text, which stored text must not imitate.
pub const DELIMITER: &str = "recalled";

/// Tokens of Mistral, in square brackets, that begin or end a part of a prompt.
pub(crate) const SQUARE_PARTS: &str = "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS";
/// Token of Mistral that begins a tool call.
pub(crate) const SQUARE_CALLS: &str = "TOOL_CALLS";
/// Other tokens of Mistral, which occur in ordinary text, too.
const SQUARE_OTHERS: &str = "TOOL_CONTENT|CALL_ID|ARGS|THINK";

/// Tokens of Gemma that begin or end a turn, in angle brackets.
pub(crate) const TURNS: &str = "start_of_turn|end_of_turn";
/// Tokens of Llama 2 around a system prompt.
pub(crate) const SYSTEM: &str = "<</?SYS>>";
/// Other tokens of Llama, Gemma, Qwen and Command R, which occur in ordinary text, too.
const ANGLE_OTHERS: &str = "/?s|bos|eos|BOS_TOKEN|EOS_TOKEN|/?tool_call|/?tool_response|/?think";

/// Every special token, and the beginning of a delimiter of recalled text.
pub(crate) static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives = [
        r"<[|｜][A-Za-z0-9_▁]{1,40}[|｜]>".to_owned(),
        SYSTEM.to_owned(),
        format!("<(?:{ANGLE_OTHERS}|{TURNS})>"),
        format!(r"\[/?(?:{SQUARE_PARTS}|{SQUARE_CALLS}|{SQUARE_OTHERS})\]"),
        format!(r"(?i:<[\s/\\|]*{DELIMITER})"),
    ];
    regex(&alternatives.join("|"))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_matched_whole() {
        for token in [
            "<|im_start|>",
            "<｜end▁of▁sentence｜>",
            "<<SYS>>",
            "<</SYS>>",
            "</s>",
            "<eos>",
            "<start_of_turn>",
            "</tool_call>",
            "<think>",
            "[/INST]",
            "[TOOL_CALLS]",
            "[ARGS]",
        ] {
            assert_eq!(TOKEN.find(token).map(|found| found.as_str()), Some(token));
        }
        for delimiter in ["<recalled", "</Recalled", "< / \\RECALLED"] {
            assert_eq!(TOKEN.find(delimiter).map(|found| found.as_str()), Some(delimiter));
        }
        for text in ["", "<sort>", "<thinking>", "[args]", "f <| x |> g", "recalled"] {
            assert!(!TOKEN.is_match(text), "{text}");
        }
    }
}
