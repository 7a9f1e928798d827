//! Files, documents, conversations and commits.

use std::fs;
use std::hint::black_box;

use mc_files::ProtectedDirectories;
use mc_indexer::chunker::{self, Limits};
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_indexer::history::testing::{clean_message, parse_log};
use mc_indexer::{language, markdown, text, walk};
use mc_sanitizer::{Policy, Sanitized};

use super::{MAX_DOCUMENT, Parser};
use crate::growth::special;

/// Largest file of a repository, in bytes.
const MAX_FILE: usize = 1 << 20;
/// Largest `.gitignore`, in bytes. A `.mcpignore` is read by the same code.
const MAX_RULES: usize = 256 << 10;
/// Largest text of patterns for a `.gitattributes`, in bytes. Each line gets an attribute, too.
const MAX_PATTERNS: usize = 16 << 10;
/// Longest location of a repository, in bytes.
const MAX_LOCATION: usize = 4_096;

/// Returns the parsers.
pub fn parsers() -> Vec<Parser> {
    let mut parsers = vec![
        Parser::new("decode a file", |file| drop(black_box(text::decode(file.as_bytes())))),
        Parser::new("language of a file", |file| {
            black_box(language::detect("include/a.h", file));
        })
        .with_max_bytes(MAX_FILE),
        Parser::new("markdown", parse_markdown)
            .with_max_bytes(MAX_DOCUMENT)
            .with(special::markdown()),
        Parser::new("front matter", parse_markdown)
            .with_max_bytes(MAX_DOCUMENT)
            .with_wrapper(special::front_matter),
        Parser::new("document", cut_document).with_max_bytes(MAX_DOCUMENT),
        Parser::new("conversation", cut_conversation)
            .with_max_bytes(MAX_DOCUMENT)
            .with(special::messages()),
        Parser::new("split by lines", |file| {
            black_box(chunker::cut("notes", "text", file, Limits::default()));
        })
        .with_max_bytes(MAX_FILE),
        Parser::new(".gitignore", |rules| walk_with(".gitignore", rules)).with_max_bytes(MAX_RULES),
        Parser::new(".gitattributes", |rules| walk_with(".gitattributes", rules))
            .with_max_bytes(MAX_PATTERNS)
            .with_wrapper(|text| {
                text.lines().map(|line| format!("{line} linguist-generated\n")).collect()
            }),
        Parser::new("git log", |log| _ = black_box(parse_log(log.as_bytes())))
            .with(special::commits())
            .with_wrapper(log_of),
        Parser::new("message of a commit", |message| drop(black_box(clean_message(message)))),
        Parser::new("location of a repository", |location| {
            drop(black_box(mc_git::parse(location)));
        })
        .with_max_bytes(MAX_LOCATION),
    ];
    parsers.extend(chunker::LANGUAGES.iter().copied().map(code));
    parsers
}

fn code(language: &'static str) -> Parser {
    let own = special::code().into_iter().filter(|(of, _)| *of == language);
    Parser::new(format!("code: {language}"), move |file| {
        black_box(chunker::cut("file", language, file, Limits::default()));
    })
    .with_max_bytes(MAX_FILE)
    .with(own.map(|(_, family)| family).collect())
}

fn parse_markdown(text: &str) {
    black_box(markdown::parse(text, Limits::default()));
}

/// Splits a text that counts as masked: masking is measured alone.
fn cut_document(text: &str) {
    let page = Page {
        doc_id: "docs/adr/0001-units.md".to_owned(),
        content: Sanitized::stored(text.to_owned()),
        ..Page::default()
    };
    black_box(document::cut(page, Limits::default(), &Policy::default()));
}

/// Splits a conversation with a message on each line.
fn cut_conversation(text: &str) {
    let message = |line: &str| Message {
        author: "Ann".to_owned(),
        sent_at: None,
        text: Sanitized::stored(line.to_owned()),
    };
    let messages: Vec<_> = text.lines().map(message).collect();
    let policy = Policy::default();
    black_box(conversation::cut(Page::default(), &messages, Limits::default(), &policy));
}

/// Walks a directory with this file of rules and one other file.
fn walk_with(name: &str, rules: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text);
    write(name, rules).and_then(|()| write("a.rs", "fn a() {}")).expect("files in it");
    let protected = ProtectedDirectories::default();
    let root = mc_files::Root::open(directory.path()).expect("the directory is readable");
    let tree = walk::walk(&root, walk::Limits::default(), &protected, &|| false)
        .expect("the directory is readable");
    black_box(tree.is_generated_by_path("a.rs"));
}

/// Returns the log of one commit with the text as its message and its file. A text that is a log
/// already is returned unchanged.
fn log_of(text: &str) -> String {
    if text.contains('\0') {
        return text.to_owned();
    }
    format!("{:040}\x00\x001\x00{text}\x00\nM\x00{text}\x00", 0)
}
