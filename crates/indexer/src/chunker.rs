//! Splits a file into chunks along its functions, classes and methods.
//!
//! The outline finds the definitions, [`boundaries`] gives each line break a cost, and [`pack`]
//! chooses the cheapest breaks within the [`Limits`].
//!
//! **No line is lost or repeated.** The chunks of a file, in order, each without its first
//! `overlap_lines` lines and joined by LF, are the whole text (line ends normalized, without the
//! last LF). One exception: a line longer than a chunk may be is split into several chunks. They
//! have the same line number and no overlap. A chunk that starts on the line where the previous one
//! ended continues it and is joined without LF.

mod boundaries;
mod enclosing;
pub(crate) mod outline;
mod pace;
mod pack;
mod summary;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::grammar;
use crate::hash::{self, Hash};
use crate::parsers::{Code, CodeParser};
use crate::text::Lines;
use enclosing::Enclosing;
use outline::{Defined, Outline};
use pack::Span;

pub use crate::grammar::LANGUAGES;
pub(crate) use boundaries::{WITHIN_DEFINITION, by_lines as costs_by_lines};
pub(crate) use pace::parse_limit;
pub use pack::Limits;
pub(crate) use pack::pack;

/// Version of the chunker. It is increased when the same file would be chunked, masked or trusted
/// differently, or when more of it is stored; files of an older version are chunked again.
pub const VERSION: i32 = 9;

/// Unit of search of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Position in the file, from 0.
    pub index: usize,
    /// First line, 1-based, overlap included.
    pub line_start: usize,
    /// Last line, 1-based, inclusive.
    pub line_end: usize,
    /// Lines at the top that repeat the end of the previous chunk.
    pub overlap_lines: usize,
    /// The lines, joined by LF.
    pub text: String,
    /// SHA-256 of `text`.
    pub chunk_hash: Hash,
    /// SHA-256 of path, lines and `chunk_hash`.
    pub span_hash: Hash,
    /// Summary of at most 160 characters.
    pub summary: String,
    /// Qualified name of the innermost definition around the whole chunk.
    pub parent_symbol: Option<String>,
    /// Qualified names of the definitions that start in the chunk, overlap excluded.
    pub symbols: Vec<String>,
}

/// Definition in a source file: a function, class, module or the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Qualified name, as the language's users write it (`Cart::Setting#delay`).
    pub name: String,
    /// `function`, `class`, ...
    pub kind: Cow<'static, str>,
    /// First line, 1-based.
    pub line_start: usize,
    /// Last line, 1-based, inclusive.
    pub line_end: usize,
    /// SHA-256 of the text of its lines.
    pub span_hash: Hash,
}

/// Chunks and symbols of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkedFile {
    /// Chunks in the order of the file.
    pub chunks: Vec<Chunk>,
    /// Symbols by position; an enclosing definition comes before those inside it.
    pub symbols: Vec<Symbol>,
    /// Number of lines.
    pub line_count: usize,
}

/// Maximum number of definitions around a line. Nested ones may begin or end on the same line as
/// their neighbours.
const MAX_SPANS: usize = 2 * outline::MAX_NESTING + 1;

/// What a syntax tree says about a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Syntax {
    defined: Vec<Defined>,
    /// Cost of a cut before each line.
    costs: Vec<u32>,
}

impl Syntax {
    /// Returns whether it can be that of the lines. A text that has taken over the child process
    /// may return anything.
    fn fits(&self, lines: &Lines<'_>) -> bool {
        let fits = |one: &Defined| one.start <= one.end && one.end < lines.count();
        self.costs.len() == lines.count()
            && self.defined.iter().all(|one| fits(one) && one.has_valid_texts())
            && self.defined.is_sorted_by_key(|one| one.start)
            && self.spanned_bytes(lines) <= lines.span_len(0, lines.count()) * MAX_SPANS
    }

    /// Returns the bytes of all definitions, each of which is hashed. Those on the same lines share
    /// one hash.
    fn spanned_bytes(&self, lines: &Lines<'_>) -> usize {
        let spans: HashSet<_> = self.defined.iter().map(|one| (one.start, one.end)).collect();
        spans.into_iter().map(|(start, end)| lines.span_len(start, end + 1)).sum()
    }
}

/// Splits the normalized text ([`crate::text::normalize`]) of a file into chunks. Blocks the
/// thread, because a child process parses the text.
///
/// A file that exceeds the limits of that process is split by lines, like a file without a grammar.
pub fn cut(path: &str, language: &str, text: &str, limits: Limits) -> ChunkedFile {
    let lines = Lines::of(text);
    match syntax(path, Code { language, text }).filter(|syntax| syntax.fits(&lines)) {
        Some(Syntax { defined, costs }) => assemble(path, &lines, &costs, defined, limits),
        None => assemble(path, &lines, &costs_by_lines(&lines), Vec::new(), limits),
    }
}

fn syntax(path: &str, code: Code<'_>) -> Option<Syntax> {
    if !grammar::exists(code.language) {
        return None;
    }
    let reason = match mc_parser_pool::call::<CodeParser>(code) {
        Ok(Some(syntax)) => return Some(syntax),
        Ok(None) => "parsing it takes too long or too many reads for its length".to_owned(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(file.path = path, reason, "source file split by lines, without symbols");
    None
}

/// Parses the text of a file; `None` if its language has no grammar, or if it exceeds a limit.
pub(crate) fn parse(Code { language, text }: Code<'_>) -> Option<Syntax> {
    let lines = Lines::of(text);
    let Outline { defined, boundaries } = outline::outline(grammar::find(language)?, text, &lines)?;
    Some(Syntax { defined, costs: boundaries.costs(&lines) })
}

fn assemble(
    path: &str,
    lines: &Lines<'_>,
    costs: &[u32],
    defined: Vec<Defined>,
    limits: Limits,
) -> ChunkedFile {
    let mut enclosing = Enclosing::new(&defined);
    let chunks = pack(lines, costs, limits)
        .into_iter()
        .enumerate()
        .map(|(index, span)| chunk(path, lines, &mut enclosing, index, &span))
        .collect();
    ChunkedFile { chunks, symbols: symbols(lines, defined), line_count: lines.count() }
}

fn chunk(
    path: &str,
    lines: &Lines<'_>,
    enclosing: &mut Enclosing<'_>,
    index: usize,
    span: &Span,
) -> Chunk {
    let text = match &span.part {
        Some(part) => &lines.get(span.start)[part.clone()],
        None => lines.span(span.start, span.end),
    };
    let is_continuation = span.part.as_ref().is_some_and(|part| part.start > 0);
    let new = span.start + span.overlap..span.end;
    let starting: &[Defined] =
        if is_continuation { &[] } else { enclosing.starting_in(new.start, new.end) };
    let parent = enclosing.innermost(new.start, new.end - 1);
    let mut known = HashSet::new();
    let names = starting.iter().map(|defined| &defined.name);
    let symbols = names.filter(|name| known.insert(*name)).cloned().collect();
    let chunk_hash = hash::of(text.as_bytes());
    let (line_start, line_end) = (span.start + 1, span.end);
    let parent_symbol = parent.map(|parent| parent.name.clone());
    Chunk {
        index,
        line_start,
        line_end,
        overlap_lines: span.overlap,
        text: text.to_owned(),
        chunk_hash,
        span_hash: hash::of_fields([
            path.as_bytes(),
            &(line_start as u64).to_be_bytes(),
            &(line_end as u64).to_be_bytes(),
            &chunk_hash,
        ]),
        summary: summary::summarize(
            lines,
            text,
            span.overlap,
            starting.first(),
            parent_symbol.as_deref(),
        ),
        parent_symbol,
        symbols,
    }
}

/// Converts the definitions. Those on the same lines share one hash: a line of generated code may
/// have thousands.
fn symbols(lines: &Lines<'_>, defined: Vec<Defined>) -> Vec<Symbol> {
    let mut hashes: HashMap<(usize, usize), Hash> = HashMap::new();
    let symbol = |defined: Defined| {
        let end = (defined.end + 1).min(lines.count());
        let hash = || hash::of(lines.span(defined.start, end).as_bytes());
        Symbol {
            span_hash: *hashes.entry((defined.start, end)).or_insert_with(hash),
            name: defined.name,
            kind: defined.kind,
            line_start: defined.start + 1,
            line_end: end,
        }
    };
    defined.into_iter().map(symbol).collect()
}

#[cfg(test)]
mod tests;
