//! A small tree of files on the disk.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::harness::remove;

/// Contents by path, with whether the file may be executed.
pub type Files = BTreeMap<String, (Vec<u8>, bool)>;

/// Creates a directory with these files.
pub fn create(directory: &Path, files: &Files) -> Result<()> {
    remove(directory)?;
    std::fs::create_dir_all(directory)?;
    for (path, (content, is_executable)) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().context("a parent")?)?;
        std::fs::write(&path, content)?;
        let mode = if *is_executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Reads the files of a directory, without those of git.
pub fn read(directory: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut open: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(each) = open.pop() {
        for entry in std::fs::read_dir(&each)? {
            let entry = entry?;
            if entry.file_name() == ".git" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
                continue;
            }
            let path = entry.path();
            let name = path.strip_prefix(directory)?.to_str().context("a path")?.to_owned();
            let is_executable = entry.metadata()?.permissions().mode() & 0o111 != 0;
            files.insert(name, (std::fs::read(&path)?, is_executable));
        }
    }
    Ok(files)
}

/// Runs a program in a directory with a patch as its input. Returns whether it succeeded.
pub fn run(directory: &Path, program: &str, arguments: &[&str], patch: &[u8]) -> Result<bool> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        // No repository above the directory counts.
        .env("GIT_CEILING_DIRECTORIES", directory.parent().context("a parent")?)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // A program that needs no more input has closed it.
    let _ = child.stdin.take().context("an input")?.write_all(patch);
    Ok(child.wait()?.success())
}
