//! Ids of tracker issues, recognized as a whole so that search does not split them into words.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::text::regex;

static ID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:\b[\w.-]+/[\w.-]+)?#\d{1,9}\b|\b[A-Z][A-Z0-9_]{1,15}-\d{1,9}\b"));

/// Prefixes of words that look like issue ids: encodings, hashes, standards.
const NON_ISSUE_PREFIXES: &[&str] = &[
    "AES", "ASCII", "CP", "CVE", "CWE", "HTTP", "ISO", "MD", "RFC", "RSA", "SHA", "TLS", "UTF",
    "WINDOWS",
];

/// Collects the issue ids of a query, each once: that of the current task, then those in the texts.
pub fn collect<'a>(task: Option<String>, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut ids = Vec::from_iter(task);
    for id in texts.into_iter().flat_map(find) {
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    ids
}

/// Finds the ids in a text, in order: `#12`, `owner/name#12`, `SHOP-12`.
fn find(text: &str) -> impl Iterator<Item = &str> {
    ID.find_iter(text).map(|id| id.as_str()).filter(|id| is_id(id))
}

/// Removes the ids from a text.
pub fn strip(text: &str) -> String {
    let replacement =
        |id: &Captures<'_>| if is_id(&id[0]) { String::new() } else { id[0].to_owned() };
    let kept = ID.replace_all(text, replacement);
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_id(id: &str) -> bool {
    let project = id.rsplit_once('-').filter(|_| !id.contains('#')).map(|(project, _)| project);
    !project.is_some_and(|project| NON_ISSUE_PREFIXES.contains(&project))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_ids_differ_from_words_of_their_shape() {
        let text = "write a test for RG-201 as in acme/shop#12 and #7, with UTF-8 and CVE-2021";
        assert_eq!(collect(None, [text, "RG-201"]), ["RG-201", "acme/shop#12", "#7"]);
        assert_eq!(collect(Some("RG-7".into()), ["RG-8, RG-7"]), ["RG-7", "RG-8"]);
        assert_eq!(strip(text), "write a test for as in and , with UTF-8 and CVE-2021");
    }

    #[test]
    fn text_of_an_id_alone_becomes_empty() {
        assert_eq!(strip(" SHOP-12 "), "");
    }
}
