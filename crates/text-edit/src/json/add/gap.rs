//! White space, comments and commas between values.

/// Returns the position of the comma after a value, before `end`.
pub(crate) fn comma_after(text: &str, value_end: usize, end: usize) -> Option<usize> {
    let mut at = value_end;
    while at < end {
        let rest = &text[at..end];
        let c = rest.chars().next()?;
        at += match c {
            ',' => return Some(at),
            '/' => comment_len(rest),
            _ => c.len_utf8(),
        };
    }
    None
}

/// Whether the text between values has a comment.
pub(crate) fn has_comment(gap: &str) -> bool {
    gap.contains('/')
}

/// Returns the end of the line of a position, if only white space and comments follow it there;
/// otherwise the position.
pub(crate) fn line_rest_end(text: &str, start: usize, end: usize) -> usize {
    let mut at = start;
    while at < end {
        let rest = &text[at..end];
        match rest.as_bytes()[0] {
            b'\n' | b'\r' => {
                let trimmed = text[start..at].trim_end_matches([' ', '\t']);
                return start + trimmed.len();
            }
            b' ' | b'\t' => at += 1,
            b'/' => {
                let length = comment_len(rest);
                if rest[..length].contains(['\n', '\r']) {
                    return start;
                }
                at += length;
            }
            _ => return start,
        }
    }
    start
}

/// Returns the length of the comment at the start of `text`, without the line ending after it.
fn comment_len(text: &str) -> usize {
    if let Some(block) = text.strip_prefix("/*") {
        return block.find("*/").map_or(text.len(), |end| end + 4);
    }
    text.find(['\n', '\r']).unwrap_or(text.len())
}
