//! The part of a commit message that describes the change.

use std::sync::LazyLock;

use regex::Regex;

use crate::text;

/// Length in bytes up to which a message is read. Trailers and references take a part of it.
const MAX_READ: usize = 64 * 1024;
/// Maximum characters of a stored message; the rest of longer ones is mostly lists and logs.
const MAX_MESSAGE: usize = 4_000;
/// Maximum characters of the first line.
const MAX_SUBJECT: usize = 200;

/// Lines with metadata: signatures, reviewers, closed issues, the origin of a cherry-pick.
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
/// URLs and numbers of issues and pull requests. They are removed, because no other text has them.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| compile(r"https?://\S+|\(\s*\#\d+\s*\)|\#\d+\b"));

fn compile(expression: &str) -> Regex {
    Regex::new(expression).expect("a regular expression")
}

/// Removes trailers and references from a message; the result may be empty.
pub(super) fn clean(message: &str) -> String {
    let lines: Vec<_> = beginning(message)
        .lines()
        .enumerate()
        // The first line is the subject, even if it looks like a trailer.
        .filter(|(index, line)| *index == 0 || !TRAILER.is_match(line))
        .map(|(_, line)| REFERENCE.replace_all(line, "").trim_end().to_owned())
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Returns the part of a message that is read. It ends with a whole line, since a part of a token
/// could not be masked. Only a longer first line is cut, and much less of it is stored.
fn beginning(message: &str) -> &str {
    if message.len() <= MAX_READ {
        return message;
    }
    let start = &message[..message.floor_char_boundary(MAX_READ)];
    start.rsplit_once('\n').map_or(start, |(lines, _)| lines)
}

/// Shortens a masked message to the part that is stored.
pub(super) fn shorten(message: &str) -> &str {
    text::shorten(message, MAX_MESSAGE)
}

/// Returns the first line of a masked message.
pub(super) fn subject(message: &str) -> &str {
    text::shorten(message.lines().next().unwrap_or_default().trim(), MAX_SUBJECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_and_references_are_removed() {
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
            clean(message),
            "Fix rounding of wages\n\nFixes the case where a month has no days.\nSee  for the sums."
        );
    }

    #[test]
    fn subject_that_looks_like_a_trailer_is_kept() {
        for subject in [
            "Fix: total of an empty cart",
            "fixes a leak",
            "Link: show where it leads",
            "bug: totals",
            "Issue refunds twice",
        ] {
            assert_eq!(clean(subject), subject);
        }
    }

    #[test]
    fn message_of_only_references_is_empty() {
        assert_eq!(clean("#12\n\nSigned-off-by: Ann <ann@example.org>"), "");
    }

    #[test]
    fn whole_lines_of_a_long_message_are_read() {
        let trailers = "Signed-off-by: Ann\n".repeat(MAX_READ / 20);
        assert_eq!(clean(&format!("Fix totals\n{trailers}\nend")), "Fix totals\n\nend");
        assert_eq!(clean(&format!("Fix totals\n{trailers}{trailers}\nend")), "Fix totals");
        let line = "я".repeat(MAX_READ);
        assert_eq!(clean(&line).len(), MAX_READ);
        assert_eq!(clean(&format!("Fix totals\n{line}")), "Fix totals");
    }

    #[test]
    fn long_message_is_shortened() {
        assert_eq!(shorten(&"я".repeat(MAX_MESSAGE + 1)).chars().count(), MAX_MESSAGE);
        assert_eq!(subject("One\n\nTwo"), "One");
    }
}
