//! Errors of bubblewrap before the command has started.

use std::io;

use crate::Error;
use crate::command::Command;

/// Returns the error for a message of bubblewrap. `files` are the numbers of the files that are
/// the command's directories, in their order.
pub(super) fn start_error(message: &str, command: &Command, files: &[String]) -> Error {
    let unreachable = command.directories.iter().zip(files).find(|(directory, file)| {
        let target = directory.target.to_string_lossy();
        names(message, &format!("/proc/self/fd/{file}"))
            || names(message, &format!("/newroot{target}"))
            // Bubblewrap looks up the path of the file first.
            || directory.path().is_ok_and(|path| names(message, &path.to_string_lossy()))
    });
    match unreachable {
        None => Error::NotStarted(message.to_owned()),
        Some((directory, _)) => Error::Directory {
            path: directory.path().unwrap_or_else(|_| directory.target.clone()),
            cause: io::Error::other(message.to_owned()),
        },
    }
}

/// Returns whether the message contains the path, and not only a path that starts with it.
fn names(message: &str, path: &str) -> bool {
    let is_end = |rest: &str| rest.chars().next().is_none_or(|next| ": ".contains(next));
    message.match_indices(path).any(|(at, _)| is_end(&message[at + path.len()..]))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::command::{Access, Directory};

    #[test]
    fn message_about_a_directory_names_it() {
        let directory = |path: &str, target: &str| {
            Directory::open(Path::new(path), target, Access::ReadOnly).expect("a directory")
        };
        let command = Command::new("true")
            .directory(directory("/usr", "/work"))
            .directory(directory("/var", "/input"));
        let files = ["1".to_owned(), "12".to_owned()];
        for (message, expected) in [
            ("bwrap: Can't find source path /proc/self/fd/12: Permission denied", Some("/var")),
            ("bwrap: Can't find source path /proc/self/fd/1: Permission denied", Some("/usr")),
            ("bwrap: Can't bind mount /a on /newroot/work: No such file", Some("/usr")),
            ("bwrap: Can't get type of source /var: No such file", Some("/var")),
            ("bwrap: Can't bind mount /a on /newroot/workshop: No such file", None),
            ("bwrap: Can't find source path /proc/self/fd/123: No such file", None),
            ("bwrap: No permissions to create new namespace", None),
        ] {
            let found = match start_error(message, &command, &files) {
                Error::Directory { path, .. } => Some(path),
                Error::NotStarted(reason) => {
                    assert_eq!(reason, message);
                    None
                }
                other => panic!("{other}"),
            };
            assert_eq!(found.as_deref(), expected.map(Path::new), "{message}");
        }
    }
}
