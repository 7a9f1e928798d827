//! The arguments of bubblewrap: what a command sees.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use crate::command::{Access, Command};
use crate::init::{InitProgram, PROCESS_ARGUMENT};
use crate::system_calls::{content_file, filter_file};

/// Directories with programs and libraries. Distributions differ in which are links into `/usr`.
pub(crate) const SYSTEM_DIRECTORIES: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Other files of the system that programs need. Keys in `/etc/ssl/private` are not among them.
const SYSTEM_FILES: &[&str] = &[
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];
/// Files with the only accounts and hosts that a command sees.
const OWN_FILES: &[(&str, &str)] = &[
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/usr/sbin/nologin\n\
         sandbox:x:1000:1000:sandbox:/tmp/home:/bin/sh\n",
    ),
    ("/etc/group", "root:x:0:\nsandbox:x:1000:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];
/// Ids of the command's user and group in the sandbox.
const USER: &str = "1000";

/// Namespaces, privileges and devices.
const ISOLATION: &[&str] = &[
    "--unshare-all",
    // `--unshare-all` goes on without this one if the kernel refuses it.
    "--unshare-user",
    "--disable-userns",
    "--uid",
    USER,
    "--gid",
    USER,
    "--hostname",
    "sandbox",
    "--new-session",
    "--die-with-parent",
    "--as-pid-1",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
];

/// Arguments of bubblewrap, and the files that it inherits.
#[derive(Debug)]
pub(super) struct Arguments {
    pub list: Vec<OsString>,
    /// Files that must stay open under the numbers that they have now.
    pub files: Vec<OwnedFd>,
    /// Numbers of those that are the command's directories, in their order.
    pub directories: Vec<String>,
}

impl Arguments {
    /// Returns the arguments that run `init` as the first process of the sandbox of a command.
    pub fn new(
        init: &InitProgram,
        command: &Command,
        read_only_paths: &[PathBuf],
    ) -> io::Result<Self> {
        let mut arguments = Self { list: Vec::new(), files: Vec::new(), directories: Vec::new() };
        arguments.add(ISOLATION);
        arguments.add_memory_file_systems(command.limits.temporary_bytes);
        arguments.add_system(read_only_paths);
        for (path, content) in OWN_FILES {
            let file = arguments.keep(content_file(content.as_bytes())?);
            arguments.add(&["--ro-bind-data", &file, path]);
        }
        for directory in &command.directories {
            let option = match directory.access {
                Access::ReadOnly => "--ro-bind-fd",
                Access::Writable => "--bind-fd",
            };
            let file = arguments.keep(directory.handle.try_clone()?);
            arguments.add(&[option, &file]);
            arguments.list.push(directory.target.clone().into());
            arguments.directories.push(file);
        }
        // What is mounted below stays writable.
        arguments.add(&["--remount-ro", "/dev", "--remount-ro", "/"]);
        let filter = arguments.keep(filter_file()?);
        arguments.add(&["--seccomp", &filter]);
        let init = arguments.keep(init.try_clone()?);
        arguments.add(&["--", &format!("/proc/self/fd/{init}"), PROCESS_ARGUMENT]);
        Ok(arguments)
    }

    fn add(&mut self, list: &[&str]) {
        self.list.extend(list.iter().map(Into::into));
    }

    fn bind(&mut self, path: &Path) {
        self.list.extend([OsStr::new("--ro-bind"), path.as_ref(), path.as_ref()].map(Into::into));
    }

    /// Keeps a file open, and returns its number.
    fn keep(&mut self, file: OwnedFd) -> String {
        let number = file.as_raw_fd().to_string();
        self.files.push(file);
        number
    }

    fn add_memory_file_systems(&mut self, bytes: u64) {
        let bytes = bytes.to_string();
        for path in ["/tmp", "/dev/shm"] {
            self.add(&["--perms", "1777", "--size", &bytes, "--tmpfs", path]);
        }
        self.add(&["--perms", "0700", "--dir", "/tmp/home"]);
    }

    fn add_system(&mut self, read_only_paths: &[PathBuf]) {
        for path in SYSTEM_DIRECTORIES.iter().map(Path::new) {
            match fs::read_link(path) {
                Ok(target) => {
                    let link = [OsStr::new("--symlink"), target.as_ref(), path.as_ref()];
                    self.list.extend(link.map(Into::into));
                }
                Err(_) if path.is_dir() => self.bind(path),
                Err(_) => {}
            }
        }
        let files = SYSTEM_FILES.iter().map(Path::new).filter(|path| path.exists());
        let tools = read_only_paths.iter().map(PathBuf::as_path);
        files.chain(tools).for_each(|path| self.bind(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Directory;

    #[test]
    fn command_sees_what_is_listed_and_nothing_else() {
        let directory = Directory::open(Path::new("/var"), "/work", Access::Writable);
        let command = Command::new("true").directory(directory.expect("a directory"));
        let init = InitProgram::current().expect("a program");
        let tools = [PathBuf::from("/opt/tools")];
        let arguments = Arguments::new(&init, &command, &tools).expect("arguments");
        let Arguments { list, files, .. } = arguments;
        let mut sources: Vec<&str> = Vec::new();
        let words: Vec<&str> = list.iter().map(|word| word.to_str().expect("a text")).collect();
        for (index, word) in words.iter().enumerate() {
            if *word == "--ro-bind" {
                assert_eq!(words[index + 1], words[index + 2], "the same path inside");
                sources.push(words[index + 1]);
            }
            assert!(!["--bind", "--dev-bind", "--share-net", "--cap-add"].contains(word), "{word}");
        }
        let is_known = |path: &str| [SYSTEM_DIRECTORIES, SYSTEM_FILES].concat().contains(&path);
        assert!(sources.iter().all(|path| is_known(path) || *path == "/opt/tools"), "{sources:?}");
        assert!(sources.contains(&"/usr"));
        // The files of accounts and hosts, the directory, the filter and the first process.
        assert_eq!(files.len(), OWN_FILES.len() + 3);
        assert_eq!(words.iter().filter(|word| **word == "--bind-fd").count(), 1);
    }
}
