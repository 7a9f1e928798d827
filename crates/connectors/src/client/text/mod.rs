//! Texts of other systems as plain text or Markdown, in bounds.

pub(super) mod adf;
pub(super) mod storage;

pub(super) use crate::event::line;

/// Characters of what somebody said, or of a page.
const LONGEST: usize = 200_000;

/// A text of several lines, cut to size; without what no text has.
pub(super) fn prose(text: &str) -> String {
    let fit = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text = text.replace("\r\n", "\n");
    text.chars().filter(fit).take(LONGEST).collect::<String>().trim().to_owned()
}
