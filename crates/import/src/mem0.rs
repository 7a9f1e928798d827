//! Memories of mem0, as `Memory.get_all` of its library and its server return them.

use mc_domain::RecordKind;
use serde_json::Value;

use crate::ParseError;
use crate::kind;
use crate::note::{Import, Note, Origin, Reason};
use crate::screen::Candidate;

/// Most labels of a memory that are taken over.
const MAX_TAGS: usize = 8;

/// Parses the memories: a list, or an object with the list `results` or `memories`.
pub fn parse(text: &str) -> Result<Import, ParseError> {
    let value: Value = serde_json::from_str(text).map_err(|error| ParseError::not_json(&error))?;
    let items = memories(&value).ok_or_else(|| {
        let why = "the file has no list of memories; export them with `get_all` of mem0";
        ParseError::NotAnExport(why.to_owned())
    })?;
    let mut import = Import::default();
    for (index, item) in items.iter().enumerate() {
        read(&mut import, index, item);
    }
    Ok(import)
}

/// Returns the list of memories of an export.
pub fn memories(export: &Value) -> Option<&Vec<Value>> {
    let named = ["results", "memories"].iter().find_map(|key| export[*key].as_array());
    named.or_else(|| export.as_array())
}

fn read(import: &mut Import, index: usize, item: &Value) {
    let id = item["id"].as_str().unwrap_or_default();
    let has_id = !id.is_empty() && id.len() <= 64 && !id.contains(char::is_whitespace);
    let place = if has_id { id.to_owned() } else { format!("memory {}", index + 1) };
    let origin = Origin { source: format!("mem0:{place}"), ..Origin::default() };
    let Some(memory) = item["memory"].as_str().map(str::trim).filter(|_| has_id) else {
        let why = "has no id or no text in `memory`".to_owned();
        return import.refuse(origin, &item.to_string(), Reason::Malformed(why));
    };
    let kind = match kind::of_statement("", memory) {
        RecordKind::Gotcha => RecordKind::Gotcha,
        RecordKind::Rule => RecordKind::Rule,
        _ => RecordKind::Fact,
    };
    import.add(Candidate {
        note: Note {
            kind,
            content: memory.to_owned(),
            title: None,
            tags: tags(item),
            globs: Vec::new(),
            cites: None,
            origin,
        },
        statement: memory.to_owned(),
    });
}

/// Returns the categories. Users, agents and runs are not taken over: they are ids of the other
/// program.
fn tags(item: &Value) -> Vec<String> {
    let categories =
        [&item["categories"], &item["metadata"]["category"], &item["metadata"]["tags"]];
    let words = categories.into_iter().flat_map(|value| match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        Value::String(word) => vec![word.as_str()],
        _ => Vec::new(),
    });
    let is_word = |word: &&str| !word.is_empty() && word.len() <= 64 && !word.contains('\n');
    words.filter(is_word).take(MAX_TAGS).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_become_notes_with_their_ids() {
        let text = r#"{"results": [
            {"id": "6f1c", "memory": "The build needs Node 22 because of its test runner.",
             "hash": "x", "metadata": {"category": "build"}, "user_id": "ann"},
            {"id": "7a", "memory": "Ok"},
            {"memory": "A memory without an id is of no export."}
        ], "relations": []}"#;
        let import = parse(text).expect("an export");
        let note = &import.notes[0];
        assert_eq!((import.notes.len(), note.origin.to_string()), (1, "mem0:6f1c".to_owned()));
        assert_eq!(note.tags, ["build"]);
        let refused: Vec<_> = import.refused.iter().map(|one| one.origin.to_string()).collect();
        assert_eq!(refused, ["mem0:7a", "mem0:memory 3"]);
    }

    #[test]
    fn other_json_is_no_export() {
        assert!(parse("{}").is_err());
        let error = parse("{").expect_err("an error").to_string();
        assert!(error.contains("not JSON"), "{error}");
    }
}
