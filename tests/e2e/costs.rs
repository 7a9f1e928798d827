//! The token counts of MCP responses, on bundles and a repository of this project.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Service;
use crate::tools::Client;

/// Maximum tokens of a response without a requested limit.
const BUDGET: usize = 1_200;

/// Records about the MCP server: kind, title, text, cited file.
const NOTES: [(&str, &str, &str, &str); 9] = [
    (
        "gotcha",
        "Stdout is the protocol",
        "Never print to stdout in the stdio server: a single line there breaks the \
     session, since standard output carries protocol messages and nothing else.",
        "src/stdio.rs",
    ),
    (
        "gotcha",
        "The token is read before each call",
        "The token file is read before each call and not once, so that a \
     service that was restarted with another token is found without a restart of the client.",
        "src/core.rs",
    ),
    (
        "rule",
        "Stored text is quoted",
        "All stored text that a model reads goes through Data, which draws the marks of \
     each answer anew and quotes every line; writing it with format! lets it forge an item.",
        "src/render/data.rs",
    ),
    (
        "fact",
        "Progress after a second",
        "A call that takes longer than a second tells a client that asked for it of \
     its progress, every second, until the Core has answered or the client has cancelled.",
        "src/progress.rs",
    ),
    (
        "fact",
        "Two eras of the protocol",
        "The server speaks the stateless revision of 2026-07-28 and the session-based \
     ones before it; the official conformance suite runs against both.",
        "src/http.rs",
    ),
    (
        "fact",
        "Where a project comes from",
        "The project of a call is its project_key, else that of the header \
     X-Memory-Copilot-Project, else the one that the stdio server was started with.",
        "src/server.rs",
    ),
    (
        "pattern",
        "A tool is one Core call",
        "A tool checks its arguments by the schema that was listed, makes one call \
     of the Core with the caller's token, and renders the answer; it holds no state between calls.",
        "src/tools.rs",
    ),
    (
        "fewshot",
        "Add a tool",
        "To add a tool: name it in tools.rs, say when to call it in definitions.rs, give it \
     schemas, make its Core call, render its answer, and try every outcome with both SDKs.",
        "src/tools.rs",
    ),
    (
        "adr_link",
        "Resources besides tools",
        "Records and documents are resources as well as tools, because some \
     clients attach resources to a prompt and never call a tool.",
        "src/resources.rs",
    ),
];

const QUESTIONS: [&str; 6] = [
    "why does the session break when the stdio server prints something",
    "how is stored text kept from forging an item of an answer",
    "add a tool to the MCP server",
    "which project does a call mean when it names none",
    "when is the token file read",
    "what is a client told of the progress of a long call",
];

#[tokio::test]
async fn tool_responses_stay_within_their_token_budget() {
    let service = world().await;
    let mut client = Client::start(service.command(&["mcp", "--project", "mcp"]));
    let mut recalled = 0;
    for question in QUESTIONS {
        let answer = client.call("recall", &json!({ "query": question, "repo_path": "src" }));
        let (text, structured) = cost(question, &answer);
        assert!(structured * 10 <= text * 12, "{question}: {structured} of {text}\n{answer}");
        assert_eq!(ids(&answer["content"]), 1, "only the bundle has an id: {answer}");
        assert_eq!(ids(&answer["structuredContent"]), 1, "{answer}");
        recalled += answer["structuredContent"].to_string().matches("\"handle\"").count();
    }
    assert!(recalled >= QUESTIONS.len(), "bundles of {recalled} items say nothing of bundles");
    let (mut narrow_total, mut wide_total) = (0, 0);
    for question in QUESTIONS {
        for tool in ["search", "search_code"] {
            let answer = client.call(tool, &json!({ "query": question }));
            let (text, structured) = cost(&format!("{tool} {question}"), &answer);
            assert!(
                text <= BUDGET && structured * 10 <= text * 12,
                "{tool}: {text}, {structured}\n{answer}"
            );
            let found = answer["structuredContent"]["results"].as_array().unwrap().len();
            assert!(found >= 5, "{tool} {question}: {found} results\n{answer}");
            let wide = client.call(tool, &json!({ "query": question, "limit_tokens": 4_000 }));
            narrow_total += text;
            wide_total += cost(&format!("{tool} within 4000"), &wide).0;
        }
    }
    // Not for each question: some have no more results than the budget holds.
    assert!(wide_total > narrow_total, "{wide_total} tokens within 4000, {narrow_total} without");
    for title in ["ARCHITECTURE.md", "README.md"] {
        let answer = client.call("open_doc", &json!({ "title": title }));
        let (text, structured) = cost(&format!("open_doc {title}"), &answer);
        assert!(
            text <= BUDGET && structured * 10 <= text * 12,
            "{title}: {text}, {structured}\n{answer}"
        );
    }
}

/// Starts a service with the crate of the MCP server indexed, records about it, and a long
/// document.
async fn world() -> Service {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&package).join("../..").canonicalize().unwrap();
    let service = Service::embedded().await;
    service.project("mcp").await;
    service.index("mcp", &root.join("crates/mcp")).await;
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let document = json!({"doc_id": "1", "title": "ARCHITECTURE.md", "content": architecture});
    let documents = json!({"project_key": "mcp", "source": "wiki", "documents": [document]});
    service.post("/ingest/docs", &documents).await;
    for (kind, title, content, file) in NOTES {
        let note = json!({"project_key": "mcp", "kind": kind, "title": title, "content": content,
            "citations": [{"file": file}], "scope": ["mcp"],
            "url": "https://wiki.example.org/mcp"});
        assert_eq!(service.post("/save", &note).await["outcome"], "created", "{title}");
    }
    service.until("/projects/mcp", |project| project["pending_vectors"] == 0).await;
    service
}

/// Returns the tokens of a response's text and of its structured content.
#[expect(clippy::print_stdout, reason = "what each answer costs, for --no-capture")]
fn cost(what: &str, answer: &Value) -> (usize, usize) {
    assert_eq!(answer["isError"], false, "{what}: {answer}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    let costs =
        (mc_tokens::count(text), mc_tokens::count(&answer["structuredContent"].to_string()));
    println!("{:>5} tokens of text, {:>5} of structured content: {what}", costs.0, costs.1);
    costs
}

/// Counts the UUIDs in a value.
fn ids(value: &Value) -> usize {
    let text = value.to_string();
    let words = text.split(|c: char| !(c.is_ascii_hexdigit() || c == '-'));
    words.filter(|word| word.len() == 36 && word.parse::<mc_domain::RecordId>().is_ok()).count()
}
