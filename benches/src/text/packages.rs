//! The packages of `Cargo.lock` and their sources in cargo's registry.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The sources of a dependency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Name of the crate.
    pub name: String,
    /// Version.
    pub version: String,
    /// Directory with its sources.
    pub dir: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    version: String,
    source: Option<String>,
    manifest_path: PathBuf,
}

/// The platform of the packages: with all platforms, the list would depend on what the machine has
/// fetched.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Returns all registry packages that the `Cargo.lock` of the current directory pins for Linux, by
/// name and version, and fetches missing ones.
pub fn packages() -> Result<Vec<Package>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform", PLATFORM])
        .output()
        .context("cargo can't be run")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed; run it in the checkout: {complaint}");
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let mut packages: Vec<_> = metadata
        .packages
        .into_iter()
        .filter(|entry| {
            entry.source.as_deref().is_some_and(|source| source.starts_with("registry"))
        })
        .filter_map(|Entry { name, version, manifest_path, .. }| {
            let dir = manifest_path.parent()?.to_path_buf();
            Some(Package { name, version, dir })
        })
        .collect();
    packages.sort();
    Ok(packages)
}

/// Returns the files below `dir` with one of these extensions, by path; symlinks are not followed.
pub fn files(dir: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![dir.to_path_buf()];
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory)
            .with_context(|| format!("{} can't be listed", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            let ending = path.extension().and_then(|ending| ending.to_str());
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() && ending.is_some_and(|ending| endings.contains(&ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
