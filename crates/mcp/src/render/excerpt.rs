//! The lines of a search result that are worth showing first.

use serde_json::Value;

/// Lines shown above the definition that was asked for: its comment and its attributes.
const LEAD: usize = 3;

/// Some lines of a result's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// Lines of the text above it.
    pub before: usize,
    /// The lines.
    pub lines: Vec<&'a str>,
    /// Lines of the text below it.
    pub after: usize,
    /// Whether the last line is not whole.
    pub is_cut: bool,
}

impl<'a> Excerpt<'a> {
    /// At most `most` lines of `result`: from a little above the definition that the query names,
    /// if the Core says which that is, else from the top.
    pub fn of(result: &'a Value, most: usize) -> Self {
        let text = result.get("text").and_then(Value::as_str).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        // Where all of it fits, nothing is gained by leaving lines out.
        let before = if lines.len() <= most { 0 } else { before_match(result, most) };
        let before = before.min(lines.len().saturating_sub(most));
        let blank = lines[before..].iter().take_while(|line| line.trim().is_empty()).count();
        let before = if before > 0 { before + blank } else { 0 };
        let end = lines.len().min(before + most);
        Self { before, lines: lines[before..end].to_vec(), after: lines.len() - end, is_cut: false }
    }

    /// As many of the lines as have at most `most` characters together; of the first that has more,
    /// a beginning.
    pub fn within(mut self, most: usize) -> Self {
        let mut left = most;
        for (index, line) in self.lines.clone().into_iter().enumerate() {
            let length = line.chars().count();
            if length <= left {
                left -= length;
                continue;
            }
            // A few letters of a line say nothing; of the first line they are all there is.
            let cut = begun(line, left);
            let kept = if index == 0 || cut.len() * 2 >= line.len() { index + 1 } else { index };
            self.after += self.lines.len() - kept;
            self.is_cut = kept > index;
            self.lines.truncate(kept);
            if let Some(last) = self.lines.last_mut().filter(|_| kept > index) {
                *last = cut;
            }
            break;
        }
        self
    }

    /// The lines, as they are shown.
    pub fn text(&self) -> String {
        let end = if self.is_cut { " ..." } else { "" };
        format!("{}{end}", self.lines.join("\n"))
    }
}

/// The beginning of a line of at most `most` characters, up to the end of a word where there is
/// one.
fn begun(line: &str, most: usize) -> &str {
    let end = line.char_indices().nth(most).map_or(line.len(), |(byte, _)| byte);
    let words = line[..end].rfind(' ').filter(|at| *at * 2 > end).unwrap_or(end);
    line[..words].trim_end()
}

fn before_match(result: &Value, most: usize) -> usize {
    let line = |value: &Value| value.get("line_start").and_then(Value::as_u64);
    let place = result.get("matched_symbol").and_then(line).zip(line(result));
    let row = place.and_then(|(matched, first)| usize::try_from(matched.checked_sub(first)?).ok());
    row.unwrap_or(0).saturating_sub(LEAD.min(most / 2))
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
    fn it_opens_a_little_above_what_was_asked_for() {
        let result = result(80, Some(150));
        let excerpt = Excerpt::of(&result, 20);
        assert_eq!((excerpt.before, excerpt.lines.len(), excerpt.after), (47, 20, 13));
        assert_eq!(excerpt.lines[LEAD], "line 150");
    }

    #[test]
    fn long_lines_are_cut_at_a_word_and_said_to_be() {
        let long = "word ".repeat(100);
        let result = json!({ "text": format!("{long}\nsecond") });
        let excerpt = Excerpt::of(&result, 20).within(52);
        assert_eq!(excerpt.text(), format!("{}word ...", "word ".repeat(9)));
        assert_eq!((excerpt.lines.len(), excerpt.after, excerpt.is_cut), (1, 1, true));
        let result = json!({ "text": format!("first\n{long}\nthird") });
        let excerpt = Excerpt::of(&result, 20).within(52);
        assert_eq!(
            (excerpt.text().as_str(), excerpt.after),
            ("first", 2),
            "a tenth of a line says nothing"
        );
        let whole = Excerpt::of(&result, 20);
        assert_eq!(whole.clone().within(10_000), whole);
    }

    #[test]
    fn it_does_not_open_on_a_blank_line() {
        let text =
            format!("{}\n\n/// Note.\nstruct A;\n{}", "use a;\n".repeat(30), "b\n".repeat(30));
        let result = json!({"line_start": 1, "text": text, "matched_symbol": {"line_start": 33}});
        let excerpt = Excerpt::of(&result, 20);
        assert_eq!(excerpt.lines[..2], ["use a;", ""]);
        let result = json!({"line_start": 1, "text": text, "matched_symbol": {"line_start": 34}});
        let excerpt = Excerpt::of(&result, 20);
        assert_eq!((excerpt.before, excerpt.lines[0]), (32, "/// Note."));
    }

    #[test]
    fn it_stays_within_the_text_and_is_as_long_as_it_may_be() {
        for (lines, matched, expected) in [
            (80, Some(179), (60, 20, 0)),
            (80, Some(101), (0, 20, 60)),
            (80, None, (0, 20, 60)),
            (9, Some(108), (0, 9, 0)),
            (0, Some(100), (0, 0, 0)),
            // Lines that don't fit the text are no reason to fail.
            (80, Some(5), (0, 20, 60)),
            (80, Some(9000), (60, 20, 0)),
        ] {
            let result = result(lines, matched);
            let excerpt = Excerpt::of(&result, 20);
            assert_eq!(
                (excerpt.before, excerpt.lines.len(), excerpt.after),
                expected,
                "{lines} lines, {matched:?}"
            );
        }
    }
}
