//! What models send for what the schemas say: `path` for `repo_path`, a string for a list, `2.0`
//! for an integer, `"10-20"` for two lines. What can be meant in one way only is taken so before it
//! is checked; the rest is left for the check to refuse.

use rmcp::model::JsonObject;
use serde_json::{Number, Value, json};

/// What an argument is called here, and what else it is called. An alias that is an argument of the
/// tool by itself is none.
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
/// What a save is about, where it is not about a place by its own name.
const CITED: &[&str] = &["citation", "files", "file", "path", "repo_path", "file_path"];
const PATH: &[&str] =
    &["path", "file", "repo_path", "file_path", "filepath", "filename", "folder", "directory"];

/// Arguments that name an issue: trackers number them, and a number is a name, too.
const NUMBERED: [&str; 2] = ["task_external_id", "issue_id"];
/// Arguments that hold a path within a repository.
const PATHS: [&str; 2] = ["repo_path", "file"];
/// The one of these that says where something is about to be done.
const ROOTED: &str = "repo_path";
/// How the URL of a file begins.
pub(super) const FILE_URL: &str = "file://";
/// The argument that holds a glob over such paths.
const GLOB: &str = "path";

/// `arguments` as `schema` has them, as far as that is what they mean.
pub(super) fn understand(schema: &JsonObject, mut arguments: JsonObject) -> JsonObject {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return arguments;
    };
    rename(properties, &mut arguments);
    // A document goes by its path as by its title.
    if properties.contains_key("section") && !arguments.contains_key("title") {
        let path = PATH.iter().find_map(|name| arguments.remove(*name));
        arguments.extend(path.map(|path| ("title".to_owned(), title(path))));
    }
    if properties.contains_key("line_start") {
        spread_lines(&mut arguments);
    }
    for (name, value) in &mut arguments {
        if let Some(schema) = properties.get(name).and_then(Value::as_object) {
            let given = std::mem::take(value);
            *value = read(name, schema, given);
        }
    }
    // The root of a repository, which is no place in particular.
    if arguments.get(ROOTED).is_some_and(|path| path == "") {
        arguments.remove(ROOTED);
    }
    arguments
}

fn rename(properties: &JsonObject, arguments: &mut JsonObject) {
    let known = ALIASES.iter().filter(|(name, _)| properties.contains_key(*name));
    for (name, aliases) in known {
        let is_given = |arguments: &JsonObject| arguments.contains_key(*name);
        for alias in aliases.iter().filter(|alias| !properties.contains_key(**alias)) {
            if is_given(arguments) {
                break;
            }
            if let Some(value) = arguments.remove(*alias) {
                arguments.insert((*name).to_owned(), value);
            }
        }
    }
}

fn read(name: &str, schema: &JsonObject, value: Value) -> Value {
    let value = unpacked(schema, value);
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("integer"), value) => integer(value),
        (Some("boolean"), Value::String(word)) => boolean(word),
        (Some("string"), Value::Number(number)) if NUMBERED.contains(&name) => {
            Value::String(number.to_string())
        }
        (Some("string"), Value::String(text)) => string(name, schema, text),
        (Some("array"), value) => list(name, schema, value),
        (Some("object"), Value::String(text)) if name == "citations" => {
            object(schema, place(&text))
        }
        (Some("object"), Value::Object(inner)) => object(schema, inner),
        (_, value) => value,
    }
}

fn object(schema: &JsonObject, inner: JsonObject) -> Value {
    Value::Object(understand(schema, inner))
}

/// A list or an object that came as the text of its JSON.
fn unpacked(schema: &JsonObject, value: Value) -> Value {
    let wanted = schema.get("type").and_then(Value::as_str);
    let Value::String(text) = &value else { return value };
    let opens = match wanted {
        Some("array") => '[',
        Some("object") => '{',
        _ => return value,
    };
    if !text.trim_start().starts_with(opens) {
        return value;
    }
    match serde_json::from_str(text) {
        Ok(inner @ (Value::Array(_) | Value::Object(_))) => inner,
        _ => value,
    }
}

/// `2.0` and `"2"` are 2.
fn integer(value: Value) -> Value {
    let number = match &value {
        Value::Number(number) if number.is_f64() => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.and_then(whole).map_or(value, |number| Value::Number(Number::from(number)))
}

#[expect(clippy::cast_possible_truncation, reason = "only a whole number that fits is cast")]
fn whole(number: f64) -> Option<i64> {
    // Up to here every whole number has a float of its own.
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

/// The word of the list that is written so but for its case, hyphens and a plural's s.
fn one_of(words: &[Value], text: &str) -> Option<String> {
    let plain = |word: &str| word.to_lowercase().replace(['-', '_', ' '], "");
    let given = plain(text);
    let singular = given.strip_suffix('s').unwrap_or(&given);
    let mut words = words.iter().filter_map(Value::as_str);
    let word = words.find(|word| plain(word) == given || plain(word) == singular);
    word.map(ToOwned::to_owned)
}

/// A path with `/` between its parts, out of a URL of a file or of Windows.
fn path(text: &str) -> String {
    let text = text.trim();
    let text = text.strip_prefix(FILE_URL).unwrap_or(text);
    // `/C:/work` of a URL.
    let text = match text.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => &text[1..],
        _ => text,
    };
    let text = if text.contains('/') { text.to_owned() } else { text.replace('\\', "/") };
    if text == "." { String::new() } else { text.trim_start_matches("./").to_owned() }
}

/// A document's title out of its path. An absolute path stays a URL: a title may begin with a slash
/// by itself.
fn title(given: Value) -> Value {
    let Value::String(text) = given else { return given };
    let path = path(&text);
    Value::String(if is_absolute(&path) { format!("{FILE_URL}{path}") } else { path })
}

/// A glob for a path that is none: the file of this name, or all of the folder.
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

/// Whether a path begins at the root of a machine's file system.
pub(super) fn is_absolute(path: &str) -> bool {
    let drive = |bytes: &[u8]| matches!(bytes, [d, b':', b'/', ..] if d.is_ascii_alphabetic());
    path.starts_with("~/") || path.starts_with('/') || drive(path.as_bytes())
}

fn list(name: &str, schema: &JsonObject, value: Value) -> Value {
    let Some(item) = schema.get("items").and_then(Value::as_object) else { return value };
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) => split(name, item, &text),
        one @ (Value::Object(_) | Value::Number(_)) => vec![one],
        other => return other,
    };
    Value::Array(items.into_iter().map(|one| read(name, item, one)).collect())
}

/// The items of a list that came as one string. An error's line has commas in it, and so have the
/// names of some definitions.
fn split(name: &str, item: &JsonObject, text: &str) -> Vec<Value> {
    let is_one = name == "signals"
        || item.get("type").is_some_and(|of| of == "object")
        || name == "symbols" && text.contains(['<', '(', '[', '{']);
    let parts: Vec<&str> = if is_one { vec![text] } else { text.split([',', '\n']).collect() };
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| json!(part)).collect()
}

/// A cited place that came as a string: `a.rb`, `a.rb:10`, `a.rb:10-20`, `a.rb#L10-L20`,
/// `a.rb#Cart`.
fn place(text: &str) -> JsonObject {
    let text = text.trim();
    let mut place = JsonObject::new();
    let split = text.rsplit_once('#').or_else(|| {
        let is_lines = |lines: &str| lines.starts_with(|c: char| c.is_ascii_digit());
        text.rsplit_once(':').filter(|(_, lines)| is_lines(lines))
    });
    let file = match split {
        Some((file, behind)) if span(behind).is_some() => {
            place.insert("lines".into(), json!(behind));
            file
        }
        Some((file, symbol)) if text.contains('#') && !symbol.is_empty() => {
            place.insert("symbol".into(), json!(symbol));
            file
        }
        _ => text,
    };
    place.insert("file".into(), json!(file));
    place
}

/// Puts `line` and `lines` where they belong.
fn spread_lines(place: &mut JsonObject) {
    for name in ["lines", "line"] {
        let Some(given) = place.remove(name) else { continue };
        let both = match &given {
            Value::String(text) => span(text),
            Value::Array(lines) => match lines.as_slice() {
                [one] => Some((one.clone(), one.clone())),
                [first, last] => Some((first.clone(), last.clone())),
                _ => None,
            },
            Value::Number(_) => Some((given.clone(), given.clone())),
            Value::Object(lines) => lines.get("start").cloned().zip(lines.get("end").cloned()),
            _ => None,
        };
        match both {
            Some((first, last)) if !place.contains_key("line_start") => {
                place.insert("line_start".into(), first);
                place.entry("line_end").or_insert(last);
            }
            Some(_) => {}
            None => {
                place.insert(name.to_owned(), given);
            }
        }
    }
}

/// First and last line of `10`, `10-20`, `10:20`, `L10-L20`.
fn span(text: &str) -> Option<(Value, Value)> {
    let mut lines = text.splitn(2, ['-', ':', '–']).map(|line| {
        let line = line.trim().trim_start_matches(['L', 'l']);
        line.parse::<u32>().ok()
    });
    let first = lines.next()??;
    let last = lines.next().unwrap_or(Some(first))?;
    Some((json!(first), json!(last)))
}
