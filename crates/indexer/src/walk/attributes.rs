//! `linguist-generated` in `.gitattributes`.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{Candidate, Root};

/// Largest `.gitattributes` that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// What the `.gitattributes` files of a tree say of generated files.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// From the innermost folder outwards; a match means "generated", a negated one the opposite.
    rules: Vec<Gitignore>,
}

impl Attributes {
    /// Reads those among the candidates; one that can't be read says nothing.
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
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                rules(folder, &String::from_utf8_lossy(&bytes))
            })
            .collect();
        Self { rules }
    }

    /// Whether the file is said to be generated, if anything is said.
    pub fn generated(&self, path: &str) -> Option<bool> {
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

/// The rules of one file, relative to its folder; `None` where it says nothing of the matter.
fn rules(folder: &str, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let mut found = false;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next().filter(|word| !word.starts_with(['#', '!'])) else {
            continue;
        };
        // The last one on the line counts.
        let Some(generated) = words.filter_map(value).next_back() else { continue };
        let sign = if generated { "" } else { "!" };
        // A pattern that can't be understood is left out, like one that matches nothing.
        found |= builder.add_line(None, &format!("{sign}{pattern}")).is_ok();
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
