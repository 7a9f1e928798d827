//! `memory-copilot eval help` on the set of `tests/help`, with a scripted model: it knows two facts
//! by itself, and otherwise repeats the bundle.

use std::path::PathBuf;
use std::process::Output;

use mc_testkit::{ModelProtocol, ModelRequest, ModelServer, Reply};
use serde_json::{Value, json};

use crate::harness::Service;

const BUNDLE: &str = "# Team memory\n";

fn set(file: &str) -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    PathBuf::from(package).join("../../tests/help").join(file)
}

/// Returns what the scripted writer says without a bundle.
fn known(question: &str) -> &'static str {
    if question.contains("rate limit") {
        "It answers with the status 429."
    } else if question.contains("exports of the ledger") {
        "They are written in ISO 8601."
    } else {
        "I do not know."
    }
}

/// Answers with the quoted lines of the bundle, or with its own knowledge.
fn written(request: &ModelRequest) -> Reply {
    let prompt = request.prompt();
    let question = prompt.split_once("# Question").unwrap().1;
    let Some((question, bundle)) = question.split_once(BUNDLE) else {
        return Reply::text(known(question)).with_usage(100, 10);
    };
    let quoted: Vec<_> = bundle.lines().filter_map(|line| line.strip_prefix("| ")).collect();
    let answer = if quoted.is_empty() { known(question).to_owned() } else { quoted.join("\n") };
    Reply::text(answer).with_usage(300, 20)
}

/// Scores an answer by the phrases of the set.
fn scored(request: &ModelRequest, questions: &Value) -> Reply {
    let messages = request.body["messages"].as_array().unwrap();
    let data = messages.last().unwrap()["content"].as_str().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let answer = data["answer"].as_str().unwrap().to_lowercase();
    let expected = questions.as_array().unwrap().iter();
    let expected: Vec<_> =
        expected.flat_map(|one| one["expected"].as_array().unwrap().clone()).collect();
    let verdicts = data["facts"].as_array().unwrap().iter().map(|fact| {
        let known = expected.iter().find(|known| known["fact"] == fact["text"]).unwrap();
        let mut phrases = known["any_of"].as_array().unwrap().iter();
        let is_in = |phrase: &Value| answer.contains(&phrase.as_str().unwrap().to_lowercase());
        json!({"fact": fact["fact"], "is_stated": phrases.any(is_in)})
    });
    let verdict = json!({"facts": verdicts.collect::<Vec<_>>()});
    Reply::text(verdict.to_string()).with_usage(200, 30)
}

fn scripted(request: &ModelRequest, questions: &Value) -> Reply {
    match request.body["model"].as_str().unwrap() {
        "scripted-writer" => written(request),
        "scripted-judge" => scored(request, questions),
        other => Reply::status(400, format!("no such model {other}")),
    }
}

fn questions() -> Value {
    serde_norway::from_str(&std::fs::read_to_string(set("questions.yaml")).unwrap()).unwrap()
}

/// Returns the configuration of a model; a million of its tokens costs 1.
fn model(server: &ModelServer, role: &str) -> Value {
    json!({
        "provider": "openai_compatible", "model": format!("scripted-{role}"), "roles": [role],
        "base_url": server.base_url(ModelProtocol::OpenAi), "max_concurrent": 4,
        "price_per_million": {"prompt": 1, "completion": 1},
    })
}

/// Starts a service whose project `lumen` has the notes of the set. The models are configured
/// for the commands only, so that the notes are saved without them.
async fn world() -> (Service, Vec<String>) {
    let service = Service::embedded().await;
    service.project("lumen").await;
    let notes = std::fs::read_to_string(set("notes.json")).unwrap();
    let notes: Vec<Value> = serde_json::from_str(&notes).unwrap();
    let mut records = Vec::new();
    for mut note in notes {
        note["project_key"] = json!("lumen");
        let saved = service.post("/save", &note).await;
        assert_eq!(saved["outcome"], "created", "{saved}");
        records.push(saved["id"].as_str().unwrap().to_owned());
    }
    service.until("/projects/lumen", |project| project["pending_vectors"] == 0).await;
    (service, records)
}

fn eval(service: &Service, arguments: &[&str]) -> Output {
    let file = set("questions.yaml");
    let mut all = vec!["eval", "help", file.to_str().unwrap(), "--project", "lumen"];
    all.extend(arguments);
    service.command(&all).output().unwrap()
}

fn report(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_with_the_bundle_state_more_facts() {
    let (mut service, records) = world().await;
    let questions = questions();
    let server = ModelServer::start(move |request| scripted(request, &questions)).await;
    let models = json!({"main": model(&server, "writer"), "second": model(&server, "judge")});
    service.write_config(&json!({"chat": {"models": models}}).to_string());

    let by_phrases = report(&eval(&service, &["--json", "--phrases"]));
    assert_eq!((&by_phrases["questions"], &by_phrases["facts"]), (&json!(8), &json!(12)));
    let costs =
        |prompt: u32, completion: u32| f64::from(prompt) / 1e6 + f64::from(completion) / 1e6;
    // It knows 429 and ISO 8601 by itself, and loses the latter by a note that is out of date.
    assert_eq!(
        by_phrases["without"],
        json!({"facts_found": 2, "mean_share": 0.1875, "complete": 1, "complete_share": 0.125,
            "prompt_tokens": 800, "completion_tokens": 80, "cost": costs(800, 80)}),
        "{by_phrases:#}"
    );
    assert_eq!(
        by_phrases["with"],
        json!({"facts_found": 10, "mean_share": 0.75, "complete": 6, "complete_share": 0.75,
            "prompt_tokens": 2400, "completion_tokens": 160, "cost": costs(2400, 160)}),
        "{by_phrases:#}"
    );
    let difference = &by_phrases["difference"];
    let [mean, low, high, p] =
        ["mean", "low", "high", "p"].map(|field| difference[field].as_f64().unwrap());
    assert!((mean - 0.5625).abs() < 1e-12 && low < mean && mean < high, "{difference}");
    assert!((p - 8.0 / 128.0).abs() < 1e-12, "{difference}");
    assert_eq!(by_phrases["worse"], json!(["questions.yaml, question 7"]));
    assert_eq!(by_phrases["failed"], json!([]));
    assert_eq!(by_phrases["bundles"]["facts_with_phrases_in_bundle"], 10, "{by_phrases:#}");
    assert_eq!(by_phrases["scorer"], json!({"kind": "phrases"}));
    check_requests(&server);

    let by_judge = report(&eval(&service, &["--json"]));
    for field in ["without", "with", "difference", "worse"] {
        assert_eq!(by_judge[field], by_phrases[field], "{field}");
    }
    let scoring = json!({"kind": "model", "model": "second", "prompt_tokens": 3200,
        "completion_tokens": 480, "cost": costs(3200, 480)});
    assert_eq!(by_judge["scorer"], scoring);

    let output = eval(&service, &["--phrases"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    for part in [
        "2 of 12",
        "10 of 12",
        "18.8 %",
        "75.0 %",
        "+56.2 percentage points",
        "p = 0.0625",
        "Fewer than 20 questions",
        "Worse with the bundle:\n  questions.yaml, question 7: In which",
        "1 of 1 facts without, 0 with",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let split =
        report(&eval(&service, &["--json", "--phrases", "--split", "tune", "--limit", "2"]));
    assert_eq!((&split["questions"], &split["facts"]), (&json!(2), &json!(3)));
    assert_eq!(split["results"][1]["place"], "questions.yaml, question 5");

    evaluation_changes_no_usage(&service, &records).await;
}

/// Checks that the requests of a question differ in the bundle only.
fn check_requests(server: &ModelServer) {
    let requests = server.requests();
    let prompts: Vec<String> = requests.iter().map(ModelRequest::prompt).collect();
    let (with, without): (Vec<_>, Vec<_>) =
        prompts.iter().partition(|prompt| prompt.contains(BUNDLE));
    assert_eq!((with.len(), without.len()), (8, 8));
    for prompt in with {
        let (rest, bundle) = prompt.split_once(BUNDLE).unwrap();
        assert!(without.iter().any(|prompt| prompt.trim() == rest.trim()), "{prompt}");
        let is_marked = bundle.contains("data to weigh") && bundle.contains("</recalled ");
        assert!(is_marked || bundle.contains("holds nothing for this"), "{prompt}");
    }
    assert!(requests.iter().all(|request| request.body["temperature"] == 0.0));
}

/// Checks that of all recalls only the one here counts as a use of the memory.
async fn evaluation_changes_no_usage(service: &Service, records: &[String]) {
    let recall = json!({"project_key": "lumen", "query": "How long may a customer return a lamp?"});
    let bundle = service.post("/recall", &recall).await;
    assert!(bundle.to_string().contains(&records[0]), "{bundle}");
    let path = format!("/records/{}", records[0]);
    let record = service.until(&path, |record| record["recall_count"] != 0).await;
    assert_eq!(record["recall_count"], 1, "{record}");
    for id in records.iter().filter(|id| !bundle.to_string().contains(id.as_str())) {
        let record = service.get(&format!("/records/{id}")).await;
        assert_eq!(record["recall_count"], 0, "{record}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_request_fails_its_question_on_both_sides() {
    let (mut service, _) = world().await;
    let questions = questions();
    let server = ModelServer::start(move |request| {
        let prompt = request.prompt();
        let is_refused = prompt.contains("rate limit, and what") && prompt.contains(BUNDLE);
        if is_refused { Reply::status(400, "no") } else { scripted(request, &questions) }
    });
    let server = server.await;
    let models = json!({"main": model(&server, "writer")});
    service.write_config(&json!({"chat": {"models": models}}).to_string());
    let partly = report(&eval(&service, &["--json"]));
    // The answer without the bundle has a fact, which does not count.
    assert_eq!((&partly["questions"], &partly["facts"]), (&json!(7), &json!(10)), "{partly:#}");
    assert_eq!(partly["asked"], 8);
    assert_eq!(partly["without"]["facts_found"], 1, "{partly:#}");
    assert_eq!(partly["with"]["facts_found"], 8, "{partly:#}");
    assert_eq!(partly["without"]["prompt_tokens"], 800);
    assert_eq!(partly["failed"], json!(["questions.yaml, question 5"]));
    let failure = &partly["results"][4]["failure"];
    assert_eq!(failure["step"], "answer_with", "{failure}");
    assert!(failure["error"].to_string().contains("status 400"), "{failure}");
    let output = eval(&service, &[]);
    let shown = String::from_utf8_lossy(&output.stdout);
    let title = "Failed, and in no figure:\n  questions.yaml, question 5: ";
    assert!(shown.contains(title) && shown.contains("answer_with: "), "{shown}");

    let only_failed = json!({"main": {"provider": "openai_compatible", "model": "unknown",
        "roles": ["writer"], "base_url": server.base_url(ModelProtocol::OpenAi)}});
    service.write_config(&json!({"chat": {"models": only_failed}}).to_string());
    let output = eval(&service, &["--limit", "2"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("no question was answered"), "{errors}");

    let policy = ["policy", "set", "models.chat=off", "--project", "lumen"];
    assert!(service.command(&policy).output().unwrap().status.success());
    let requests = server.requests().len();
    let output = eval(&service, &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("`models.chat`"), "{errors}");
    assert_eq!(server.requests().len(), requests, "a request against the policy");
}

#[test]
fn invalid_set_is_named_with_line_and_field() {
    let mut service = Service::prepared();
    let models = json!({"main": {"provider": "ollama", "model": "small", "roles": ["writer"]}});
    service.write_config(&json!({"chat": {"models": models}}).to_string());
    let directory = tempfile::tempdir().unwrap();
    let error = |name: &str, text: &str| {
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let output = service.command(&["eval", "help", file, "-p", "lumen"]).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let missing = error("a.yaml", "- question: Why?\n- question: How?\n  expected: []\n");
    assert!(
        missing.contains("a.yaml") && missing.contains("missing field `expected`"),
        "{missing}"
    );
    assert!(missing.contains("line 1"), "{missing}");
    let line = r#"{"question": "Why?", "expected": [{"fact": "x", "any_of": [7]}]}"#;
    let wrong = error("b.jsonl", &format!("\n{line}\n"));
    assert!(wrong.contains("b.jsonl, line 2: expected[0].any_of[0]: "), "{wrong}");
    // Without a judge, phrases find the facts.
    let phrases = error("c.yaml", "- question: Why?\n  expected:\n    - fact: x\n");
    assert!(phrases.contains("missing field `any_of` at line 3"), "{phrases}");
}

#[test]
fn missing_writer_error_says_how_to_configure_one() {
    let service = Service::prepared();
    let output = eval(&service, &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let remedy = "no chat model has the role writer: add one to `chat.models`";
    assert!(!output.status.success() && errors.contains(remedy), "{errors}");
    assert!(errors.contains("`roles: [writer]`"), "{errors}");
}
