//! Text that looks like a tool call.

use std::sync::LazyLock;

use regex::Regex;

use crate::detection::Family;
use crate::inspect::Signal;

struct ToolCallPattern {
    regex: &'static str,
    confidence: f32,
    reason: &'static str,
}

/// The formats of tool calls. Repetitions are bounded, so that each regex reads a bounded number of
/// bytes from each position.
const TOOL_CALLS: &[ToolCallPattern] = &[
    ToolCallPattern {
        regex: concat!(
            r"(?i)<\s?/?\s?(?:[a-z]{2,10}:)?(?:function_calls?|tool_calls?|tool_use|",
            r"tool_code)\b|<\s?invoke\s{1,3}name\s?=|<function\s?=\s?[a-z_]",
        ),
        confidence: 0.85,
        reason: "the markup of a tool call",
    },
    ToolCallPattern {
        regex: r"(?i)<parameter\s{1,3}name\s?=|<parameter\s?=\s?[a-z_]",
        confidence: 0.6,
        reason: "the markup of a tool call",
    },
    ToolCallPattern {
        regex: concat!(
            r#""jsonrpc"\s{0,8}:\s{0,8}"2\.0"[^{}]{0,120}"method"\s{0,8}:\s{0,8}"tools/call"|"#,
            r#""method"\s{0,8}:\s{0,8}"tools/call"[^{}]{0,80}"params"\s{0,8}:\s{0,8}\{"#,
        ),
        confidence: 0.8,
        reason: "a tool call of the Model Context Protocol",
    },
    ToolCallPattern {
        regex: concat!(
            r#""method"\s{0,8}:\s{0,8}"(?:tools/call|sampling/createMessage|prompts/get|"#,
            r#"elicitation/create)""#,
        ),
        confidence: 0.5,
        reason: "a request of the Model Context Protocol",
    },
    ToolCallPattern {
        regex: r#""type"\s{0,8}:\s{0,8}"(?:tool_use|function_call|tool_call|server_tool_use)""#,
        confidence: 0.8,
        reason: "the JSON of a tool call",
    },
    ToolCallPattern {
        regex: r#""(?:tool_calls|function_call|tool_use)"\s{0,8}:\s{0,8}[\[{]"#,
        confidence: 0.8,
        reason: "the JSON of a tool call",
    },
    ToolCallPattern {
        regex: concat!(
            r#"\{\s{0,8}"(?:name|tool|action|function|"#,
            r#"tool_name)"\s{0,8}:\s{0,8}"[^"\n]{1,60}"\s{0,8},\s{0,8}"(?:arguments|args|input|"#,
            r#"action_input|tool_input)"\s{0,8}:"#,
        ),
        confidence: 0.8,
        reason: "the JSON of a tool call",
    },
    ToolCallPattern {
        regex: concat!(
            r#"\{\s{0,8}"(?:name|tool|action|function|"#,
            r#"tool_name)"\s{0,8}:\s{0,8}"[^"\n]{1,60}"\s{0,8},\s{0,8}"(?:parameters|"#,
            r#"params)"\s{0,8}:"#,
        ),
        confidence: 0.6,
        reason: "the JSON of a tool call",
    },
    ToolCallPattern {
        regex: concat!(
            r"(?im)^[\t ]{0,8}`{3,}[\t ]?(?:tool_code|tool_call|tool_use|function_call|",
            r"tool)[\t ]?$",
        ),
        confidence: 0.8,
        reason: "a code block that some models run",
    },
    ToolCallPattern {
        regex: concat!(
            r"\[TOOL_CALLS\]|<\|python_tag\|>|<｜tool▁calls?▁begin｜>|to=(?:functions|browser|",
            r"python|repo|memory)\.[a-z_]{2,40}",
        ),
        confidence: 0.85,
        reason: "a marker that begins a tool call",
    },
    ToolCallPattern {
        regex: r"(?m)^Action[:：][\t ]{0,4}[A-Za-z_.]{2,40}[\t ]{0,4}\n[\t ]{0,4}Action Input[:：]",
        confidence: 0.85,
        reason: "the text of a tool call",
    },
];

static REGEXES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compiled = TOOL_CALLS.iter().map(|call| Regex::new(call.regex));
    compiled.map(|regex| regex.expect("a valid regex")).collect()
});

pub(crate) fn find(plain: &str, signals: &mut Vec<Signal>) {
    for (call, regex) in TOOL_CALLS.iter().zip(&*REGEXES) {
        signals.extend(regex.find_iter(plain).map(|found| Signal {
            family: Family::ToolCall,
            span: found.range(),
            confidence: call.confidence,
            reason: call.reason,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_regex_matches_the_empty_text() {
        assert!(REGEXES.iter().all(|regex| !regex.is_match("")));
    }
}
