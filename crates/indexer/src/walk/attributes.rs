//! `linguist-generated` in `.gitattributes`.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mc_files::Root;

use super::Candidate;
use super::ignore_rules::add_pattern;

/// Largest `.gitattributes` that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// Rules of the `.gitattributes` files of a tree about generated files.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// Rules from the innermost directory outwards: a match means generated, a negated one not.
    rules: Vec<Gitignore>,
}

impl Attributes {
    /// Reads the `.gitattributes` files among the candidates. Unreadable files have no rules.
    pub fn read(root: &Root, candidates: &[Candidate]) -> Self {
        let mut files: Vec<&str> = candidates
            .iter()
            .map(|candidate| candidate.path.as_str())
            .filter(|path| path.rsplit('/').next() == Some(".gitattributes"))
            .collect();
        files.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
        let rules = files
            .into_iter()
            .filter_map(|path| {
                let bytes = root.read(path, MAX_BYTES).ok()?;
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                rules(directory, &String::from_utf8_lossy(&bytes))
            })
            .collect();
        Self { rules }
    }

    /// Returns whether the file is generated; `None` without a rule for it.
    pub fn is_generated(&self, path: &str) -> Option<bool> {
        self.rules.iter().find_map(|rules| {
            let below = Path::new(path).strip_prefix(rules.path()).is_ok();
            match below.then(|| rules.matched(path, false)) {
                Some(Match::Ignore(_)) => Some(true),
                Some(Match::Whitelist(_)) => Some(false),
                _ => None,
            }
        })
    }
}

/// Parses the rules of one file, relative to its directory; `None` if it has none.
fn rules(directory: &str, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory);
    let mut found = false;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next().filter(|word| !word.starts_with(['#', '!'])) else {
            continue;
        };
        // The last attribute on the line counts.
        let Some(generated) = words.filter_map(value).next_back() else { continue };
        let sign = if generated { "" } else { "!" };
        found |= add_pattern(&mut builder, &format!("{sign}{pattern}"));
    }
    found.then(|| builder.build().ok()).flatten()
}

fn value(attribute: &str) -> Option<bool> {
    match attribute {
        "linguist-generated" | "linguist-generated=true" => Some(true),
        "-linguist-generated" | "!linguist-generated" | "linguist-generated=false" => Some(false),
        _ => None,
    }
}
