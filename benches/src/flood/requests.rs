//! Attacks by complete requests to REST routes.

use anyhow::Result;
use serde_json::json;

use super::attacker::Attacker;
use crate::recall::seed;

/// Length of a query, below the limit of 4,000 characters.
const QUERY_CHARS: usize = 3_900;
/// Length of a note, below the limit of 32,000 characters.
const NOTE_CHARS: usize = 31_900;
/// Steps of a note.
const STEPS: usize = 10;
/// Words between the beginnings of two texts.
const STRIDE: usize = 37;
/// Ids of documents, which are replaced in turn: the database does not grow without end.
const DOCUMENTS: u64 = 8;
/// The deepest heading of Markdown.
const DEEPEST: &str = "######";

/// Calls a protected route, without a credential and with a revoked token in turn.
pub async fn unauthenticated(attacker: &Attacker) -> Result<()> {
    let number = attacker.count(1);
    let (target, body) = (&attacker.target, json!({ "project_key": seed::key(0), "query": "x" }));
    let request = match number % 4 {
        0 => attacker.http.get(target.url("/whoami")),
        1 => attacker.http.post(target.url("/recall")).json(&body),
        2 => attacker.http.get(target.url("/whoami")).bearer_auth(&target.revoked),
        _ => attacker.http.post(target.url("/recall")).bearer_auth(&target.revoked).json(&body),
    };
    attacker.send(request).await
}

/// Searches with a new query of almost the greatest length, for the most results.
pub async fn costly_search(attacker: &Attacker) -> Result<()> {
    let number = usize::try_from(attacker.count(1))?;
    let body = json!({
        "project_key": seed::key(0), "query": text(&attacker.target.words, number, QUERY_CHARS),
        "limit": 100, "explain": true, "time_budget_ms": 20_000
    });
    let target = &attacker.target;
    let request = attacker.http.post(target.url("/search")).bearer_auth(&target.reader);
    attacker.send(request.json(&body)).await
}

/// Saves a new note of almost the greatest length, with steps.
pub async fn large_save(attacker: &Attacker) -> Result<()> {
    let number = usize::try_from(attacker.count(1))?;
    let target = &attacker.target;
    let steps: Vec<_> =
        (1..=STEPS).map(|step| text(&target.words, number + step, QUERY_CHARS)).collect();
    let body = json!({
        "project_key": seed::key(0), "kind": "pattern", "steps": steps,
        "content": format!("{number}: {}", text(&target.words, number, NOTE_CHARS - 10))
    });
    let request = attacker.http.post(target.url("/save")).bearer_auth(&target.writer);
    attacker.send(request.json(&body)).await
}

/// Stores a document that consists of headings.
pub async fn document(attacker: &Attacker, bytes: usize) -> Result<()> {
    let number = attacker.count(1);
    let document = json!({
        "doc_id": format!("flood-{}", number % DOCUMENTS), "title": "Headings",
        "content": headings(number, bytes)
    });
    let body = json!({ "project_key": seed::key(0), "source": "flood", "documents": [document] });
    let target = &attacker.target;
    let request = attacker.http.post(target.url("/ingest/docs")).bearer_auth(&target.ingester);
    attacker.send(request.json(&body)).await
}

/// Returns consecutive words of at most `max` characters, from a place that depends on the number.
fn text(words: &[String], number: usize, max: usize) -> String {
    let start = number * STRIDE % words.len();
    let (mut text, mut chars) = (String::new(), 0);
    for word in words.iter().cycle().skip(start) {
        chars += word.chars().count() + 1;
        if chars > max {
            break;
        }
        text.push_str(word);
        text.push(' ');
    }
    text
}

/// Returns Markdown of at most `bytes`, in which every line is a heading. The text depends on the
/// number.
fn headings(number: u64, bytes: usize) -> String {
    let mut text = String::new();
    for line in 0_usize.. {
        let level = &DEEPEST[..=line % DEEPEST.len()];
        let heading = format!("{level} {number}.{line}\n");
        if text.len() + heading.len() > bytes {
            break;
        }
        text.push_str(&heading);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_notes_are_long_and_differ() {
        let words: Vec<String> = (0..5_000).map(|word| format!("word{word}")).collect();
        for max in [QUERY_CHARS, NOTE_CHARS] {
            let [first, second] = [0, 1].map(|number| text(&words, number, max));
            assert!((max - 100..=max).contains(&first.len()), "{}", first.len());
            assert_ne!(first, second);
        }
    }

    #[test]
    fn a_document_has_thousands_of_headings() {
        let text = headings(7, 16_000);
        assert!((15_900..=16_000).contains(&text.len()), "{}", text.len());
        assert!(text.starts_with("# 7.0\n## 7.1\n") && text.lines().count() > 1_000);
        assert_ne!(text, headings(8, 16_000));
    }
}
