//! The parsers of outside text that run in child processes: C code builds the syntax trees and
//! reads YAML, and a hostile text may exploit a fault in it or make it loop.

use std::time::Duration;

use mc_sandbox::{Parser, ParserEntry};
use serde::{Deserialize, Serialize};

use crate::chunker::{self, Syntax};
use crate::markdown::{self, FrontMatter};

/// All parsers of this crate, for the child process.
pub const PARSERS: [ParserEntry; 2] =
    [ParserEntry::of::<CodeParser>(), ParserEntry::of::<FrontMatterParser>()];

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
    // The names of a file are limited, and a definition or a line takes some bytes of the text.
    const MAX_OUTPUT_BYTES: usize = 12 << 20;
    type Input<'a> = Code<'a>;
    type Output = Option<Syntax>;

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

/// Reads the front matter of a Markdown document.
pub(crate) struct FrontMatterParser;

impl Parser for FrontMatterParser {
    const NAME: &'static str = "front-matter";
    const MAX_OUTPUT_BYTES: usize = 1 << 20;
    type Input<'a> = &'a str;
    type Output = Option<FrontMatter>;

    fn parse(yaml: &str) -> Option<FrontMatter> {
        markdown::parse_front_matter(yaml)
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

        let yaml = "title: One\ntags: [a]\nstatus: accepted\n";
        let parsed = FrontMatterParser::parse(yaml);
        assert!(parsed.is_some());
        assert_eq!(FrontMatterParser::parse_serialized(yaml).unwrap(), parsed);
    }
}
