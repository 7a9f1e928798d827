//! The tools: their names, what a model is told of them, and the Core call each of them is.

mod arguments;
mod definitions;
mod requests;
mod responses;
mod schemas;
mod sections;

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed};

use crate::settings::Toolset;

pub use arguments::{FieldError, Reference, glob, put, references};
pub use requests::{core_call, explain_error, project_of};
pub use responses::{answer, opened};
pub use sections::{NoSection, Piece};

/// A tool of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The team's knowledge for a task or place, as a bundle.
    Recall,
    /// Keep something the team should know.
    Save,
    /// Everything, by words and meaning.
    Search,
    /// Code only.
    SearchCode,
    /// Tie a dialog and records to a tracker's issue.
    LinkIssue,
    /// A record's or a document's text.
    OpenDoc,
    /// What of a bundle was of use.
    Feedback,
    /// Take a record or a proposal out.
    Forget,
}

/// Prefixes that the seeds' dotted names carry. Cursor turns the dot into an underscore, so both
/// spellings meet here.
const NAMESPACES: [&str; 4] = ["memory_", "repo_", "tasks_", "docs_"];

impl Tool {
    /// Every tool, in the order in which they are listed.
    pub const ALL: &'static [Self] = &[
        Self::Recall,
        Self::Save,
        Self::Search,
        Self::SearchCode,
        Self::LinkIssue,
        Self::OpenDoc,
        Self::Feedback,
        Self::Forget,
    ];

    /// The name in `tools/list`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Save => "save",
            Self::Search => "search",
            Self::SearchCode => "search_code",
            Self::LinkIssue => "link_issue",
            Self::OpenDoc => "open_doc",
            Self::Feedback => "feedback",
            Self::Forget => "forget",
        }
    }

    /// The tool that `name` calls: the listed name, or a dotted one (`memory.recall`).
    pub fn from_name(name: &str) -> Option<Self> {
        let flat = name.replace('.', "_");
        let exact = |name: &str| Self::ALL.iter().copied().find(|tool| tool.as_str() == name);
        exact(&flat).or_else(|| {
            NAMESPACES.iter().find_map(|namespace| exact(flat.strip_prefix(namespace)?))
        })
    }

    /// Whether one of `toolsets` holds this tool.
    pub fn is_in(self, toolsets: &[Toolset]) -> bool {
        toolsets.iter().any(|toolset| match toolset {
            Toolset::Memory => self != Self::SearchCode,
            Toolset::Repo => matches!(self, Self::Search | Self::SearchCode | Self::OpenDoc),
        })
    }

    /// What `tools/list` says of this tool.
    pub fn definition(self) -> Listed {
        definitions::definition(self)
    }

    /// Reads `arguments` as models mean them and checks them against the very schema that is listed. Nulls, which
    /// many models send for "not given", are dropped.
    pub fn check(self, arguments: JsonObject) -> Result<JsonObject, FieldError> {
        let schema: Arc<JsonObject> = self.definition().input_schema;
        arguments::check(&schema, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_and_underscored_names_call_the_same_tool() {
        for name in ["recall", "memory.recall", "memory_recall"] {
            assert_eq!(Tool::from_name(name), Some(Tool::Recall), "{name}");
        }
        for name in ["search_code", "repo.search_code", "repo_search_code", "search.code"] {
            assert_eq!(Tool::from_name(name), Some(Tool::SearchCode), "{name}");
        }
        assert_eq!(Tool::from_name("docs.open_doc"), Some(Tool::OpenDoc));
    }

    #[test]
    fn other_names_call_nothing() {
        for name in ["", ".", "memory.", "memory", "github.recall", "repo.rag_search", "RECALL"] {
            assert_eq!(Tool::from_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn every_tool_is_in_a_toolset_and_each_toolset_stands_alone() {
        assert!(Tool::ALL.iter().all(|tool| tool.is_in(Toolset::ALL)));
        assert!(!Tool::SearchCode.is_in(&[Toolset::Memory]));
        assert!(!Tool::Save.is_in(&[Toolset::Repo]));
        assert!(!Tool::Recall.is_in(&[]));
    }
}
