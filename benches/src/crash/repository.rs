//! A repository of many small files: the truncated sources of the dependencies.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::ingest::repository::{commit_all, empty};
use crate::text::{files, packages};

/// Extensions of the files that are used.
const ENDINGS: &[&str] = &["rs", "md"];
/// Lines per file.
const LINES: usize = 60;

/// Creates it with the given number of files; returns its lines.
pub fn make(path: &Path, wanted: usize) -> Result<usize> {
    empty(path)?;
    let (mut made, mut lines) = (0, 0);
    for package in packages()? {
        let directory = path.join(format!("{}-{}", package.name, package.version));
        for file in files(&package.dir, ENDINGS)? {
            if made == wanted {
                commit_all(path, "Import beginnings of sources")?;
                return Ok(lines);
            }
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let target = directory.join(file.strip_prefix(&package.dir)?);
            if let Some(parent) = target.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let beginning: Vec<_> = text.lines().take(LINES).collect();
            std::fs::write(target, beginning.join("\n"))?;
            (made, lines) = (made + 1, lines + beginning.len());
        }
    }
    ensure!(made == wanted, "the dependencies have {made} files only; ask for fewer with --files");
    Ok(lines)
}
