//! Masking of what git prints: lines of files with a column or a prefix before them.

use crate::edit::MaskedTree;

/// Stands for a line that is a part of a key. The lines around it may not be shown.
const KEY_LINE: &str = "[secret:private-key]";
/// Length from which a line of base64 counts as a part of a key. Keys have lines of 64 or 70.
const MIN_KEY_LINE: usize = 60;

/// Returns output of git, masked. A diff has a column before each line, which would hide a secret
/// of several lines, so the text is masked without that column, too. A hunk or a range of `blame`
/// may begin in the middle of a key, so a line that is only base64 is masked.
pub(super) fn masked_output(tree: &MaskedTree<'_>, text: &str) -> String {
    let text = tree.mask(text);
    let without_column: Vec<&str> = text.lines().map(|line| split_column(line).1).collect();
    let masked = tree.mask(&without_column.join("\n"));
    // Masking keeps the number of lines.
    let mut shown = String::with_capacity(text.len());
    for (line, masked) in text.lines().zip(masked.split('\n')) {
        let (column, rest) = split_column(line);
        if rest == masked {
            shown.push_str(&without_key(line));
        } else {
            shown.push_str(column);
            shown.push_str(masked);
        }
        shown.push('\n');
    }
    if !text.ends_with('\n') {
        shown.pop();
    }
    shown
}

/// Splits the column of a diff from a line.
fn split_column(line: &str) -> (&str, &str) {
    let has_column = line.starts_with(['+', '-', ' ']);
    line.split_at(usize::from(has_column))
}

/// Masks the last word of a line if it is a line of a key.
fn without_key(line: &str) -> String {
    let start = line.rfind([' ', '\t']).map_or_else(|| split_column(line).0.len(), |at| at + 1);
    let word = line[start..].trim_end();
    if is_key_line(word) { format!("{}{KEY_LINE}", &line[..start]) } else { line.to_owned() }
}

fn is_key_line(word: &str) -> bool {
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    word.len() >= MIN_KEY_LINE
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use mc_files::Root;
    use mc_sanitizer::{Policy, Sanitizer};

    use super::*;

    /// A made-up key.
    fn key() -> String {
        let line = "MIIEowIBAAKCAQEAx7Vb3pQ9Zt1LmN4oP5qR6sT7uV8wX9yZ0aB1cD2eF3gH4iJ5";
        let lines = [line; 4].join("\n");
        ["-----BEGIN RSA ", "PRIVATE KEY-----\n", &lines, "\n-----END RSA ", "PRIVATE KEY-----"]
            .concat()
    }

    fn masked(text: &str) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::open(directory.path()).expect("a root");
        let (sanitizer, policy) = (Sanitizer::default(), Policy::default());
        masked_output(&MaskedTree { root: &root, sanitizer: &sanitizer, policy: &policy }, text)
    }

    #[test]
    fn key_is_masked_behind_any_column_and_in_parts() {
        for column in ["-", "+", " ", ""] {
            let lines: Vec<String> = key().lines().map(|line| format!("{column}{line}")).collect();
            let text = format!("@@ -1,6 +1 @@\n{}\n", lines.join("\n"));
            assert!(!masked(&text).contains("MIIEow"), "{column:?}: {}", masked(&text));
            assert_eq!(masked(&text).lines().count(), text.lines().count());
            // A hunk that begins inside of the key.
            let part = lines[2..4].join("\n");
            assert!(!masked(&part).contains("MIIEow"), "{column:?}: {}", masked(&part));
        }
        let blame: Vec<String> =
            key().lines().map(|line| format!("1f2e3d4c (dev 2026-11-29 2) {line}")).collect();
        assert!(!masked(&blame[1..3].join("\n")).contains("MIIEow"));
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        let text = "commit 0f1e2d3c4b5a69788796a5b4c3d2e1f001122334\n-fn total() {\n+fn sum() {\n";
        assert_eq!(masked(text), text);
        let checksum = format!(" checksum = \"{}\"", "0a1b".repeat(16));
        assert_eq!(masked(&checksum), checksum);
    }
}
