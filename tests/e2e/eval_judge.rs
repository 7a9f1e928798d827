//! `memory-copilot eval judge` on the golden set, with a scripted model that errs at a known rate.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use mc_testkit::{ModelProtocol, ModelRequest, ModelServer, Reply};
use serde_json::{Value, json};

use crate::harness::Service;

/// One of so many answers of the scripted model is wrong.
const ONE_ERROR_IN: u64 = 10;

fn golden_set() -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    PathBuf::from(package).join("../../tests/judge/golden.jsonl")
}

/// Returns the labels of the set by the beginning of the note's text.
fn labels() -> HashMap<String, String> {
    let text = std::fs::read_to_string(golden_set()).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let label = |row: Value| {
        let content = row["content"].as_str().or(row["note"].as_str()).unwrap();
        (key(content), row["label"].as_str().unwrap().to_owned())
    };
    rows.map(label).collect()
}

fn key(content: &str) -> String {
    content.chars().take(60).collect()
}

/// Answers with the label of the row, or with another one at the stated rate.
fn scripted(request: &ModelRequest, labels: &HashMap<String, String>) -> Reply {
    let messages = request.body["messages"].as_array().unwrap();
    let data: Value =
        serde_json::from_str(messages.last().unwrap()["content"].as_str().unwrap()).unwrap();
    let content = data["note"]["text"].as_str().unwrap();
    let label = labels.get(&key(content)).map_or("keep", String::as_str);
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let is_wrong = hasher.finish().is_multiple_of(ONE_ERROR_IN);
    let (verdict, relation) = match (label, is_wrong) {
        ("reject", false) | ("keep", true) => ("general_knowledge", "different"),
        ("same", false) | ("replaces", true) => ("keep", "same"),
        ("replaces", false) | ("same" | "different", true) => ("keep", "replaces"),
        _ => ("keep", "different"),
    };
    let known = data["known"].as_array().unwrap().len();
    let relations: Vec<_> =
        (1..=known).map(|known| json!({"known": known, "relation": relation})).collect();
    let answer = json!({"verdict": verdict, "usefulness": 0.5, "relations": relations});
    Reply::text(answer.to_string()).with_usage(400, 30)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "docs/judge.md has the figures, for --no-capture")]
async fn judge_is_evaluated_by_the_rules_and_with_a_model() {
    let labels = labels();
    assert!(labels.len() >= 300, "{}", labels.len());
    let server = ModelServer::start(move |request| scripted(request, &labels)).await;
    let mut service = Service::prepared();
    let settings = json!({
        "provider": "openai_compatible", "model": "scripted", "roles": ["judge"],
        "base_url": server.base_url(ModelProtocol::OpenAi), "max_concurrent": 8,
    });
    service.write_config(&json!({"chat": {"models": {"main": settings}}}).to_string());
    let file = golden_set();
    let arguments = ["--json", "eval", "judge", "--model", file.to_str().unwrap()];
    let output = service.command(&arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let agreement = |judge: &str, of: &str| report[judge][of]["agreement"].as_f64().unwrap();
    assert_eq!(report["requests"]["failed"], 0, "{report}");
    for of in ["notes", "pairs"] {
        let stated = 1.0 - 1.0 / 10.0;
        assert!((agreement("model", of) - stated).abs() < 0.06, "{of}: {report}");
        assert!(agreement("both", of) > agreement("rules", of), "{of}: {report}");
    }
    // The rules are the floor: a model that errs does not make more wrong judgments of `same`.
    let same = |judge: &str| report[judge]["pairs"]["labels"]["same"]["precision"].as_f64();
    assert!(same("both") >= same("rules"), "{report}");

    let report_split = ["eval", "judge", "--split", "report", file.to_str().unwrap()];
    let output = service.command(&report_split).output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && table.contains("replaces"), "{table}");
    println!("{report:#}");
}

#[tokio::test]
async fn row_that_is_not_labeled_is_named_with_its_line() {
    let service = Service::prepared();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rows.jsonl");
    std::fs::write(&file, "{\"id\": \"n1\"}\n").unwrap();
    let output = service.command(&["eval", "judge", file.to_str().unwrap()]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("line 1"), "{errors}");
}
