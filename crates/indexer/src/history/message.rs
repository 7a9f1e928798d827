//! What of a commit message says something about the change.

use std::sync::LazyLock;

use regex::Regex;

/// Most characters kept of a message; the rest of a longer one is lists and logs.
const MAX_MESSAGE: usize = 4_000;
/// Most characters of the first line.
const MAX_SUBJECT: usize = 200;

/// Lines that tools and customs add: who signed, reviewed or reported it, which issue it closes,
/// where it was picked from.
static TRAILER: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?ix)^\s*(
            [a-z]+(-[a-z]+)*-by \s* :
            | (cc | change-id | git-svn-id | link | pr-url | reviewed-on | bug | issue) \s* :
            | (close[sd]? | fix(e[sd])? | resolve[sd]? | refs? | references? | see (\ also)?) \s* :? \s*
              ( ([\w./-]*\#\d+ | [A-Z][A-Z0-9]+-\d+ | gh-\d+ | https?://\S+) [\s,.;&]* (and\ )? )+ $
            | patch\ by\ .* $
            | \(\s* cherry[\ -]picked \b
        )",
    )
});
/// Addresses, and numbers of issues and pull requests, which no other text shares.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"https?://\S+|\(\s*\#\d+\s*\)|\#\d+\b"));

fn compile(expression: &str) -> Regex {
    Regex::new(expression).expect("a regular expression")
}

/// The message without trailers and references; empty where nothing is left.
pub(super) fn cleaned(message: &str) -> String {
    let kept: Vec<_> = message
        .lines()
        .enumerate()
        // The first line is the subject, however it begins.
        .filter(|(index, line)| *index == 0 || !TRAILER.is_match(line))
        .map(|(_, line)| REFERENCE.replace_all(line, "").trim_end().to_owned())
        .collect();
    kept.join("\n").trim().to_owned()
}

/// As much of a masked message as is stored.
pub(super) fn stored(message: &str) -> &str {
    first_characters(message, MAX_MESSAGE)
}

/// The first line of a masked message.
pub(super) fn subject(message: &str) -> &str {
    first_characters(message.lines().next().unwrap_or_default().trim(), MAX_SUBJECT)
}

fn first_characters(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_and_references_go_and_sentences_stay() {
        let message = "Fix rounding of wages (#412)\n\n\
            Fixes the case where a month has no days.\n\
            See https://example.org/issues/412 for the sums.\n\
            Closes: #412, #413\n\
            Fixes shop/core#7\n\
            Refs SHOP-12\n\
            Signed-off-by: Ann <ann@example.org>\n\
            Co-authored-by: Ben <ben@example.org>\n\
            Change-Id: I0123456789\n\
            (cherry picked from commit 0123456)\n";
        assert_eq!(
            cleaned(message),
            "Fix rounding of wages\n\nFixes the case where a month has no days.\nSee  for the sums."
        );
    }

    #[test]
    fn a_subject_that_begins_like_a_trailer_stays() {
        for subject in [
            "Fix: total of an empty cart",
            "fixes a leak",
            "Link: show where it leads",
            "bug: totals",
            "Issue refunds twice",
        ] {
            assert_eq!(cleaned(subject), subject);
        }
    }

    #[test]
    fn a_message_of_nothing_but_references_is_empty() {
        assert_eq!(cleaned("#12\n\nSigned-off-by: Ann <ann@example.org>"), "");
    }

    #[test]
    fn only_the_beginning_of_a_long_message_is_stored() {
        assert_eq!(stored(&"я".repeat(MAX_MESSAGE + 1)).chars().count(), MAX_MESSAGE);
        assert_eq!(subject("One\n\nTwo"), "One");
    }
}
