//! Correction of common deviations of models from the schemas: `path` for `repo_path`, a string for
//! a list, `2.0` for an integer, `"10-20"` for two lines. Only unambiguous values are corrected;
//! the checks after it reject the others.

use rmcp::model::JsonObject;
use serde_json::{Number, Value, json};

/// Arguments with their aliases. An alias that is also an argument of the tool is ignored.
const ALIASES: &[(&str, &[&str])] = &[
    ("project_key", &["project"]),
    ("task_external_id", ISSUE),
    ("issue_id", ISSUE),
    ("repo_path", PATH),
    ("path", PATH),
    ("file", PATH),
    ("language", &["lang"]),
    ("limit", &["top_k", "max_results", "count"]),
    ("limit_tokens", &["max_tokens", "token_limit"]),
    ("symbols", &["symbol"]),
    ("signals", &["signal", "error", "errors", "error_message"]),
    ("tags", &["tag"]),
    ("kinds", &["kind"]),
    ("sources", &["source"]),
    ("citations", CITED),
    ("content", &["text"]),
    ("record_ids", &["record_id", "ids", "id"]),
    ("used", &["ids", "handles", "used_ids"]),
    ("id", &["handle", "record_id", "doc_id"]),
    ("section", &["heading"]),
    ("line_start", &["start_line"]),
    ("line_end", &["end_line"]),
];
const ISSUE: &[&str] =
    &["issue", "issue_id", "issue_key", "task", "task_id", "task_external_id", "ticket"];
/// Aliases of citations.
const CITED: &[&str] = &["citation", "files", "file", "path", "repo_path", "file_path"];
const PATH: &[&str] =
    &["path", "file", "repo_path", "file_path", "filepath", "filename", "folder", "directory"];

/// Arguments with the id of an issue, which may be a number.
const NUMBERED: [&str; 2] = ["task_external_id", "issue_id"];
/// Arguments with a path in a repository.
const PATHS: [&str; 2] = ["repo_path", "file"];
/// The path for which `.` means the whole repository.
const ROOTED: &str = "repo_path";
/// Prefix of the URL of a file.
pub(super) const FILE_URL: &str = "file://";
/// Argument with a glob of such paths.
const GLOB: &str = "path";

/// Returns `arguments` with the names and types of `schema`, as far as the conversion is
/// unambiguous.
pub(super) fn normalize(schema: &JsonObject, mut arguments: JsonObject) -> JsonObject {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return arguments;
    };
    rename(properties, &mut arguments);
    // A document may be named by its path instead of its title.
    if properties.contains_key("section") && !arguments.contains_key("title") {
        let path = PATH.iter().find_map(|name| arguments.remove(*name));
        arguments.extend(path.map(|path| ("title".to_owned(), title(path))));
    }
    if properties.contains_key("line_start") {
        spread_lines(&mut arguments);
    }
    for (name, value) in &mut arguments {
        if let Some(schema) = properties.get(name).and_then(Value::as_object) {
            let original = std::mem::take(value);
            *value = read(name, schema, original);
        }
    }
    // The root of a repository means no path.
    if arguments.get(ROOTED).is_some_and(|path| path == "") {
        arguments.remove(ROOTED);
    }
    arguments
}

fn rename(properties: &JsonObject, arguments: &mut JsonObject) {
    let known = ALIASES.iter().filter(|(name, _)| properties.contains_key(*name));
    for (name, aliases) in known {
        let is_present = |arguments: &JsonObject| arguments.contains_key(*name);
        for alias in aliases.iter().filter(|alias| !properties.contains_key(**alias)) {
            if is_present(arguments) {
                break;
            }
            if let Some(value) = arguments.remove(*alias) {
                arguments.insert((*name).to_owned(), value);
            }
        }
    }
}

fn read(name: &str, schema: &JsonObject, value: Value) -> Value {
    let value = parse_json_string(schema, value);
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("integer"), value) => integer(value),
        (Some("boolean"), Value::String(word)) => boolean(word),
        (Some("string"), Value::Number(number)) if NUMBERED.contains(&name) => {
            Value::String(number.to_string())
        }
        (Some("string"), Value::String(text)) => string(name, schema, text),
        (Some("array"), value) => list(name, schema, value),
        (Some("object"), Value::String(text)) if name == "citations" => {
            object(schema, citation(&text))
        }
        (Some("object"), Value::Object(inner)) => object(schema, inner),
        (_, value) => value,
    }
}

fn object(schema: &JsonObject, inner: JsonObject) -> Value {
    Value::Object(normalize(schema, inner))
}

/// Parses a list or object that was sent as a JSON string.
fn parse_json_string(schema: &JsonObject, value: Value) -> Value {
    let expected = schema.get("type").and_then(Value::as_str);
    let Value::String(text) = &value else { return value };
    let opening = match expected {
        Some("array") => '[',
        Some("object") => '{',
        _ => return value,
    };
    if !text.trim_start().starts_with(opening) {
        return value;
    }
    match serde_json::from_str(text) {
        Ok(inner @ (Value::Array(_) | Value::Object(_))) => inner,
        _ => value,
    }
}

/// Converts `2.0` and `"2"` to 2.
fn integer(value: Value) -> Value {
    let number = match &value {
        Value::Number(number) if number.is_f64() => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.and_then(exact_integer).map_or(value, |number| Value::Number(Number::from(number)))
}

#[expect(clippy::cast_possible_truncation, reason = "only an integer that fits is cast")]
fn exact_integer(number: f64) -> Option<i64> {
    // Up to this bound, every integer is exact as a float.
    let fits = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0;
    fits.then_some(number as i64)
}

fn boolean(word: String) -> Value {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" => Value::Bool(true),
        "false" | "no" => Value::Bool(false),
        _ => Value::String(word),
    }
}

fn string(name: &str, schema: &JsonObject, text: String) -> Value {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return Value::String(one_of(words, &text).unwrap_or(text));
    }
    Value::String(match name {
        GLOB => glob(&path(&text)),
        _ if PATHS.contains(&name) => path(&text),
        _ => text,
    })
}

/// Finds the word in the list, ignoring case, hyphens and a plural s.
fn one_of(words: &[Value], text: &str) -> Option<String> {
    let plain = |word: &str| word.to_lowercase().replace(['-', '_', ' '], "");
    let text = plain(text);
    let singular = text.strip_suffix('s').unwrap_or(&text);
    let mut words = words.iter().filter_map(Value::as_str);
    let word = words.find(|word| plain(word) == text || plain(word) == singular);
    word.map(ToOwned::to_owned)
}

/// Returns a path with `/` as separator, for a file URL or a Windows path, too.
fn path(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix(FILE_URL).unwrap_or(text);
    // A file URL contains `/C:/work`.
    let text = match text.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => &text[1..],
        _ => text,
    };
    let text = if text.contains('/') { text.to_owned() } else { text.replace('\\', "/") };
    if text == "." { String::new() } else { text.trim_start_matches("./").to_owned() }
}

/// Returns a document's path as a title. An absolute path becomes a URL, because a title may also
/// start with a slash.
fn title(value: Value) -> Value {
    let Value::String(text) = value else { return value };
    let path = path(&text);
    Value::String(if is_absolute(&path) { format!("{FILE_URL}{path}") } else { path })
}

/// Converts a path to a glob for the file or everything in the directory; a glob is unchanged.
pub fn glob(path: &str) -> String {
    let is_glob = path.contains(['*', '?', '[', '{', '\\']);
    if path.is_empty() || is_glob || path.ends_with('/') || is_absolute(path) {
        return path.to_owned();
    }
    if path.contains('/') {
        format!("{{{path},{path}/**}}")
    } else {
        format!("{{**/{path},**/{path}/**}}")
    }
}

/// Returns whether a path is absolute.
pub(super) fn is_absolute(path: &str) -> bool {
    let drive = |bytes: &[u8]| matches!(bytes, [d, b':', b'/', ..] if d.is_ascii_alphabetic());
    path.starts_with("~/") || path.starts_with('/') || drive(path.as_bytes())
}

fn list(name: &str, schema: &JsonObject, value: Value) -> Value {
    let Some(item) = schema.get("items").and_then(Value::as_object) else { return value };
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) => split(name, item, &text),
        item @ (Value::Object(_) | Value::Number(_)) => vec![item],
        other => return other,
    };
    Value::Array(items.into_iter().map(|value| read(name, item, value)).collect())
}

/// Splits a string into the items of a list. Error messages and some symbols are not split, because
/// they contain commas.
fn split(name: &str, item: &JsonObject, text: &str) -> Vec<Value> {
    let is_single = name == "signals"
        || item.get("type").is_some_and(|kind| kind == "object")
        || name == "symbols" && text.contains(['<', '(', '[', '{']);
    let parts: Vec<&str> = if is_single { vec![text] } else { text.split([',', '\n']).collect() };
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| json!(part)).collect()
}

/// Parses a citation that was sent as a string: `a.rb`, `a.rb:10`, `a.rb:10-20`, `a.rb#L10-L20` or
/// `a.rb#Cart`.
fn citation(text: &str) -> JsonObject {
    let text = text.trim();
    let mut citation = JsonObject::new();
    let split = text.rsplit_once('#').or_else(|| {
        let is_lines = |lines: &str| lines.starts_with(|c: char| c.is_ascii_digit());
        text.rsplit_once(':').filter(|(_, lines)| is_lines(lines))
    });
    let file = match split {
        Some((file, lines)) if span(lines).is_some() => {
            citation.insert("lines".into(), json!(lines));
            file
        }
        Some((file, symbol)) if text.contains('#') && !symbol.is_empty() => {
            citation.insert("symbol".into(), json!(symbol));
            file
        }
        _ => text,
    };
    citation.insert("file".into(), json!(file));
    citation
}

/// Replaces `line` and `lines` by `line_start` and `line_end`.
fn spread_lines(citation: &mut JsonObject) {
    for name in ["lines", "line"] {
        let Some(value) = citation.remove(name) else { continue };
        let range = match &value {
            Value::String(text) => span(text),
            Value::Array(lines) => match lines.as_slice() {
                [line] => Some((line.clone(), line.clone())),
                [first, last] => Some((first.clone(), last.clone())),
                _ => None,
            },
            Value::Number(_) => Some((value.clone(), value.clone())),
            Value::Object(lines) => lines.get("start").cloned().zip(lines.get("end").cloned()),
            _ => None,
        };
        match range {
            Some((first, last)) if !citation.contains_key("line_start") => {
                citation.insert("line_start".into(), first);
                citation.entry("line_end").or_insert(last);
            }
            Some(_) => {}
            None => {
                citation.insert(name.to_owned(), value);
            }
        }
    }
}

/// Parses the first and last line of `10`, `10-20`, `10:20` or `L10-L20`.
fn span(text: &str) -> Option<(Value, Value)> {
    let mut lines = text.splitn(2, ['-', ':', '–']).map(|line| {
        let line = line.trim().trim_start_matches(['L', 'l']);
        line.parse::<u32>().ok()
    });
    let first = lines.next()??;
    let last = lines.next().unwrap_or(Some(first))?;
    Some((json!(first), json!(last)))
}
