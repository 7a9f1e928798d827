//! What looks like a call of a tool.

use std::sync::LazyLock;

use regex::Regex;

use crate::detection::Family;
use crate::inspect::Signal;

struct Shape {
    pattern: &'static str,
    confidence: f32,
    why: &'static str,
}

/// Spaces and the inside of strings are bounded, so that each pattern is tried a bounded way from each
/// place.
const SHAPES: &[Shape] = &[
    Shape {
        pattern: r"(?i)<\s?/?\s?(?:[a-z]{2,10}:)?(?:function_calls?|tool_calls?|tool_use|tool_code)\b|<\s?invoke\s{1,3}name\s?=|<function\s?=\s?[a-z_]",
        confidence: 0.85,
        why: "the markup of a tool call",
    },
    Shape {
        pattern: r"(?i)<parameter\s{1,3}name\s?=|<parameter\s?=\s?[a-z_]",
        confidence: 0.6,
        why: "the markup of a tool call",
    },
    Shape {
        pattern: r#""jsonrpc"\s{0,8}:\s{0,8}"2\.0"[^{}]{0,120}"method"\s{0,8}:\s{0,8}"tools/call"|"method"\s{0,8}:\s{0,8}"tools/call"[^{}]{0,80}"params"\s{0,8}:\s{0,8}\{"#,
        confidence: 0.8,
        why: "a tool call of the Model Context Protocol",
    },
    Shape {
        pattern: r#""method"\s{0,8}:\s{0,8}"(?:tools/call|sampling/createMessage|prompts/get|elicitation/create)""#,
        confidence: 0.5,
        why: "a request of the Model Context Protocol",
    },
    Shape {
        pattern: r#""type"\s{0,8}:\s{0,8}"(?:tool_use|function_call|tool_call|server_tool_use)""#,
        confidence: 0.8,
        why: "the JSON of a tool call",
    },
    Shape {
        pattern: r#""(?:tool_calls|function_call|tool_use)"\s{0,8}:\s{0,8}[\[{]"#,
        confidence: 0.8,
        why: "the JSON of a tool call",
    },
    Shape {
        pattern: r#"\{\s{0,8}"(?:name|tool|action|function|tool_name)"\s{0,8}:\s{0,8}"[^"\n]{1,60}"\s{0,8},\s{0,8}"(?:arguments|args|input|action_input|tool_input)"\s{0,8}:"#,
        confidence: 0.8,
        why: "the JSON of a tool call",
    },
    Shape {
        pattern: r#"\{\s{0,8}"(?:name|tool|action|function|tool_name)"\s{0,8}:\s{0,8}"[^"\n]{1,60}"\s{0,8},\s{0,8}"(?:parameters|params)"\s{0,8}:"#,
        confidence: 0.6,
        why: "the JSON of a tool call",
    },
    Shape {
        pattern: r"(?im)^[\t ]{0,8}`{3,}[\t ]?(?:tool_code|tool_call|tool_use|function_call|tool)[\t ]?$",
        confidence: 0.8,
        why: "a code block that some models run",
    },
    Shape {
        pattern: r"\[TOOL_CALLS\]|<\|python_tag\|>|<｜tool▁calls?▁begin｜>|to=(?:functions|browser|python|repo|memory)\.[a-z_]{2,40}",
        confidence: 0.85,
        why: "a mark that begins a tool call",
    },
    Shape {
        pattern: r"(?m)^Action[:：][\t ]{0,4}[A-Za-z_.]{2,40}[\t ]{0,4}\n[\t ]{0,4}Action Input[:：]",
        confidence: 0.85,
        why: "the text of a tool call",
    },
];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compiled = SHAPES.iter().map(|shape| Regex::new(shape.pattern));
    compiled.map(|pattern| pattern.expect("the table's patterns are tested")).collect()
});

pub(crate) fn find(plain: &str, signs: &mut Vec<Signal>) {
    for (shape, pattern) in SHAPES.iter().zip(&*PATTERNS) {
        signs.extend(pattern.find_iter(plain).map(|found| Signal {
            family: Family::ToolCall,
            span: found.range(),
            confidence: shape.confidence,
            why: shape.why,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_none_matches_nothing() {
        assert!(PATTERNS.iter().all(|pattern| !pattern.is_match("")));
    }
}
