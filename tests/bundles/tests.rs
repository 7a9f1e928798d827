//! The rules of README.md.
#![expect(clippy::float_cmp, reason = "these are shares of a few, and sums of whole numbers")]

use serde_json::{Value, json};

use super::figures::{Figures, Of, reliability};
use super::judge::{self, Row, items_of_bundle};
use super::run::{Fate, Saved};
use super::set::Question;

/// Returns records: `a` and `b` have their own, `c` was merged into `a`.
fn saved() -> Saved {
    let fate = |record: &str| Fate {
        record: Some(record.to_owned()),
        outcome: "created".to_owned(),
        reason: String::new(),
        doubtful: Vec::new(),
    };
    let notes = [("a", "1"), ("b", "2"), ("c", "1"), ("d", "4"), ("e", "5")];
    notes.map(|(note, record)| (note.to_owned(), fate(record))).into()
}

fn question(more: Value) -> Question {
    let mut question = json!({"id": "q", "query": "?", "must": [], "first": [], "may": [],
        "files": [],
        "empty": false, "must_contain": [], "why": ""});
    let Value::Object(more) = more else { panic!("fields") };
    question.as_object_mut().expect("fields").extend(more);
    serde_json::from_value(question).expect("a question")
}

fn row(question: &Question, bundle: &Value) -> Row {
    judge::judge(question, &items_of_bundle(bundle, question, &saved()), &saved())
}

fn note(record: &str, text: &str) -> Value {
    json!({"id": record, "kind": "fact", "text": text})
}

#[test]
fn complete_readable_bundle_led_by_the_right_note_is_useful() {
    let question = question(
        json!({"must": ["a", "b"], "first": ["b"], "must_contain": ["Never  on\nFriday"]}),
    );
    let bundle =
        json!({"facts": [note("1", "Deploys.")], "gotchas": [note("2", "never on friday")]});
    let row = row(&question, &bundle);
    assert!(row.useful, "{row:?}");
    assert_eq!((row.must, row.complete, row.first), (Some(1.0), Some(1.0), Some(1.0)));
    assert_eq!(row.noise, Some(0.0));
}

#[test]
fn missing_truncated_or_misled_bundle_is_not_useful() {
    let question = question(
        json!({"must": ["a", "b"], "first": ["b"], "must_contain": ["the rule", "Deploys"]}),
    );
    let row = row(&question, &json!({"facts": [note("1", "Deploys …")]}));
    assert_eq!((row.must, row.complete, row.first), (Some(0.5), Some(0.5), Some(0.0)));
    assert_eq!(row.reasons, ["missing b (created)", "not readable: the rule", "first is a/c"]);
}

#[test]
fn merged_note_counts_by_its_record() {
    let row =
        row(&question(json!({"must": ["c"], "first": ["c"]})), &json!({"facts": [note("1", "x")]}));
    assert!(row.useful, "{row:?}");
}

#[test]
fn noise_of_two_fifths_is_allowed_and_half_is_not() {
    let question = question(json!({"must": ["a"], "may": ["b"], "files": ["src/", "x.py"]}));
    let code = |path: &str| json!({"place": path, "text": "1234"});
    let files = |paths: &[&str]| paths.iter().map(|path| code(path)).collect::<Vec<_>>();
    let five = json!({"facts": [note("1", "x"), note("2", "y")],
        "code": files(&["src/deep/a.py", "srcs/a.py", "x.pyi"])});
    let (five, two) = (row(&question, &five), json!({"facts": [note("1", "x"), note("4", "y")]}));
    assert!(five.useful, "{five:?}");
    assert_eq!(five.noise, Some(0.4));
    let two = row(&question, &two);
    assert_eq!(two.reasons, ["noise 1 of 2: d"]);
}

#[test]
fn noise_is_counted_by_characters_as_well() {
    let bundle = json!({"facts": [{"id": "1", "kind": "fact", "text": "12"}, {"id": "4",
        "kind": "fact", "text": "1234567"}]});
    let row = row(&question(json!({"must": ["a"]})), &bundle);
    // Kind, id and text, one per line.
    assert_eq!(row.noise_chars, Some(14.0 / (9.0 + 14.0)));
    assert_eq!(row.tokens, (9.0 + 1.0 + 14.0) / 4.0);
}

#[test]
fn question_without_notes_needs_one_of_its_files() {
    let question = question(json!({"files": ["a.py"], "may": ["a"]}));
    let without = row(&question, &json!({"facts": [note("1", "x")]}));
    assert_eq!((without.must, without.useful), (Some(0.0), false));
    let with = row(
        &question,
        &json!({"code": [{"location": "a.py", "text": "def a"}], "degraded": ["vector"]}),
    );
    assert!(with.useful, "{with:?}");
}

#[test]
fn empty_question_allows_two_harmless_items() {
    let question = question(json!({"empty": true, "may": ["a", "b", "d"]}));
    let of = |records: &[&str]| {
        json!({"facts": records.iter().map(|id| note(id,
        "x")).collect::<Vec<_>>()})
    };
    for (records, right) in
        [(&[][..], true), (&["1", "2"], true), (&["1", "2", "4"], false), (&["5"], false)]
    {
        let row = row(&question, &of(records));
        assert_eq!(row.useful, right, "{records:?}");
    }
}

#[test]
fn empty_response_has_no_noise_and_no_hit() {
    let row = row(&question(json!({"must": ["a"], "first": ["a"]})), &json!({}));
    assert_eq!((row.must, row.first, row.complete, row.noise), (Some(0.0), Some(0.0), None, None));
    assert!(!row.useful && row.got.is_empty());
}

#[test]
fn means_include_only_questions_with_the_figure() {
    let right = Row {
        useful: true,
        must: Some(1.0),
        noise: Some(0.5),
        tokens: 100.0,
        got: vec!["a".to_owned()],
        ..Row::default()
    };
    let nothing = Row { must: Some(0.0), first: Some(0.0), ..Row::default() };
    let vague = Row { empty: true, useful: true, tokens: 900.0, ..Row::default() };
    let figures = Figures::of(&[right, nothing, vague]);
    assert_eq!(
        (figures.must, figures.first, figures.noise, figures.complete),
        (0.5, 0.0, 0.5, 0.0)
    );
    assert_eq!(figures.empty_right, Of { some: 1, all: 1 });
    assert_eq!(figures.wrongly_empty, Of { some: 1, all: 2 });
    assert_eq!(figures.tokens, 50.0);
    assert!((figures.useful - 2.0 / 3.0).abs() < 1e-9);
}

#[test]
fn confidence_is_compared_with_correctness() {
    let sure = |confidence, useful| Row {
        useful,
        confidence: Some(confidence),
        got: vec!["a".to_owned()],
        ..Row::default()
    };
    let silent = Row { useful: true, confidence: Some(0.0), ..Row::default() };
    let bins = reliability(&[sure(0.3, true), sure(0.35, false), sure(1.0, true), silent]);
    let shown: Vec<_> = bins.iter().map(|bin| (bin.from, bin.bundles, bin.useful)).collect();
    assert_eq!(shown, [(0.3, 2, 0.5), (0.9, 1, 1.0)]);
}
