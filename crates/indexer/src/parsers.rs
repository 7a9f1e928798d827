//! The parsers of outside text. They run in child processes, because C code builds the syntax
//! trees, and a hostile text may exploit a fault in it or make it loop.

use mc_sandbox::{Parser, ParserEntry};
use serde::{Deserialize, Serialize};

use crate::chunker::{self, ChunkedFile, Limits};
use crate::markdown::{self, Document};

/// All parsers of this crate, for the child process.
pub const PARSERS: [ParserEntry; 2] =
    [ParserEntry::of::<CodeParser>(), ParserEntry::of::<MarkdownParser>()];

/// Splits a source file.
pub(crate) struct CodeParser;

/// A source file; see [`chunker::cut`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct SourceFile<'a> {
    pub path: &'a str,
    pub language: &'a str,
    pub text: &'a str,
    pub limits: Limits,
}

impl Parser for CodeParser {
    const NAME: &'static str = "code";
    type Input<'a> = SourceFile<'a>;
    type Output = ChunkedFile;

    fn parse(file: SourceFile<'_>) -> ChunkedFile {
        chunker::cut_by_syntax(file)
    }
}

/// Splits a Markdown document.
pub(crate) struct MarkdownParser;

impl Parser for MarkdownParser {
    const NAME: &'static str = "markdown";
    type Input<'a> = (&'a str, Limits);
    type Output = Document;

    fn parse((text, limits): (&str, Limits)) -> Document {
        markdown::parse_by_headings(text, limits)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn results_survive_the_way_between_processes() {
        let text = "use std::fmt;\n\n/// A cart.\nstruct Cart {\n    items: u8,\n}\n";
        let limits = Limits { bytes: 40, ..Limits::default() };
        let file = SourceFile { path: "cart.rs", language: "rust", text, limits };
        assert_eq!(CodeParser::parse_serialized(file).unwrap(), CodeParser::parse(file));

        let text = "---\ntags: [a]\nstatus: accepted\n---\n# One\n\ntext\n\n## Two\n\nmore\n";
        let parsed = MarkdownParser::parse((text, limits));
        assert_eq!(MarkdownParser::parse_serialized((text, limits)).unwrap(), parsed);
        assert_eq!((parsed.sections.len(), parsed.tags.len()), (2, 1));
    }
}
