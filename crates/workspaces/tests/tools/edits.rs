//! Versions of files that were seen, and edits that are undone.

use mc_contract::operations::workspace_tools::ToolResponse;
use mc_domain::{Classified as _, ErrorKind};
use mc_workspaces::Error;
use serde_json::json;

use crate::support::Fixture;

fn replace(fixture: &mut Fixture, old: &str, new: &str) -> Result<ToolResponse, Error> {
    fixture.edit(json!({
        "subcommand": "str_replace", "path": "cart.rs", "old_str": old, "new_str": new
    }))
}

fn undo(fixture: &mut Fixture) -> Result<ToolResponse, Error> {
    fixture.edit(json!({"subcommand": "undo_edit", "path": "cart.rs"}))
}

#[tokio::test]
async fn a_file_that_a_command_changed_is_viewed_again_before_an_edit() {
    let Some(mut fixture) = Fixture::with_sandbox().await else { return };
    let view = json!({"subcommand": "view", "path": "cart.rs"});
    fixture.edit(view.clone()).expect("lines");
    fixture.run("sed -i 's/7/9/' cart.rs").await;
    let changed = replace(&mut fixture, "u64", "u32").expect_err("it was changed");
    assert_eq!(changed.kind(), ErrorKind::Conflict);
    let message = "/workspace/src/cart.rs has been changed since it was viewed; view it again";
    assert_eq!(changed.to_string(), message);
    let write = json!({"subcommand": "write", "path": "cart.rs", "content": "x\n"});
    assert_eq!(fixture.edit(write).expect_err("it was changed").to_string(), message);
    fixture.edit(view).expect("lines");
    replace(&mut fixture, "u64", "u32").expect("an edit");
    assert_eq!(fixture.content("src/cart.rs"), "fn total() -> u32 {\n    9\n}\n");

    fixture.run("echo >> cart.rs").await;
    let not_undone = undo(&mut fixture).expect_err("it was changed");
    assert!(not_undone.to_string().contains("the edit can't be undone"), "{not_undone}");
    // The navigator shows a file as well.
    fixture.navigator(json!({"subcommand": "read", "path": "cart.rs"})).expect("lines");
    replace(&mut fixture, "u32", "u16").expect("an edit");
}

#[tokio::test]
async fn edits_are_undone_in_reverse_order() {
    let mut fixture = Fixture::locked().await;
    let before = fixture.content("src/cart.rs");
    replace(&mut fixture, "7", "8").expect("an edit");
    fixture
        .edit(json!({
            "subcommand": "insert", "path": "cart.rs", "insert_line": 0, "content": "// Cart"
        }))
        .expect("an edit");
    assert_eq!(fixture.content("src/cart.rs"), format!("// Cart\n{}", before.replace('7', "8")));
    let created = json!({"subcommand": "create", "path": "new/mod.rs", "content": "fn a() {}\n"});
    let done = fixture.edit(created).expect("a new file");
    assert_eq!(done.output, "File /workspace/src/new/mod.rs created successfully.");
    let written = json!({"subcommand": "write", "path": "new/mod.rs", "content": "fn b() {}\n"});
    let done = fixture.edit(written).expect("written").output;
    assert!(done.starts_with("File /workspace/src/new/mod.rs written successfully."), "{done}");
    assert!(done.contains("-fn a() {}\n+fn b() {}\n"), "{done}");

    undo(&mut fixture).expect("the line is removed");
    assert_eq!(fixture.content("src/cart.rs"), before.replace('7', "8"));
    undo(&mut fixture).expect("the replacement is reverted");
    assert_eq!(fixture.content("src/cart.rs"), before);
    undo(&mut fixture).expect_err("no other edit");
    let undo = json!({"subcommand": "undo_edit", "path": "new/mod.rs"});
    fixture.edit(undo.clone()).expect("the first content");
    let done = fixture.edit(undo).expect("the file is deleted");
    assert!(done.output.ends_with("the file is deleted."), "{}", done.output);
    assert!(fixture.root.metadata("src/new/mod.rs").is_err());
    assert!(fixture.history.is_empty());
}

#[tokio::test]
async fn json_values_are_viewed_added_and_removed() {
    let mut fixture = Fixture::locked().await;
    let mut call = |request| fixture.json_edit(request);
    let view = json!({"subcommand": "view", "path": "package.json", "json_path": "$.*"});
    let shown = call(view).expect("values").output;
    assert_eq!(shown, "$['name'] (line 2): \"shop\"\n$['version'] (line 3): \"1.0.0\"\n");
    let add = json!({
        "subcommand": "add", "path": "package.json", "json_path": "$", "key": "private",
        "value": null
    });
    call(add).expect("added");
    let several =
        json!({"subcommand": "set", "path": "package.json", "json_path": "$.*", "value": 1});
    let error = call(several).expect_err("several").to_string();
    assert!(error.contains("set `all`"), "{error}");
    let remove =
        json!({"subcommand": "remove", "path": "package.json", "json_path": "$.*", "all": true});
    call(remove).expect("removed");
    fixture.edit(json!({"subcommand": "undo_edit", "path": "package.json"})).expect("undone");
    let content = fixture.content("src/package.json");
    assert!(content.ends_with("\"version\": \"1.0.0\",\n  \"private\": null\n}\n"), "{content}");
}
