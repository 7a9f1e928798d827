//! Finds an installation of PostgreSQL that has what the service needs.

use std::fmt;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::EmbeddedError;
use super::user::ServerUser;

const OLDEST_MAJOR: u32 = 16;
const EXTENSIONS: [&str; 3] = ["vector", "hstore", "pgcrypto"];
/// Where Debian and Ubuntu keep one folder a major version.
const SYSTEM: &str = "/usr/lib/postgresql";

/// A PostgreSQL that can serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The folder with `postgres` and `initdb`.
    pub bin: PathBuf,
    /// The version as the program prints it, for instance `18.1`.
    pub version: String,
    /// The number that says which clusters it can open, for instance 18.
    pub major: u32,
}

impl Installation {
    /// A program of the installation, with an environment in which it runs.
    pub(super) fn command(&self, program: &str) -> Command {
        command(&self.bin, program)
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL {}", self.version)
    }
}

/// Every installation that can serve, the preferred one first: those in `install_dirs`, then the
/// system's, newest first.
pub async fn discover(install_dirs: &[PathBuf]) -> Result<Vec<Installation>, EmbeddedError> {
    discover_for(install_dirs, None).await
}

/// As [`discover`]; an installation that `user` can't reach is passed over.
pub(super) async fn discover_for(
    install_dirs: &[PathBuf],
    user: Option<&ServerUser>,
) -> Result<Vec<Installation>, EmbeddedError> {
    examine_all(&candidates(install_dirs).await, user).await
}

async fn examine_all(
    bins: &[PathBuf],
    user: Option<&ServerUser>,
) -> Result<Vec<Installation>, EmbeddedError> {
    let mut found: Vec<Installation> = Vec::new();
    let mut looked_at = Vec::new();
    for bin in bins {
        match examine(bin, user).await {
            Ok(installation) if found.contains(&installation) => {}
            Ok(installation) => found.push(installation),
            Err(reason) => looked_at.push(format!("  {}: {reason}\n", bin.display())),
        }
    }
    if found.is_empty() {
        return Err(EmbeddedError::NoInstallation { looked_at: looked_at.concat() });
    }
    Ok(found)
}

/// The `bin` folders to look at, in order.
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

/// The system's `bin` folders, newest major version first.
fn system_bins() -> Vec<PathBuf> {
    let mut majors: Vec<u32> = std::fs::read_dir(SYSTEM)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    majors.sort_unstable_by(|a, b| b.cmp(a));
    majors.iter().map(|major| Path::new(SYSTEM).join(major.to_string()).join("bin")).collect()
}

/// The installation in `bin`, or why it won't do.
async fn examine(bin: &Path, user: Option<&ServerUser>) -> Result<Installation, String> {
    // The programs look for their files from where they are, and a link is not where they are.
    let bin = bin.canonicalize().map_err(|_| "is not there".to_owned())?;
    if let Some(user) = user
        && let Some(closed) = user.closed_on_the_way_to(&bin.join("postgres"))
    {
        return Err(format!("user {} is not let through {}", user.name, closed.display()));
    }
    let (version, major) = version(&bin, "postgres").await?;
    if major < OLDEST_MAJOR {
        return Err(format!("is PostgreSQL {version}, too old"));
    }
    if !bin.join("initdb").exists() {
        return Err("has no initdb".to_owned());
    }
    let folders = extension_folders(&bin, major).await;
    let missing: Vec<&str> = EXTENSIONS
        .into_iter()
        .filter(|name| !folders.iter().any(|dir| dir.join(format!("{name}.control")).exists()))
        .collect();
    if !missing.is_empty() {
        return Err(format!("PostgreSQL {version} without {}", missing.join(", ")));
    }
    Ok(Installation { bin, version, major })
}

/// The version that a program prints of itself, whole and its first number.
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

/// Where the installation may keep its `*.control` files: where its `pg_config` says, and where
/// the usual packages put them (not all of these ship `pg_config`).
async fn extension_folders(bin: &Path, major: u32) -> Vec<PathBuf> {
    let prefix = bin.parent().unwrap_or(bin);
    let mut folders = vec![
        prefix.join("share/extension"),
        prefix.join("share/postgresql/extension"),
        PathBuf::from(format!("/usr/share/postgresql/{major}/extension")),
    ];
    if let Ok(output) = command(bin, "pg_config").arg("--sharedir").output().await {
        let share = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        folders.push(Path::new(&share).join("extension"));
    }
    folders
}

/// A program in `bin`, with an environment in which it runs.
pub(crate) fn command(bin: &Path, program: &str) -> Command {
    let mut command = Command::new(bin.join(program));
    // A self-contained installation brings libraries that find one another only this way. The
    // system's own programs need no such help.
    if let Some(prefix) = bin.parent().filter(|prefix| !prefix.starts_with("/usr")) {
        command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    }
    // Settings meant for other servers and clients must not reach this one.
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

    /// An installation as far as discovery looks: a `postgres` that prints its version.
    fn pretend(dir: &Path, version: &str, extensions: &[&str]) -> PathBuf {
        let (bin, share) = (dir.join("bin"), dir.join("share/extension"));
        fs::create_dir_all(&bin).expect("a folder");
        fs::create_dir_all(&share).expect("a folder");
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
    async fn the_first_installation_that_has_everything_comes_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let old = pretend(&dir.path().join("old"), "15.4 (Debian 15.4-1)", &EXTENSIONS);
        let bare = pretend(&dir.path().join("bare"), "18.1", &["hstore", "pgcrypto"]);
        let whole = pretend(&dir.path().join("whole"), "17.2", &EXTENSIONS);
        let newer = pretend(&dir.path().join("newer"), "18rc1", &EXTENSIONS);

        let found = examine_all(&[old, bare, whole, newer], None).await.expect("two will do");

        let found: Vec<_> = found.iter().map(|each| (each.version.as_str(), each.major)).collect();
        assert_eq!(found, [("17.2", 17), ("18rc1", 18)]);
    }

    #[tokio::test]
    async fn without_any_the_error_says_what_was_looked_at_and_the_way_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let old = pretend(&dir.path().join("old"), "15.4", &EXTENSIONS);
        let bare = pretend(&dir.path().join("bare"), "18.1", &["hstore"]);
        let missing = dir.path().join("missing/bin");

        let error = examine_all(&[old.clone(), bare.clone(), missing.clone()], None)
            .await
            .expect_err("none will do")
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
        assert!(error.contains(&format!("{}: is not there", missing.display())), "{error}");
        assert!(error.contains("make setup") && error.contains("DATABASE_URL"), "{error}");
    }
}
