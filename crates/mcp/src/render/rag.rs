//! Rendering of questions to repositories and of index runs.

use mc_contract::limits;
use serde_json::Value;

use super::untrusted_block::Data;
use super::{ModelText, NAME, SENTENCE, append, items, joined, lines, string};

/// Maximum length of a summary or an answer of a chat model, in characters.
const ANSWER: usize = 4_000;
/// Maximum length of the names of the modules that had an effect, in characters.
const MODULES: usize = 600;

/// Renders the matches of a question, best first. They fit the budget of the request already.
pub fn matches(answer: &Value) -> ModelText {
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
    let mut data = Data::default();
    for (index, item) in found.iter().enumerate() {
        write_match(&mut data, index + 1, item);
    }
    for (label, field) in [("summary", "summary"), ("answer of a model", "rawAnswer")] {
        let written: String = string(answer, field).chars().take(ANSWER).collect();
        if !written.is_empty() {
            data.section(label);
            data.text(&written);
        }
    }
    if !found.is_empty() {
        text.add_cautioned(data);
    }
    for warning in items(answer, "warnings").iter().filter_map(Value::as_str) {
        text.add_labelled("\nwarning: ", warning, SENTENCE);
    }
    text.add_labelled("\nmodules: ", &joined(answer, "appliedModules"), MODULES);
    text
}

fn write_match(data: &mut Data, number: usize, item: &Value) {
    let metadata = &item["metadata"];
    let neighbor = if metadata["neighborOfSpanHash"].is_string() { "neighbor" } else { "" };
    let head = [string(metadata, "kind"), string(metadata, "trust"), neighbor];
    data.item(&format!("{number}."), &head);
    let mut location = string(item, "path").chars().take(limits::URL).collect::<String>();
    location.push_str(&lines(metadata));
    append(&mut location, " ", string(metadata, "parent_symbol"));
    data.field("at", &location);
    data.field("commit", string(metadata, "source_ref"));
    data.text(string(item, "snippet"));
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
    let is_ready = run["is_ready"] == true;
    text.add(if is_ready { "\nready: ask it" } else { "\nnot ready: wait, then ask again" });
    if let Some(error) = run.get("last_error").filter(|error| !error.is_null()) {
        text.add_labelled("\nlast error: ", &error.to_string(), SENTENCE);
    }
    text
}
