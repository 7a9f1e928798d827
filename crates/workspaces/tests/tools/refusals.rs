//! Calls that are refused, with the way out.

use mc_contract::operations::workspace_tools::ToolResponse;
use mc_domain::{Classified as _, ErrorKind};
use mc_workspaces::Error;
use serde_json::{Value, json};

use crate::support::{Fixture, SECRET};

fn refused(result: Result<ToolResponse, Error>, message: &str, kind: ErrorKind) {
    let error = result.expect_err(message);
    assert!(error.to_string().contains(message), "{error}");
    assert_eq!(error.kind(), kind, "{error}");
}

fn write(path: &str) -> Value {
    json!({"subcommand": "write", "path": path, "content": "x\n"})
}

#[tokio::test]
async fn nothing_is_changed_in_discovery() {
    let mut fixture = Fixture::new().await;
    let cannot = "Cannot edit files in discovery phase. Use navigator.lock_cwd() first";
    refused(fixture.edit(write("README.md")), cannot, ErrorKind::Conflict);
    let view = json!({"subcommand": "view", "path": "src/package.json", "json_path": "$.name"});
    refused(fixture.json_edit(view), cannot, ErrorKind::Conflict);
    let status = fixture.git(json!({"subcommand": "status"})).await;
    refused(status, "Cannot use git in discovery phase", ErrorKind::Conflict);
    assert_eq!(fixture.content("README.md"), "# Shop\n");
}

#[tokio::test]
async fn a_read_only_workspace_is_not_locked() {
    let mut fixture = Fixture::locked().await;
    fixture.is_editable = false;
    let message = "the workspace is read-only, so the edit phase can't start";
    let lock = fixture.navigator(json!({"subcommand": "lock_cwd"}));
    refused(lock, message, ErrorKind::Forbidden);
    // It was locked before the right was taken away.
    refused(fixture.edit(write("cart.rs")), message, ErrorKind::Forbidden);
    refused(fixture.git(json!({"subcommand": "add"})).await, message, ErrorKind::Forbidden);
    fixture.navigator(json!({"subcommand": "read", "path": "cart.rs"})).expect("it is readable");
}

#[tokio::test]
async fn paths_stay_below_the_locked_directory() {
    let mut fixture = Fixture::locked().await;
    for (path, message) in [
        ("/workspace/src/cart.rs", "is absolute; give a path relative to the locked directory"),
        ("/etc/passwd", "Path is outside the sandbox: /etc/passwd"),
        ("../README.md", "is not below the locked directory /workspace/src"),
        ("../../x", "Path is outside the sandbox: ../../x"),
        (".git/config", "is in git's own directory"),
        ("sub/.GIT/config", "is in git's own directory"),
    ] {
        refused(fixture.edit(write(path)), message, ErrorKind::Invalid);
        let set =
            json!({"subcommand": "set", "path": path, "json_path": "$", "value": {"a": null}});
        refused(fixture.json_edit(set), message, ErrorKind::Invalid);
        let add = fixture.git(json!({"subcommand": "add", "paths": [path]})).await;
        refused(add, message, ErrorKind::Invalid);
        let blame = fixture.git(json!({"subcommand": "blame", "path": path})).await;
        refused(blame, message, ErrorKind::Invalid);
    }
    refused(fixture.edit(write(".")), "is the locked directory itself", ErrorKind::Invalid);
    let cd = fixture.navigator(json!({"subcommand": "cd", "path": ".."}));
    refused(cd, "is locked in the edit phase", ErrorKind::Conflict);
    let read = fixture.navigator(json!({"subcommand": "read", "path": "/etc/passwd"}));
    refused(read, "Path is outside the sandbox", ErrorKind::Invalid);
    fixture.navigator(json!({"subcommand": "read", "path": "../README.md"})).expect("it is read");
    assert_eq!(fixture.content("README.md"), "# Shop\n");
}

#[tokio::test]
async fn an_edit_is_exact_and_keeps_masked_text() {
    let mut fixture = Fixture::locked().await;
    fixture.write("src/twice.txt", "a\nb\na\n");
    let replace = |path: &str, old: &str| {
        let subcommand = "str_replace";
        json!({"subcommand": subcommand, "path": path, "old_str": old, "new_str": "c"})
    };
    let several = fixture.edit(replace("twice.txt", "a"));
    refused(several, "old_str is in the file 2 times, at lines 1, 3", ErrorKind::Conflict);
    let none = fixture.edit(replace("twice.txt", "d"));
    refused(none, "old_str is not in the file", ErrorKind::Conflict);
    let masked = fixture.edit(replace("conf.toml", concat!("pass", "word =")));
    refused(masked, "the masked text in line 1", ErrorKind::Forbidden);
    refused(fixture.edit(write("conf.toml")), "the file has masked text", ErrorKind::Forbidden);
    let create = json!({"subcommand": "create", "path": "cart.rs", "content": ""});
    refused(fixture.edit(create), "/workspace/src/cart.rs", ErrorKind::Conflict);
    let undo = json!({"subcommand": "undo_edit", "path": "cart.rs"});
    let none = "there is no edit of /workspace/src/cart.rs";
    refused(fixture.edit(undo), none, ErrorKind::Conflict);
    assert_eq!(fixture.content("src/conf.toml"), SECRET);
    assert_eq!(fixture.content("src/twice.txt"), "a\nb\na\n");
}

#[tokio::test]
async fn a_field_of_another_subcommand_is_named() {
    let mut fixture = Fixture::locked().await;
    let request = json!({"subcommand": "view", "path": "cart.rs", "content": "x"});
    let error = fixture.edit(request).expect_err("content");
    let message = "content is not used by the subcommand view; leave it out";
    assert_eq!((error.to_string().as_str(), error.field().as_deref()), (message, Some("content")));
    let error = fixture.navigator(json!({"subcommand": "read"})).expect_err("no path");
    assert_eq!(error.to_string(), "path is required by the subcommand read");
    let revision = json!({"subcommand": "log", "revision": "main..HEAD"});
    let error = fixture.git(revision).await.expect_err("a range");
    assert_eq!(error.field().as_deref(), Some("revision"));
}
