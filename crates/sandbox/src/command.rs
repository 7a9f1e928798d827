//! Commands and their directories.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mc_privileges::{UnprivilegedUser, raise_privileges};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use crate::Error;
use crate::limits::Limits;
use crate::protected_paths::ProtectedPaths;

/// User that runs commands of a service that is root, if a command names no other. It exists only
/// for this, without an account.
pub const DEFAULT_USER: UnprivilegedUser = UnprivilegedUser { uid: 65_524, gid: 65_524 };

/// First components of paths in the sandbox that have another use.
const RESERVED: &[&str] = &[
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin",
    "sys", "tmp", "usr", "var",
];
/// Maximum length of the arguments and the environment together, in bytes.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// What a command may do in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It can read and execute files.
    ReadOnly,
    /// It can also change files.
    Writable,
}

/// An open directory, and its path in the sandbox. Because it is open, a link or another directory
/// that takes its path later has no effect.
///
/// Files that a command has created there are as untrusted as its output: links may lead anywhere
/// outside of the sandbox, so do not follow them.
#[derive(Debug, Clone)]
pub struct Directory {
    pub(crate) handle: Arc<OwnedFd>,
    pub(crate) target: PathBuf,
    pub(crate) access: Access,
}

impl Directory {
    /// Opens a directory. No component of the path may be a symbolic link; on kernels before 5.6,
    /// only the last component is checked. `target` is its path in the sandbox.
    pub fn open(path: &Path, target: impl Into<PathBuf>, access: Access) -> Result<Self, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let _raised = raise_privileges();
        let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::NOSYS) => open(path, flags, Mode::empty()),
            opened => opened,
        };
        let handle = opened
            .map_err(|cause| Error::Directory { path: path.to_owned(), cause: cause.into() })?;
        Ok(Self::from_handle(handle, target, access))
    }

    /// Returns the directory of an open descriptor.
    pub fn from_handle(handle: OwnedFd, target: impl Into<PathBuf>, access: Access) -> Self {
        Self { handle: Arc::new(handle), target: target.into(), access }
    }

    /// Returns whether the directory can't be mounted after another one.
    fn conflicts_with(&self, other: &Self) -> bool {
        let is_inside = self.target.starts_with(&other.target) && self.target != other.target;
        let opens_a_part =
            is_inside && other.access == Access::ReadOnly && self.access == Access::Writable;
        let overlaps = is_inside || other.target.starts_with(&self.target);
        overlaps && !opens_a_part
    }

    /// Returns the current path of the directory on this machine.
    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        let link = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_fd().as_raw_fd()));
        std::fs::read_link(&link).map_err(|cause| Error::Directory { path: link, cause })
    }
}

/// A command: a program with arguments, never a text for a shell.
#[derive(Clone)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) directories: Vec<Directory>,
    pub(crate) working_directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) limits: Limits,
    pub(crate) user: Option<UnprivilegedUser>,
}

impl Command {
    /// Creates a command. It starts in `/tmp`, under the default limits, without directories.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directories: Vec::new(),
            working_directory: "/tmp".into(),
            environment: Vec::new(),
            limits: Limits::default(),
            user: None,
        }
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds a directory. A writable one may have its path inside of a read-only one that was added
    /// before and has a directory at this path.
    pub fn directory(mut self, directory: Directory) -> Self {
        self.directories.push(directory);
        self
    }

    /// Sets the working directory, a path in the sandbox.
    pub fn working_directory(self, path: impl Into<PathBuf>) -> Self {
        Self { working_directory: path.into(), ..self }
    }

    /// Adds an environment variable. The command inherits none; it has `PATH`, `HOME`, `USER`,
    /// `TMPDIR` and `LANG` with values of the sandbox, which this can replace.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets the limits.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the user that runs the command if the service is root; [`DEFAULT_USER`] by default. The
    /// user must be able to enter the directories above those of the command.
    pub fn user(self, user: Option<UnprivilegedUser>) -> Self {
        Self { user, ..self }
    }

    /// Returns the user that must run the command; `None` for the service's own.
    pub(crate) fn runs_as(&self) -> Option<UnprivilegedUser> {
        self.user.unwrap_or(DEFAULT_USER).if_root()
    }

    /// Checks the command. Its directories must not contain protected paths.
    pub(crate) fn check(&self, protected: &ProtectedPaths) -> Result<(), Error> {
        let invalid = |message: String| Err(Error::InvalidCommand(message));
        self.limits.check()?;
        if self.program.is_empty() {
            return invalid("it names no program; name one as the first word".into());
        }
        let texts = self.arguments.iter().chain([&self.program]);
        let texts = texts.chain(self.environment.iter().flat_map(|(name, value)| [name, value]));
        if texts.clone().any(|text| text.as_encoded_bytes().contains(&0)) {
            return invalid("an argument or a variable contains a NUL byte; remove it".into());
        }
        if texts.map(|text| text.len() + 1).sum::<usize>() > MAX_ARGUMENT_BYTES {
            return invalid("its arguments exceed 1 MiB; pass them in a file".into());
        }
        let is_name =
            |name: &OsString| !name.is_empty() && !name.as_encoded_bytes().contains(&b'=');
        if !self.environment.iter().all(|(name, _)| is_name(name)) {
            return invalid("the name of a variable is empty or contains \"=\"; rename it".into());
        }
        if !is_plain(&self.working_directory) {
            return invalid("its working directory is not an absolute path without \"..\"".into());
        }
        self.check_directories(protected)
    }

    fn check_directories(&self, protected: &ProtectedPaths) -> Result<(), Error> {
        let invalid = |message: String| Err(Error::InvalidCommand(message));
        for (index, directory) in self.directories.iter().enumerate() {
            let target = directory.target.as_path();
            let first = target.components().nth(1).map(|first| first.as_os_str().to_os_string());
            let is_free = first.is_some_and(|first| RESERVED.iter().all(|name| first != *name));
            if !is_plain(target) || !is_free {
                return invalid(format!(
                    "a directory can't be mounted at {}; choose a path such as /work",
                    target.display()
                ));
            }
            if self.directories[..index].iter().any(|other| directory.conflicts_with(other)) {
                return invalid(format!(
                    "two directories overlap at {}; choose a separate path for each, or mount a \
                     writable one inside a read-only one that is added before",
                    target.display()
                ));
            }
            if protected.contain(&directory.path()?) {
                return invalid(format!(
                    "the directory mounted at {} contains files of the service; choose a \
                     directory that contains none",
                    target.display()
                ));
            }
        }
        Ok(())
    }
}

/// Arguments and values of variables may be secret, so they are not shown.
impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.environment.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Command")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("directories", &self.directories)
            .field("working_directory", &self.working_directory)
            .field("environment", &names)
            .field("limits", &self.limits)
            .field("user", &self.user)
            .finish()
    }
}

/// Returns whether a path is absolute and has normal components only.
pub(crate) fn is_plain(path: &Path) -> bool {
    let mut components = path.components();
    components.next() == Some(Component::RootDir)
        && components.all(|part| matches!(part, Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(command: &Command) -> String {
        command.check(&ProtectedPaths::default()).expect_err("an invalid command").to_string()
    }

    fn at(target: &str) -> Directory {
        with_access(target, Access::ReadOnly)
    }

    fn with_access(target: &str, access: Access) -> Directory {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"));
        Directory::open(path, target, access).expect("a directory")
    }

    #[test]
    fn invalid_command_is_refused() {
        let new = || Command::new("true");
        new().check(&ProtectedPaths::default()).expect("a valid command");
        assert!(error_of(&Command::new("")).contains("names no program"));
        assert!(error_of(&new().args(["a\0b"])).contains("NUL"));
        assert!(error_of(&new().args(["a".repeat(2 << 20)])).contains("1 MiB"));
        assert!(error_of(&new().env("A=B", "")).contains("name of a variable"));
        assert!(error_of(&new().working_directory("work")).contains("working directory"));
        assert!(error_of(&new().working_directory("/work/../etc")).contains("working directory"));
        let limits = Limits { processes: 1, ..Limits::default() };
        assert!(error_of(&new().limits(limits)).contains("the limit processes is 1"));
    }

    #[test]
    fn directory_has_a_path_of_its_own() {
        for target in ["/", "/usr/share/x", "/etc", "/tmp/x", "work", "/work/../usr", "/proc/1"] {
            let error = error_of(&Command::new("true").directory(at(target)));
            assert!(error.contains("can't be mounted at"), "{target}: {error}");
        }
        let overlapping = Command::new("true").directory(at("/work")).directory(at("/work/inner"));
        assert!(error_of(&overlapping).contains("two directories overlap"));
        let writable = || with_access("/work", Access::Writable);
        for [outer, inner] in [
            [writable(), with_access("/work/inner", Access::Writable)],
            [writable(), at("/work/inner")],
            [with_access("/work/inner", Access::Writable), at("/work")],
            [at("/work"), writable()],
        ] {
            let overlapping = Command::new("true").directory(outer).directory(inner);
            assert!(error_of(&overlapping).contains("two directories overlap"));
        }
        let inner = with_access("/work/inner", Access::Writable);
        let nested = Command::new("true").directory(at("/work")).directory(inner);
        nested.check(&ProtectedPaths::default()).expect("a writable part");
        let siblings = Command::new("true").directory(at("/work")).directory(at("/work2"));
        siblings.check(&ProtectedPaths::default()).expect("a valid command");
    }

    #[test]
    fn link_is_no_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/usr", &link).expect("a link");
        // Also in the middle of a path.
        for path in [link.clone(), link.join("share")] {
            Directory::open(&path, "/work", Access::ReadOnly).expect_err("a link");
        }
        Directory::open(Path::new("/usr/share"), "/work", Access::ReadOnly).expect("a directory");
    }

    #[test]
    fn arguments_and_values_are_not_shown() {
        let command = Command::new("make").args(["hidden-argument"]).env("KEY", "hidden-value");
        let shown = format!("{command:?}");
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(shown.contains("\"make\"") && shown.contains("\"KEY\""), "{shown}");
    }
}
