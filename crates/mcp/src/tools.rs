//! The tools: each has a file that defines it, and a line in [`TOOLS`].

mod arguments;
mod feedback;
mod forget;
mod link_issue;
mod open_doc;
mod own;
mod recall;
mod responses;
mod save;
mod schemas;
mod search;
mod search_code;
mod sections;
mod spec;
#[cfg(test)]
mod tests;
mod tool;

use mc_domain::ProjectKey;
use rmcp::model::JsonObject;
use serde_json::Value;

pub use arguments::{FieldError, Reference, glob, put, references};
pub use responses::opened;
pub use sections::{NoSection, Piece};
pub use spec::Handles;
pub use tool::Tool;

/// Every tool, in the order in which they are listed.
pub static TOOLS: [Tool; 8] = [
    Tool::of::<recall::Recall>(),
    Tool::of::<save::Save>(),
    Tool::of::<search::Search>(),
    Tool::of::<search_code::SearchCode>(),
    Tool::of::<link_issue::LinkIssue>(),
    Tool::of::<open_doc::OpenDoc>(),
    Tool::of::<feedback::Feedback>(),
    Tool::of::<forget::Forget>(),
];

/// Prefixes of the dotted names. Cursor turns the dot into an underscore, so both spellings are
/// accepted.
const NAMESPACES: [&str; 4] = ["memory_", "repo_", "tasks_", "docs_"];

/// The tool that `name` calls: the listed name, or a dotted one (`memory.recall`).
pub fn from_name(name: &str) -> Option<&'static Tool> {
    let flat = name.replace('.', "_");
    let exact = |name: &str| TOOLS.iter().find(|tool| tool.name() == name);
    exact(&flat)
        .or_else(|| NAMESPACES.iter().find_map(|namespace| exact(flat.strip_prefix(namespace)?)))
}

/// The key of the project that `arguments` name, or `default_project` if they name none.
pub fn project_of(
    arguments: &JsonObject,
    default_project: Option<&ProjectKey>,
) -> Result<String, FieldError> {
    match arguments.get("project_key").and_then(Value::as_str) {
        Some(key) => ProjectKey::parse(key)
            .map(|key| key.to_string())
            .map_err(|error| FieldError::new("project_key", error.to_string())),
        None => default_project.map(ToString::to_string).ok_or_else(|| {
            FieldError::new(
                "project_key",
                "is required, since this server has no default project. Give it, or ask the user \
                 to set one: `memory-copilot mcp --project KEY`",
            )
        }),
    }
}
