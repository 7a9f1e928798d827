//! Names in use: no retired word in Rust, on the wire or in SQL, and no long line in Rust.

mod retired;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use retired::{EXCEPTIONS, RETIRED, RETIRED_STORED};

/// Files with a literal that would be unreadable in shorter lines.
const LONG_LINES_ALLOWED: &[&str] = &[
    "crates/app/src/logging/line.rs",
    "crates/embed/src/openai/call.rs",
    "crates/embed/tests/openai.rs",
    "crates/indexer/src/history/message.rs",
    "crates/mcp/src/render/bundle.rs",
    "crates/mcp/src/render/opened.rs",
];

/// Directories with Rust files.
const SOURCES: &[&str] = &["crates", "connectors", "tests", "benches"];

/// Maximum length of a line, in characters.
const MAX_COLUMNS: usize = 100;

const OPENAPI: &str = "crates/api/tests/api/snapshots/\
                       api__openapi__the_document_is_openapi_3_1_and_stays_as_reviewed.snap";

#[test]
fn rust_identifiers_have_no_retired_names() {
    let mut found = Vec::new();
    for (path, source) in files(SOURCES, "rs") {
        let code = without_comments_and_literals(&source);
        report(&path, &code, &[RETIRED], &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_exception_is_used() {
    let sources = files(SOURCES, "rs");
    for (name, start, _) in EXCEPTIONS {
        let is_used =
            sources.iter().filter(|(path, _)| path.starts_with(start)).any(|(_, source)| {
                words(&without_comments_and_literals(source)).any(|word| word == *name)
            });
        assert!(is_used, "`{name}` is no longer used in {start}: remove the exception");
    }
}

#[test]
fn sql_has_no_retired_names() {
    let mut found = Vec::new();
    for (path, source) in files(&["migrations"], "sql") {
        let statements: Vec<String> = source.lines().map(without_sql_comment_and_text).collect();
        report(&path, &statements.join("\n"), &[RETIRED, RETIRED_STORED], &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn wire_has_no_retired_names() {
    let snapshot = std::fs::read_to_string(root().join(OPENAPI)).expect("the OpenAPI snapshot");
    let json = &snapshot[snapshot.find("\n{").expect("a JSON object")..];
    let document = serde_json::from_str(json).expect("the snapshot is JSON");
    let mut names = Vec::new();
    collect_wire_names(&document, &mut names);
    assert!(names.len() > 500, "the document has more names than {}", names.len());
    let mut found = Vec::new();
    let names = names.join("\n").replace('-', "_");
    report("openapi.json", &names, &[RETIRED, RETIRED_STORED], &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn rust_lines_have_at_most_100_columns() {
    let mut found = Vec::new();
    for (path, source) in files(SOURCES, "rs") {
        if LONG_LINES_ALLOWED.contains(&path.as_str()) {
            continue;
        }
        let lines = source.lines().enumerate();
        let long = lines.filter(|(_, line)| line.chars().count() > MAX_COLUMNS);
        found.extend(long.map(|(index, _)| format!("{path}:{} is too long", index + 1)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Tests and other long identifiers that documents quote exist.
#[test]
fn identifiers_in_documents_exist() {
    let code = [files(SOURCES, "rs"), files(&["migrations"], "sql")].concat();
    let known: HashSet<&str> = code.iter().flat_map(|(_, source)| words(source)).collect();
    let read = |name: &str| (name.to_owned(), std::fs::read_to_string(root().join(name)).unwrap());
    let documents = [files(&["docs"], "md"), ["SECURITY.md", "ARCHITECTURE.md"].map(read).into()];
    let mut missing = Vec::new();
    for (path, text) in documents.concat() {
        let quoted = text.split('`').skip(1).step_by(2);
        let long = quoted.filter(|word| words(word).count() == 1 && word.matches('_').count() > 2);
        missing.extend(
            long.filter(|word| !known.contains(word)).map(|word| format!("{path}: {word}")),
        );
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Adds a message for each retired name in `text`.
fn report(path: &str, text: &str, tables: &[&[(&str, &str)]], found: &mut Vec<String>) {
    let retired: HashMap<&str, &str> = tables.iter().copied().flatten().copied().collect();
    let is_exception = |name: &str| {
        EXCEPTIONS.iter().any(|(word, start, _)| *word == name && path.starts_with(start))
    };
    for (index, line) in text.lines().enumerate() {
        for word in words(line) {
            if let Some(current) = retired.get(word).filter(|_| !is_exception(word)) {
                found.push(format!("`{word}` in {path}:{} is retired: use `{current}`", index + 1));
            }
        }
    }
}

/// Splits code into identifiers and keywords.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Collects the names of schemas, properties and parameters, the values of enums, and the paths.
fn collect_wire_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_wire_names(item, names)),
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member) {
                    ("properties" | "schemas" | "paths", Value::Object(entries)) => {
                        names.extend(entries.keys().cloned());
                    }
                    ("name" | "operationId", Value::String(word)) => names.push(word.clone()),
                    ("enum", Value::Array(values)) => {
                        names.extend(values.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => {}
                }
                collect_wire_names(member, names);
            }
        }
        _ => {}
    }
}

/// Blanks the comments and literals of Rust code, and keeps its lines.
fn without_comments_and_literals(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let start = rest.find(['/', '"', '\'', 'r']).unwrap_or(rest.len());
        code.push_str(&rest[..start]);
        rest = &rest[start..];
        let blanked = comment_length(rest).or_else(|| literal_length(rest));
        let (part, tail) = rest.split_at(blanked.unwrap_or(rest.len().min(1)));
        match blanked {
            Some(_) => code.extend(part.chars().map(|c| if c == '\n' { c } else { ' ' })),
            None => code.push_str(part),
        }
        rest = tail;
    }
    code
}

fn comment_length(rest: &str) -> Option<usize> {
    let end = |mark: &str| rest.find(mark).map_or(rest.len(), |at| at + mark.len());
    match rest.as_bytes() {
        [b'/', b'/', ..] => Some(end("\n") - usize::from(rest.contains('\n'))),
        [b'/', b'*', ..] => Some(end("*/")),
        _ => None,
    }
}

fn literal_length(rest: &str) -> Option<usize> {
    if let Some(raw) = rest.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = body.find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some(2 + hashes + end + 1 + hashes);
    }
    let body = rest.strip_prefix(['"', '\''])?;
    if rest.starts_with('"') {
        return escaped_end(body, '"').map(|end| end + 2);
    }
    // A lifetime has no closing quote right after its first character.
    let mut characters = body.chars();
    match (characters.next()?, characters.next()?) {
        ('\\', _) => escaped_end(body, '\'').map(|end| end + 2),
        (only, '\'') => Some(only.len_utf8() + 2),
        _ => None,
    }
}

/// Returns the offset of the first `quote` without a backslash.
fn escaped_end(body: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    body.char_indices().find_map(|(at, c)| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

fn without_sql_comment_and_text(line: &str) -> String {
    let code = line.split("--").next().unwrap_or_default();
    code.split('\'').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Reads the files below `directories` with an extension, by their path from the root.
fn files(directories: &[&str], extension: &str) -> Vec<(String, String)> {
    let root = root();
    let mut paths = Vec::new();
    for directory in directories {
        walk(&root.join(directory), &mut paths);
    }
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    assert!(!paths.is_empty(), "no .{extension} files in {directories:?}");
    let read = |path: PathBuf| {
        let source = std::fs::read_to_string(&path).expect("a text file");
        let path = path.strip_prefix(&root).expect("below the root");
        (path.to_string_lossy().into_owned(), source)
    };
    paths.into_iter().map(read).collect()
}

fn walk(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let is_foreign = path.ends_with("node_modules") || path.ends_with("target");
        match path.is_dir() {
            true if !is_foreign => walk(&path, paths),
            true => {}
            false => paths.push(path),
        }
    }
}

/// Returns the root at run time: the binary may have been built in another checkout.
fn root() -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    Path::new(&package).join("../..").canonicalize().expect("the workspace")
}

#[test]
fn comments_and_literals_are_not_compared() {
    let code = r##"let a = "hook_id"; // hook_id
let b = r#"hook_id"#; let c = '"'; let d: &'a str = hook_id; /* hook_id */"##;
    let mut found = Vec::new();
    report("x.rs", &without_comments_and_literals(code), &[RETIRED], &mut found);
    assert_eq!(found, ["`hook_id` in x.rs:2 is retired: use `webhook_id`"]);
}
