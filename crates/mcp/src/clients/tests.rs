use super::*;

fn server() -> Server {
    let project = ProjectKey::parse("shop").expect("a key");
    Server { project, env: Vec::new() }
}

fn project_with(path: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let project = tempfile::tempdir().expect("a directory");
    let path = project.path().join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(&path, text).expect("a file");
    (project, path)
}

fn changes(project: &Path, client: Client) -> Vec<Change> {
    let files = install(project, client, &server(), false).expect("installed");
    files.into_iter().map(|file| file.change.expect("a change")).collect()
}

#[test]
fn install_is_idempotent_and_names_no_machine() {
    for client in Client::ALL {
        let project = tempfile::tempdir().expect("a directory");
        let files = install(project.path(), *client, &server(), true).expect("a dry run");
        assert!(files.iter().all(|file| file.change.is_none() && !file.path.exists()));
        assert!(changes(project.path(), *client).iter().all(|one| *one == Change::Created));
        for file in &files {
            let text = std::fs::read_to_string(&file.path).expect("a file");
            assert_eq!(text, file.new, "{}", client.as_str());
            let is_portable = !text.contains("/home") && !text.contains("/root");
            assert!(is_portable && !text.contains("token"), "{text}");
        }
        assert!(changes(project.path(), *client).iter().all(|one| *one == Change::Unchanged));
    }
}

#[test]
fn comments_and_other_entries_stay() {
    let before = "{\n  // ours\n  \"context_servers\": {\n    \"other\": { \"url\": \
                  \"https://x\",  \"a\": 1.0 }, // kept\n  },\n  \"tab_size\": 2,\n}\n";
    let (project, path) = project_with(".zed/settings.json", before);
    let change = changes(project.path(), Client::Zed).remove(0);
    let Change::Updated { backup } = change else { panic!("not updated") };
    assert_eq!(std::fs::read_to_string(backup).expect("a backup"), before);
    let after = std::fs::read_to_string(&path).expect("a file");
    let expected = "{\n  // ours\n  \"context_servers\": {\n    \"other\": { \"url\": \
                    \"https://x\",  \"a\": 1.0 }, // kept\n    \"memory-copilot\": {\n      \
                    \"command\": \"memory-copilot\",\n      \"args\": [\"mcp\", \
                    \"--project\", \"shop\"],\n    },\n  },\n  \"tab_size\": 2,\n}\n";
    assert_eq!(after, expected);
    assert_eq!(changes(project.path(), Client::Zed), [Change::Unchanged]);
}

#[test]
fn commands_of_others_stay_and_older_ones_are_replaced() {
    let old = r#"{
  "permissions": {"allow": ["Bash(make:*)"]}, // reviewed
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "./check.sh"}]},
      {"hooks": [{"type": "command", "command": "memory-copilot hook stop --project old"}]}
    ]
  }
}
"#;
    let (project, path) = project_with(".claude/settings.json", old);
    changes(project.path(), Client::ClaudeCode);
    let after = std::fs::read_to_string(&path).expect("a file");
    for part in
        ["// reviewed", "./check.sh", "hook prompt --project shop", "hook stop --project shop"]
    {
        assert!(after.contains(part), "{part} in {after}");
    }
    assert!(!after.contains("--project old"), "{after}");
    assert_eq!(changes(project.path(), Client::ClaudeCode), [Change::Unchanged, Change::Unchanged]);
}

#[test]
fn file_that_cannot_be_edited_is_not_changed() {
    for foreign in [
        "[]",
        "{\"mcpServers\": 7}",
        "{",
        "{\"mcpServers\": {}, \"mcpServers\": {}}",
        "{'mcpServers': {}}",
    ] {
        let (project, path) = project_with(".cursor/mcp.json", foreign);
        let error = install(project.path(), Client::Cursor, &server(), false);
        let error = error.expect_err("an error").to_string();
        assert!(error.contains("was not changed") && error.contains("\"--project\""), "{error}");
        assert_eq!(std::fs::read_to_string(path).expect("a file"), foreign);
        assert!(!project.path().join(".cursor/rules").exists(), "half installed: {foreign}");
    }
}

#[test]
fn edited_rule_is_backed_up_without_overwriting_a_backup() {
    let (project, rule) = project_with(".cursor/rules/memory-copilot.mdc", "");
    changes(project.path(), Client::Cursor);
    for (words, name) in
        [("mine", "memory-copilot.mdc.bak.1"), ("again", "memory-copilot.mdc.bak.2")]
    {
        std::fs::write(&rule, words).expect("a file");
        let change = changes(project.path(), Client::Cursor).remove(1);
        let Change::Updated { backup } = change else { panic!("not updated") };
        assert!(backup.ends_with(name), "{}", backup.display());
        assert_eq!(std::fs::read_to_string(backup).expect("a backup"), words);
    }
}

#[test]
fn address_of_a_service_for_all_is_written() {
    let url = "https://memory.example.com".to_owned();
    let env = vec![("MEMORY_COPILOT__CLIENT__URL".to_owned(), url.clone())];
    let server = Server { env, ..server() };
    let project = tempfile::tempdir().expect("a directory");
    let files = install(project.path(), Client::ClaudeCode, &server, true).expect("a dry run");
    assert!(files.iter().all(|file| file.new.contains(&url)));
}

#[test]
fn missing_project_is_an_error() {
    let missing = Path::new("/nonexistent/project");
    let error = install(missing, Client::Zed, &server(), false).expect_err("an error");
    assert!(matches!(error, Error::NoProject { .. }));
}

#[test]
fn link_out_of_the_project_is_not_followed() {
    for link in [".cursor/rules/memory-copilot.mdc", ".cursor/rules", ".cursor"] {
        let (outside, private) = project_with("private", "secret\n");
        let project = tempfile::tempdir().expect("a directory");
        let place = project.path().join(link);
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a directory");
        let is_file = link.contains("memory-copilot");
        let target = if is_file { private.as_path() } else { outside.path() };
        std::os::unix::fs::symlink(target, &place).expect("a link");
        let error = install(project.path(), Client::Cursor, &server(), false).expect_err(link);
        assert!(matches!(error, Error::Outside { .. }), "{link}: {error}");
        assert_eq!(std::fs::read_to_string(&private).expect("a file"), "secret\n");
        assert_eq!(std::fs::read_dir(outside.path()).expect("a directory").count(), 1, "{link}");
    }
}
