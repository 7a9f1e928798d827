//! Claims about the fields of the tools of a workspace.

use mc_contract::Request;
use mc_contract::operations::workspace_tools::{
    BashRequest, EditRequest, GitRequest, JsonEditRequest, LineRange, NavigatorRequest,
};
use serde_json::{Map, Value, from_value, json};

/// Returns `None` if a request is accepted, or else the field and the rule that it breaks.
fn rejected<T: Request>(request: &Value) -> Option<(String, String)> {
    let request: T = from_value(request.clone()).expect("valid fields");
    request.check().err().map(|error| (error.field, error.reason))
}

/// Checks each set of fields of a subcommand: `required`, and `optional` in addition, are accepted;
/// without one of the required ones, and with any other of `all`, the request is rejected.
fn check<T: Request>(
    always: &Value,
    all: &[(&str, Value)],
    subcommand: &str,
    required: &[&str],
    optional: &[&str],
) {
    let with = |fields: &[&str]| {
        let mut request = always.as_object().cloned().unwrap_or_else(Map::new);
        request.insert("subcommand".into(), json!(subcommand));
        for (name, value) in all.iter().filter(|(name, _)| fields.contains(name)) {
            request.insert((*name).into(), value.clone());
        }
        Value::Object(request)
    };
    assert_eq!(rejected::<T>(&with(required)), None, "{subcommand}");
    for field in optional {
        let fields = [required, &[field]].concat();
        assert_eq!(rejected::<T>(&with(&fields)), None, "{subcommand} with {field}");
    }
    for field in required {
        let fields: Vec<&str> = required.iter().copied().filter(|name| name != field).collect();
        let (named, rule) = rejected::<T>(&with(&fields)).expect(field);
        assert_eq!(named, *field);
        assert_eq!(rule, format!("is required by the subcommand {subcommand}"));
    }
    for (field, _) in all.iter().filter(|(name, _)| ![required, optional].concat().contains(name)) {
        let fields = [required, &[*field]].concat();
        let (named, rule) = rejected::<T>(&with(&fields)).expect(field);
        assert_eq!(named, *field, "{subcommand}");
        assert_eq!(rule, format!("is not used by the subcommand {subcommand}; leave it out"));
    }
}

#[test]
fn fields_of_the_navigator_depend_on_the_subcommand() {
    let all = [
        ("path", json!("src")),
        ("view_range", json!([1, -1])),
        ("pattern", json!("fn")),
        ("literal", json!(false)),
        ("ignore_case", json!(true)),
        ("glob", json!("*.rs")),
        ("max_results", json!(10)),
    ];
    let check = |subcommand: &str, required: &[&str], optional: &[&str]| {
        check::<NavigatorRequest>(&json!({}), &all, subcommand, required, optional);
    };
    check("cd", &["path"], &[]);
    check("ls", &[], &["path", "max_results"]);
    check("read", &["path"], &["view_range"]);
    check("find", &["pattern"], &["path", "max_results"]);
    let grep = ["path", "literal", "ignore_case", "glob", "max_results"];
    check("grep", &["pattern"], &grep);
    for subcommand in ["pwd", "lock_cwd", "unlock"] {
        check(subcommand, &[], &[]);
    }
}

#[test]
fn fields_of_edits_depend_on_the_subcommand() {
    let all = [
        ("content", json!("")),
        ("old_str", json!("\u{1b}[0m\u{c}")),
        ("new_str", json!("")),
        ("insert_line", json!(0)),
        ("view_range", json!([1, 2])),
    ];
    let check = |subcommand: &str, required: &[&str], optional: &[&str]| {
        check::<EditRequest>(&json!({"path": "a.rs"}), &all, subcommand, required, optional);
    };
    check("view", &[], &["view_range"]);
    check("create", &["content"], &[]);
    check("write", &["content"], &[]);
    check("str_replace", &["old_str", "new_str"], &[]);
    check("insert", &["content", "insert_line"], &[]);
    check("undo_edit", &[], &[]);
}

#[test]
fn fields_of_json_edits_depend_on_the_subcommand() {
    let all =
        [("value", Value::Null), ("key", json!("")), ("index", json!(0)), ("all", json!(true))];
    let always = json!({"path": "package.json", "json_path": "$.a"});
    let check = |subcommand: &str, required: &[&str], optional: &[&str]| {
        check::<JsonEditRequest>(&always, &all, subcommand, required, optional);
    };
    check("view", &[], &[]);
    check("set", &["value"], &["all"]);
    check("add", &["value"], &["key", "index"]);
    check("remove", &[], &["all"]);
    let both = json!({
        "subcommand": "add", "path": "a.json", "json_path": "$", "value": 1, "key": "a", "index": 0
    });
    assert_eq!(rejected::<JsonEditRequest>(&both).expect("both").0, "index");
}

#[test]
fn fields_of_git_depend_on_the_subcommand() {
    let all = [
        ("path", json!("a.rs")),
        ("paths", json!(["src", "a.rs"])),
        ("revision", json!("HEAD~2")),
        ("staged", json!(false)),
        ("summary", json!(true)),
        ("max_count", json!(5)),
        ("view_range", json!([3, -1])),
        ("message", json!("Fix the total")),
        ("author_name", json!("Ann")),
        ("author_email", json!("ann@example.org")),
        ("action", json!("push")),
    ];
    let check = |subcommand: &str, required: &[&str], optional: &[&str]| {
        check::<GitRequest>(&json!({}), &all, subcommand, required, optional);
    };
    check("status", &[], &["paths"]);
    check("diff", &[], &["paths", "revision", "staged", "summary"]);
    check("log", &[], &["paths", "revision", "max_count"]);
    check("show", &["revision"], &["path"]);
    check("blame", &["path"], &["revision", "view_range"]);
    check("add", &[], &["paths"]);
    check("commit", &["message"], &["author_name", "author_email"]);
    check("stash", &["action"], &["message"]);
    check("checkout", &["paths"], &["revision"]);

    let field = |request: Value| rejected::<GitRequest>(&request).map(|(field, _)| field);
    let lines = json!({
        "subcommand": "show", "revision": "HEAD", "path": "a", "view_range": [1, 2]
    });
    assert_eq!(field(lines), None);
    for action in ["list", "pop"] {
        let stash = json!({"subcommand": "stash", "action": action, "message": "x"});
        assert_eq!(field(stash).as_deref(), Some("message"), "{action}");
    }
    let to_revision = Some("to_revision".to_owned());
    let diff = json!({"subcommand": "diff", "revision": "main", "to_revision": "HEAD"});
    assert_eq!(field(diff), None);
    assert_eq!(field(json!({"subcommand": "diff", "to_revision": "HEAD"})), to_revision);
    let staged = json!({
        "subcommand": "diff", "revision": "main", "to_revision": "HEAD", "staged": true
    });
    assert_eq!(field(staged), to_revision);
    let none = json!({"subcommand": "checkout", "paths": []});
    assert_eq!(field(none).as_deref(), Some("paths"));
}

#[test]
fn values_out_of_their_range_are_rejected() {
    fn is_rejected<T: Request>(request: Value) -> bool {
        from_value::<T>(request).is_err()
    }
    for range in [json!([0, 1]), json!([2, 1]), json!([1, 0]), json!([1, -2]), json!([1])] {
        assert!(from_value::<LineRange>(range.clone()).is_err(), "{range}");
    }
    let range: LineRange = from_value(json!([3, -1])).expect("a range");
    assert_eq!((range.get(), range.lines()), ((3, -1), (3, None)));
    let bash = |command: &str, seconds: i64| {
        is_rejected::<BashRequest>(json!({"command": command, "timeout_seconds": seconds}))
    };
    assert!(!bash(&"x".repeat(16 * 1024), 600) && bash(&"x".repeat(16 * 1024 + 1), 600));
    assert!(bash("true", 0) && bash("true", 601) && bash(" ", 1));
    for unknown in [
        json!({"subcommand": "rm", "path": "a"}),
        json!({"subcommand": "ls", "directory": "a"}),
        json!({"subcommand": "ls", "max_results": 0}),
        json!({"subcommand": "cd", "path": ""}),
        json!({"subcommand": "cd", "path": "a\nb"}),
    ] {
        assert!(is_rejected::<NavigatorRequest>(unknown.clone()), "{unknown}");
    }
    assert!(is_rejected::<GitRequest>(json!({"subcommand": "push"})), "nothing leaves the machine");
}
