//! A parsed patch.

/// Changes of several files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// The files, in the order of the text.
    pub files: Vec<FilePatch>,
}

/// What a patch does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Changes lines of an existing file.
    Modify,
    /// Creates a file, which must not exist.
    Create,
    /// Deletes a file with exactly the removed lines.
    Delete,
    /// Moves a file, and may change lines of it.
    Rename,
    /// Copies a file, and may change lines of the copy.
    Copy,
}

impl Operation {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modify => "modify",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::Copy => "copy",
        }
    }
}

/// Why the change of a file is never applied, whatever its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The change of a binary file.
    Binary,
    /// The change of a file's permission bits.
    Mode,
    /// A symbolic link.
    Link,
    /// A submodule.
    Submodule,
    /// A path that leaves the directory, or that git or the service itself uses.
    Path,
}

impl Refusal {
    /// Returns the reason, and what to do instead.
    pub fn message(self) -> &'static str {
        match self {
            Self::Binary => "changes a binary file; a patch has text files only",
            Self::Mode => "changes permission bits; leave them as they are, and let a person do it",
            Self::Link => "is a symbolic link; a patch has regular files only",
            Self::Submodule => "is a submodule; change the other repository instead",
            Self::Path => {
                "is not a path below the directory, or is one of git; write names separated by \
                 \"/\", without \".\", \"..\", \".git\" and empty names, of at most 255 bytes each"
            }
        }
    }
}

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// What happens to the file.
    pub operation: Operation,
    /// Path of the file, that of the new one if it is renamed or copied.
    pub path: String,
    /// Path of the file that is renamed or copied.
    pub source: Option<String>,
    /// Whether a created file may be executed.
    pub is_executable: bool,
    /// The changed parts. A file that is created empty, deleted empty or only renamed has none.
    pub hunks: Vec<Hunk>,
    /// Why it is never applied.
    pub refusal: Option<Refusal>,
}

impl FilePatch {
    /// Returns the path of the file whose content is changed; `None` if it is created.
    pub fn old_path(&self) -> Option<&str> {
        match self.operation {
            Operation::Create => None,
            _ => Some(self.source.as_deref().unwrap_or(&self.path)),
        }
    }

    /// Returns the numbers of added and removed lines.
    pub fn line_counts(&self) -> (usize, usize) {
        let count = |kind| {
            let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
            lines.filter(|line| line.kind == kind).count()
        };
        (count(LineKind::Added), count(LineKind::Removed))
    }
}

/// A changed part of a file, with unchanged lines around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Index of its first line in the old file, from 0; `None` if the text does not say.
    pub position: Option<usize>,
    /// Text of the line that it is below, such as the head of a function; may be empty.
    pub section: Vec<u8>,
    /// Its lines.
    pub lines: Vec<HunkLine>,
    /// Whether the text has other numbers of lines than the hunk.
    pub is_recounted: bool,
}

impl Hunk {
    /// Returns the lines that the old file has.
    pub fn old_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != LineKind::Added)
    }

    /// Returns the lines that the new file has.
    pub fn new_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != LineKind::Removed)
    }

    /// Returns whether its last line is an unchanged one.
    pub fn has_context_after(&self) -> bool {
        self.lines.last().is_some_and(|line| line.kind == LineKind::Context)
    }

    /// Returns whether it adds or removes lines.
    pub fn has_changes(&self) -> bool {
        self.lines.iter().any(|line| line.kind != LineKind::Context)
    }
}

/// Kind of a line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// In the old and in the new file.
    Context,
    /// Only in the old file.
    Removed,
    /// Only in the new file.
    Added,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// In which file it is.
    pub kind: LineKind,
    /// Its bytes, with LF, unless the file ends without one.
    pub text: Vec<u8>,
}
