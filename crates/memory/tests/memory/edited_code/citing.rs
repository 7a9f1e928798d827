//! Records that each cite one place of the tree.

use mc_domain::RecordId;
use mc_memory::{NewCitation, SaveRequest};

use super::tree::{Method, MethodId, SourceFile};
use crate::support::World;

/// Cites a third of the methods by name, and the others by some or all lines.
pub fn is_by_name(id: MethodId) -> bool {
    id.0.is_multiple_of(3)
}

/// Saves a record that cites a method of the file.
pub async fn cite_method(world: &World, path: &str, file: &SourceFile, at: usize) -> RecordId {
    let method: &Method = &file.methods[at];
    let name = file.language.qualified(&file.class, &method.name);
    let note = format!("{name} has to run before the month is closed");
    let citation = if is_by_name(method.id) {
        NewCitation { symbol: Some(name), ..whole(path) }
    } else {
        NewCitation { lines: Some(file.cited_lines(at)), ..whole(path) }
    };
    cite(world, &note, citation).await
}

/// Saves a record that cites a whole file.
pub async fn cite_file(world: &World, path: &str, file: &SourceFile) -> RecordId {
    cite(world, &format!("{} is audited twice a year", file.class), whole(path)).await
}

fn whole(path: &str) -> NewCitation {
    NewCitation {
        file: path.to_owned(),
        symbol: None,
        lines: None,
        commit: None,
        content_hash: None,
    }
}

async fn cite(world: &World, note: &str, citation: NewCitation) -> RecordId {
    world.created(&SaveRequest { citations: vec![citation], ..world.note(note) }).await
}
