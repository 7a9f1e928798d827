//! `github_workspace_directory_inspector` and `workspace_read_file`.

use mc_contract::operations::workspace::{
    InspectedBuildFile, InspectedEntry, InspectedLanguage, InspectionQuery, WorkspaceFile,
    WorkspaceFileQuery, WorkspaceInspection,
};
use mc_contract::text::WorkspacePath;
use mc_files::FileKind;
use mc_text_edit::Limits;

use crate::ServiceError;
use crate::inspect::{self, Inspection, Options};
use crate::open::OpenWorkspace;
use crate::path::{display, resolve};

/// Describes a directory.
pub fn inspect(
    open: &OpenWorkspace,
    query: &InspectionQuery,
) -> Result<WorkspaceInspection, ServiceError> {
    let path = resolve("", query.path.as_ref().map_or("", WorkspacePath::as_str))?;
    let root = open.work_tree.root()?;
    // Names of files may have secrets or addresses.
    let tree = open.for_tools(&root);
    let masked = |name: String| tree.masked(&name);
    let options = Options {
        path: &path,
        max_depth: query.depth.unwrap_or_default().get(),
        max_entries: query.limit.map_or(200, |limit| usize::try_from(limit.get()).unwrap_or(200)),
    };
    let Inspection {
        entries,
        omitted_entries,
        files,
        bytes,
        languages,
        build_files,
        project_path,
        is_partial,
    } = inspect::inspect(&root, options)?;
    Ok(WorkspaceInspection {
        workspace_id: open.workspace.id,
        path: masked(display(&path)),
        entries: entries
            .into_iter()
            .map(entry)
            .map(|entry| InspectedEntry { path: masked(entry.path), ..entry })
            .collect(),
        omitted_entries,
        files,
        bytes,
        languages: languages
            .into_iter()
            .map(|share| InspectedLanguage {
                language: share.language.to_owned(),
                files: share.files,
                bytes: share.bytes,
            })
            .collect(),
        build_files: build_files
            .into_iter()
            .map(|file| InspectedBuildFile { path: masked(file.path), tool: file.tool.to_owned() })
            .collect(),
        project_path: project_path.map(masked),
        is_partial,
    })
}

fn entry(entry: inspect::TreeEntry) -> InspectedEntry {
    let kind = match entry.kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Link => "link",
        FileKind::Other => "other",
    };
    let inspect::TreeEntry { path, bytes, files, .. } = entry;
    InspectedEntry { path, kind: kind.to_owned(), bytes, files }
}

/// Reads lines of a file.
pub fn read_file(
    open: &OpenWorkspace,
    query: &WorkspaceFileQuery,
) -> Result<WorkspaceFile, ServiceError> {
    let path = resolve("", query.path.as_str())?;
    let root = open.work_tree.root()?;
    let workspace = open.for_tools(&root);
    let tree = workspace.tree();
    let range = match (query.start_line, query.end_line) {
        (None, None) => None,
        (start, end) => Some((
            start.map_or(1, |line| i64::from(line.get())),
            end.map_or(-1, |line| i64::from(line.get())),
        )),
    };
    let default = Limits::default();
    // A file of few long lines is read with a limit of its own.
    let limits = query.max_bytes.map_or(default, |max| {
        let max_bytes = max.get();
        Limits { max_bytes, max_line_bytes: max_bytes.max(default.max_line_bytes) }
    });
    let view = tree.read(&path, range, limits)?;
    Ok(WorkspaceFile {
        workspace_id: open.workspace.id,
        path: tree.mask(&display(&path)),
        content: view.listing.text,
        start_line: view.listing.first_line,
        end_line: view.listing.last_line,
        lines: view.listing.line_count,
        bytes: view.bytes,
        encoding: view.encoding.as_str().to_owned(),
        cut_lines: view.listing.cut_lines,
        next_line: view.listing.next_line,
        masked_count: view.listing.masked_count,
    })
}
