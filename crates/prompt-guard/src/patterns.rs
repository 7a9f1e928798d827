//! Markers of turns and prompts, as the chat templates of model vendors publish them, and text that
//! looks like a tool call.

use std::sync::LazyLock;

use regex::Regex;

use crate::detection::Family;
use crate::inspect::Signal;
use crate::special_tokens::{DELIMITER, SQUARE_CALLS, SQUARE_PARTS, SYSTEM, TURNS};

/// A regex whose matches are signals.
struct Pattern {
    confidence: f32,
    reason: &'static str,
    regex: Regex,
}

fn pattern(confidence: f32, reason: &'static str, text: &str) -> Pattern {
    Pattern { confidence, reason, regex: regex(text) }
}

pub(crate) fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a valid regex")
}

pub(crate) fn find(plain: &str, signals: &mut Vec<Signal>) {
    for (family, patterns) in [(Family::Marker, &*MARKERS), (Family::ToolCall, &*TOOL_CALLS)] {
        for &Pattern { confidence, reason, ref regex } in patterns {
            let found = regex.find_iter(plain).map(|found| found.range());
            signals.extend(found.map(|span| Signal { family, span, confidence, reason }));
        }
    }
}

/// The markers of the templates of `ChatML`, Llama 2 and 3, Gemma, Mistral, `DeepSeek`, Phi,
/// Command R, Alpaca and Vicuna, and of the harmony format.
#[rustfmt::skip]
static MARKERS: LazyLock<Vec<Pattern>> = LazyLock::new(|| vec![
    pattern(0.9, "a special token of a chat template", concat!(
        r"(?i)<[|｜]\s?(?:im_start|im_end|im_sep|system|user|assistant|developer|endoftext|",
        r"endofprompt|begin_of_text|end_of_text|eot_id|eom_id|start_header_id|end_header_id|",
        r"python_tag|start|end|message|channel|return|call|constrain|end_of_turn|",
        r"start_of_turn_token|end_of_turn_token|system_token|user_token|chatbot_token|",
        r"tool_call|tool_response|begin▁of▁sentence|end▁of▁sentence)\s?[|｜]>",
    )),
    pattern(0.85, "a marker of a chat template",
        &format!(r"\[/?(?:{SQUARE_PARTS})\]|{SYSTEM}|<(?:{TURNS})>|</?s>\s*\[INST")),
    pattern(0.6, "a heading that begins a turn", concat!(
        r"(?im)^[\t ]{0,3}#{2,4}[\t ]*(?:system(?:[\t ]+(?:prompt|message|note|override))?|",
        r"instruction|human|assistant|user|response)[\t ]*:",
    )),
    pattern(0.3, "a line that begins as the system's", concat!(
        r"(?im)^[\t >*_]{0,4}(?:system|developer|sysadmin|система|システム|系统)(?:",
        r"[\t ]+(?:prompt|message|note|override|notice|instruction))?[*_]{0,2}[\t ]?[:：]",
    )),
    pattern(0.45, "a line that begins as the system's", concat!(
        r"(?im)^[\t >*_]{0,4}(?:system|developer)[\t ]+(?:prompt|override|",
        r"instruction)s?[*_]{0,2}[\t ]?:",
    )),
    pattern(0.35, "a line that begins a turn",
        r"(?m)^(?:\n\n)?(?:Human|Assistant|H|AI Assistant)[:：]"),
    pattern(0.6, "turns of a conversation with a model", concat!(
        r"(?m)^Human[:：][^\n]*\n{1,3}(?:[^\n]+\n){0,3}\n?Assistant[:：]|",
        r"^Assistant[:：][^\n]*\n{1,3}(?:[^\n]+\n){0,3}\n?Human[:：]",
    )),
    pattern(0.9, "a marker of this service's own responses",
        &format!(r"(?i)</?[\t ]*{DELIMITER}\b")),
    pattern(0.8, "a line that pretends to end or begin the data", concat!(
        r"(?i)(?:[-=*#_~]{3,}|\[|<)[\t ]*(?:end|begin|start)(?:[\t ]+of)?[\t ]+(?:the",
        r"[\t ]+)?(?:(?:retrieved|recalled|untrusted|external|user|system|team|quoted|new|",
        r"provided)[\t ]+)?(?:data|context|document|documents|memory|memories|input|prompt|",
        r"instructions|system[\t ]+prompt|content|tool[\t ]+output|tool[\t ]+result|",
        r"search[\t ]+results)[\t ]*(?:[-=*#_~]{3,}|\]|>)",
    )),
]);

/// The formats of tool calls. Repetitions are bounded, so that each regex reads a bounded number of
/// bytes from each position.
#[rustfmt::skip]
static TOOL_CALLS: LazyLock<Vec<Pattern>> = LazyLock::new(|| vec![
    pattern(0.85, "the markup of a tool call", concat!(
        r"(?i)<\s?/?\s?(?:[a-z]{2,10}:)?(?:function_calls?|tool_calls?|tool_use|",
        r"tool_code)\b|<\s?invoke\s{1,3}name\s?=|<function\s?=\s?[a-z_]",
    )),
    pattern(0.6, "the markup of a tool call",
        r"(?i)<parameter\s{1,3}name\s?=|<parameter\s?=\s?[a-z_]"),
    pattern(0.8, "a tool call of the Model Context Protocol", concat!(
        r#""jsonrpc"\s{0,8}:\s{0,8}"2\.0"[^{}]{0,120}"method"\s{0,8}:\s{0,8}"tools/call"|"#,
        r#""method"\s{0,8}:\s{0,8}"tools/call"[^{}]{0,80}"params"\s{0,8}:\s{0,8}\{"#,
    )),
    pattern(0.5, "a request of the Model Context Protocol", concat!(
        r#""method"\s{0,8}:\s{0,8}"(?:tools/call|sampling/createMessage|prompts/get|"#,
        r#"elicitation/create)""#,
    )),
    pattern(0.8, "the JSON of a tool call",
        r#""type"\s{0,8}:\s{0,8}"(?:tool_use|function_call|tool_call|server_tool_use)""#),
    pattern(0.8, "the JSON of a tool call",
        r#""(?:tool_calls|function_call|tool_use)"\s{0,8}:\s{0,8}[\[{]"#),
    pattern(0.8, "the JSON of a tool call", concat!(
        r#"\{\s{0,8}"(?:name|tool|action|function|"#,
        r#"tool_name)"\s{0,8}:\s{0,8}"[^"\n]{1,60}"\s{0,8},\s{0,8}"(?:arguments|args|input|"#,
        r#"action_input|tool_input)"\s{0,8}:"#,
    )),
    pattern(0.6, "the JSON of a tool call", concat!(
        r#"\{\s{0,8}"(?:name|tool|action|function|"#,
        r#"tool_name)"\s{0,8}:\s{0,8}"[^"\n]{1,60}"\s{0,8},\s{0,8}"(?:parameters|"#,
        r#"params)"\s{0,8}:"#,
    )),
    pattern(0.8, "a code block that some models run", concat!(
        r"(?im)^[\t ]{0,8}`{3,}[\t ]?(?:tool_code|tool_call|tool_use|function_call|",
        r"tool)[\t ]?$",
    )),
    pattern(0.85, "a marker that begins a tool call", &(format!(r"\[{SQUARE_CALLS}\]|") + concat!(
        r"<\|python_tag\|>|<｜tool▁calls?▁begin｜>|to=(?:functions|browser|python|repo|",
        r"memory)\.[a-z_]{2,40}",
    ))),
    pattern(0.85, "the text of a tool call",
        r"(?m)^Action[:：][\t ]{0,4}[A-Za-z_.]{2,40}[\t ]{0,4}\n[\t ]{0,4}Action Input[:：]"),
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_regex_matches_the_empty_text() {
        for Pattern { regex, .. } in MARKERS.iter().chain(&*TOOL_CALLS) {
            assert!(!regex.is_match(""), "{regex}");
        }
    }
}
