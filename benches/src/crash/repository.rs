//! A repository of many small files: the sources of the dependencies, each cut short.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::ingest::repository::{commit_all, empty};
use crate::text::{files, packages};

/// What is taken of the dependencies' sources.
const ENDINGS: &[&str] = &["rs", "md"];
/// Lines of a file.
const LINES: usize = 60;

/// Makes it of as many files as named; answers its lines.
pub fn make(path: &Path, wanted: usize) -> Result<usize> {
    empty(path)?;
    let (mut made, mut lines) = (0, 0);
    for package in packages()? {
        let folder = path.join(format!("{}-{}", package.name, package.version));
        for file in files(&package.dir, ENDINGS)? {
            if made == wanted {
                commit_all(path, "Import beginnings of sources")?;
                return Ok(lines);
            }
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let target = folder.join(file.strip_prefix(&package.dir)?);
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
