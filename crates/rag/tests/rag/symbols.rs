//! Questions for the symbols of this crate.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::fixture::Fixture;
use crate::identifiers::{Form, Verdict, judge, questions, symbols};

const QUESTIONS: usize = 40;
const SEED: u64 = 26;

#[tokio::test(flavor = "multi_thread")]
async fn first_match_of_a_symbol_has_its_definition() {
    let files = own_sources();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let fixture = Fixture::empty().await;
    let repository = fixture.index("own", &files).await;
    let all = symbols(fixture.database.store(), repository.id).await.unwrap();
    assert!(all.len() > QUESTIONS, "{} symbols", all.len());
    for form in [Form::Plain, Form::Qualified] {
        let mut missed = Vec::new();
        for name in questions(&all, form, QUESTIONS, SEED) {
            let response = fixture.search(json!({"rawQuery": name})).await;
            if judge(&all, form, &name, response.matches.first()) < Verdict::Start {
                missed.push(name);
            }
        }
        assert!(missed.len() * 20 <= QUESTIONS, "{form:?}: {missed:?}");
    }
}

/// Returns the source files of this crate.
fn own_sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut todo) = (Vec::new(), vec![root.join("src")]);
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    files
}
