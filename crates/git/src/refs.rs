//! Names of branches, tags and commits.

use crate::Error;

/// Maximum length of a ref, in bytes.
const MAX_REF: usize = 200;

/// Checks that a ref is the name of a branch, tag or commit, and not an option or expression of
/// git. An empty ref means the checked out commit or the default branch.
pub fn check_ref(requested: &str) -> Result<(), Error> {
    const FORBIDDEN: &[char] = &['~', '^', ':', '?', '*', '[', '\\'];
    let is_valid_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    let is_valid = requested.len() <= MAX_REF
        && !requested.starts_with('-')
        && !requested.ends_with('.')
        && !requested.contains("..")
        // `@` alone and `@{` are expressions; elsewhere `@` is an ordinary character.
        && requested != "@"
        && !requested.contains("@{")
        && !requested.contains(FORBIDDEN)
        && !requested.contains(|c: char| c.is_control() || c.is_whitespace())
        && requested.split('/').all(is_valid_part);
    if requested.is_empty() || is_valid {
        Ok(())
    } else {
        Err(Error::InvalidRef(requested.chars().take(60).collect()))
    }
}
