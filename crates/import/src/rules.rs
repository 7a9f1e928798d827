//! Rules for an assistant: CLAUDE.md, AGENTS.md and rules of Cursor.

mod pieces;

use mc_domain::RecordKind;

use crate::front_matter::{self, FrontMatter};
use crate::kind;
use crate::markdown::{self, Block, Content};
use crate::note::{Import, Note, Origin, Reason};
use crate::screen::Candidate;
use crate::text::fits;
use pieces::{Piece, Shape};

/// Longest heading before a statement, in characters.
const CONTEXT_MAX_CHARS: usize = 80;
/// Headings that say nothing about the statements below them.
const GENERIC_HEADINGS: &[&str] = &[
    "overview",
    "general",
    "rules",
    "guidelines",
    "notes",
    "note",
    "important",
    "tips",
    "misc",
    "miscellaneous",
    "introduction",
    "instructions",
    "must",
    "best practices",
    "general rules",
    "working principles",
    "how to work",
    "quick reference",
    "key points",
    "examples",
    "example",
    "principles",
    "general guidelines",
    "key rules",
    "important notes",
    "details",
    "summary",
    "gotchas",
    "pitfalls",
    "caveats",
    "known issues",
];

/// Headings of lists of links.
const LINK_HEADINGS: &[&str] =
    &["references", "reference", "resources", "links", "see also", "related", "further reading"];

/// Parses a rules file.
pub fn parse(text: &str, source: &str) -> Import {
    let (matter, body, lines) = front_matter::split(text);
    let globs = globs(&matter, source);
    let blocks = markdown::parse(body, lines + 1);
    let title = title(&blocks, source);
    let mut import = Import::default();
    for piece in pieces::split(&blocks) {
        let origin = Origin {
            source: source.to_owned(),
            line: Some(piece.line),
            heading: piece.path.join(" > "),
        };
        if piece.shape == Shape::Code {
            import.refuse(origin, &piece.text, Reason::CodeOnly);
            continue;
        }
        let last = piece.path.last().map_or("", |heading| plain(heading)).to_lowercase();
        if LINK_HEADINGS.contains(&last.as_str()) && piece.text.contains("://") {
            import.refuse(origin, &piece.text, Reason::Pointer);
            continue;
        }
        let context = context(&piece, &matter, title);
        import.add(Candidate {
            note: Note {
                kind: kind(&piece),
                content: in_context(&context, &piece.text),
                title: None,
                tags: Vec::new(),
                globs: globs.clone(),
                cites: None,
                origin,
            },
            statement: piece.text,
        });
    }
    import
}

/// Returns the globs of the front matter, else of the directory of a nested file.
fn globs(matter: &FrontMatter, source: &str) -> Vec<String> {
    if !matter.globs.is_empty() {
        return matter.globs.clone();
    }
    // The directory of a tool applies to the directory in which it is.
    let is_of_tool = |part: &&str| part.starts_with('.');
    let parts: Vec<_> = source.split('/').collect();
    let directories = &parts[..parts.len() - 1];
    let own: Vec<_> = directories.iter().take_while(|part| !is_of_tool(part)).copied().collect();
    if own.is_empty() { Vec::new() } else { vec![format!("{}/**", own.join("/"))] }
}

fn kind(piece: &Piece) -> RecordKind {
    match piece.shape {
        Shape::Steps => RecordKind::Pattern,
        Shape::Commands | Shape::Code => RecordKind::Fact,
        Shape::Statement => {
            kind::of_statement(piece.path.last().map_or("", String::as_str), &piece.text)
        }
    }
}

/// Returns what a piece is about: the innermost heading that says something, with the one above it
/// if it is a single word. A file of a directory is also named by its title.
fn context(piece: &Piece, matter: &FrontMatter, title: &str) -> String {
    let mut headings = piece.path.iter().rev().map(|heading| plain(heading)).filter(is_telling);
    let mut context = match headings.next() {
        Some(heading) if !heading.contains(' ') => match headings.next() {
            Some(above) => format!("{above}, {heading}"),
            None => heading.to_owned(),
        },
        Some(heading) => heading.to_owned(),
        None => Some(plain(&matter.description)).filter(is_telling).unwrap_or_default().to_owned(),
    };
    let is_named = title.is_empty() || context.to_lowercase().contains(&title.to_lowercase());
    if !is_named {
        let separator = if context.is_empty() { "" } else { ", " };
        context = format!("{title}{separator}{context}");
    }
    context
}

fn is_telling(heading: &&str) -> bool {
    let is_generic = GENERIC_HEADINGS.contains(&heading.to_lowercase().as_str());
    !heading.is_empty() && !is_generic && fits(heading, CONTEXT_MAX_CHARS)
}

/// Returns the title of a file in a directory, which says which part of the repository the file is
/// about. If the title only names the kind of file, it is the name of the directory.
fn title<'a>(blocks: &'a [Block], source: &'a str) -> &'a str {
    let directory = source.rsplit('/').nth(1).unwrap_or_default();
    if source.starts_with('.') || directory.is_empty() {
        return "";
    }
    match blocks.first().map(|block| &block.content) {
        Some(Content::Heading { level: 1, text }) => {
            let (title, lower) = (plain(text), text.to_lowercase());
            let names_file = lower.contains(".md") || lower.contains("guide");
            if names_file || !is_telling(&title) { directory } else { title }
        }
        _ => directory,
    }
}

/// Removes numbers, pictograms and colons around a heading.
fn plain(heading: &str) -> &str {
    let start = heading.trim_start_matches(|c: char| !c.is_alphabetic() && c != '`' && c != '@');
    start.trim_end_matches(|c: char| !c.is_alphanumeric() && !"`)\"".contains(c))
}

/// Puts the heading before a statement that does not name it.
fn in_context(context: &str, statement: &str) -> String {
    if context.is_empty() || names(statement, context) {
        return statement.to_owned();
    }
    let starts_block = ["```", "- ", "1. "].iter().any(|mark| statement.starts_with(mark));
    let separator = if starts_block { ":\n" } else { ": " };
    format!("{}{separator}{statement}", capitalized(context))
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether a statement has all long words of a heading, or their beginnings.
fn names(statement: &str, heading: &str) -> bool {
    // Code that has the same names does not say what it is about.
    let prose = statement.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let heading = heading.to_lowercase();
    let mut words = long_words(&heading).peekable();
    words.peek().is_some()
        && words.all(|word| {
            let beginning: String = word.chars().take(4).collect();
            long_words(&prose).any(|other| other.starts_with(&beginning))
        })
}

/// Returns the words of more than three bytes.
fn long_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3)
}

#[cfg(test)]
mod tests;
