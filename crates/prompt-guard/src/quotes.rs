//! Quotations and code blocks of a text.

use std::ops::Range;

/// Maximum length of a quotation, in bytes. Longer ones are more likely the text itself.
const MAX_BYTES: usize = 240;

/// The quotations and code blocks of a text, each in text order without overlaps.
pub(crate) struct Quotes {
    quotations: Vec<Range<usize>>,
    blocks: Vec<Range<usize>>,
}

impl Quotes {
    pub fn of(text: &str) -> Self {
        Self { quotations: quotations(text), blocks: blocks(text) }
    }

    /// Whether a quotation contains `span`.
    pub fn is_quoted(&self, span: &Range<usize>) -> bool {
        contains(&self.quotations, span)
    }

    /// Whether a code block contains `span`: documents show formats in code blocks.
    pub fn is_in_block(&self, span: &Range<usize>) -> bool {
        contains(&self.blocks, span)
    }
}

fn contains(spans: &[Range<usize>], span: &Range<usize>) -> bool {
    let next = spans.partition_point(|quote| quote.end <= span.start);
    spans.get(next).is_some_and(|quote| quote.start < span.start && span.end < quote.end)
}

/// Returns the code blocks between lines that begin with three backticks.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let (mut at, mut open) = (0, None);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(start) => spans.push(start..at + line.len()),
                None => open = Some(at),
            }
        }
        at += line.len();
    }
    spans
}

/// Returns the quotations, each with both marks on one line.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = None;
    for (at, c) in text.char_indices() {
        let expired = open.is_some_and(|(start, _)| at - start > MAX_BYTES);
        if c == '\n' || expired {
            open = None;
        }
        match open {
            Some((start, close)) if c == close => {
                spans.push(start..at + c.len_utf8());
                open = None;
            }
            None => open = closing(c, before).map(|close| (at, close)),
            Some(_) => {}
        }
        before = Some(c);
    }
    spans
}

/// Returns the closing mark if `c` opens a quotation. An apostrophe inside a word does not.
fn closing(c: char, before: Option<char>) -> Option<char> {
    Some(match c {
        '"' | '`' => c,
        '\'' if !before.is_some_and(char::is_alphanumeric) => c,
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '‘' => '’',
        '「' => '」',
        '『' => '』',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotation_contains_the_text_between_its_marks() {
        let text = "he's \"here\" and “there”, `so`";
        let quotes = Quotes::of(text);
        let is_quoted = |part: &str| {
            let start = text.find(part).expect("a part");
            quotes.is_quoted(&(start..start + part.len()))
        };
        assert!(is_quoted("here") && is_quoted("there") && is_quoted("so"));
        assert!(!is_quoted("and") && !is_quoted("s \"here"));
    }

    #[test]
    fn code_block_contains_the_lines_between_its_fences() {
        let text = "a\n```text\nshown\n```\nplain\n```\nopen";
        let quotes = Quotes::of(text);
        let shows = |part: &str| {
            let start = text.find(part).expect("a part");
            quotes.is_in_block(&(start..start + part.len()))
        };
        assert!(shows("shown") && !shows("plain") && !shows("open"));
    }

    #[test]
    fn quotation_ends_on_its_line() {
        let text = "\"open\nand shut\"";
        assert!(!Quotes::of(text).is_quoted(&(8..11)));
        let long = format!("\"{}\"", "x".repeat(MAX_BYTES + 1));
        assert!(!Quotes::of(&long).is_quoted(&(5..9)));
    }
}
