//! Imports from other programs.

use std::path::Path;

use serde_json::{Value, json};

use crate::commands::printed;
use crate::harness::Service;

fn write(directory: &Path, path: &str, text: &str) {
    let path = directory.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A repository with rules files and a decision record.
fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, ".git/HEAD", "ref: refs/heads/main\n");
    write(root, "CLAUDE.md", "# CLAUDE.md\n\n@AGENTS.md\n");
    write(
        root,
        "AGENTS.md",
        "# Rules\n\n## Queues\n\n- Never enqueue a job before the transaction commits, because the \
         worker would not find its rows.\n- Why?\n",
    );
    write(
        root,
        ".cursor/rules/forms.mdc",
        "---\nglobs: apps/web/**/*.tsx\n---\nValidate every form on the server, too.\n",
    );
    write(
        root,
        "docs/adr/0001-queue.md",
        "# 1. Store jobs in PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nJobs are rows of \
         the table `jobs`.\n",
    );
    directory
}

fn outcomes(report: &Value) -> Vec<&str> {
    report["notes"].as_array().unwrap().iter().map(|n| n["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn notes_of_a_repository_are_proposed_once_with_their_source() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let repository = repository();
    let root = repository.path().to_str().unwrap();
    let import = ["--json", "import", root, "-p", "shop"];
    let first = printed(service.command(&import));
    assert_eq!(outcomes(&first), ["proposed"; 3], "{first}");
    let refused: Vec<_> = first["refused"].as_array().unwrap().iter().collect();
    assert_eq!(refused.len(), 2, "{first}");
    assert_eq!(refused[0]["reason"], "a question");
    assert_eq!((&refused[1]["source"], &refused[1]["line"]), (&json!("CLAUDE.md"), &json!(3)));

    let proposals = printed(service.command(&["--json", "proposals", "list", "-p", "shop"]));
    let proposals = proposals["items"].as_array().unwrap();
    let form = proposals.iter().find(|one| one["scope"] == json!(["web"])).expect("a rule");
    assert_eq!(form["meta"]["imported_from"], ".cursor/rules/forms.mdc:4");
    assert_eq!(form["contributions"][0]["source"], ".cursor/rules/forms.mdc");
    assert_eq!((&form["kind"], &form["trust"]), (&json!("rule"), &json!("untrusted")));
    let queue = proposals.iter().find(|one| one["kind"] == "adr_link").expect("a decision");
    assert_eq!(queue["title"], "Store jobs in PostgreSQL");

    assert_eq!(outcomes(&printed(service.command(&import))), ["known"; 3]);
    let (id, version) = (form["id"].as_str().unwrap(), "1");
    printed(service.command(&["--json", "proposals", "accept", id, "--record-version", version]));
    assert_eq!(
        outcomes(&printed(service.command(&import))),
        ["known"; 3],
        "an accepted one is known, too"
    );
    let listed = printed(service.command(&["--json", "proposals", "list", "-p", "shop"]));
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn exports_of_other_programs_are_detected() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().unwrap();
    let memory = "The staging database is restored every Monday at 04:00 UTC.";
    let mem0 = json!({"results": [{"id": "6f1c", "memory": memory, "user_id": "ann"}]});
    write(directory.path(), "memories.json", &mem0.to_string());
    let entity = json!({"type": "entity", "name": "checkout", "entityType": "service",
                        "observations": ["Retries a payment three times, then gives up."]});
    write(directory.path(), "memory.jsonl", &entity.to_string());
    for (file, source) in
        [("memories.json", "mem0:6f1c"), ("memory.jsonl", "server-memory:checkout")]
    {
        let path = directory.path().join(file);
        let report =
            printed(service.command(&["--json", "import", path.to_str().unwrap(), "-p", "shop"]));
        assert_eq!(outcomes(&report), ["proposed"], "{report}");
        assert_eq!(report["notes"][0]["source"], source);
    }
}

#[tokio::test]
async fn import_into_an_unknown_project_is_rejected_with_similar_keys() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let repository = repository();
    let root = repository.path().to_str().unwrap();
    let failed = service.command(&["import", root, "-p", "shpo"]).output().unwrap();
    let message = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success());
    assert!(message.contains("similar of yours: shop") && message.contains("--create-project"));
    let projects = service.get("/projects").await;
    assert_eq!(projects["items"].as_array().unwrap().len(), 1, "{projects}");
}

#[test]
fn dry_run_needs_no_service() {
    let service = Service::prepared();
    let repository = repository();
    let import = ["--json", "import", repository.path().to_str().unwrap(), "-p", "x", "--dry-run"];
    assert_eq!(outcomes(&printed(service.command(&import))), ["dry_run"; 3]);
}
