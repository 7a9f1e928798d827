//! Texts of other systems as plain text or Markdown, in bounds.

pub(crate) mod adf;
pub(super) mod storage;

pub(super) use crate::event::line;

/// Characters of a page.
const PAGE: usize = 1_000_000;

/// A page's text, cut to size; without what no text has.
pub(super) fn page(text: &str) -> String {
    let fit = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text = text.replace("\r\n", "\n");
    text.chars().filter(fit).take(PAGE).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_lines_and_a_million_characters() {
        assert_eq!(page(" one\r\n\ttwo\u{0}\u{7}\n "), "one\n\ttwo");
        assert_eq!(page(&"ж".repeat(1_000_001)), "ж".repeat(1_000_000));
    }
}
