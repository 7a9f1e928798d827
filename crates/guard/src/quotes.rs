//! What stands between quotation marks or back-ticks.

use std::ops::Range;

/// Longest quotation, in bytes. Longer ones are more likely the text itself.
const LONGEST: usize = 240;

/// The quotations of a text, in its order, not overlapping.
pub(crate) struct Quotes(Vec<Range<usize>>);

impl Quotes {
    /// Pairs of marks on one line.
    pub fn of(text: &str) -> Self {
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
        Self(spans)
    }

    /// Whether one quotation holds all of `span`.
    pub fn holds(&self, span: &Range<usize>) -> bool {
        let next = self.0.partition_point(|quote| quote.end <= span.start);
        self.0.get(next).is_some_and(|quote| quote.start < span.start && span.end < quote.end)
    }
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
    fn a_mark_that_is_not_closed_on_its_line_quotes_nothing() {
        let text = "\"open\nand shut\"";
        assert!(!Quotes::of(text).holds(&(8..11)));
        let long = format!("\"{}\"", "x".repeat(LONGEST + 1));
        assert!(!Quotes::of(&long).holds(&(5..9)));
    }
}
