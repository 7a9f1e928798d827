//! `/workspaces`: trees of repositories that a user reads and changes.
//!
//! The names are those of seeds 000 and 002 (`github.repository_fetch` and its companions).

use chrono::{DateTime, Utc};
use mc_domain::{IngestRunId, WorkspaceId, WorkspaceKind, WorkspaceState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::number::{InspectionDepth, LineNumber, PageLimit, ReadBytes};
use crate::text::{AbsolutePath, GitRef, RepositoryLocation, RepositoryPart, WorkspacePath};
use crate::{ProjectKey, Request, ValidationError};

/// A repository to fetch into a new workspace.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(example = json!({
    "project_key": "shop", "owner": "acme", "name": "shop", "ref": "main"
}))]
pub struct CreateWorkspace {
    /// Key of the project.
    #[serde(rename = "project_key")]
    pub project_key: ProjectKey,
    /// URL of a git repository. Absent: the repository of the project with this owner and name, or
    /// else the one at GitHub. An ssh or `file:` URL, a directory and a host of the private
    /// network require a service administrator and the scope `ingest:local`.
    pub location: Option<RepositoryLocation>,
    /// The owner; taken from the location when absent.
    pub owner: Option<RepositoryPart>,
    /// The name; taken from the location when absent.
    pub name: Option<RepositoryPart>,
    /// Branch, tag or commit; the default branch when absent.
    pub r#ref: Option<GitRef>,
    /// How many commits are fetched; `shallow` by default.
    pub depth: Option<FetchDepth>,
}

impl Request for CreateWorkspace {
    fn check(&self) -> Result<(), ValidationError> {
        if self.location.is_some() || (self.owner.is_some() && self.name.is_some()) {
            return Ok(());
        }
        let rule = "is missing; give the URL of a repository, or `owner` and `name`";
        Err(ValidationError::new("location", rule))
    }
}

/// How many commits of a repository are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FetchDepth {
    /// The commit alone.
    #[default]
    Shallow,
    /// All commits that lead to it.
    Full,
}

/// A directory of the service's machine that becomes a workspace.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(example = json!({
    "project_key": "shop", "directory": "/home/dev/shop", "editable": true
}))]
pub struct CreateWorkspaceFolder {
    /// Key of the project.
    #[serde(rename = "project_key")]
    pub project_key: ProjectKey,
    /// The top directory of a checkout of git.
    pub directory: AbsolutePath,
    /// Whether files in it may be changed. No commands run there.
    #[serde(default)]
    pub editable: bool,
    /// The owner under which the repository is known; taken from the directory when absent.
    pub owner: Option<RepositoryPart>,
    /// The name under which it is known; taken from the directory when absent.
    pub name: Option<RepositoryPart>,
}

impl Request for CreateWorkspaceFolder {}

path! {
    /// A workspace, in a path.
    WorkspacePathParams {
        /// The workspace's id.
        id: WorkspaceId,
    }
}

/// Which workspaces to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkspaceQuery {
    /// Key of the project.
    #[param(inline)]
    pub project_key: ProjectKey,
    /// Whether to list those of other users, too; for maintainers. False by default.
    pub all: Option<bool>,
    /// The `next_cursor` of the previous page.
    pub cursor: Option<WorkspaceId>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for WorkspaceQuery {}

/// A workspace.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "workspaceId": "019a0000-0000-7000-8000-000000000021", "owner": "acme", "name": "shop",
    "ref": "main", "commit": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334", "state": "ready",
    "kind": "clone", "editable": true, "job": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "ingestId": "019a0000-0000-7000-8000-000000000009", "user": "dev", "sizeBytes": 8192,
    "createdAt": "2026-11-20T10:00:00Z", "fetchStartedAt": "2026-11-20T10:00:01Z",
    "fetchedAt": "2026-11-20T10:00:04Z", "usedAt": "2026-11-20T10:00:04Z",
    "expiresAt": "2026-11-27T10:00:04Z"
}))]
pub struct Workspace {
    /// The workspace's id.
    pub workspace_id: WorkspaceId,
    /// Owner of the repository.
    pub owner: String,
    /// Name of the repository.
    pub name: String,
    /// The fetched ref, or the requested one until it is fetched. Empty for the default branch if
    /// its name is unknown.
    pub r#ref: String,
    /// The fetched commit; empty until it is fetched, and for an empty repository.
    pub commit: String,
    /// How far it is. Its files can be read once it is `ready`.
    pub state: WorkspaceState,
    /// A clone or a registered directory.
    pub kind: WorkspaceKind,
    /// Whether its files may be changed.
    pub editable: bool,
    /// The registered directory.
    pub directory: Option<String>,
    /// The job that fetches it.
    pub job: Option<String>,
    /// The index run of the fetched commit.
    pub ingest_id: Option<IngestRunId>,
    /// Login of the user who reads and changes it.
    pub user: String,
    /// Bytes on the disk, measured from time to time.
    pub size_bytes: i64,
    /// Why the last attempt failed.
    #[schema(value_type = Option<Object>)]
    pub last_error: Option<Value>,
    /// When it was requested.
    pub created_at: DateTime<Utc>,
    /// When the last attempt to fetch it started.
    pub fetch_started_at: Option<DateTime<Utc>>,
    /// When it was fetched.
    pub fetched_at: Option<DateTime<Utc>>,
    /// When it was last used.
    pub used_at: DateTime<Utc>,
    /// When it is deleted unless it is used before. A registered directory is never deleted.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Which workspace is deleted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeletionQuery {
    /// Whether a workspace stays that has been fetched. So a fetch is cancelled.
    #[serde(default)]
    pub unless_fetched: bool,
}

impl Request for DeletionQuery {}

/// What to describe of a workspace.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct InspectionQuery {
    /// A directory from the root of the workspace; the root when absent.
    #[param(inline)]
    pub path: Option<WorkspacePath>,
    /// Levels of directories that are listed, 1 to 10; 2 by default.
    #[param(inline)]
    pub depth: Option<InspectionDepth>,
    /// Maximum number of entries, 1 to 200; 200 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for InspectionQuery {}

/// Description of a directory of a workspace.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "workspaceId": "019a0000-0000-7000-8000-000000000021", "path": "/workspace",
    "entries": [{"path": "src", "kind": "directory", "bytes": 5120, "files": 12}],
    "omittedEntries": 0, "files": 14, "bytes": 5324,
    "languages": [{"language": "rust", "files": 12, "bytes": 5120}],
    "buildFiles": [{"path": "Cargo.toml", "tool": "cargo"}], "projectPath": "",
    "isPartial": false
}))]
pub struct WorkspaceInspection {
    /// The workspace's id.
    pub workspace_id: WorkspaceId,
    /// The directory, as the tools of workspaces name it.
    pub path: String,
    /// Entries in the order of their paths.
    pub entries: Vec<InspectedEntry>,
    /// Number of entries within the depth that are not listed.
    pub omitted_entries: usize,
    /// Number of files below the directory.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Languages of the files, those with most bytes first. Directories of builds and dependencies
    /// do not count.
    pub languages: Vec<InspectedLanguage>,
    /// Files by which directories are built, the uppermost first.
    pub build_files: Vec<InspectedBuildFile>,
    /// Suggested directory to work in, from the root of the workspace: the uppermost one with a
    /// build file, and among several the one with most code. Empty for the root; absent without a
    /// build file.
    pub project_path: Option<String>,
    /// Whether a limit was reached, so that the sizes are larger.
    pub is_partial: bool,
}

/// A file or directory of a workspace.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InspectedEntry {
    /// Path from the root of the workspace.
    pub path: String,
    /// `file`, `directory`, `link` or `other`.
    pub kind: String,
    /// Size in bytes; of a directory, that of all files below it.
    pub bytes: u64,
    /// Number of files below a directory; 1 for a file.
    pub files: u64,
}

/// Files of one language.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InspectedLanguage {
    /// Name, as search filters have it.
    pub language: String,
    /// Number of files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A file by which a directory is built.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct InspectedBuildFile {
    /// Path from the root of the workspace.
    pub path: String,
    /// Tool that reads it, such as `cargo`.
    pub tool: String,
}

/// What to read of a file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct WorkspaceFileQuery {
    /// A file, from the root of the workspace.
    #[param(inline)]
    pub path: WorkspacePath,
    /// The first line; 1 when absent.
    #[param(inline)]
    pub start_line: Option<LineNumber>,
    /// The last line; that of the file when absent.
    #[param(inline)]
    pub end_line: Option<LineNumber>,
    /// Maximum bytes of `content`, 1 to 2,000,000; 65,536 by default. Without it, each line is cut
    /// at 2,000 bytes.
    #[param(inline)]
    pub max_bytes: Option<ReadBytes>,
}

impl Request for WorkspaceFileQuery {
    fn check(&self) -> Result<(), ValidationError> {
        match (self.start_line, self.end_line) {
            (Some(start), Some(end)) if end < start => {
                Err(ValidationError::new("endLine", "is before `startLine`; give a later line"))
            }
            _ => Ok(()),
        }
    }
}

/// Lines of a file of a workspace.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "workspaceId": "019a0000-0000-7000-8000-000000000021", "path": "/workspace/src/main.rs",
    "content": "     1\tfn main() {}\n", "startLine": 1, "endLine": 1, "lines": 1, "bytes": 13,
    "encoding": "utf-8", "cutLines": [], "maskedCount": 0
}))]
pub struct WorkspaceFile {
    /// The workspace's id.
    pub workspace_id: WorkspaceId,
    /// The file, as the tools of workspaces name it.
    pub path: String,
    /// The lines, each with its number and a tab before it. Secrets and personal data are masked by
    /// the project's policy.
    pub content: String,
    /// The first line; 0 for an empty file.
    pub start_line: usize,
    /// The last line; 0 for an empty file.
    pub end_line: usize,
    /// Number of lines of the file.
    pub lines: usize,
    /// Size of the file, in bytes.
    pub bytes: usize,
    /// Encoding of the file, such as `utf-8` or `utf-16le`.
    pub encoding: String,
    /// Lines that were cut, since they are too long; with `maxBytes`, they are shown up to it.
    pub cut_lines: Vec<usize>,
    /// The next line to ask for, if the requested ones exceed `maxBytes`.
    pub next_line: Option<usize>,
    /// Number of masked places in the file.
    pub masked_count: usize,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn fetch_needs_a_location_or_a_name() {
        let check =
            |request: Value| from_value::<CreateWorkspace>(request).expect("a request").check();
        for valid in [
            json!({"project_key": "shop", "location": "https://git.example.org/a/b.git"}),
            json!({"project_key": "shop", "owner": "acme", "name": "shop", "ref": "main"}),
        ] {
            check(valid).expect("valid");
        }
        let error = check(json!({"project_key": "shop", "owner": "acme"})).expect_err("no name");
        assert_eq!(error.field, "location");
    }

    #[test]
    fn range_of_lines_is_in_order() {
        let query = |start, end| WorkspaceFileQuery {
            path: WorkspacePath::parse("src/main.rs").expect("a path"),
            start_line: Some(LineNumber::new(start).expect("a line")),
            end_line: Some(LineNumber::new(end).expect("a line")),
            max_bytes: None,
        };
        query(3, 3).check().expect("valid");
        assert_eq!(query(4, 3).check().expect_err("out of order").field, "endLine");
    }
}
