//! The knowledge graph of the MCP server "memory": its file, or the result of its `read_graph`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::ParseError;
use crate::kind;
use crate::note::{Import, Note, Origin, Reason};
use crate::screen::Candidate;
use crate::text::fits;

/// Longest name of an entity before its observations, in characters.
const NAME_MAX_CHARS: usize = 120;

#[derive(Debug, Deserialize)]
struct Entity {
    name: String,
    #[serde(default, rename = "entityType")]
    kind: String,
    #[serde(default)]
    observations: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Relation {
    from: String,
    to: String,
    #[serde(rename = "relationType")]
    verb: String,
}

/// A line of the file.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Entity(Entity),
    Relation(Relation),
}

#[derive(Debug, Deserialize)]
struct Graph {
    entities: Vec<Entity>,
    relations: Vec<Relation>,
}

/// Parses the graph. Each observation becomes a note, and the relations of an entity one.
pub fn parse(text: &str) -> Result<Import, ParseError> {
    let mut import = Import::default();
    let graph = match serde_json::from_str::<Value>(text) {
        Ok(value) if value.get("entities").is_some() => {
            serde_json::from_value(value).map_err(|error| ParseError::not_json(&error))?
        }
        _ => read_lines(&mut import, text),
    };
    for entity in &graph.entities {
        for observation in &entity.observations {
            add(&mut import, &entity.name, &described(entity, observation), observation);
        }
    }
    for (from, said) in relations(&graph.relations) {
        let text = format!("{}.", said.join("; "));
        add(&mut import, from, &text, &text);
    }
    Ok(import)
}

fn read_lines(import: &mut Import, text: &str) -> Graph {
    let mut graph = Graph { entities: Vec::new(), relations: Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (index, line) in lines {
        match serde_json::from_str(line) {
            Ok(Line::Entity(entity)) => graph.entities.push(entity),
            Ok(Line::Relation(relation)) => graph.relations.push(relation),
            Err(error) => {
                let line_number = u32::try_from(index + 1).ok();
                let source = "server-memory".to_owned();
                let origin = Origin { source, line: line_number, ..Origin::default() };
                let why = format!("the line is no entity and no relation: {error}");
                import.refuse(origin, line, Reason::Malformed(why));
            }
        }
    }
    graph
}

fn add(import: &mut Import, entity: &str, content: &str, statement: &str) {
    let name: String = entity.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = if fits(&name, NAME_MAX_CHARS) { name } else { "a long name".to_owned() };
    import.add(Candidate {
        note: Note {
            kind: kind::of_statement("", statement),
            content: content.to_owned(),
            title: None,
            tags: Vec::new(),
            globs: Vec::new(),
            cites: None,
            origin: Origin { source: format!("server-memory:{name}"), ..Origin::default() },
        },
        statement: statement.to_owned(),
    });
}

/// Puts the name and the type of the entity before an observation that does not begin with it.
fn described(entity: &Entity, observation: &str) -> String {
    let Entity { name, kind, .. } = entity;
    if observation.starts_with(name.as_str()) {
        observation.to_owned()
    } else if kind.is_empty() {
        format!("{name}: {observation}")
    } else {
        format!("{name} ({}): {observation}", kind.replace('_', " "))
    }
}

/// Returns the relations of each entity in words.
fn relations(relations: &[Relation]) -> BTreeMap<&str, Vec<String>> {
    let mut said: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Relation { from, to, verb } in relations {
        let verb = verb.replace('_', " ");
        said.entry(from).or_default().push(format!("`{from}` {verb} `{to}`"));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"
{"type":"entity","name":"checkout","entityType":"service","observations":["Pays in two steps.","?"]}
{"type":"relation","from":"checkout","to":"payments","relationType":"depends_on"}
{"type":"relation","from":"checkout","to":"Ann's team","relationType":"is owned by"}
{"type":"note"}"#;

    #[test]
    fn observations_and_relations_become_notes() {
        let import = parse(LINES).expect("a graph");
        let notes: Vec<_> = import.notes.iter().map(|note| note.content.as_str()).collect();
        assert_eq!(
            notes,
            [
                "checkout (service): Pays in two steps.",
                "`checkout` depends on `payments`; `checkout` is owned by `Ann's team`.",
            ]
        );
        assert_eq!(import.notes[0].origin.to_string(), "server-memory:checkout");
        let refused: Vec<_> = import.refused.iter().map(|one| one.origin.to_string()).collect();
        assert_eq!(refused, ["server-memory:5", "server-memory:checkout"]);
    }

    #[test]
    fn result_of_read_graph_is_read() {
        let text = r#"{"entities":[{"name":"ci","entityType":"","observations":
            ["ci runs the slow tests at night only."]}],"relations":[]}"#;
        let import = parse(text).expect("a graph");
        assert_eq!(import.notes[0].content, "ci runs the slow tests at night only.");
    }
}
