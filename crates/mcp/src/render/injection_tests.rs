//! Generated attacks in every field of every response: a reader that knows only the format finds
//! exactly the rendered items.

use mc_domain::UntrustedText;
use mc_prompt_guard::neutralize;
use mc_prompt_guard::payloads::{Payload, payloads};
use serde_json::{Value, json};

use super::untrusted_block::{one_line, quoted, structured};
use super::*;
use crate::tools::Piece;

const SEED: u64 = 0x005E_EDED;
const SECTIONS: &[&str] = &["task", "gotchas", "facts", "few_shots", "links", "dialogs", "code"];
/// Labels with which a line of data may start.
const LABELS: &[&str] = &[
    "", "at", "ci", "cites", "id", "issue", "patch", "replaced", "scope", "section", "shown",
    "source", "status", "step", "tags", "title", "updated", "url", "warning", "why",
];

/// Item in the format.
#[derive(Debug, Default, PartialEq)]
struct Item {
    section: String,
    head: Vec<String>,
    /// Labels with their values; lines of a value are joined.
    fields: Vec<(String, String)>,
}

/// Parses a response into items and the lines outside of the block. Panics if it violates the
/// format.
fn read(text: &str) -> (Vec<Item>, Vec<String>) {
    let lines: Vec<&str> = text.split('\n').collect();
    let marks = |begin: &str| -> Vec<usize> {
        let is_mark = |line: &&str| line.starts_with(begin);
        lines.iter().enumerate().filter(|(_, line)| is_mark(line)).map(|(at, _)| at).collect()
    };
    let (open, close) = (marks("<recalled "), marks("</recalled "));
    assert_eq!((open.len(), close.len()), (1, 1), "one pair of marks: {text}");
    let nonce = lines[open[0]].trim_start_matches("<recalled ").trim_end_matches('>');
    assert_eq!(nonce.len(), 16, "{text}");
    assert_eq!(lines[close[0]], format!("</recalled {nonce}>"));
    assert_eq!(text.matches(nonce).count(), 2, "the nonce stands in the marks only");
    let (mut items, mut section) = (Vec::<Item>::new(), String::new());
    for line in &lines[open[0] + 1..close[0]] {
        if let Some((label, value)) = line.split_once('|') {
            assert!(LABELS.contains(&label), "no such label: {line:?}");
            let item = items.last_mut().expect("data belongs to an item");
            item.fields.push((label.to_owned(), value.strip_prefix(' ').unwrap_or("").to_owned()));
        } else if let Some(title) = line.strip_suffix(':') {
            assert!(SECTIONS.contains(&title), "no such section: {line:?}");
            title.clone_into(&mut section);
        } else if !line.starts_with('(') {
            let mut head = line.split(' ').map(str::to_owned);
            let sign = head.next().unwrap_or_default();
            assert!(sign == "-" || sign.trim_end_matches('.').parse::<usize>().is_ok(), "{line:?}");
            items.push(Item { section: section.clone(), head: head.collect(), fields: vec![] });
        }
    }
    let outside = lines[..open[0]].iter().chain(&lines[close[0] + 1..]);
    (items, outside.map(|line| (*line).to_owned()).collect())
}

fn texts(item: &Item) -> Vec<(&str, &str)> {
    item.fields.iter().map(|(label, value)| (label.as_str(), value.as_str())).collect()
}

/// Returns the expected lines of `text` with `label`.
fn lines_of<'t>(label: &'t str, text: &'t str) -> Vec<(&'t str, &'t str)> {
    if text.is_empty() { vec![] } else { text.split('\n').map(|line| (label, line)).collect() }
}

/// Texts of a payload, with their expected rendering.
struct Poison {
    raw: Vec<String>,
    shown: Vec<String>,
}

impl Poison {
    /// Returns a part; indexes after the last one wrap around.
    fn raw(&self, at: usize) -> &str {
        &self.raw[at % self.raw.len()]
    }

    fn shown(&self, at: usize) -> &str {
        &self.shown[at % self.shown.len()]
    }
}

/// Returns each payload in every field, and with its parts in different fields.
fn poisons() -> impl Iterator<Item = Poison> {
    payloads(SEED).into_iter().map(|Payload { parts, .. }| {
        let shown = parts.iter().map(|part| quoted(part)).collect();
        Poison { raw: parts, shown }
    })
}

#[test]
fn no_payload_breaks_out_of_a_bundle() {
    for poison in poisons() {
        let raw = |at| poison.raw(at);
        let statement = |id: &str, at: usize| {
            json!({"handle": id, "kind": "fact", "text": raw(at), "scope": [raw(at + 1)],
                "state": "active",
                "trust": "untrusted",
                "citations": [{"file": raw(at), "symbol": raw(at + 1), "verdict": "fresh"}],
                "warning": raw(at), "source": raw(at + 1)})
        };
        let text = bundle(&json!({
            "bundle_id": "b1", "confidence": 0.5,
            "task": {"external_id": raw(0), "title": raw(1), "status": raw(2)},
            "gotchas": [statement("g1", 0), statement("g2", 1)],
            "facts": [statement("f1", 2), statement("f2", 3)],
            "few_shots": [{"handle": "s1", "title": raw(0), "patch_ref": raw(1), "text": raw(2),
                           "steps": [raw(0), raw(1)],
                "source": raw(1)}],
            "links": [{"handle": "l1", "title": raw(0), "url": raw(1)},
                      {"handle": "l2", "title": raw(2), "url": raw(3)}],
            "dialogs": [{"handle": "d1", "text": raw(0)}, {"handle": "d2", "text": raw(1)}],
            "code": [{"location": raw(0), "line_start": 3, "line_end": 5, "symbol": raw(1),
                      "summary": raw(2),
                "trust": "untrusted"}],
        }));
        let (items, outside) = read(&text);
        let heads: Vec<String> =
            items.iter().map(|item| format!("{}: {}", item.section, item.head.join(" "))).collect();
        assert_eq!(
            heads,
            [
                "task: issue",
                "gotchas: g1 fact untrusted",
                "gotchas: g2 fact untrusted",
                "facts: f1 fact untrusted",
                "facts: f2 fact untrusted",
                "few_shots: s1 fewshot",
                "links: l1 link",
                "links: l2 link",
                "dialogs: d1 dialog",
                "dialogs: d2 dialog",
                "code: code untrusted",
            ],
            "{text}"
        );
        for (item, at) in items[1..5].iter().zip(0..) {
            let mut expected = lines_of("", poison.shown(at));
            expected.extend(lines_of("source", poison.shown(at + 1)));
            expected.extend(lines_of("scope", poison.shown(at + 1)));
            assert_eq!(texts(item)[..expected.len()], expected);
        }
        assert_eq!(texts(&items[8]), lines_of("", poison.shown(0)));
        assert_eq!(texts(&items[9]), lines_of("", poison.shown(1)));
        let link = [lines_of("title", poison.shown(2)), lines_of("url", poison.shown(3))].concat();
        assert_eq!(texts(&items[7]), link);
        assert_eq!(
            outside.len(),
            2,
            "nothing but the sentence before and the id behind: {outside:?}"
        );
    }
}

#[test]
fn no_payload_breaks_out_of_results() {
    for poison in poisons() {
        let raw = |at| poison.raw(at);
        let result = |id: &str, at: usize| {
            json!({"source": "memory", "kind": "rule", "record_id": id, "state": "active",
                   "title": raw(at),
                "location": raw(at + 2), "symbol": raw(at), "url": raw(at + 1), "text": raw(at)})
        };
        let answer = json!({"results": [result("r1", 0), result("r2", 1), result("r3", 2)]});
        let text = results(&answer, 100_000).text;
        let (items, outside) = read(&text);
        let heads: Vec<String> = items.iter().map(|item| item.head.join(" ")).collect();
        assert_eq!(heads, ["rule r1", "rule r2", "rule r3"], "{text}");
        for (item, at) in items.iter().zip(0..) {
            let url: Vec<_> =
                texts(item).into_iter().filter(|(label, _)| *label == "url").collect();
            // A payload of one or two parts has the same location and URL.
            let is_place = raw(at + 1) == raw(at + 2);
            let expected = if is_place { vec![] } else { lines_of("url", poison.shown(at + 1)) };
            assert_eq!(url, expected);
        }
        assert_eq!(outside.len(), 1, "{outside:?}");
    }
}

#[test]
fn no_payload_breaks_out_of_a_record_document_or_issue() {
    for poison in poisons() {
        let raw = |at| poison.raw(at);
        let text =
            record(&json!({"id": "r1", "kind": "gotcha", "state": "active", "trust": "untrusted",
            "title": raw(0), "scope": [raw(1), raw(2)], "tags": [raw(0), raw(1)], "content": raw(2),
            "citations": [{"file": raw(0), "verdict": raw(1)}]}));
        let (items, outside) = read(&text);
        assert_eq!((items.len(), outside.len()), (1, 1), "{text}");
        assert_eq!(items[0].head, ["gotcha", "r1", "untrusted"]);
        let title = lines_of("title", poison.shown(0));
        assert_eq!(texts(&items[0])[..title.len()], title);

        let text = piece(
            &json!({"id": "d1", "title": raw(0), "url": raw(1), "updated_at": raw(2),
                    "trust": "untrusted"}),
            &Piece {
                text: raw(0).to_owned(),
                outline: vec![raw(1).to_owned()],
                section: Some(raw(2).to_owned()),
                next: Some(7),
                ..Piece::default()
            },
        );
        let (items, outside) = read(&text);
        assert_eq!((items.len(), outside.len()), (1, 3), "{text}");
        assert_eq!(items[0].head, ["document", "d1", "untrusted"]);
        let content: Vec<_> =
            texts(&items[0]).into_iter().filter(|(label, _)| label.is_empty()).collect();
        assert_eq!(content, lines_of("", poison.shown(0)));

        let names = [raw(0), raw(1)].map(UntrustedText::new);
        let suggestions = Suggestions::new("Its sections", "section", &names);
        let (items, outside) =
            read(&failure(ModelText::default(), &UntrustedText::new(raw(2)), suggestions));
        assert_eq!((items.len(), outside.len()), (1, 2));
        let expected = [0, 1].map(|at| lines_of("section", poison.shown(at))).concat();
        assert_eq!(texts(&items[0]), expected);

        let task = json!({"external_id": "CS-1", "title": raw(0), "status": raw(1)});
        let (items, outside) = read(&linked(&json!({"task": task})));
        assert_eq!((items.len(), outside.len()), (1, 1));
    }
}

#[test]
fn no_payload_forges_a_head() {
    for poison in poisons() {
        let raw = |at| poison.raw(at);
        let hostile = json!({"handle": raw(0), "kind": raw(1), "state": raw(2), "trust": raw(0),
                             "text": "x"});
        let (items, _) = read(&bundle(&json!({"facts": [hostile], "confidence": 0.5})));
        assert_eq!(items.len(), 1);
        assert!(items[0].head.len() <= 4 && items[0].head.iter().all(|word| word.len() <= 40));
    }
}

/// Outside of the block, stored text is only in names and in the structured content.
#[test]
fn names_and_structured_content_have_no_invisible_text() {
    for raw in poisons().flat_map(|poison| poison.raw) {
        let name = one_line(&raw, 80);
        assert!(!name.contains(['\n', '\r', '\u{2028}', '\u{202e}', '\u{200b}', '\u{e0041}']));
        let mut content =
            json!({"facts": [{"text": raw, "scope": [raw]}], "meta": {raw.as_str(): 1}});
        structured(&mut content);
        let text = content["facts"][0]["text"].as_str().expect("a text");
        assert_eq!(text, neutralize(&raw));
        assert_eq!(neutralize(text), text, "once is enough");
        assert_eq!(content["meta"].get(text), Some(&json!(1)), "names are texts, too");
    }
}

#[test]
fn payloads_break_out_of_a_block_without_random_delimiters() {
    let (mut items, mut ends) = (0, 0);
    for raw in payloads(SEED).into_iter().flat_map(|payload| payload.parts) {
        items +=
            usize::from(raw.split(['\n', '\r', '\u{2028}']).any(|line| line.starts_with("- ")));
        ends += usize::from(raw.to_lowercase().contains("</recalled"));
    }
    assert!(items > 20 && ends > 20, "the attacks try: {items} forged items, {ends} forged ends");
}

#[test]
fn each_response_has_different_delimiters() {
    let answer: Value =
        json!({"facts": [{"handle": "m1", "kind": "fact", "text": "x"}], "confidence": 0.5});
    assert_ne!(bundle(&answer), bundle(&answer));
}
