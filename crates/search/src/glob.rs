//! Path globs, as a regular expression that the keyword index and PostgreSQL read alike.
//!
//! `*` and `?` stay within one folder, `**` crosses folders, `[a-z]` and `[!a-z]` are classes,
//! `{a,b}` alternatives, `\` takes the next character as it is. A glob without a slash matches in
//! any folder, one that ends in a slash everything below it.

mod translate;

use tantivy::query::RegexQuery;
use tantivy::schema::Field;
use uuid::Uuid;

use crate::index::schema::Scope;

/// Longest glob, in bytes.
pub const MAX_GLOB_BYTES: usize = 512;

/// A path filter that can't be used; the message says what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path filter is no glob: {0}")]
pub struct InvalidGlob(String);

/// The regular expression that matches what `glob` matches, to be applied to a whole place.
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
    let regex = translate::translate(&expand(glob))?;
    // The index turns it into an automaton, with a project's id in front; one that would be too
    // large is refused here, where the caller can still be told, and not in the middle of a search.
    // All ids are of one length, so any will do.
    let any = Scope::of(Uuid::nil().into());
    RegexQuery::from_pattern(&any.regex(&regex), Field::from_field_id(0))
        .map_err(|_| InvalidGlob("it has too many wildcards; use fewer".into()))?;
    Ok(regex)
}

/// Spells out the two conveniences: any folder, and a folder's whole content.
fn expand(glob: &str) -> String {
    let glob = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
    if glob.is_empty() {
        return "**".to_owned();
    }
    let content = if glob.ends_with('/') { "**" } else { "" };
    let anywhere = if glob.contains('/') { "" } else { "**/" };
    format!("{anywhere}{glob}{content}")
}

#[cfg(test)]
mod tests;
