//! Notes, and queries about them.

use std::hint::black_box;

use mc_domain::{ProjectId, RecordKind};
use mc_import::Format;
use mc_memory::CONTENT_MAX_CHARS;
use mc_memory::content_filter::ContentFilter;
use mc_memory::distill::{self, Raw};
use mc_memory::judge::{ParsedNote, compare, reject};
use mc_memory::normalize::normalize;
use mc_memory::simhash::simhash;
use mc_memory::text::{cut, sentences, tokenize};
use mc_search::query::{self, gloss};
use mc_search::{Query, analyzer, glob, names};
use mc_sgr::limits::{DESCRIPTION_MAX_CHARS, DIFF_MAX_BYTES, FILE_MAX_BYTES};
use mc_sgr::{SchemaSource, is_unified_diff};
use mc_store::passages::PassageFilter;
use serde_json::json;

use super::Parser;

/// Largest note of a request, in bytes.
const MAX_NOTE: usize = 2 << 20;
/// Longest query, in bytes.
const MAX_QUERY: usize = 4_000;
/// Longest path or symbol, in bytes.
const MAX_NAME: usize = 1_000;
/// Longest statement of a condensed note, in characters.
const STATEMENT: usize = 300;

/// Returns the parsers.
pub fn parsers() -> Vec<Parser> {
    let mut parsers = notes();
    parsers.extend(queries());
    parsers.extend(imports());
    parsers.extend(reasoning());
    parsers
}

fn notes() -> Vec<Parser> {
    let any = |name: &str, parse: fn(&str)| Parser::new(name, parse).with_max_bytes(MAX_NOTE);
    let name = |name: &str, parse: fn(&str)| Parser::new(name, parse).with_max_bytes(MAX_NAME);
    vec![
        any("distill", distill),
        any("condense", |text| drop(black_box(distill::condense(text, STATEMENT)))),
        any("words of a note", |text| drop(black_box(tokenize(text)))),
        any("sentences", |text| {
            black_box(sentences(text).count());
        }),
        any("cut a text", |text| drop(black_box(cut(text, text.len() / 2)))),
        any("normalize", |text| drop(black_box(normalize(text)))),
        any("simhash", |text| _ = black_box(simhash(text))),
        any("note", |text| drop(black_box(ParsedNote::read(text)))),
        any("reject", |text| _ = black_box(reject(text))),
        any("tokens of a model", |text| _ = black_box(mc_tokens::count(text))),
        any("tokens up to a limit", |text| _ = black_box(mc_tokens::count_up_to(text, 4_000))),
        any("start within a limit", |text| _ = black_box(mc_tokens::fitting(text, 4_000))),
        any("content filter", |text| drop(black_box(ContentFilter::strict().filter(text)))),
        // A record has no longer text, and other notes are compared as documents.
        Parser::new("compare notes", compare_notes).with_max_bytes(CONTENT_MAX_CHARS),
        name("scope of a path", |path| drop(black_box(distill::scope_of_path(path)))),
        name("scope of a symbol", |symbol| drop(black_box(distill::scope_of_symbol(symbol)))),
    ]
}

fn queries() -> Vec<Parser> {
    let query = |name: &str, parse: fn(&str)| Parser::new(name, parse).with_max_bytes(MAX_QUERY);
    let name = |name: &str, parse: fn(&str)| Parser::new(name, parse).with_max_bytes(MAX_NAME);
    vec![
        Parser::new("terms of a passage", |text| drop(black_box(analyzer::analyze(text)))),
        query("names of a query", |text| {
            let filter = PassageFilter::project(ProjectId::generate());
            drop(black_box(query::parse(&Query::text(text, filter))));
        }),
        query("terms of a query", |text| drop(black_box(query::significant_terms(text)))),
        query("stems of a query", |text| drop(black_box(query::stem_terms(text)))),
        query("gloss of a query", |text| drop(black_box(gloss::english(text)))),
        query("stems of a name", |text| drop(black_box(query::stems(text)))),
        name("key of a symbol", |symbol| drop(black_box(names::symbol_key(symbol)))),
        name("key of a path", |path| drop(black_box(names::path_key(path)))),
        Parser::new("glob", |text| drop(black_box(glob::to_regex(text))))
            .with_max_bytes(glob::MAX_GLOB_BYTES),
    ]
}

fn imports() -> Vec<Parser> {
    let import = |format: Format| {
        let parse = move |text: &str| drop(black_box(mc_import::parse(format, text, "a/b.md")));
        Parser::new(format!("import of {format}"), parse).with_max_bytes(mc_import::MAX_BYTES)
    };
    let as_export = |text: &str| json!([{"id": "1", "memory": text}]).to_string();
    let entity_line = |text: &str| {
        json!({"type": "entity", "name": "a", "entityType": "b", "observations": [text]})
            .to_string()
    };
    vec![
        import(Format::Rules),
        import(Format::Adr),
        import(Format::Mem0).with_wrapper(as_export),
        import(Format::ServerMemory).with_wrapper(entity_line),
    ]
}

fn reasoning() -> Vec<Parser> {
    let parse = |yaml: &str| drop(black_box(SchemaSource::parse(yaml)));
    let as_description = |text: &str| {
        let step = json!({"name": "a", "output": "a", "description": text});
        json!({"schema": "a", "steps": [step]}).to_string()
    };
    vec![
        Parser::new("reasoning schema", parse).with_max_bytes(FILE_MAX_BYTES),
        Parser::new("description of a step", parse)
            .with_max_bytes(DESCRIPTION_MAX_CHARS)
            .with_wrapper(as_description),
        Parser::new("unified diff", |text| _ = black_box(is_unified_diff(text)))
            .with_max_bytes(DIFF_MAX_BYTES),
    ]
}

fn distill(text: &str) {
    black_box(distill::distill(&Raw::of_text(RecordKind::Fact, text)));
}

/// Compares a note with one that has a letter more.
fn compare_notes(text: &str) {
    let longer = format!("{text}b");
    black_box(compare(&ParsedNote::read(text), &ParsedNote::read(&longer)));
}
