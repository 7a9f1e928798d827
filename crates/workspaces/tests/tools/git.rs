//! Git, limited to the locked directory.

use serde_json::json;

use crate::support::Fixture;

#[tokio::test]
async fn only_the_locked_directory_is_shown_and_changed() {
    let fixture = Fixture::locked().await;
    fixture.write("src/cart.rs", "fn total() -> u64 {\n    8\n}\n");
    fixture.write("other/notes.txt", "changed\n");
    for subcommand in ["status", "diff"] {
        let shown = fixture.git(json!({"subcommand": subcommand})).await.expect("an output");
        let output = shown.output;
        assert!(output.contains("src/cart.rs") && !output.contains("notes"), "{output}");
        assert_eq!(shown.notes, ["paths in the output are relative to /workspace"]);
    }
    let staged = fixture.git(json!({"subcommand": "add"})).await.expect("staged").output;
    assert_eq!(staged, "Changed files that were staged: 1.");
    let commit = json!({
        "subcommand": "commit", "message": "Raise the total", "author_name": "Bea",
        "author_email": "bea@example.org"
    });
    fixture.git(commit).await.expect("a commit");
    let log = fixture.git(json!({"subcommand": "log"})).await.expect("a log").output;
    assert!(log.contains("Author: Bea") && log.contains("Start the shop"), "{log}");
    assert!(!log.contains("README.md"), "of the first commit, other files are left out: {log}");

    let show = json!({"subcommand": "show", "revision": "HEAD~1"});
    let first = fixture.git(show).await.expect("a commit").output;
    assert!(first.contains("src/cart.rs") && !first.contains("README.md"), "{first}");
    let show = json!({
        "subcommand": "show", "revision": "HEAD~1", "path": "cart.rs", "view_range": [2, 2]
    });
    let file = fixture.git(show).await.expect("a file").output;
    assert_eq!(file, "     2\t    7\n");
    let blame = json!({"subcommand": "blame", "path": "cart.rs", "view_range": [2, -1]});
    let blame = fixture.git(blame).await.expect("lines").output;
    assert!(blame.lines().count() == 2 && blame.contains("Bea"), "{blame}");
    let checkout = json!({"subcommand": "checkout", "revision": "HEAD~1", "paths": ["cart.rs"]});
    let restored = fixture.git(checkout).await.expect("restored").output;
    assert_eq!(restored, "Files that were restored: 1.");
    assert!(fixture.content("src/cart.rs").contains('7'));
    assert_eq!(fixture.content("other/notes.txt"), "changed\n");
}

#[tokio::test]
async fn the_stash_has_files_of_the_locked_directory_only() {
    let mut fixture = Fixture::locked().await;
    fixture.write("src/cart.rs", "fn total() {}\n");
    fixture.write("src/new.rs", "fn new() {}\n");
    fixture.write("other/notes.txt", "changed\n");
    let stash = |action: &str| json!({"subcommand": "stash", "action": action});
    fixture.git(stash("push")).await.expect("stashed");
    assert!(fixture.content("src/cart.rs").contains('7'));
    assert_eq!(fixture.content("other/notes.txt"), "changed\n");
    let again = fixture.git(stash("push")).await.expect("no change").output;
    assert_eq!(again, "There is no change to stash.");
    let list = fixture.git(stash("list")).await.expect("a list").output;
    assert!(list.contains("work in progress"), "{list}");
    fixture.lock("other");
    let error = fixture.git(stash("pop")).await.expect_err("files of another directory");
    assert!(error.to_string().contains("which is not in other"), "{error}");
    fixture.lock("src");
    fixture.git(stash("pop")).await.expect("applied");
    assert_eq!(fixture.content("src/new.rs"), "fn new() {}\n");
}

#[tokio::test]
async fn output_of_git_is_masked_and_bounded() {
    let fixture = Fixture::locked().await;
    let show = json!({"subcommand": "show", "revision": "HEAD"});
    let shown = fixture.git(show).await.expect("a commit").output;
    assert!(shown.contains("conf.toml") && !shown.contains("hunter2"), "{shown}");
    let show = json!({"subcommand": "show", "revision": "HEAD", "path": "conf.toml"});
    let shown = fixture.git(show).await.expect("a file");
    assert!(!shown.output.contains("hunter2"), "{}", shown.output);
    assert_eq!(shown.notes, ["masked texts in the file, which can't be edited: 1"]);
    let blame = json!({"subcommand": "blame", "path": "conf.toml"});
    let shown = fixture.git(blame).await.expect("lines").output;
    assert!(!shown.contains("hunter2"), "{shown}");

    fixture.write("src/cart.rs", &"a line\n".repeat(20_000));
    let diff = fixture.git(json!({"subcommand": "diff"})).await.expect("a diff");
    assert!(diff.is_truncated && diff.output.len() <= 64 * 1024);
    assert!(diff.output.ends_with("+a line\n") && diff.notes[0].contains("the output was cut"));
    let staged = fixture.git(json!({"subcommand": "diff", "staged": true})).await.expect("none");
    assert!(staged.notes[0].contains("there is nothing to show"), "{:?}", staged.notes);
}
