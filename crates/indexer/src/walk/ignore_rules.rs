//! What the ignore files of a tree leave out.
//!
//! They are read like any other file of the tree, without following a link and up to a limit: a
//! `.gitignore` that is a link to a device, or a pipe, says nothing and holds nobody up.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::open::Entry;
use super::{IGNORE_FILE, Root};

/// Largest ignore file that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// The rules that hold in a folder: its own, then those of the folders around it.
#[derive(Debug)]
pub(super) struct Rules {
    folder: String,
    own: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    outer: Option<Arc<Rules>>,
}

impl Rules {
    /// Reads the ignore files among the `entries` of `folder`; one that can't be read says nothing.
    pub fn of_folder(
        root: &Root,
        folder: &str,
        entries: &[Entry],
        outer: Option<Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let read = |name: &str| {
            if has(name) { file(root, &below(folder, name)) } else { Gitignore::empty() }
        };
        let rules = Self {
            own: read(IGNORE_FILE),
            git: read(".gitignore"),
            exclude: if has(".git") { exclude(root, folder) } else { Gitignore::empty() },
            folder: folder.to_owned(),
            outer: outer.clone(),
        };
        let says_something = [&rules.own, &rules.git, &rules.exclude].iter().any(|r| !r.is_empty());
        if says_something { Some(Arc::new(rules)) } else { outer }
    }

    /// Whether the file or folder at `path`, from the root, is left out. `.mcpignore` counts for
    /// more than `.gitignore`, that for more than `.git/info/exclude`; then the innermost counts.
    pub fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let kinds: [fn(&Self) -> &Gitignore; 3] =
            [|rules| &rules.own, |rules| &rules.git, |rules| &rules.exclude];
        kinds
            .into_iter()
            .find_map(|kind| self.verdict(kind, path, is_folder))
            .is_some_and(|is_ignored| is_ignored)
    }

    fn verdict(&self, kind: fn(&Self) -> &Gitignore, path: &Path, is_folder: bool) -> Option<bool> {
        let mut level = Some(self);
        while let Some(rules) = level {
            let path = path.strip_prefix(&rules.folder).unwrap_or(path);
            match kind(rules).matched(path, is_folder) {
                Match::Ignore(_) => return Some(true),
                Match::Whitelist(_) => return Some(false),
                Match::None => level = rules.outer.as_deref(),
            }
        }
        None
    }
}

fn file(root: &Root, path: &str) -> Gitignore {
    match root.read(path, MAX_BYTES) {
        Ok(bytes) => rules(path, &bytes),
        Err(skip) => {
            let reason = skip.as_str();
            tracing::warn!(file.path = path, reason, "the ignore file is not honoured");
            Gitignore::empty()
        }
    }
}

/// What is excluded for this clone only, mostly nothing. In a work tree of `git worktree`, `.git`
/// is a file that names the folder of the work tree, and `commondir` in that the one of the clone.
fn exclude(root: &Root, folder: &str) -> Gitignore {
    let git = below(folder, ".git");
    let path = format!("{git}/info/exclude");
    let bytes = match root.read(&git, MAX_BYTES) {
        Ok(link) => of_clone(&link),
        Err(_) => root.read(&path, MAX_BYTES).ok(),
    };
    bytes.map_or_else(Gitignore::empty, |bytes| rules(&path, &bytes))
}

fn of_clone(link: &[u8]) -> Option<Vec<u8>> {
    let first_line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().next().map(|line| line.trim_end().to_owned())
    };
    let work_tree = PathBuf::from(first_line(link)?.strip_prefix("gitdir: ")?);
    let common = Root::open(&work_tree).ok()?.read("commondir", MAX_BYTES).ok()?;
    let clone = Root::open(&work_tree.join(first_line(&common)?)).ok()?;
    clone.read("info/exclude", MAX_BYTES).ok()
}

fn rules(path: &str, bytes: &[u8]) -> Gitignore {
    let text = String::from_utf8_lossy(bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern that can't be understood is left out, like one that matches nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|error| {
        tracing::warn!(file.path = path, %error, "the ignore file is not honoured");
        Gitignore::empty()
    })
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
