//! Files that belong to an editor and say nothing about the code: its settings, and copies that it
//! left behind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::SkipReason;

/// Directories with the settings of editors. Rules for assistants in them address the assistant,
/// and would be found as if they were knowledge about the code.
const EDITOR_DIRECTORIES: &[&str] =
    &[".cursor", ".fleet", ".history", ".idea", ".nova", ".vs", ".vscode", ".windsurf", ".zed"];

/// Ends of the names of copies: of editors (`~`, swap files), of merges and patches, and by hand.
const BACKUP_ENDS: &[&str] =
    &["~", ".bak", ".backup", ".old", ".orig", ".rej", ".swn", ".swo", ".swp"];

/// Returns why an entry is left out by its name, unless an ignore file includes it.
pub(super) fn reason(name: &OsStr, is_directory: bool) -> Option<SkipReason> {
    if is_directory {
        let is_editors = EDITOR_DIRECTORIES.iter().any(|directory| name == *directory);
        return is_editors.then_some(SkipReason::EditorSettings);
    }
    let name = name.as_bytes().to_ascii_lowercase();
    let ends = |end: &&str| name.len() > end.len() && name.ends_with(end.as_bytes());
    // Emacs writes `#name#` while a file has unsaved changes.
    let is_unsaved = name.len() > 2 && name.starts_with(b"#") && name.ends_with(b"#");
    (is_unsaved || BACKUP_ENDS.iter().any(ends)).then_some(SkipReason::Backup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_editors_and_of_copies_are_left_out() {
        let of = |name: &str, is_directory| reason(OsStr::new(name), is_directory);
        for name in [".cursor", ".vscode", ".idea"] {
            assert_eq!(of(name, true), Some(SkipReason::EditorSettings), "{name}");
            assert_eq!(of(name, false), None, "a file {name}");
        }
        let copies =
            ["a.rs~", "a.rs.bak", "A.RS.BAK", "a.rs.orig", ".a.rs.swp", "#a.rs#", "a.rs.rej"];
        for name in copies {
            assert_eq!(of(name, false), Some(SkipReason::Backup), "{name}");
            assert_eq!(of(name, true), None, "a directory {name}");
        }
        for name in ["a.rs", "backup.rs", "~", ".bak", "#", "original.md", ".cursorrules"] {
            assert_eq!(of(name, false), None, "{name}");
        }
    }
}
