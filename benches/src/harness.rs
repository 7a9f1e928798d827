//! What every benchmark needs: places, a service or several, a database, a model, statistics and a report.

pub mod cluster;
pub mod database;
pub mod embedding;
pub mod machine;
pub mod report;
mod sealing;
pub mod service;
pub mod stats;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where things are and how much is measured.
#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// Folder that `make setup` filled
    #[arg(long, env = "MEMORY_COPILOT_CACHE")]
    pub cache_dir: PathBuf,
    /// Folder for databases; a user without rights must be able to reach it when this runs as root
    #[arg(long, default_value_os_t = std::env::temp_dir().join("memory-copilot-bench"))]
    pub work_dir: PathBuf,
    /// Folder for the results
    #[arg(long, default_value = "bench-results")]
    pub out: PathBuf,
    /// A small variant of a few minutes
    #[arg(long)]
    pub quick: bool,
}

impl Common {
    /// A folder of the given name below the working folder; made when missing.
    pub fn work(&self, name: &str) -> Result<PathBuf> {
        let dir = self.work_dir.join(name);
        make_dir(&self.work_dir)?;
        make_dir(&dir)?;
        Ok(dir)
    }
}

/// Makes a folder, if it is not there, through which the database's own user can pass.
pub fn make_dir(dir: &Path) -> Result<()> {
    let passage = Permissions::from_mode(0o711);
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::set_permissions(dir, passage))
        .with_context(|| format!("{} can't be made; choose another --work-dir", dir.display()))
}

/// Removes what may be there.
pub fn remove(path: &Path) -> Result<()> {
    let gone =
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} can't be removed", path.display()))
        }
        _ => Ok(()),
    }
}

/// Tells how far it is.
#[expect(clippy::print_stderr, reason = "a benchmark talks to the person who waits for it")]
pub fn say(line: &str) {
    eprintln!("bench: {line}");
}
