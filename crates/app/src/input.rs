//! Input of commands: a file or standard input.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result};

/// Reads a file; `-` is standard input.
pub fn bytes(file: &Path) -> Result<Vec<u8>> {
    if file.as_os_str() != "-" {
        return std::fs::read(file).with_context(|| unreadable(file));
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).with_context(|| unreadable(file))?;
    Ok(bytes)
}

/// Reads a file as UTF-8 text; `-` is standard input.
pub fn text(file: &Path) -> Result<String> {
    String::from_utf8(bytes(file)?).with_context(|| unreadable(file))
}

fn unreadable(file: &Path) -> String {
    if file.as_os_str() == "-" {
        "standard input can't be read".to_owned()
    } else {
        format!("{} can't be read", file.display())
    }
}
