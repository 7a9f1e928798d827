use super::*;

fn entry() -> CursorEntry {
    CursorEntry::Command {
        command: "/opt/memory-copilot".into(),
        args: vec!["mcp".into(), "--project".into(), "shop".into()],
        env: vec![],
    }
}

fn project_with(config: &str) -> (tempfile::TempDir, PathBuf) {
    let project = tempfile::tempdir().expect("a directory");
    let path = project.path().join(".cursor/mcp.json");
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(&path, config).expect("a file");
    (project, path)
}

fn changes(project: &Path) -> Vec<Change> {
    let report = install(project, &entry()).expect("installed");
    report.files.into_iter().map(|(_, change)| change).collect()
}

#[test]
fn install_creates_both_files_and_is_idempotent() {
    let project = tempfile::tempdir().expect("a directory");
    assert_eq!(changes(project.path()), [Change::Created, Change::Created]);
    let config = std::fs::read_to_string(project.path().join(".cursor/mcp.json")).expect("a file");
    assert_eq!(config, snippet(&entry()));
    let rule = project.path().join(".cursor/rules/memory-copilot.mdc");
    assert!(std::fs::read_to_string(rule).expect("a rule").contains("alwaysApply: true"));
    assert_eq!(changes(project.path()), [Change::Unchanged, Change::Unchanged]);
}

#[test]
fn other_servers_and_unknown_keys_keep_their_order_and_text() {
    let other = r#"{ "url": "https://x",  "a": 1.0 }"#;
    let before = format!(r#"{{"z": [1,2], "mcpServers": {{"other": {other}}}, "a": null}}"#);
    let (project, path) = project_with(&before);
    let Change::Updated { backup } = &changes(project.path())[0] else { panic!("not updated") };
    assert_eq!(std::fs::read_to_string(backup).expect("a backup"), before);
    let after = std::fs::read_to_string(path).expect("a file");
    let ours = indented(&entry().to_json(), 2);
    let expected = format!(
        r#"{{
  "z": [1,2],
  "mcpServers": {{
    "other": {other},
    "memory-copilot": {ours}
  }},
  "a": null
}}
"#
    );
    assert_eq!(after, expected);
    assert_eq!(changes(project.path()), [Change::Unchanged, Change::Unchanged]);
}

#[test]
fn existing_entry_leaves_the_file_unchanged() {
    let theirs = serde_json::to_string(&json!({"mcpServers": {SERVER_NAME: entry().to_json()}}));
    let theirs = theirs.expect("JSON");
    let (project, path) = project_with(&theirs);
    assert_eq!(changes(project.path())[0], Change::Unchanged);
    assert_eq!(std::fs::read_to_string(path).expect("a file"), theirs);
}

#[test]
fn invalid_json_is_not_changed_and_the_snippet_is_shown() {
    for foreign in
        ["// ours\n{\"mcpServers\": {}}", "[]", "{\"mcpServers\": 7}", "{", "{\"a\": 1, \"a\": 2}"]
    {
        let (project, path) = project_with(foreign);
        let error = install(project.path(), &entry()).expect_err("an error").to_string();
        assert!(
            error.contains("was not changed") && error.contains("/opt/memory-copilot"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(path).expect("a file"), foreign);
        assert!(!project.path().join(".cursor/rules").exists(), "half installed: {foreign}");
    }
}

#[test]
fn edited_rule_is_backed_up_without_overwriting_a_backup() {
    let (project, _) = project_with("");
    let rule = project.path().join(".cursor/rules/memory-copilot.mdc");
    changes(project.path());
    for (words, name) in [("mine", "memory-copilot.mdc.bak"), ("again", "memory-copilot.mdc.bak.1")]
    {
        std::fs::write(&rule, words).expect("a file");
        let Change::Updated { backup } = &changes(project.path())[1] else { panic!("not updated") };
        assert!(backup.ends_with(name), "{}", backup.display());
        assert_eq!(std::fs::read_to_string(backup).expect("a backup"), words);
    }
}

#[test]
fn url_entry_has_its_headers() {
    let entry = CursorEntry::Url {
        url: "https://memory.example/mcp".into(),
        headers: vec![("Authorization".into(), "Bearer ${env:MEMORY_COPILOT_TOKEN}".into())],
    };
    let snippet: Value = serde_json::from_str(&snippet(&entry)).expect("JSON");
    let server = &snippet["mcpServers"][SERVER_NAME];
    assert_eq!(server["headers"]["Authorization"], "Bearer ${env:MEMORY_COPILOT_TOKEN}");
}

#[test]
fn missing_project_is_an_error() {
    let error = install(Path::new("/nonexistent/project"), &entry()).expect_err("an error");
    assert!(matches!(error, Error::NoProject { .. }));
}
