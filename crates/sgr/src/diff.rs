//! Recognition of unified diffs.

/// Whether a text looks like a unified diff. One of these lines is sufficient:
///
/// - `--- a/file`, followed by the line `+++ b/file`;
/// - `@@ -1,2 +1,2 @@`, the head of a hunk;
/// - `diff --git a/old b/new`, which git writes alone for a file that is only renamed.
///
/// Text around it is accepted: models explain diffs and fence them.
pub fn is_unified_diff(text: &str) -> bool {
    let next = text.lines().skip(1).chain([""]);
    text.lines().zip(next).any(|(line, next)| {
        let is_header = is_file_line(line, "--- ") && is_file_line(next, "+++ ");
        is_header || is_hunk_head(line) || is_git_header(line)
    })
}

fn is_file_line(line: &str, sign: &str) -> bool {
    line.strip_prefix(sign).is_some_and(|file| !file.trim().is_empty())
}

fn is_hunk_head(line: &str) -> bool {
    let ranges = line.strip_prefix("@@ ").and_then(|rest| rest.split_once(" @@"));
    let Some((old, new)) = ranges.and_then(|(ranges, _)| ranges.split_once(' ')) else {
        return false;
    };
    is_range(old, '-') && is_range(new, '+')
}

fn is_range(range: &str, sign: char) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    range.strip_prefix(sign).is_some_and(|range| match range.split_once(',') {
        Some((start, count)) => is_number(start) && is_number(count),
        None => is_number(range),
    })
}

fn is_git_header(line: &str) -> bool {
    line.strip_prefix("diff --git a/").is_some_and(|rest| rest.contains(" b/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unified_diffs_are_recognized() {
        for diff in [
            "--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n",
            "@@ -1,2 +1,3 @@ fn main()\n",
            "--- /dev/null\r\n+++ b/x.rs\r\n",
            "Here it is:\n```diff\n@@ -0,0 +1 @@\n+a\n```",
            "diff --git a/old.rs b/new.rs\nsimilarity index 100%\nrename from old.rs\n",
        ] {
            assert!(is_unified_diff(diff), "{diff}");
        }
    }

    #[test]
    fn other_texts_are_no_diffs() {
        for text in [
            "",
            "I changed the unit.",
            "--- a/x.rs",
            "--- a\n\n+++ b",
            "--- \n+++ ",
            "+++ b/x\n--- a/x",
            "@@ @@",
            "@@ -1 +x @@",
            "@@ -1, +1 @@",
            "a @@ -1 +1 @@",
            "---\ntitle: x\n---\n",
        ] {
            assert!(!is_unified_diff(text), "{text}");
        }
    }
}
