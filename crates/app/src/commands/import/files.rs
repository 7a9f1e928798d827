//! Files to import: rules files and decision records of a repository.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ignore::WalkBuilder;
use mc_import::{Format, MAX_BYTES};

use super::is_stdin;
use crate::cli::ImportFormat;
use crate::output;

/// Names of rules files, in any directory.
const RULES_FILES: [&str; 3] = ["CLAUDE.md", "AGENTS.md", ".cursorrules"];
/// Directories with rules files of one tool.
const RULES_DIRECTORIES: [&str; 2] = [".cursor/rules", ".claude/rules"];
/// Directories that are never read.
const SKIPPED: [&str; 3] = [".git", "node_modules", "vendor"];
/// Depth below the directory to which files are looked for.
const MAX_DEPTH: usize = 12;

/// A file to import.
#[derive(Debug)]
pub struct SourceFile {
    /// Its path below the repository's root.
    pub source: String,
    pub format: Format,
    pub text: String,
}

/// Returns the path of a file below the root of its repository, or its name.
pub fn source(path: &Path) -> String {
    if is_stdin(path) {
        return "standard input".to_owned();
    }
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = full.parent().unwrap_or(Path::new("/"));
    below(repository(directory).unwrap_or(directory), &full)
}

fn repository(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| directory.join(".git").exists())
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// Finds the rules files and decision records in a directory, except those that git ignores. With
/// a format, only those of the format; all Markdown files count as decision records.
pub fn find(directory: &Path, from: Option<ImportFormat>) -> Result<Vec<SourceFile>> {
    let wanted = match from {
        None => None,
        Some(ImportFormat::Other(format @ (Format::Rules | Format::Adr))) => Some(format),
        Some(_) => bail!("{} is a directory; give the file of the export", directory.display()),
    };
    let root = std::fs::canonicalize(directory)
        .with_context(|| format!("{} can't be read", directory.display()))?;
    let repository = repository(&root).unwrap_or(&root);
    let mut paths: Vec<(PathBuf, Format)> = WalkBuilder::new(&root)
        .hidden(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| !SKIPPED.iter().any(|name| entry.file_name() == *name))
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
        .filter_map(|entry| {
            let format = format_of(&below(repository, entry.path()), wanted)?;
            Some((entry.into_path(), format))
        })
        .collect();
    // Of a file and links to it, the file is read.
    paths.sort_by_key(|(path, _)| (path.is_symlink(), path.clone()));
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    for (path, format) in paths {
        let Ok(target) = std::fs::canonicalize(&path) else { continue };
        if !is_readable_target(&root, &target) || !seen.insert(target.clone()) {
            continue;
        }
        match read(&target) {
            Ok(text) => {
                files.push(SourceFile { source: below(repository, &path), format, text });
            }
            Err(error) => output::error_line(&format!("skipped: {error:#}")),
        }
    }
    files.sort_by(|a, b| a.source.cmp(&b.source));
    if files.is_empty() {
        bail!(
            "{} has no CLAUDE.md, AGENTS.md, Cursor rules or directory of decision records; give \
             a file, or a format with --from",
            directory.display()
        );
    }
    Ok(files)
}

/// Whether the target of a file or a link is a Markdown file of the directory. A link may lead to
/// any file of the user, or to one such as `.env`.
fn is_readable_target(root: &Path, target: &Path) -> bool {
    let Ok(below) = target.strip_prefix(root) else { return false };
    let is_markdown = target
        .extension()
        .is_some_and(|extension| extension == "md" || extension == "mdc" || extension == "mdx");
    let is_rules = target.file_name().is_some_and(|name| name == ".cursorrules");
    let is_skipped = below.iter().any(|part| SKIPPED.iter().any(|name| part == *name));
    (is_markdown || is_rules) && !is_skipped && target.is_file()
}

/// Returns the format of a file that is imported from a directory.
fn format_of(source: &str, wanted: Option<Format>) -> Option<Format> {
    let (directory, name) = source.rsplit_once('/').unwrap_or(("", source));
    let detected = Format::detect(source, "");
    let (is_markdown, is_record) = (detected.is_some(), detected == Some(Format::Adr));
    let is_rules = RULES_FILES.contains(&name)
        || is_markdown && RULES_DIRECTORIES.iter().any(|rules| is_in(directory, rules));
    match wanted {
        Some(Format::Adr) => (is_markdown && !is_rules).then_some(Format::Adr),
        Some(Format::Rules) => is_rules.then_some(Format::Rules),
        _ if is_rules => Some(Format::Rules),
        _ => is_record.then_some(Format::Adr),
    }
}

fn is_in(directory: &str, rules: &str) -> bool {
    let mut parents = directory.split_inclusive('/').scan(0, |end, part| {
        *end += part.len();
        Some(directory[..*end].trim_end_matches('/'))
    });
    parents.any(|parent| parent == rules || parent.ends_with(&format!("/{rules}")))
}

fn read(path: &Path) -> Result<String> {
    let unreadable = || format!("{} can't be read", path.display());
    let size = std::fs::metadata(path).with_context(unreadable)?.len();
    if size > MAX_BYTES as u64 {
        bail!("{} has {size} bytes; at most {MAX_BYTES} are read", path.display());
    }
    let bytes = std::fs::read(path).with_context(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_decisions_of_a_repository_are_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let write = |path: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, "text").expect("a file");
        };
        std::fs::create_dir(directory.path().join(".git")).expect("a directory");
        std::fs::write(directory.path().join(".gitignore"), "build/\n").expect("a file");
        let wanted =
            [".cursor/rules/sub/db.mdc", "AGENTS.md", "docs/adr/0001-x.md", "web/CLAUDE.md"];
        let others = ["build/CLAUDE.md", "README.md", "node_modules/x/AGENTS.md"];
        for path in wanted.iter().chain(&others) {
            write(path);
        }
        let outside = tempfile::NamedTempFile::new().expect("a file");
        let link = |target: &Path, path: &str| {
            std::os::unix::fs::symlink(target, directory.path().join(path)).expect("a link");
        };
        link(Path::new("AGENTS.md"), "CLAUDE.md");
        link(outside.path(), "web/AGENTS.md");
        let found = |from| {
            let files = find(directory.path(), from).expect("files");
            files.into_iter().map(|file| file.source).collect::<Vec<_>>()
        };
        assert_eq!(found(None), wanted);
        assert_eq!(
            found(Some(ImportFormat::Other(Format::Adr))),
            ["README.md", "docs/adr/0001-x.md"]
        );
        assert!(find(directory.path(), Some(ImportFormat::Other(Format::Mem0))).is_err());
    }
}
