//! Path globs, translated to regular expressions that tantivy and PostgreSQL interpret alike.
//!
//! `*` and `?` match within one directory, `**` matches across directories, `[a-z]` and `[!a-z]`
//! are classes, `{a,b}` are alternatives, and `\` escapes the next character. A glob without a
//! slash matches in any directory. One that ends with a slash matches all in the directory.

mod translate;

use tantivy::query::RegexQuery;
use tantivy::schema::Field;
use uuid::Uuid;

use crate::index::schema::Scope;

/// Maximum length of a glob, in bytes.
pub const MAX_GLOB_BYTES: usize = 512;
/// Maximum number of `*` in a glob. Compiling a glob of hundreds takes half a second.
const MAX_STARS: usize = 32;

/// Error for an invalid path filter, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path filter is not a valid glob: {0}")]
pub struct InvalidGlob(String);

/// Translates a glob to a regular expression, which has to match the whole location.
pub fn to_regex(glob: &str) -> Result<String, InvalidGlob> {
    if glob.is_empty() {
        return Err(InvalidGlob("it is empty".into()));
    }
    if glob.len() > MAX_GLOB_BYTES {
        return Err(InvalidGlob(format!("it is longer than {MAX_GLOB_BYTES} bytes")));
    }
    if let Err(forbidden) = mc_domain::check_line(glob) {
        return Err(InvalidGlob(format!("it {forbidden}")));
    }
    let too_many_wildcards = || InvalidGlob("it has too many wildcards; use fewer".into());
    if glob.matches('*').count() > MAX_STARS {
        return Err(too_many_wildcards());
    }
    let regex = translate::translate(&expand(glob))?;
    // The index compiles the expression, prefixed by a project id, to an automaton. Compiling it
    // here rejects an expression that is too large before the search starts. All project ids have
    // the same length, so any id will do.
    let scope = Scope::of(Uuid::nil().into());
    RegexQuery::from_pattern(&scope.regex(&regex), Field::from_field_id(0))
        .map_err(|_| too_many_wildcards())?;
    Ok(regex)
}

/// Expands the two short forms: a name in any directory, and the contents of a directory.
fn expand(glob: &str) -> String {
    let glob = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
    if glob.is_empty() {
        return "**".to_owned();
    }
    let suffix = if glob.ends_with('/') { "**" } else { "" };
    let prefix = if glob.contains('/') { "" } else { "**/" };
    format!("{prefix}{glob}{suffix}")
}

#[cfg(test)]
mod tests;
