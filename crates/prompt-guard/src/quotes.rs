//! What stands between quotation marks or back-ticks.

use std::ops::Range;

/// Longest quotation, in bytes. Longer ones are more likely the text itself.
const LONGEST: usize = 240;

/// The quotations of a text, and its code blocks, each in its order, not overlapping.
pub(crate) struct Quotes {
    marked: Vec<Range<usize>>,
    blocks: Vec<Range<usize>>,
}

impl Quotes {
    pub fn of(text: &str) -> Self {
        Self { marked: marked(text), blocks: blocks(text) }
    }

    /// Whether one quotation holds all of `span`.
    pub fn holds(&self, span: &Range<usize>) -> bool {
        holds(&self.marked, span)
    }

    /// Whether a code block holds all of `span`: documents show formats in those.
    pub fn shows(&self, span: &Range<usize>) -> bool {
        holds(&self.blocks, span)
    }
}

fn holds(spans: &[Range<usize>], span: &Range<usize>) -> bool {
    let next = spans.partition_point(|quote| quote.end <= span.start);
    spans.get(next).is_some_and(|quote| quote.start < span.start && span.end < quote.end)
}

/// What stands between two lines that begin with three back-ticks.
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

/// Pairs of marks on one line.
fn marked(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = None;
    for (at, c) in text.char_indices() {
        let expired = open.is_some_and(|(start, _)| at - start > LONGEST);
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

/// The mark that closes what `c` opens. An apostrophe within a word opens nothing.
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
    fn a_quotation_holds_what_lies_within_its_marks() {
        let text = "he's \"here\" and “there”, `so`";
        let quotes = Quotes::of(text);
        let holds = |part: &str| {
            let start = text.find(part).expect("a part");
            quotes.holds(&(start..start + part.len()))
        };
        assert!(holds("here") && holds("there") && holds("so"));
        assert!(!holds("and") && !holds("s \"here"));
    }

    #[test]
    fn a_code_block_shows_what_lies_between_its_fences() {
        let text = "a\n```text\nshown\n```\nplain\n```\nopen";
        let quotes = Quotes::of(text);
        let shows = |part: &str| {
            let start = text.find(part).expect("a part");
            quotes.shows(&(start..start + part.len()))
        };
        assert!(shows("shown") && !shows("plain") && !shows("open"));
    }

    #[test]
    fn a_mark_that_is_not_closed_on_its_line_quotes_nothing() {
        let text = "\"open\nand shut\"";
        assert!(!Quotes::of(text).holds(&(8..11)));
        let long = format!("\"{}\"", "x".repeat(LONGEST + 1));
        assert!(!Quotes::of(&long).holds(&(5..9)));
    }
}
