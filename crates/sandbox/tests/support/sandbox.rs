//! A sandbox in bubblewrap, and directories for its commands.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use mc_privileges::is_root;
use mc_sandbox::{
    Access, Command, DEFAULT_USER, Directory, Error, InitProgram, Outcome, OutputStream, Sandbox,
    Settings,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Environment variable. If it is `required`, as in a release, tests fail on a system that forbids
/// user namespaces. Otherwise they are skipped.
const SANDBOX: &str = "MC_TEST_SANDBOX";
/// Environment variable with the path of the first process, for a user who can't reach the usual.
pub const INIT: &str = "MC_TEST_SANDBOX_INIT";

/// Returns the program that is the first process.
pub fn init_path() -> PathBuf {
    std::env::var_os(INIT).map_or_else(|| env!("CARGO_BIN_EXE_sandbox-init").into(), PathBuf::from)
}

/// Returns the settings of the tests.
pub fn settings() -> Settings {
    Settings::new(InitProgram::open(&init_path()).expect("the first process"))
}

/// Returns a sandbox in bubblewrap; `None` if the system forbids user namespaces.
///
/// # Panics
/// If bubblewrap is not installed.
pub async fn sandbox() -> Option<Sandbox> {
    sandbox_with(settings()).await
}

/// Returns a sandbox with these settings, as [`sandbox`] does.
pub async fn sandbox_with(settings: Settings) -> Option<Sandbox> {
    match Sandbox::detect(settings).await {
        Ok(sandbox) => Some(sandbox),
        Err(error @ Error::NoRunner { .. }) if error.to_string().contains("sysctl") => {
            let how = "on a system with unprivileged user namespaces";
            mc_testkit::skip(SANDBOX, &error.to_string(), how);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a command to its end.
pub async fn run(sandbox: &Sandbox, command: Command) -> Outcome {
    let ignored = |_: OutputStream, _: &[u8]| {};
    sandbox.run(command, ignored, &CancellationToken::new()).await.expect("an outcome")
}

/// Returns a script of the shell as a command.
pub fn shell(script: &str) -> Command {
    Command::new("/bin/sh").args(["-c", script])
}

/// Returns a script of Python as a command.
pub fn python(script: &str) -> Command {
    Command::new("/usr/bin/python3").args(["-c", script])
}

/// Returns a directory of the user that runs commands.
pub fn directory_of_user() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    give_to_user(directory.path());
    directory
}

/// Gives a file or directory to the user that runs commands.
pub fn give_to_user(path: &Path) {
    if is_root() {
        chown(path, Some(DEFAULT_USER.uid), Some(DEFAULT_USER.gid)).expect("an owner");
    }
}

/// Lets all users read a file or directory.
pub fn open_to_all(path: &Path) {
    let is_directory = path.is_dir();
    let mode = if is_directory { 0o755 } else { 0o644 };
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
}

/// Returns the directory as the writable `/work` of a command.
pub fn work(path: &Path) -> Directory {
    Directory::open(path, "/work", Access::Writable).expect("a directory")
}
