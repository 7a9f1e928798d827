//! Description of a tree: sizes, languages, build files, and the directory to work in.

use std::collections::BTreeMap;

use mc_files::{FileKind, Root};
use mc_indexer::language;

use crate::Error;
use crate::tree::{self, Found, Visit};

/// Directories of builds and dependencies. Their size counts, their languages do not.
const DERIVED: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "vendor",
    ".venv",
    "venv",
    "__pycache__",
    ".gradle",
    ".tox",
    ".next",
    "coverage",
];

/// Names of files by which a directory is a project, with the tool that builds it.
const BUILD_FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "cargo"),
    ("package.json", "npm"),
    ("build.gradle", "gradle"),
    ("build.gradle.kts", "gradle"),
    ("settings.gradle", "gradle"),
    ("settings.gradle.kts", "gradle"),
    ("pom.xml", "maven"),
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
    ("requirements.txt", "python"),
    ("go.mod", "go"),
    ("Gemfile", "bundler"),
    ("Rakefile", "rake"),
    ("composer.json", "composer"),
    ("CMakeLists.txt", "cmake"),
    ("Makefile", "make"),
    ("meson.build", "meson"),
    ("BUILD.bazel", "bazel"),
    ("mix.exs", "mix"),
    ("Package.swift", "swift"),
    ("build.sbt", "sbt"),
    ("deno.json", "deno"),
];

/// Extensions of files by which a directory is a project.
const BUILD_EXTENSIONS: &[(&str, &str)] =
    &[("csproj", "dotnet"), ("fsproj", "dotnet"), ("sln", "dotnet"), ("gemspec", "bundler")];

/// Maximum number of build files that are listed.
const MAX_BUILD_FILES: usize = 100;

/// What to describe.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Directory, from the root of the workspace.
    pub path: &'a str,
    /// Levels of directories that are listed; those below count.
    pub max_depth: usize,
    /// Maximum number of entries that are listed.
    pub max_entries: usize,
}

/// Description of a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Entries, in the order of their paths.
    pub entries: Vec<TreeEntry>,
    /// Number of entries within the depth that are not listed.
    pub omitted_entries: usize,
    /// Number of files of the whole tree.
    pub files: u64,
    /// Size of these files, in bytes.
    pub bytes: u64,
    /// Languages of the files, those with most bytes first.
    pub languages: Vec<LanguageShare>,
    /// Files by which directories are built, the uppermost first.
    pub build_files: Vec<BuildFile>,
    /// Directory to work in, from the root of the workspace: the uppermost one with a build file.
    /// Among several, it is the one with most code. Empty for the root; `None` if there is no build
    /// file.
    pub project_path: Option<String>,
    /// Whether a limit of the traversal was reached, so that sizes are larger than told.
    pub is_partial: bool,
}

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path from the root of the workspace.
    pub path: String,
    /// Kind.
    pub kind: FileKind,
    /// Size in bytes; of a directory, that of all files below it.
    pub bytes: u64,
    /// Number of files below a directory; 1 for a file.
    pub files: u64,
}

/// Files of one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageShare {
    /// Name, as search filters have it.
    pub language: &'static str,
    /// Number of files.
    pub files: u64,
    /// Their size, in bytes.
    pub bytes: u64,
}

/// A file by which a directory is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFile {
    /// Path from the root of the workspace.
    pub path: String,
    /// Tool that reads it, such as `cargo`.
    pub tool: &'static str,
}

/// Describes a directory.
pub fn inspect(root: &Root, options: Options<'_>) -> Result<Inspection, Error> {
    let mut inspector = Inspector { options, ..Inspector::default() };
    let is_complete = tree::walk(root, options.path, |found| {
        inspector.add(found);
        Visit::Next
    })?;
    Ok(inspector.finish(!is_complete))
}

#[derive(Default)]
struct Inspector<'a> {
    options: Options<'a>,
    inspection: Inspection,
    /// Positions in `entries` of the listed directories around the current entry, by depth.
    open: Vec<usize>,
    languages: BTreeMap<&'static str, (u64, u64)>,
    /// Bytes of code by path of the directory.
    code: BTreeMap<String, u64>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { path: "", max_depth: 2, max_entries: 500 }
    }
}

impl Inspector<'_> {
    fn add(&mut self, found: &Found<'_>) {
        self.open.truncate(found.depth);
        let is_file = found.metadata.kind == FileKind::File;
        if is_file {
            self.count(found);
        }
        if found.depth >= self.options.max_depth {
            return;
        }
        if self.inspection.entries.len() >= self.options.max_entries {
            self.inspection.omitted_entries += 1;
            return;
        }
        let (bytes, files) = if is_file { (found.metadata.size, 1) } else { (0, 0) };
        let kind = found.metadata.kind;
        if kind == FileKind::Directory && self.open.len() == found.depth {
            self.open.push(self.inspection.entries.len());
        }
        let path = found.path.to_owned();
        self.inspection.entries.push(TreeEntry { path, kind, bytes, files });
    }

    fn count(&mut self, found: &Found<'_>) {
        let size = found.metadata.size;
        self.inspection.files += 1;
        self.inspection.bytes += size;
        for position in &self.open {
            if let Some(directory) = self.inspection.entries.get_mut(*position) {
                directory.bytes += size;
                directory.files += 1;
            }
        }
        if found.path.split('/').any(|part| DERIVED.contains(&part)) {
            return;
        }
        let language = language::detect(found.path, "");
        let share = self.languages.entry(language).or_default();
        *share = (share.0 + 1, share.1 + size);
        if language::is_code(found.path) {
            let mut directory = found.path;
            while let Some((parent, _)) = directory.rsplit_once('/') {
                *self.code.entry(parent.to_owned()).or_default() += size;
                directory = parent;
            }
        }
        if let Some(tool) = build_tool(found.path) {
            self.inspection.build_files.push(BuildFile { path: found.path.to_owned(), tool });
        }
    }

    fn finish(mut self, is_partial: bool) -> Inspection {
        let mut languages: Vec<LanguageShare> = self
            .languages
            .into_iter()
            .map(|(language, (files, bytes))| LanguageShare { language, files, bytes })
            .collect();
        languages.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.language.cmp(b.language)));
        let build_files = &mut self.inspection.build_files;
        build_files.sort_by_key(|file| (file.path.matches('/').count(), file.path.clone()));
        let depth = build_files.first().map(|file| file.path.matches('/').count());
        let uppermost = build_files
            .iter()
            .filter(|file| Some(file.path.matches('/').count()) == depth)
            .map(|file| directory_of(&file.path));
        // The first of equal ones, in the order of their paths.
        let code = |path: &&str| self.code.get(*path).copied().unwrap_or(0);
        let project_path = uppermost.rev().max_by_key(code).map(str::to_owned);
        build_files.truncate(MAX_BUILD_FILES);
        Inspection { languages, project_path, is_partial, ..self.inspection }
    }
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Returns the tool that reads a file to build its directory.
fn build_tool(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let by_name = BUILD_FILES.iter().find(|(known, _)| *known == name);
    let by_extension = || BUILD_EXTENSIONS.iter().find(|(known, _)| Some(*known) == extension);
    by_name.or_else(by_extension).map(|(_, tool)| *tool)
}
