//! Excerpt of a search result.

use mc_domain::shorten;
use serde_json::Value;

/// Lines shown above the matched definition: its comment and attributes.
const LEAD: usize = 3;

/// Lines of a result's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// Number of lines before the excerpt.
    pub before: usize,
    /// Lines, without line feeds.
    pub lines: Vec<&'a str>,
    /// Number of lines after the excerpt.
    pub after: usize,
    /// Whether the last line is cut.
    pub is_cut: bool,
}

impl<'a> Excerpt<'a> {
    /// Takes at most `max_lines` lines of `result`: from slightly above the matched definition, if
    /// there is one, else from the top.
    pub fn new(result: &'a Value, max_lines: usize) -> Self {
        let text = result.get("text").and_then(Value::as_str).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let before = if lines.len() <= max_lines { 0 } else { before_match(result, max_lines) };
        let before = before.min(lines.len().saturating_sub(max_lines));
        let blank = lines[before..].iter().take_while(|line| line.trim().is_empty()).count();
        let before = if before > 0 { before + blank } else { 0 };
        let end = lines.len().min(before + max_lines);
        Self { before, lines: lines[before..end].to_vec(), after: lines.len() - end, is_cut: false }
    }

    /// Truncates the excerpt to `max_chars` characters; the last line may be cut.
    pub fn truncated(mut self, max_chars: usize) -> Self {
        let mut remaining = max_chars;
        for (index, line) in self.lines.clone().into_iter().enumerate() {
            let length = line.chars().count();
            if length <= remaining {
                remaining -= length;
                continue;
            }
            // Less than half of a line is not shown, unless it is the first line.
            let cut = start_of_line(line, remaining);
            let count = if index == 0 || cut.len() * 2 >= line.len() { index + 1 } else { index };
            self.after += self.lines.len() - count;
            self.is_cut = count > index;
            self.lines.truncate(count);
            if let Some(last) = self.lines.last_mut().filter(|_| count > index) {
                *last = cut;
            }
            break;
        }
        self
    }

    /// Returns the lines as one text, with dots after a cut line.
    pub fn text(&self) -> String {
        let end = if self.is_cut { " ..." } else { "" };
        format!("{}{end}", self.lines.join("\n"))
    }
}

/// Returns the start of a line, at most `max_chars` characters, up to the end of a word if
/// possible.
fn start_of_line(line: &str, max_chars: usize) -> &str {
    let end = shorten(line, max_chars).len();
    let words = line[..end].rfind(' ').filter(|space| *space * 2 > end).unwrap_or(end);
    line[..words].trim_end()
}

/// Returns the number of lines to skip before the matched definition.
fn before_match(result: &Value, max_lines: usize) -> usize {
    let line = |value: &Value| value.get("line_start").and_then(Value::as_u64);
    let lines = result.get("matched_symbol").and_then(line).zip(line(result));
    let row = lines.and_then(|(matched, first)| usize::try_from(matched.checked_sub(first)?).ok());
    row.unwrap_or(0).saturating_sub(LEAD.min(max_lines / 2))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(lines: usize, matched: Option<usize>) -> Value {
        let text: Vec<String> = (100..100 + lines).map(|line| format!("line {line}")).collect();
        json!({"line_start": 100, "text": text.join("\n"),
            "matched_symbol": matched.map(|line| json!({"line_start": line}))})
    }

    #[test]
    fn excerpt_starts_above_the_matched_definition() {
        let result = result(80, Some(150));
        let excerpt = Excerpt::new(&result, 20);
        assert_eq!((excerpt.before, excerpt.lines.len(), excerpt.after), (47, 20, 13));
        assert_eq!(excerpt.lines[LEAD], "line 150");
    }

    #[test]
    fn long_lines_are_cut_at_a_word_and_marked() {
        let long = "word ".repeat(100);
        let result = json!({ "text": format!("{long}\nsecond") });
        let excerpt = Excerpt::new(&result, 20).truncated(52);
        assert_eq!(excerpt.text(), format!("{}word ...", "word ".repeat(9)));
        assert_eq!((excerpt.lines.len(), excerpt.after, excerpt.is_cut), (1, 1, true));
        let result = json!({ "text": format!("first\n{long}\nthird") });
        let excerpt = Excerpt::new(&result, 20).truncated(52);
        assert_eq!(
            (excerpt.text().as_str(), excerpt.after),
            ("first", 2),
            "a tenth of a line is not shown"
        );
        let whole = Excerpt::new(&result, 20);
        assert_eq!(whole.clone().truncated(10_000), whole);
    }

    #[test]
    fn excerpt_does_not_start_with_a_blank_line() {
        let text =
            format!("{}\n\n/// Note.\nstruct A;\n{}", "use a;\n".repeat(30), "b\n".repeat(30));
        let result = json!({"line_start": 1, "text": text, "matched_symbol": {"line_start": 33}});
        let excerpt = Excerpt::new(&result, 20);
        assert_eq!(excerpt.lines[..2], ["use a;", ""]);
        let result = json!({"line_start": 1, "text": text, "matched_symbol": {"line_start": 34}});
        let excerpt = Excerpt::new(&result, 20);
        assert_eq!((excerpt.before, excerpt.lines[0]), (32, "/// Note."));
    }

    #[test]
    fn excerpt_is_within_the_text_and_of_maximum_length() {
        for (lines, matched, expected) in [
            (80, Some(179), (60, 20, 0)),
            (80, Some(101), (0, 20, 60)),
            (80, None, (0, 20, 60)),
            (9, Some(108), (0, 9, 0)),
            (0, Some(100), (0, 0, 0)),
            // Line numbers outside of the text are ignored.
            (80, Some(5), (0, 20, 60)),
            (80, Some(9000), (60, 20, 0)),
        ] {
            let result = result(lines, matched);
            let excerpt = Excerpt::new(&result, 20);
            assert_eq!(
                (excerpt.before, excerpt.lines.len(), excerpt.after),
                expected,
                "{lines} lines, {matched:?}"
            );
        }
    }
}
