//! Tools of the server: each has a file with its definition, and a line in [`TOOLS`].

mod arguments;
mod bash;
mod edit_tool;
mod feedback;
mod forget;
mod git_tool;
mod json_edit_tool;
mod link_issue;
mod navigator;
mod open_doc;
mod own;
mod patches;
mod rag_index_status;
mod rag_search;
mod recall;
mod repository_fetch;
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
mod workspace_inspector;
mod workspace_read_file;

use mc_domain::ProjectKey;
use rmcp::model::JsonObject;
use serde_json::Value;

pub use arguments::{FieldError, Reference, glob, put, references};
pub use responses::opened;
pub use sections::{NoSection, Piece};
pub use spec::{Handles, Route, SUBCOMMAND};
pub use tool::Tool;

/// All tools, in the order of the list.
pub static TOOLS: [Tool; 26] = [
    Tool::new::<recall::Recall>(),
    Tool::new::<save::Save>(),
    Tool::new::<search::Search>(),
    Tool::new::<search_code::SearchCode>(),
    Tool::new::<link_issue::LinkIssue>(),
    Tool::new::<open_doc::OpenDoc>(),
    Tool::new::<feedback::Feedback>(),
    Tool::new::<forget::Forget>(),
    Tool::new::<rag_index_status::RagIndexStatus>(),
    Tool::new::<rag_search::RagSearch>(),
    Tool::new::<rag_search::RagSearchSimple>(),
    Tool::new::<rag_search::RagSearchGlobal>(),
    Tool::new::<rag_search::RagSearchSimpleGlobal>(),
    Tool::new::<repository_fetch::RepositoryFetch>(),
    Tool::new::<workspace_inspector::WorkspaceInspector>(),
    Tool::new::<workspace_read_file::WorkspaceReadFile>(),
    Tool::new::<patches::GeneratePatchTool>(),
    Tool::new::<patches::ReviewPatchTool>(),
    Tool::new::<patches::PreviewPatchTool>(),
    Tool::new::<patches::ListPatches>(),
    Tool::new::<patches::DiscardPatch>(),
    Tool::new::<navigator::Navigator>(),
    Tool::new::<edit_tool::EditTool>(),
    Tool::new::<json_edit_tool::JsonEditTool>(),
    Tool::new::<git_tool::GitTool>(),
    Tool::new::<bash::Bash>(),
];

/// Name of the tool that shows an index run, and can wait for its end.
pub const INDEX_STATUS: &str = "repo_rag_index_status";
/// Its argument with the seconds that it waits.
pub const WAIT: &str = "waitSeconds";
/// Name of the tool that fetches a repository, which continues after the call returns.
pub const FETCH: &str = "github_repository_fetch";
/// Name of the tool that runs a command, which may continue after the call returns.
pub const BASH: &str = "bash";

/// Prefixes of the dotted names. Cursor replaces the dot by an underscore, so both spellings are
/// accepted.
const NAMESPACES: [&str; 4] = ["memory_", "repo_", "tasks_", "docs_"];

/// Finds a tool by its listed name or a dotted name (`memory.recall`).
pub fn from_name(name: &str) -> Option<&'static Tool> {
    let flat = name.replace('.', "_");
    let exact = |name: &str| TOOLS.iter().find(|tool| tool.name() == name);
    exact(&flat)
        .or_else(|| NAMESPACES.iter().find_map(|namespace| exact(flat.strip_prefix(namespace)?)))
}

/// Finds a tool and its subcommand by a dotted name (`navigator.lock_cwd`, `navigator_lock_cwd`).
pub fn from_subcommand(name: &str) -> Option<(&'static Tool, String)> {
    let flat = name.replace('.', "_");
    TOOLS.iter().filter(|tool| tool.spec.has_subcommands()).find_map(|tool| {
        let subcommand = flat.strip_prefix(tool.name())?.strip_prefix('_')?;
        Some((tool, subcommand.to_owned()))
    })
}

/// Returns the project key in `arguments`, else that of `default_project`.
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
