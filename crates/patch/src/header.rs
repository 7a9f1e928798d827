//! The lines before the hunks of a file: its paths, modes, and whether it is created, deleted,
//! renamed or copied.

use crate::path::{is_allowed, unquote};
use crate::types::{FilePatch, Hunk, Operation, Refusal};

/// Start of the header of a file, as git writes it.
pub(crate) const OF_GIT: &[u8] = b"diff --git ";
/// Path in place of that of a file that does not exist.
const NO_FILE: &[u8] = b"/dev/null";
/// Kinds of files, in the upper bits of a mode.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;
/// Modes of regular files.
const REGULAR: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
/// Directories that stand in diffs for the old and the new tree.
const PREFIXES: [&[u8]; 6] = [b"a/", b"b/", b"c/", b"i/", b"o/", b"w/"];

/// The header of a file.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// Paths of the line that starts it.
    both: Option<(Vec<u8>, Vec<u8>)>,
    /// Paths after `---` and `+++`.
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// Paths of a rename or copy, without a prefix.
    source: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    /// What the lines of git say about the file.
    operation: Option<Operation>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    /// Mode of the line `index`, of a file that keeps it.
    mode: Option<u32>,
    is_binary: bool,
}

impl Header {
    /// Starts a header at a line that begins with [`OF_GIT`].
    pub fn of_git(line: &[u8]) -> Self {
        let names = line.strip_prefix(OF_GIT).unwrap_or_default();
        Self { both: both_names(names), ..Self::default() }
    }

    /// Reads a line. Returns whether it belongs to the header.
    pub fn read(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(mode) = after("old mode ") {
            self.old_mode = octal(mode);
        } else if let Some(mode) = after("new mode ") {
            self.new_mode = octal(mode);
        } else if let Some(mode) = after("new file mode ") {
            (self.operation, self.new_mode) = (Some(Operation::Create), octal(mode));
        } else if let Some(mode) = after("deleted file mode ") {
            (self.operation, self.old_mode) = (Some(Operation::Delete), octal(mode));
        } else if let Some(path) = after("rename from ") {
            (self.operation, self.source) = (Some(Operation::Rename), Some(name(path)));
        } else if let Some(path) = after("rename to ") {
            self.target = Some(name(path));
        } else if let Some(path) = after("copy from ") {
            (self.operation, self.source) = (Some(Operation::Copy), Some(name(path)));
        } else if let Some(path) = after("copy to ") {
            self.target = Some(name(path));
        } else if let Some(ids) = after("index ") {
            let mode = ids.split(|byte| *byte == b' ').nth(1);
            self.mode = mode.and_then(octal);
        } else if let Some(path) = after("--- ") {
            self.old = Some(name(path));
        } else if let Some(path) = after("+++ ") {
            self.new = Some(name(path));
        } else if after("Binary files ").is_some() || line == b"GIT binary patch" {
            self.is_binary = true;
        } else {
            return after("similarity index ").is_some() || after("dissimilarity index ").is_some();
        }
        true
    }

    /// Returns the change of the file with these hunks, or what is wrong.
    pub fn finish(self, hunks: Vec<Hunk>) -> Result<FilePatch, String> {
        let (source, path) = self.paths()?;
        let operation = self.operation();
        let refusal = self.refusal(operation, &source, &path);
        let [source, path] = [source, path].map(|path| String::from_utf8_lossy(&path).into_owned());
        let may_be_empty = operation != Operation::Modify || refusal.is_some();
        if hunks.is_empty() && !may_be_empty {
            return Err(format!("{path} has no hunk; start one with a line `@@ -1,3 +1,4 @@`"));
        }
        let has_source = matches!(operation, Operation::Rename | Operation::Copy);
        Ok(FilePatch {
            operation,
            path,
            source: has_source.then_some(source),
            is_executable: operation == Operation::Create && self.new_mode == Some(EXECUTABLE),
            hunks,
            refusal,
        })
    }

    fn operation(&self) -> Operation {
        let is_no_file = |name: &Option<Vec<u8>>| name.as_deref() == Some(NO_FILE);
        match self.operation {
            Some(operation) => operation,
            None if is_no_file(&self.old) => Operation::Create,
            None if is_no_file(&self.new) => Operation::Delete,
            None => Operation::Modify,
        }
    }

    /// Returns the paths of the old and of the new file, equal if it stays where it is.
    fn paths(&self) -> Result<(Vec<u8>, Vec<u8>), String> {
        if let (Some(source), Some(target)) = (&self.source, &self.target) {
            let is_same = |name: &Option<Vec<u8>>, path: &[u8]| {
                name.as_ref().is_none_or(|name| name == path || without_prefix(name) == path)
            };
            if !is_same(&self.old, source) || !is_same(&self.new, target) {
                return Err("`---` and `+++` name other files than the rename or copy".to_owned());
            }
            return Ok((source.clone(), target.clone()));
        }
        let both = self.both.clone();
        let (old, new) = match (self.old.clone(), self.new.clone()) {
            (Some(old), Some(new)) if old == NO_FILE && new == NO_FILE => {
                return Err("both files are /dev/null".to_owned());
            }
            (Some(old), Some(new)) => (old, new),
            _ => both.ok_or("the header does not name the file")?,
        };
        // With `--no-prefix`, the line that starts the header has the same path twice.
        let has_prefix = self.both.as_ref().is_none_or(|(old, new)| old != new);
        let plain = |path: &'_ [u8]| {
            let path = if has_prefix { without_prefix(path) } else { path };
            path.to_owned()
        };
        if old == NO_FILE || new == NO_FILE {
            let path = plain(if old == NO_FILE { &new } else { &old });
            let named = self.both.as_ref().map(|(_, new)| plain(new));
            if named.is_some_and(|named| named != path) {
                return Err("`---` and `+++` name another file than `diff --git`".to_owned());
            }
            return Ok((path.clone(), path));
        }
        let is_prefixed = old != new && without_prefix(&old) == without_prefix(&new);
        let (old, new) = if is_prefixed { (plain(&old), plain(&new)) } else { (old, new) };
        if old == new {
            return Ok((old, new));
        }
        let [old, new] = [old, new].map(|path| String::from_utf8_lossy(&path).into_owned());
        Err(format!(
            "`--- {old}` and `+++ {new}` name different files; a rename needs lines `rename from` \
             and `rename to`"
        ))
    }

    fn refusal(&self, operation: Operation, source: &[u8], path: &[u8]) -> Option<Refusal> {
        let is_bad = |path: &[u8]| !std::str::from_utf8(path).is_ok_and(is_allowed);
        let modes = [self.old_mode, self.new_mode, self.mode];
        let has_kind = |kind| modes.iter().flatten().any(|mode| mode & KIND == kind);
        let is_changed =
            matches!(operation, Operation::Modify | Operation::Rename | Operation::Copy)
                && self.old_mode != self.new_mode;
        let is_strange = modes.iter().flatten().any(|mode| ![REGULAR, EXECUTABLE].contains(mode));
        if is_bad(source) || is_bad(path) {
            Some(Refusal::Path)
        } else if has_kind(SUBMODULE) {
            Some(Refusal::Submodule)
        } else if has_kind(LINK) {
            Some(Refusal::Link)
        } else if self.is_binary {
            Some(Refusal::Binary)
        } else if is_changed || is_strange {
            Some(Refusal::Mode)
        } else {
            None
        }
    }
}

fn without_prefix(path: &[u8]) -> &[u8] {
    PREFIXES.iter().find_map(|prefix| path.strip_prefix(*prefix)).unwrap_or(path)
}

fn octal(text: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(text.trim_ascii()).ok()?, 8).ok()
}

/// Returns a path: in quotation marks, or up to a tab, which separates it from a time.
fn name(text: &[u8]) -> Vec<u8> {
    if let Some((path, _)) = unquote(text) {
        return path;
    }
    let end = text.iter().position(|byte| *byte == b'\t').unwrap_or(text.len());
    text[..end].trim_ascii_end().to_owned()
}

/// Returns the two paths of a line `diff --git`. Without quotation marks, nothing separates them
/// but a space, which a path may have, too; so they must be equal after their prefixes.
fn both_names(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if let Some((old, rest)) = unquote(text) {
        let rest = rest.strip_prefix(b" ")?;
        let new = unquote(rest).map_or_else(|| rest.to_owned(), |(new, _)| new);
        return Some((old, new));
    }
    if let Some(quote) = text.iter().position(|byte| *byte == b'"') {
        let old = text[..quote].strip_suffix(b" ")?;
        return unquote(&text[quote..]).map(|(new, _)| (old.to_owned(), new));
    }
    let spaces = (0..text.len()).filter(|index| text[*index] == b' ');
    let mut halves = spaces.map(|index| (&text[..index], &text[index + 1..]));
    let same = halves.find(|(old, new)| without_prefix(old) == without_prefix(new));
    same.map(|(old, new)| (old.to_owned(), new.to_owned()))
}
