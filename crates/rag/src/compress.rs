//! Compression of the snippets: a chat model selects the lines that matter. It answers with numbers
//! of lines, so that every line that is left is one of the file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::models::{ModelFailure, Models, Task, neutralized};
use crate::snippet::Snippet;

/// The temperature of seed 002.
const TEMPERATURE: f64 = 0.1;
/// Snippets that one request shows.
const PASSAGES_MAX: usize = 40;
/// Ranges of lines in an answer.
const RANGES_MAX: usize = 120;
/// Lines of a snippet from which some may be left out.
const LINES_MIN: usize = 6;
/// Stands for lines that were left out.
const OMISSION: &str = "…";

static TASK: LazyLock<Task> = LazyLock::new(|| {
    let number = json!({"type": "integer", "minimum": 1});
    let range = json!({
        "type": "object", "additionalProperties": false, "required": ["passage", "from", "to"],
        "properties": {"passage": number, "from": number, "to": number},
    });
    let keep = json!({"type": "array", "maxItems": RANGES_MAX, "items": range});
    let instructions = include_str!("../prompts/compress.txt");
    let task = Task::of(instructions, "keep", &json!({"keep": keep}), &["keep"]);
    Task { temperature: TEMPERATURE, ..task }
});

#[derive(Deserialize)]
struct Answer {
    keep: Vec<Range>,
}

/// Lines of a passage; JSON may write whole numbers as `1.0`.
#[derive(Deserialize)]
struct Range {
    passage: f64,
    from: f64,
    to: f64,
}

/// Shortens snippets to the lines that a model selects. Untrusted ones are not shown to it, and
/// stay whole. Returns whether lines were left out.
pub(crate) async fn compress(
    models: &Models,
    query: &str,
    snippets: &mut [Snippet],
) -> Result<bool, ModelFailure> {
    let places: Vec<usize> = (0..snippets.len())
        .filter(|place| {
            let snippet = &snippets[*place];
            snippet.is_trusted() && snippet.text.lines().count() >= LINES_MIN
        })
        .take(PASSAGES_MAX)
        .collect();
    if places.is_empty() {
        return Ok(false);
    }
    let passages: Vec<Value> =
        (1..).zip(&places).map(|(number, place)| passage(number, &snippets[*place])).collect();
    let data = json!({"question": neutralized(query), "passages": passages});
    let answer: Answer = models.ask(&TASK, &data).await?;
    let mut selected: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for Range { passage, from, to } in answer.keep {
        let [passage, from, to] = [passage, from, to].map(whole);
        if let Some(place) = passage.checked_sub(1).and_then(|index| places.get(index)) {
            selected.entry(*place).or_default().push((from, to));
        }
    }
    let shortened = selected.iter().map(|(place, ranges)| shorten(&mut snippets[*place], ranges));
    Ok(shortened.fold(false, |any, is_shortened| any | is_shortened))
}

/// Returns a passage as the model sees it, each line with its number, from 1.
fn passage(number: usize, snippet: &Snippet) -> Value {
    let numbered = (1..).zip(snippet.text.split('\n'));
    let lines: Vec<String> = numbered.map(|(n, line): (usize, _)| format!("{n} {line}")).collect();
    json!({
        "passage": number, "place": neutralized(&snippet.place()),
        "text": neutralized(&lines.join("\n")),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(number: f64) -> usize {
    number.round() as usize
}

/// Keeps the lines of these ranges, from 1. Returns whether the snippet has fewer tokens now.
fn shorten(snippet: &mut Snippet, ranges: &[(usize, usize)]) -> bool {
    let is_kept = |line: usize| ranges.iter().any(|(from, to)| (*from..=*to).contains(&line));
    let mut lines: Vec<&str> = Vec::new();
    let mut has_line = false;
    for (number, line) in (1..).zip(snippet.text.split('\n')) {
        if is_kept(number) {
            lines.push(line);
            has_line = true;
        } else if lines.last() != Some(&OMISSION) {
            lines.push(OMISSION);
        }
    }
    let text = lines.join("\n");
    let is_shorter = has_line && mc_tokens::count(&text) < mc_tokens::count(&snippet.text);
    if is_shorter {
        snippet.text = text;
        snippet.is_shortened = true;
    }
    is_shorter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::fixtures::{code, repository};

    const TEXT: &str = "fn a() {\n    first();\n    second();\n    third();\n    fourth();\n}";

    fn shortened(ranges: &[(usize, usize)]) -> (String, bool) {
        let mut snippet = code(&repository("shop"), "a.rs", 1, TEXT, 0.9);
        let is_shorter = shorten(&mut snippet, ranges);
        assert_eq!(snippet.is_shortened, is_shorter);
        (snippet.text, is_shorter)
    }

    #[test]
    fn selected_lines_are_kept_as_they_are() {
        let expected = "fn a() {\n…\n    third();\n…".to_owned();
        assert_eq!(shortened(&[(4, 4), (1, 1)]), (expected, true));
    }

    #[test]
    fn snippet_stays_whole_without_lines_to_leave_out() {
        for ranges in [&[(1, 99)][..], &[(50, 60)], &[(3, 2)], &[]] {
            assert_eq!(shortened(ranges), (TEXT.to_owned(), false), "{ranges:?}");
        }
    }
}
