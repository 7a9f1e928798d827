//! The parsers of outside text that run in child processes: a hostile text may make a parser loop,
//! or exploit a fault in the unsafe code that builds syntax trees and reads YAML.

use std::time::Duration;

use mc_parser_pool::{Parser, ParserEntry};
use serde::{Deserialize, Serialize};

use crate::chunker::{self, Syntax};
use crate::markdown::Outline;
use crate::syntax::{self, SyntaxErrors};

/// All parsers of this crate, for the child process.
pub const PARSERS: [ParserEntry; 3] = [
    ParserEntry::of::<CodeParser>(),
    ParserEntry::of::<SyntaxParser>(),
    ParserEntry::of::<MarkdownParser>(),
];

/// Processor time for the tables of a grammar and the result of a short text.
const OTHER_TIME: Duration = Duration::from_millis(30);

/// Finds the definitions of a source file, and the costs of cuts between its lines.
pub(crate) struct CodeParser;

/// Text of a source file, with its language.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Code<'a> {
    pub language: &'a str,
    pub text: &'a str,
}

impl Parser for CodeParser {
    const NAME: &'static str = "code";
    const IS_BULK: bool = true;
    type Input<'a> = Code<'a>;
    type Output = Option<Syntax>;

    /// The names of a file are limited, and a definition or a line takes some bytes of the text.
    fn max_output_bytes(_input_bytes: usize) -> usize {
        12 << 20
    }

    /// Twice the time after which the parser gives up by itself. It only checks that time between
    /// its steps, and one step can take quadratic time: the recovery from an error at the end of
    /// the text.
    fn time_limit(input_bytes: usize) -> Duration {
        2 * chunker::parse_limit(input_bytes) + OTHER_TIME
    }

    fn parse(code: Code<'_>) -> Option<Syntax> {
        chunker::parse(code)
    }
}

/// Counts the syntax errors of a source file.
pub(crate) struct SyntaxParser;

impl Parser for SyntaxParser {
    const NAME: &'static str = "syntax";
    type Input<'a> = Code<'a>;
    type Output = Option<SyntaxErrors>;

    fn max_output_bytes(_input_bytes: usize) -> usize {
        1 << 10
    }

    /// As of [`CodeParser`].
    fn time_limit(input_bytes: usize) -> Duration {
        CodeParser::time_limit(input_bytes)
    }

    fn parse(code: Code<'_>) -> Option<SyntaxErrors> {
        syntax::parse(code)
    }
}

/// Finds the front matter and the headings of Markdown texts, and the costs of cuts between their
/// lines.
pub(crate) struct MarkdownParser;

impl Parser for MarkdownParser {
    const NAME: &'static str = "markdown";
    type Input<'a> = Vec<&'a str>;
    type Output = Vec<Outline>;

    /// An empty heading, such as `#`, has two bytes with its line end, and its result nine. Front
    /// matter and many empty texts take some more.
    fn max_output_bytes(input_bytes: usize) -> usize {
        5 * input_bytes + (128 << 10)
    }

    fn parse(texts: Vec<&str>) -> Vec<Outline> {
        texts.into_iter().map(Outline::read).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn results_survive_the_way_between_processes() {
        let text = "use std::fmt;\n\n/// A cart.\nstruct Cart {\n    items: u8,\n}\n";
        let code = Code { language: "rust", text };
        let parsed = CodeParser::parse(code);
        assert!(parsed.is_some());
        assert_eq!(CodeParser::parse_serialized(code).unwrap(), parsed);

        let texts = vec!["---\ntitle: One\ntags: [a]\nstatus: accepted\n---\n# A\nb\n", "c"];
        let parsed = MarkdownParser::parse(texts.clone());
        assert_eq!(parsed.len(), texts.len());
        assert_eq!(MarkdownParser::parse_serialized(texts).unwrap(), parsed);
    }
}
