//! Conversion of one file into masked rows, without database access.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mc_domain::{Trust, code_path};
use mc_sanitizer::{Sanitized, identifier, mask_with};
use mc_store::docs::NewDoc;
use mc_store::files::{KnownFile, NewChunk, NewFile, NewSymbol};
use mc_store::passages::NewPassage;

use super::IndexTask;
use crate::chunker::{self, Chunk, ChunkedFile, Symbol};
use crate::document::{self, Page, mask_identifier};
use crate::hash;
use crate::text::{Lines, as_i32};
use crate::walk::{SkipReason, Source};

/// Path and outcome of a scanned file.
pub(super) struct ScannedFile {
    pub path: String,
    pub outcome: ScanOutcome,
}

pub(super) enum ScanOutcome {
    /// The stored file is current.
    Unchanged,
    /// The file is not indexed.
    Skipped(SkipReason),
    /// The file has to be written.
    Changed(Box<Prepared>),
}

/// Rows of a file, ready to be written.
pub(super) struct Prepared {
    pub file: NewFile,
    /// Whether the stored bytes are the same, and only the masking or the chunker changed.
    pub is_same_text: bool,
    pub body: Body,
}

pub(super) enum Body {
    Code { chunks: Vec<NewChunk>, symbols: Vec<NewSymbol> },
    Doc { doc: NewDoc, passages: Vec<NewPassage> },
}

/// Reads and chunks a file, unless the stored file is current.
pub(super) fn scan_file(task: &IndexTask, path: &str) -> ScanOutcome {
    // A panic in a parser skips one file and does not stop the run.
    let scanned = catch_unwind(AssertUnwindSafe(|| try_scan(task, path)));
    match scanned {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(reason)) => ScanOutcome::Skipped(reason),
        Err(_) => {
            tracing::error!(file.path = path, "chunking the file panicked; skipping it");
            ScanOutcome::Skipped(SkipReason::Failed)
        }
    }
}

fn try_scan(task: &IndexTask, path: &str) -> Result<ScanOutcome, SkipReason> {
    let location = identifier(path).ok_or(SkipReason::RevealingName)?;
    if task.tree.is_generated_by_path(path) {
        return Err(SkipReason::Generated);
    }
    let bytes = task.root.read(path, task.ctx.walk.file_bytes)?;
    let content_hash = hash::of(&bytes);
    let same = task.known.get(path).filter(|file| file.content_hash == content_hash);
    let is_stored = |file: &KnownFile| {
        file.chunker_version == chunker::VERSION
            && file.masking_fingerprint == task.rules.masking_fingerprint
    };
    if same.is_some_and(is_stored) {
        return Ok(ScanOutcome::Unchanged);
    }
    let Source { text, language, .. } = task.tree.decode(path, &bytes)?;
    // Masked before chunking: a secret must not be split or reach a name or a summary.
    let sanitizing = &task.rules.sanitizing;
    let text = mask_with(&text, sanitizing).text;
    let (line_count, body) = if language == "markdown" {
        let line_count = Lines::of(text.as_str()).count();
        let (source, doc_id) = (task.namespace.clone(), path.to_owned());
        let page = Page { source, doc_id, content: text, ..Page::default() };
        let trust = task.trust(&[page.content.as_str()]);
        let (doc, passages) = document::cut(page, task.ctx.cut, sanitizing);
        let doc = NewDoc { trust, ..doc };
        (line_count, Body::Doc { doc, passages })
    } else {
        let ChunkedFile { chunks, symbols, line_count } =
            chunker::cut(path, language, text.as_str(), task.ctx.cut);
        let chunks = chunks.into_iter().map(|chunk| code_chunk(task, &location, language, chunk));
        let chunks = chunks.collect();
        (line_count, Body::Code { chunks, symbols: symbols.into_iter().map(symbol).collect() })
    };
    let file = NewFile {
        path: path.to_owned(),
        content_hash: content_hash.to_vec(),
        size_bytes: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        language: language.to_owned(),
        line_count: as_i32(line_count),
        chunker_version: chunker::VERSION,
        masking_fingerprint: task.rules.masking_fingerprint,
    };
    Ok(ScanOutcome::Changed(Box::new(Prepared { file, is_same_text: same.is_some(), body })))
}

impl IndexTask {
    /// Returns the trust of texts that are shown together: untrusted if any is a prompt injection.
    ///
    /// They are not quarantined, because the repository has them anyway.
    fn trust(&self, texts: &[&str]) -> Trust {
        let has_injection = texts.iter().any(|text| self.rules.trust(text) == Trust::Untrusted);
        if has_injection { Trust::Untrusted } else { Trust::Imported }
    }
}

fn code_chunk(task: &IndexTask, location: &Sanitized, language: &str, chunk: Chunk) -> NewChunk {
    let sanitizing = &task.rules.sanitizing;
    let title = chunk.parent_symbol.as_ref().or(chunk.symbols.first());
    NewChunk {
        // The summary repeats the comment above a definition, which may be in the previous chunk.
        trust: task.trust(&[chunk.text.as_str(), chunk.summary.as_str()]),
        passage: NewPassage {
            title: title.map(|name| mask_identifier(name, sanitizing)).unwrap_or_default(),
            location: location.clone(),
            symbols: chunk.symbols,
            tags: code_path::tags(location.as_str()),
            language: language.to_owned(),
            // Masking is idempotent.
            text: mask_with(&chunk.text, sanitizing).text,
            ..NewPassage::default()
        },
        chunk_index: as_i32(chunk.index),
        line_start: as_i32(chunk.line_start),
        line_end: as_i32(chunk.line_end),
        overlap_lines: as_i32(chunk.overlap_lines),
        chunk_hash: chunk.chunk_hash.to_vec(),
        span_hash: chunk.span_hash.to_vec(),
        summary: chunk.summary,
        parent_symbol: chunk.parent_symbol,
    }
}

fn symbol(symbol: Symbol) -> NewSymbol {
    NewSymbol {
        name: symbol.name,
        kind: symbol.kind.into_owned(),
        line_start: as_i32(symbol.line_start),
        line_end: as_i32(symbol.line_end),
        span_hash: symbol.span_hash.to_vec(),
    }
}
