//! Discovery of PostgreSQL installations that meet the requirements of the service.

use std::fmt;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::user::ServerUser;
use super::{EmbeddedError, Result};

const MIN_MAJOR: u32 = 16;
const EXTENSIONS: [&str; 3] = ["vector", "hstore", "pgcrypto"];
/// Parent of one directory for each major version on Debian and Ubuntu.
const SYSTEM_DIR: &str = "/usr/lib/postgresql";

/// An installation of PostgreSQL that meets the requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Directory with `postgres` and `initdb`.
    pub bin: PathBuf,
    /// Version as the program prints it, for instance `18.1`.
    pub version: String,
    /// Major version, for instance 18: it opens clusters of this version only.
    pub major: u32,
}

impl Installation {
    /// Returns a command that runs a program of the installation.
    pub(super) fn command(&self, program: &str) -> Command {
        command(&self.bin, program)
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL {}", self.version)
    }
}

/// Lists installations that meet the requirements, by preference: those in `install_dirs`, then the
/// system's from the newest to the oldest.
pub async fn discover(install_dirs: &[PathBuf]) -> Result<Vec<Installation>> {
    examine_all(&candidates(install_dirs).await, None).await
}

/// Lists the installations in these `bin` directories, without those that `user` can't reach.
pub(super) async fn examine_all(
    bins: &[PathBuf],
    user: Option<&ServerUser>,
) -> Result<Vec<Installation>> {
    let mut found: Vec<Installation> = Vec::new();
    let mut rejected = Vec::new();
    for bin in bins {
        match examine(bin, user).await {
            Ok(installation) if found.contains(&installation) => {}
            Ok(installation) => found.push(installation),
            Err(reason) => rejected.push(format!("  {}: {reason}\n", bin.display())),
        }
    }
    if found.is_empty() {
        return Err(EmbeddedError::NoInstallation { rejected: rejected.concat() });
    }
    Ok(found)
}

/// Lists the `bin` directories to examine, by preference.
pub(crate) async fn candidates(install_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let mut bins: Vec<PathBuf> = install_dirs.iter().map(|dir| dir.join("bin")).collect();
    bins.extend(system_bins());
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output().await
        && output.status.success()
    {
        bins.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    bins
}

/// Lists the system's `bin` directories from the newest major version to the oldest.
fn system_bins() -> Vec<PathBuf> {
    let mut majors: Vec<u32> = std::fs::read_dir(SYSTEM_DIR)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    majors.sort_unstable_by(|a, b| b.cmp(a));
    majors.iter().map(|major| Path::new(SYSTEM_DIR).join(major.to_string()).join("bin")).collect()
}

/// Returns the installation in `bin`, or the reason for its rejection.
async fn examine(bin: &Path, user: Option<&ServerUser>) -> Result<Installation, String> {
    // The programs find their files relative to their own path, so symbolic links are resolved.
    let bin = bin.canonicalize().map_err(|_| "does not exist".to_owned())?;
    if let Some(user) = user
        && let Some(closed) = user.first_closed_parent(&bin.join("postgres"))
    {
        return Err(format!("user {} can't enter {}", user.name, closed.display()));
    }
    let (version, major) = version(&bin, "postgres").await?;
    if major < MIN_MAJOR {
        return Err(format!("is PostgreSQL {version}, too old"));
    }
    if !bin.join("initdb").exists() {
        return Err("has no initdb".to_owned());
    }
    let directories = extension_dirs(&bin, major).await;
    let missing: Vec<&str> = EXTENSIONS
        .into_iter()
        .filter(|name| !directories.iter().any(|dir| dir.join(format!("{name}.control")).exists()))
        .collect();
    if !missing.is_empty() {
        return Err(format!("PostgreSQL {version} without {}", missing.join(", ")));
    }
    Ok(Installation { bin, version, major })
}

/// Runs a program with `--version`, and returns the version and its major number.
pub(crate) async fn version(bin: &Path, program: &str) -> Result<(String, u32), String> {
    let output = command(bin, program)
        .arg("--version")
        .output()
        .await
        .map_err(|error| format!("{program} does not run: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("{program} does not run: {reason}"));
    }
    // "postgres (PostgreSQL) 18.1 (Debian 18.1-1)"
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(2).unwrap_or_default();
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    let major = digits.parse().map_err(|_| format!("prints no version: {}", text.trim()))?;
    Ok((version.to_owned(), major))
}

/// Lists directories that may hold the installation's `*.control` files: the one that its
/// `pg_config` prints, and those of common packages, not all of which ship `pg_config`.
async fn extension_dirs(bin: &Path, major: u32) -> Vec<PathBuf> {
    let prefix = bin.parent().unwrap_or(bin);
    let mut directories = vec![
        prefix.join("share/extension"),
        prefix.join("share/postgresql/extension"),
        PathBuf::from(format!("/usr/share/postgresql/{major}/extension")),
    ];
    if let Ok(output) = command(bin, "pg_config").arg("--sharedir").output().await {
        let share = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        directories.push(Path::new(&share).join("extension"));
    }
    directories
}

/// Returns a command that runs a program in `bin`, with the environment that it needs.
pub(crate) fn command(bin: &Path, program: &str) -> Command {
    let mut command = Command::new(bin.join(program));
    // The libraries of a self-contained installation find one another only this way. Programs of
    // the system don't need it.
    if let Some(prefix) = bin.parent().filter(|prefix| !prefix.starts_with("/usr")) {
        command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    }
    // `PG*` variables may be meant for another server.
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG"))
    {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Creates a fake installation: a `postgres` that prints its version.
    fn fake_installation(dir: &Path, version: &str, extensions: &[&str]) -> PathBuf {
        let (bin, share) = (dir.join("bin"), dir.join("share/extension"));
        fs::create_dir_all(&bin).expect("a directory");
        fs::create_dir_all(&share).expect("a directory");
        let postgres = bin.join("postgres");
        fs::write(&postgres, format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n"))
            .expect("a script");
        fs::set_permissions(&postgres, Permissions::from_mode(0o755)).expect("a mode");
        fs::write(bin.join("initdb"), "").expect("a file");
        for extension in extensions {
            fs::write(share.join(format!("{extension}.control")), "").expect("a file");
        }
        bin
    }

    #[tokio::test]
    async fn discovery_lists_suitable_installations_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let old = fake_installation(&dir.path().join("old"), "15.4 (Debian 15.4-1)", &EXTENSIONS);
        let bare = fake_installation(&dir.path().join("bare"), "18.1", &["hstore", "pgcrypto"]);
        let whole = fake_installation(&dir.path().join("whole"), "17.2", &EXTENSIONS);
        let newer = fake_installation(&dir.path().join("newer"), "18rc1", &EXTENSIONS);

        let found = examine_all(&[old, bare, whole, newer], None).await.expect("two installations");

        let found: Vec<_> = found.iter().map(|each| (each.version.as_str(), each.major)).collect();
        assert_eq!(found, [("17.2", 17), ("18rc1", 18)]);
    }

    #[tokio::test]
    async fn discovery_error_lists_rejected_installations() {
        let dir = tempfile::tempdir().expect("a directory");
        let old = fake_installation(&dir.path().join("old"), "15.4", &EXTENSIONS);
        let bare = fake_installation(&dir.path().join("bare"), "18.1", &["hstore"]);
        let missing = dir.path().join("missing/bin");

        let error = examine_all(&[old.clone(), bare.clone(), missing.clone()], None)
            .await
            .expect_err("no installation")
            .to_string();

        assert!(
            error.contains(&format!("{}: is PostgreSQL 15.4, too old", old.display())),
            "{error}"
        );
        assert!(
            error
                .contains(&format!("{}: PostgreSQL 18.1 without vector, pgcrypto", bare.display())),
            "{error}"
        );
        assert!(error.contains(&format!("{}: does not exist", missing.display())), "{error}");
        assert!(error.contains("make setup") && error.contains("DATABASE_URL"), "{error}");
    }
}
