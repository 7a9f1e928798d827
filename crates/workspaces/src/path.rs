//! Paths that a model gives. A workspace has the same root for every tool and in the sandbox of
//! commands, wherever it is on the disk.

use mc_files::is_name_of_git;

use crate::Error;

#[cfg(test)]
mod tests;

/// Root of a workspace, as a model knows it.
pub const ROOT: &str = "/workspace";
/// Maximum length of a path, in bytes.
pub const MAX_BYTES: usize = 4096;

/// Returns the path from the root (empty for the root itself) for a path that is relative to the
/// directory `cwd`, or absolute in [`ROOT`]. `..` leads to the parent directory, since no symbolic
/// link is ever followed.
pub fn resolve(cwd: &str, path: &str) -> Result<String, Error> {
    if path.len() > MAX_BYTES {
        return Err(Error::PathTooLong(MAX_BYTES));
    }
    let outside = || Error::OutsidePath(path.to_owned());
    let (start, rest) = match path.strip_prefix('/') {
        Some(_) => {
            let rest = path.strip_prefix(ROOT).ok_or_else(outside)?;
            if !rest.is_empty() && !rest.starts_with('/') {
                return Err(outside());
            }
            ("", rest)
        }
        None => (cwd, path),
    };
    let mut names: Vec<&str> = start.split('/').filter(|name| !name.is_empty()).collect();
    for name in rest.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop().ok_or_else(outside)?;
            }
            name => names.push(name),
        }
    }
    if names.iter().any(|name| is_name_of_git(name)) {
        return Err(Error::PathOfGit(path.to_owned()));
    }
    let resolved = names.join("/");
    // The directory may be long, too.
    if resolved.len() > MAX_BYTES {
        return Err(Error::PathTooLong(MAX_BYTES));
    }
    Ok(resolved)
}

/// Returns a path from the root as a model knows it.
pub fn display(path: &str) -> String {
    if path.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{path}") }
}
