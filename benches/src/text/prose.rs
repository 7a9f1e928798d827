//! Paragraphs of prose from sources: Rust doc comments and Markdown.

use std::path::Path;

/// Lengths of a note, in characters.
const CHARS: std::ops::RangeInclusive<usize> = 80..=600;
const WORDS_MIN: usize = 12;
/// Minimum share of letters and spaces; tables, links and code have less.
const LETTERS_MIN: f64 = 0.85;

/// Returns the paragraphs of a file that read like notes, in order.
pub fn paragraphs(file: &Path, text: &str) -> Vec<String> {
    let is_rust = file.extension().is_some_and(|ending| ending == "rs");
    let lines: Vec<&str> = if is_rust {
        text.lines().map(|line| doc_comment(line).unwrap_or_default()).collect()
    } else {
        text.lines().map(str::trim).collect()
    };
    let mut found = Vec::new();
    let (mut paragraph, mut is_code) = (String::new(), false);
    for line in lines.into_iter().chain([""]) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code && !line.is_empty() && !line.starts_with(['#', '|', '`', '[', '<']);
        let is_item = line.starts_with(['-', '*', '+']);
        if !is_prose || is_item {
            found.extend(note(&std::mem::take(&mut paragraph)));
        }
        if is_prose {
            paragraph.push_str(line.trim_start_matches(['-', '*', '+', ' ']));
            paragraph.push(' ');
        }
    }
    found
}

/// Returns the text of a doc comment on this line.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

fn note(paragraph: &str) -> Option<String> {
    let paragraph = paragraph.trim();
    let chars = paragraph.chars().count();
    let letters = paragraph.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let is_prose = CHARS.contains(&chars)
        && paragraph.split_whitespace().count() >= WORDS_MIN
        && letters as f64 >= LETTERS_MIN * chars as f64;
    is_prose.then(|| paragraph.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str = "The buffer is flushed when it is dropped, but errors that happen then \
                            are lost to whoever wrote.";

    #[test]
    fn doc_comments_become_paragraphs_without_their_code() {
        let text = format!(
            "/// {SENTENCE}\n///\n/// ```\n/// let code = \"{SENTENCE}\";\n/// ```\nfn code() \
             {{}}\n//! Short.\n"
        );
        assert_eq!(paragraphs(Path::new("lib.rs"), &text), [SENTENCE]);
    }

    #[test]
    fn markdown_gives_paragraphs_and_items() {
        let (start, end) = SENTENCE.split_at(40);
        let text = format!("# {SENTENCE}\n\n{start}\n{end}\n\n- {SENTENCE}\n- {SENTENCE}\n");
        let found = paragraphs(Path::new("README.md"), &text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[1], SENTENCE);
    }
}
