//! Published attacks on file and git tools of other MCP servers, replayed, and two sessions that
//! edit one file.

use std::fs;
use std::os::unix::fs::symlink;

use mc_contract::operations::workspace_tools::GitRequest;
use serde_json::{Value, from_value, json};

use crate::support::{Fixture, git_in};

/// Checks that a call of `git_tool` is refused, by its request or by the tool.
async fn git_refuses(fixture: &Fixture, request: Value) {
    if from_value::<GitRequest>(request.clone()).is_ok() {
        fixture.git(request.clone()).await.expect_err(&request.to_string());
    }
}

/// CVE-2025-53110 (a sibling with the same prefix) and CVE-2025-53109 (links to the outside) of a
/// file server.
#[tokio::test]
async fn paths_and_links_of_published_attacks_lead_nowhere() {
    let mut fixture = Fixture::new().await;
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("secret"), "outside\n").expect("a file");
    let tree = fixture.work_tree.path().to_owned();
    let sibling = tree.with_file_name("tree2");
    fs::create_dir(&sibling).expect("a directory");
    fs::write(sibling.join("secret"), "outside\n").expect("a file");
    symlink(outside.path().join("secret"), tree.join("first")).expect("a link");
    symlink("first", tree.join("second")).expect("a link");
    symlink(outside.path(), tree.join("directory")).expect("a link");
    for path in [
        "/workspace2/secret",
        "/workspace/../workspace2/secret",
        "../tree2/secret",
        "first",
        "second",
        "directory/secret",
        "src/../first",
        "C:\\secret",
        "\\\\host\\share\\secret",
    ] {
        let read = json!({"subcommand": "read", "path": path});
        fixture.navigator(read).expect_err(path);
    }
    fixture.lock("");
    for path in ["first", "second", "directory/secret", "../tree2/secret"] {
        let write = json!({"subcommand": "write", "path": path, "content": "x\n"});
        fixture.edit(write).expect_err(path);
    }
    for secret in [outside.path().join("secret"), sibling.join("secret")] {
        assert_eq!(fs::read_to_string(secret).expect("a file"), "outside\n");
    }
}

/// CVE-2025-68143 (a repository at any path), CVE-2025-68145 (another repository), CVE-2025-68144
/// (options in arguments) and CVE-2026-27735 (`add` outside of the tree) of a git server.
#[tokio::test]
async fn arguments_of_published_attacks_on_git_are_refused() {
    let mut fixture = Fixture::new().await;
    fixture.lock("");
    let outside = tempfile::tempdir().expect("a directory");
    git_in(outside.path(), &["init", "--quiet"]);
    let marker = outside.path().join("marker");
    let option = format!("--output={}", marker.display());
    let elsewhere = outside.path().display().to_string();
    for request in [
        json!({"subcommand": "init", "path": elsewhere}),
        json!({"subcommand": "status", "repo_path": elsewhere}),
        json!({"subcommand": "status", "paths": [elsewhere]}),
        json!({"subcommand": "diff", "paths": ["../.."]}),
        json!({"subcommand": "diff", "revision": option}),
        json!({"subcommand": "show", "revision": option}),
        json!({"subcommand": "log", "revision": option}),
        json!({"subcommand": "log", "revision": "--all"}),
        json!({"subcommand": "blame", "path": "src/cart.rs", "revision": option}),
        json!({"subcommand": "checkout", "revision": "--orphan", "paths": ["README.md"]}),
        json!({"subcommand": "checkout", "paths": [option]}),
        json!({"subcommand": "add", "paths": ["../../../.kube/config"]}),
        json!({"subcommand": "add", "paths": [format!("{elsewhere}/secret")]}),
    ] {
        git_refuses(&fixture, request).await;
    }
    // A ref that was made by hand has the name of an option.
    let refs = fixture.directory().join("git/refs/heads");
    let head = fixture.work_tree.head(&fixture.cancel).await.expect("a head").expect("a commit");
    fs::write(refs.join("--output=made-by-hand"), format!("{head}\n")).expect("a ref");
    for subcommand in ["diff", "show", "log"] {
        let request = json!({"subcommand": subcommand, "revision": "--output=made-by-hand"});
        git_refuses(&fixture, request).await;
    }
    assert!(!marker.exists() && !fixture.work_tree.path().join("made-by-hand").exists());
    let status = fixture.git(json!({"subcommand": "status"})).await.expect("a status");
    assert!(!status.output.contains("made-by-hand"), "{}", status.output);
}

/// The file that two sessions edit.
const CART: &str = "src/cart.rs";

fn replace(old: &str, new: &str) -> Value {
    json!({"subcommand": "str_replace", "path": CART, "old_str": old, "new_str": new})
}

#[tokio::test]
async fn session_does_not_overwrite_the_edit_of_another_one() {
    let mut fixture = Fixture::new().await;
    fixture.lock("");
    let view = || json!({"subcommand": "view", "path": CART});
    fixture.edit(view()).expect("the first session sees the file");
    let first = std::mem::take(&mut fixture.history);
    fixture.edit(view()).expect("the second session sees the file");
    fixture.edit(replace("7", "8")).expect("the second session edits it");
    let second = std::mem::replace(&mut fixture.history, first);
    fixture.edit(replace("total", "sum")).expect_err("it has changed since it was viewed");
    assert_eq!(fixture.content(CART), "fn total() -> u64 {\n    8\n}\n");
    fixture.edit(view()).expect("the first session sees it again");
    fixture.edit(replace("total", "sum")).expect("the first session edits it");
    fixture.history = second;
    let undo = json!({"subcommand": "undo_edit", "path": CART});
    fixture.edit(undo).expect_err("the second session would undo the edit of the first");
    assert_eq!(fixture.content(CART), "fn sum() -> u64 {\n    8\n}\n");
}
