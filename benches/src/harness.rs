//! The common parts of all benchmarks: directories, services, a database, a model, statistics and a
//! report.

pub mod cluster;
pub mod database;
pub mod embedding;
mod encryption_key;
pub mod machine;
pub mod report;
pub mod service;
pub mod stats;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The options of all benchmarks.
#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// Directory that `make setup` filled
    #[arg(long, env = "MEMORY_COPILOT_CACHE")]
    pub cache_dir: PathBuf,
    /// Directory for databases; when run as root, an unprivileged user must be able to reach it
    #[arg(long, default_value_os_t = std::env::temp_dir().join("memory-copilot-bench"))]
    pub work_dir: PathBuf,
    /// Directory for the results
    #[arg(long, default_value = "bench-results")]
    pub out: PathBuf,
    /// A small variant of a few minutes
    #[arg(long)]
    pub quick: bool,
}

/// The options of benchmarks that start the service.
#[derive(Debug, Clone, clap::Args)]
pub struct ServiceArgs {
    #[command(flatten)]
    pub common: Common,
    /// The service's release binary
    #[arg(long, env = "MEMORY_COPILOT_BINARY")]
    pub binary: PathBuf,
}

impl Common {
    /// Returns a subdirectory of the working directory, and creates it if it is missing.
    pub fn work(&self, name: &str) -> Result<PathBuf> {
        let dir = self.work_dir.join(name);
        make_dir(&self.work_dir)?;
        make_dir(&dir)?;
        Ok(dir)
    }
}

/// Creates a directory, if it is missing, through which the database's own user can pass.
pub fn make_dir(dir: &Path) -> Result<()> {
    let passage = Permissions::from_mode(0o711);
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::set_permissions(dir, passage))
        .with_context(|| format!("{} can't be made; choose another --work-dir", dir.display()))
}

/// Removes a file or directory, if it exists.
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

/// Prints the progress.
#[expect(clippy::print_stderr, reason = "a benchmark talks to the person who waits for it")]
pub fn say(line: &str) {
    eprintln!("bench: {line}");
}
