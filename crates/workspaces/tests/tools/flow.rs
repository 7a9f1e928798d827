//! The work of a model on a workspace, from discovery to a commit.

use mc_workspaces::navigation::{Navigation, Phase};
use mc_workspaces::tools::instructions;
use serde_json::json;

use crate::support::{Fixture, SECRET};

#[tokio::test]
async fn a_change_is_found_made_tested_and_committed() {
    let Some(mut fixture) = Fixture::with_sandbox().await else { return };
    let done = fixture.navigator(json!({"subcommand": "unlock"})).expect("unlocked");
    assert_eq!(done.output, instructions_of(Phase::Discovery));
    assert_eq!((done.phase, done.cwd.as_str()), (Phase::Discovery, "/workspace/src"));
    fixture.navigator(json!({"subcommand": "cd", "path": ".."})).expect("the root");

    let found = fixture.navigator(json!({"subcommand": "find", "pattern": "*.rs"})).expect("files");
    assert_eq!(found.output, "/workspace/src/cart.rs\n");
    let found = fixture.navigator(json!({"subcommand": "grep", "pattern": r"^fn \w+"}));
    assert_eq!(found.expect("lines").output, "/workspace/src/cart.rs:1:fn total() -> u64 {\n");
    let done = fixture.navigator(json!({"subcommand": "cd", "path": "src"})).expect("a directory");
    assert_eq!(done.output, "CWD is now /workspace/src");
    let done = fixture.navigator(json!({"subcommand": "pwd"})).expect("a directory");
    assert_eq!(done.output, "/workspace/src");
    let done = fixture.navigator(json!({"subcommand": "ls"})).expect("entries");
    assert!(done.output.starts_with("file         28 cart.rs\n"), "{}", done.output);
    let done = fixture.navigator(json!({"subcommand": "lock_cwd"})).expect("locked");
    assert_eq!(done.output, instructions_of(Phase::Edit));
    assert_eq!(done.phase, Phase::Edit);

    let done =
        fixture.edit(json!({"subcommand": "view", "path": "cart.rs", "view_range": [2, -1]}));
    assert_eq!(done.expect("lines").output, "     2\t    7\n     3\t}\n");
    let done = fixture.edit(json!({
        "subcommand": "str_replace", "path": "cart.rs", "old_str": "    7", "new_str": "    8"
    }));
    let done = done.expect("an edit").output;
    let start = "File /workspace/src/cart.rs edited successfully. Lines added: 1, removed: 1.\n";
    assert!(done.starts_with(start) && done.contains("     2\t    8\n"), "{done}");
    let done = fixture.json_edit(json!({
        "subcommand": "set", "path": "package.json", "json_path": "$.version", "value": "1.1.0"
    }));
    assert!(done.expect("an edit").output.contains("\"version\": \"1.1.0\""));
    let done = fixture.git(json!({"subcommand": "add"})).await.expect("staged");
    assert_eq!(done.output, "Changed files that were staged: 2.");
    let commit = json!({"subcommand": "commit", "message": "Raise the total"});
    assert!(fixture.git(commit).await.expect("a commit").output.starts_with("Committed "));
    let log = fixture.git(json!({"subcommand": "log", "max_count": 1})).await.expect("a log");
    assert!(log.output.contains("Author: Ann") && log.output.contains("Raise the total"));
    let output = fixture.run("grep -c 8 cart.rs; pwd; cat ../README.md").await;
    assert_eq!(output, "1\n/workspace/src\n# Shop\n");
    let done = fixture.navigator(json!({"subcommand": "unlock"})).expect("unlocked");
    assert_eq!(done.phase, Phase::Discovery);
}

#[tokio::test]
async fn what_a_model_reads_is_masked_and_bounded() {
    let mut fixture = Fixture::new().await;
    let read = fixture.navigator(json!({"subcommand": "read", "path": "src/conf.toml"}));
    let read = read.expect("lines");
    assert!(read.output.starts_with("     1\tpass") && !read.output.contains("hunter2"));
    assert_eq!(read.notes, ["masked texts in the file, which can't be edited: 1"]);
    let found = fixture.navigator(json!({"subcommand": "grep", "pattern": "hunter"}));
    assert_eq!(found.expect("no line").notes, ["no line matches"]);

    fixture.write("many.txt", &"a line\n".repeat(20_000));
    let read = fixture.navigator(json!({"subcommand": "read", "path": "many.txt"})).expect("lines");
    assert!(read.is_truncated && read.output.len() <= 64 * 1024);
    let lines = read.output.lines().count();
    let next = format!("continue with view_range [{}, -1]", lines + 1);
    assert!(read.notes[0].ends_with(&next), "{:?}", read.notes);
    let found = json!({"subcommand": "grep", "pattern": "line", "max_results": 5});
    let found = fixture.navigator(found).expect("lines");
    assert_eq!((found.output.lines().count(), found.is_truncated), (5, true));
    let listed = fixture.navigator(json!({"subcommand": "ls", "max_results": 2})).expect("entries");
    assert_eq!(listed.notes, ["entries that are not shown: 2; set max_results to see them"]);
    fixture.write("a\nfile b", "");
    let listed = fixture.navigator(json!({"subcommand": "ls"})).expect("entries").output;
    assert!(listed.contains("a\\nfile b") && listed.lines().count() == 5, "{listed}");
    assert_eq!(fixture.content("src/conf.toml"), SECRET);
}

/// Returns the instructions of a phase in the directory `src`.
fn instructions_of(phase: Phase) -> String {
    instructions(&Navigation::restore("src", phase).expect("a navigation"))
}
