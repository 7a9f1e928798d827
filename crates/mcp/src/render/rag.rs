//! Rendering of repository searches and of index runs.

use mc_contract::limits;
use mc_domain::shorten;
use serde_json::Value;

use super::untrusted_block::Data;
use super::{ModelText, NAME, SENTENCE, append, items, joined, lines, string};
use crate::tokens;

/// Maximum length of a summary or an answer of a chat model, in characters.
const ANSWER: usize = 4_000;
/// Numbers of lines to try of a match that does not fit as a whole.
const LINES: [usize; 6] = [64, 32, 16, 8, 4, 2];
/// Characters per line above which such a match is cut.
const LINE_CHARS: usize = 90;
/// Maximum length of the names of the modules that had an effect, in characters.
const MODULES: usize = 600;

/// Renders the matches of a question, best first, within `budget` tokens. The first lines of the
/// first match are shown in any case.
pub fn matches(answer: &Value, budget: usize) -> ModelText {
    let count = items(answer, "matches").len();
    let whole = show(answer, count, None);
    let fits = |text: &ModelText| tokens::rendered_fits(text, budget);
    if count == 0 || fits(&whole) {
        return whole;
    }
    // At least `shown` matches fit, and fewer than `too_many`.
    let (mut shown, mut too_many) = (0, count);
    while shown + 1 < too_many {
        let middle = usize::midpoint(shown, too_many);
        if fits(&show(answer, middle, None)) {
            shown = middle;
        } else {
            too_many = middle;
        }
    }
    if shown > 0 {
        return show(answer, shown, None);
    }
    let shortened = LINES.iter().map(|lines| show(answer, 1, Some(*lines)));
    let mut shortened = shortened.skip_while(|text| !fits(text));
    shortened.next().unwrap_or_else(|| show(answer, 1, Some(1)))
}

/// Renders the first matches, each with at most `max_lines` lines.
fn show(answer: &Value, count: usize, max_lines: Option<usize>) -> ModelText {
    let found = items(answer, "matches");
    let mut text = ModelText::default();
    match found.len() {
        0 => text.add("Nothing found"),
        1 => text.add("1 match"),
        n => text.add_number(n).add(" matches, best first"),
    };
    let mut repository = string(answer, "repoOwner").to_owned();
    append(&mut repository, "/", string(answer, "repoName"));
    text.add_labelled(" in ", &repository, 2 * NAME);
    text.add_labelled(": ", string(answer, "noResultsReason"), SENTENCE);
    text.add_labelled("\ninstructions: ", string(answer, "instructions"), SENTENCE);
    let mut data = Data::default();
    let (with_text, places): (Vec<_>, Vec<_>) =
        found[..count].iter().partition(|item| item["metadata"]["in_context"] != false);
    for (index, item) in with_text.into_iter().enumerate() {
        write_match(&mut data, index + 1, item, max_lines);
    }
    if !places.is_empty() {
        data.section("further places, best first, without their texts");
    }
    for item in places {
        data.field("at", &location(item));
    }
    for (label, field) in [("summary", "summary"), ("answer of a model", "rawAnswer")] {
        let written: String = string(answer, field).chars().take(ANSWER).collect();
        if !written.is_empty() {
            data.section(label);
            data.text(&written);
        }
    }
    if !found.is_empty() {
        text.add("\nmatches").add_cautioned(data);
    }
    if let omitted @ 1.. = found.len() - count {
        text.add("\n").add_number(omitted).add(" more: lower topK, or raise limit_tokens.");
    }
    if answer["mixed"] == true {
        text.add("\nmixed: the matches may be of several commits");
    }
    for warning in items(answer, "warnings").iter().filter_map(Value::as_str) {
        text.add_labelled("\nwarning: ", warning, SENTENCE);
    }
    text.add_labelled("\nmodules: ", &joined(answer, "appliedModules"), MODULES);
    text
}

fn write_match(data: &mut Data, number: usize, item: &Value, max_lines: Option<usize>) {
    let metadata = &item["metadata"];
    let neighbor = if metadata["neighborOfSpanHash"].is_string() { "neighbor" } else { "" };
    let head = [string(metadata, "kind"), string(metadata, "trust"), neighbor];
    data.item(&format!("{number}."), &head);
    data.field("at", &location(item));
    data.field("commit", string(metadata, "source_ref"));
    let snippet: Vec<&str> = string(item, "snippet").lines().collect();
    let end = snippet.len().min(max_lines.unwrap_or(usize::MAX));
    let text = snippet[..end].join("\n");
    data.text(shorten(&text, max_lines.map_or(usize::MAX, |lines| lines * LINE_CHARS)));
    data.skipped(snippet.len() - end, "more lines");
}

/// Returns path, lines and enclosing definition of a match.
fn location(item: &Value) -> String {
    let metadata = &item["metadata"];
    let mut location = string(item, "path").chars().take(limits::URL).collect::<String>();
    location.push_str(&lines(metadata));
    append(&mut location, " ", string(metadata, "parent_symbol"));
    location
}

/// Renders an index run.
pub fn index_run(run: &Value) -> ModelText {
    let mut text = ModelText::from_line(string(run, "namespace"), 2 * NAME);
    text.add_labelled(": ", string(run, "status"), NAME);
    let number = |field| run.get(field).and_then(Value::as_u64).unwrap_or(0);
    text.add(", attempt ").add_number(number("attempt"));
    text.add(" of ").add_number(number("max_attempts"));
    text.add("\nfiles: ").add_number(number("files_done"));
    text.add(" of ").add_number(number("files_total"));
    text.add(", failed ").add_number(number("failed_files"));
    text.add("\npassages without a vector: ").add_number(number("pending_vectors"));
    if let Some(seconds) = run.get("eta_seconds").and_then(Value::as_u64) {
        text.add("\nseconds left: ").add_number(seconds);
    }
    text.add_labelled("\nindexed commit: ", string(run, "source_ref"), NAME);
    text.add(match (run["is_ready"] == true, string(run, "status")) {
        (true, _) => "\nready to be searched",
        (false, "FAILED") => "\nthe run failed: index it again",
        (false, "SUCCEEDED") => "\nsome files failed, so matches may be missing: index it again",
        (false, _) => "\nnot ready yet: call this tool again later",
    });
    text.add_labelled("\nfetch started: ", string(run, "fetchStartedAt"), NAME);
    for earlier in items(run, "earlier_runs") {
        text.add_labelled("\nearlier run: ", string(earlier, "status"), NAME);
        text.add_labelled(" ", string(earlier, "queued_at"), NAME);
    }
    if let Some(error) = run.get("last_error").filter(|error| !error.is_null()) {
        text.add_labelled("\nlast error: ", &error.to_string(), SENTENCE);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(count: usize, lines: usize) -> Value {
        let snippet = "let total = items.iter().sum::<u64>();\n".repeat(lines);
        let one = |number: usize| {
            json!({"path": format!("src/orders_{number}.rs"), "snippet": snippet, "metadata": {
                "kind": "code", "trust": "imported", "line_start": 1, "line_end": lines}})
        };
        let matches: Vec<_> = (0..count).map(one).collect();
        json!({
            "repoOwner": "acme", "repoName": "shop", "matches": matches, "warnings": [],
            "instructions": "Answer from the passages.", "appliedModules": ["profile:default"],
        })
    }

    #[test]
    fn instructions_are_shown() {
        let text = matches(&answer(1, 2), 8_000);
        assert!(text.contains("\ninstructions: Answer from the passages.\n"), "{text}");
    }

    #[test]
    fn text_stays_within_its_limit() {
        for (count, lines, budget) in [(12, 30, 8_000), (12, 30, 1_000), (3, 400, 600)] {
            let text = matches(&answer(count, lines), budget);
            let tokens = mc_tokens::count(&text);
            assert!(tokens <= budget, "{tokens} of {budget}");
            let shown = text.matches("at| src/orders_").count();
            assert!(shown >= 1);
            assert_eq!(shown < count, text.contains(" more: lower topK"), "{text}");
        }
        let text = matches(&answer(1, 400), 10);
        assert!(text.contains("\n| let total") && text.contains(" more lines)"), "{text}");
    }

    #[test]
    fn matches_without_text_are_listed_as_places() {
        let mut found = answer(3, 2);
        for item in &mut found["matches"].as_array_mut().expect("the matches")[1..] {
            item["snippet"] = json!("");
            item["metadata"]["in_context"] = json!(false);
        }
        let text = matches(&found, 8_000);
        let places = text.split_once("further places").expect("the places").1;
        assert!(places.contains("at| src/orders_1.rs:1-2\nat| src/orders_2.rs:1-2\n"), "{text}");
    }

    #[test]
    fn end_of_a_run_says_what_to_do() {
        for (status, is_ready, expected) in [
            ("SUCCEEDED", true, "ready to be searched"),
            ("SUCCEEDED", false, "some files failed"),
            ("FAILED", false, "the run failed: index it again"),
            ("RUNNING", false, "not ready yet: call this tool again later"),
        ] {
            let text = index_run(&json!({"status": status, "is_ready": is_ready}));
            assert!(text.contains(expected), "{status}: {text}");
        }
    }
}
