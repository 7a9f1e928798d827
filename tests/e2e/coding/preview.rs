//! Dry runs of patches with real toolchains, and attacks on them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;
use serde_json::{Value, json};

use super::TOKEN;
use crate::full_disk::can_mount;
use crate::harness::{Service, open_for_passage};
use crate::repository;
use crate::tools::Client;

/// Where a service in a mount namespace of its own has the Rust toolchain.
const RUST: &str = "/opt/rust";
const SCRIPTS: &str = "{\"name\": \"shop\", \"scripts\": {\"test\": \"node --test\", \
                       \"attack\": \"node attack.js\", \"sleep\": \"sleep 600\"}}\n";
const CART: &str = "exports.total = (prices) => prices.reduce((a, b) => a - b, 0);\n";
const CART_TEST: &str = "const test = require('node:test');\nconst assert = \
                         require('node:assert');\nconst { total } = require('./cart');\n\
                         test('sums', () => assert.equal(total([1, 2]), 3));\n";
const FIX: &str = "--- a/cart.js\n+++ b/cart.js\n@@ -1 +1 @@\n-exports.total = (prices) => \
                   prices.reduce((a, b) => a - b, 0);\n+exports.total = (prices) => \
                   prices.reduce((a, b) => a + b, 0);\n";
const OTHER: &str = "--- a/cart.js\n+++ b/cart.js\n@@ -1 +1,2 @@\n exports.total = (prices) => \
                     prices.reduce((a, b) => a - b, 0);\n+exports.count = (prices) => \
                     prices.length; \n";

/// A service with a workspace in which node and cargo find tests.
struct World {
    service: Service,
    workspace: String,
}

impl World {
    async fn new() -> Self {
        Self::launched(&["npm test", "npm run", "cargo test"], false).await
    }

    /// Starts a service whose policy allows these commands, if need be with the Rust toolchain.
    async fn launched(allowed: &[&str], has_rust: bool) -> Self {
        let mut service = Service::prepared();
        let paths: &[&str] = if has_rust { &[RUST] } else { &[] };
        let config = json!({
            "metrics": {"access": "loopback"},
            "sandbox": {"runner": "bubblewrap", "read_only_paths": paths},
        });
        service.write_config(&config.to_string());
        if has_rust {
            let toolchain = Command::new("rustc").args(["--print", "sysroot"]).output();
            let toolchain = String::from_utf8(toolchain.expect("rustc").stdout).expect("a path");
            service.launch_with_directory(Path::new(toolchain.trim()), RUST).await;
        } else {
            service.launch().await;
        }
        service.project("shop").await;
        service.put("/projects/shop/policy", &json!({"allowed_commands": allowed})).await;
        let directory = tempfile::tempdir().expect("a directory");
        let shop = repository_with_tests(directory.path(), &service);
        let request = json!({"project_key": "shop", "location": shop});
        let created = service.post("/workspaces", &request).await;
        let workspace = created["workspaceId"].as_str().expect("an id").to_owned();
        let path = format!("/workspaces/{workspace}");
        service.until(&path, |found| found["state"] == "ready").await;
        Self { service, workspace }
    }

    /// Returns the directory of the workspace.
    fn directory(&self) -> PathBuf {
        self.service.data_dir.join("workspaces").join(&self.workspace)
    }

    async fn propose(&self, diff: &str) -> String {
        let path = format!("/workspaces/{}/patches", self.workspace);
        let request = json!({"instructions": "Add up the prices.", "diff": diff});
        let run = self.service.post(&path, &request).await;
        run["patch"]["patchId"].as_str().unwrap_or_else(|| panic!("no patch: {run}")).to_owned()
    }

    fn path_of_run(&self, id: &str) -> String {
        format!("/workspaces/{}/patch-runs/{id}", self.workspace)
    }

    fn path(&self, patch: &str) -> String {
        format!("/workspaces/{}/patches/{patch}/preview", self.workspace)
    }

    /// Tries a patch, and waits for the result.
    async fn preview(&self, id: &str, request: &Value) -> Value {
        let mut run = self.service.post(&self.path(id), request).await;
        if run["state"] == "running" {
            let id = run["runId"].as_str().expect("an id");
            let path = self.path_of_run(id);
            run = self.service.until(&path, |run| run["state"] != "running").await;
        }
        assert_eq!(run["state"], "completed", "{run}");
        run["preview"].clone()
    }

    async fn refused(&self, patch: &str, request: &Value) -> (u16, Value) {
        self.service.try_post(&self.path(patch), request).await.expect("a response")
    }
}

fn repository_with_tests(directory: &Path, service: &Service) -> PathBuf {
    let shop = repository::cart_sessions(directory);
    let attack = ATTACK.replace("TOKEN_FILE", &service.data_dir.join("token").to_string_lossy());
    for (path, content) in [
        ("package.json", SCRIPTS),
        ("cart.js", CART),
        ("cart.test.js", CART_TEST),
        ("attack.js", &attack),
        // Nobody may start this in place of the real one.
        ("npm", "#!/bin/sh\necho a program of the workspace\n"),
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
        ("src/lib.rs", "#[test]\nfn sums() {\n    assert_eq!(1 + 2, 3);\n}\n"),
    ] {
        repository::write(&shop, path, content);
    }
    fs::set_permissions(shop.join("npm"), fs::Permissions::from_mode(0o755)).expect("permissions");
    repository::commit(&shop, "tests");
    shop
}

/// Tries to change and read what is outside of the copy, and writes what it could do.
const ATTACK: &str = r"
const fs = require('fs'), net = require('net'), { execSync } = require('child_process');
const attempts = {
  token: () => fs.readFileSync('TOKEN_FILE'),
  parent: () => fs.writeFileSync('/workspace/../outside', 'x'),
  git: () => fs.readdirSync('/workspace/.git'),
  users: () => fs.writeFileSync('/etc/passwd', 'x'),
  home: () => fs.readdirSync('/root'),
  mount: () => execSync('mount -t tmpfs tmpfs /workspace', { stdio: 'ignore' }),
};
for (const [name, attempt] of Object.entries(attempts)) {
  try { attempt(); console.log(name + ': possible'); } catch { console.log(name + ': refused'); }
}
fs.writeFileSync('cart.js', 'overwritten');
fs.symlinkSync('/etc/passwd', 'link');
fs.mkdirSync('closed', { mode: 0 });
const socket = net.connect(80, '192.0.2.1');
socket.on('error', () => console.log('network: refused'));
socket.on('connect', () => { console.log('network: possible'); socket.destroy(); });
";

/// A file as it is on the disk: kind and permissions, owner, time of its change, and content.
type Found = (u32, u32, i64, i64, Vec<u8>);

/// Returns everything below a directory.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Found> {
    let mut found = BTreeMap::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(path) = todo.pop() {
        let metadata = fs::symlink_metadata(&path).expect("metadata");
        let content = if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("a directory");
            todo.extend(entries.map(|entry| entry.expect("an entry").path()));
            Vec::new()
        } else if metadata.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).expect("a file")
        };
        let (mode, owner) = (metadata.mode(), metadata.uid());
        // The directory around the tree changes while the copy is in it.
        let changed =
            if path == directory { (0, 0) } else { (metadata.mtime(), metadata.mtime_nsec()) };
        found.insert(path, (mode, owner, changed.0, changed.1, content));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dry_run_tests_a_patch_and_leaves_the_workspace_as_it_was() {
    let world = World::new().await;
    let before = contents(&world.directory());
    let fix = world.propose(FIX).await;
    let tried = world.preview(&fix, &json!({"commands": ["npm test"], "timeout": "PT5M"})).await;
    assert_eq!(tried["applied"], true, "{tried}");
    let statistics = " cart.js | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n";
    assert_eq!(tried["preview"]["workspaceDiff"], statistics, "{tried}");
    assert_eq!(tried["preview"]["detectedConflicts"], json!([]));
    let command = &tried["commands"][0];
    assert_eq!((&command["executed"], &command["exitCode"]), (&json!(true), &json!(0)), "{tried}");
    let logs = command["logs"].as_str().expect("logs");
    assert!(logs.contains("# pass 1") && !logs.contains("a program of the workspace"), "{logs}");
    assert!(command["durationMs"].as_u64() > Some(0), "{tried}");
    assert!(tried["metrics"]["dockerRunMs"].as_u64() > Some(0), "{tried}");
    assert_eq!(world.service.get(&format!("/patches/{fix}")).await["hasDryRun"], true);

    // This one repairs nothing, so the test fails, and what follows is not run.
    let other = world.propose(OTHER).await;
    let commands = json!({"commands": ["npm test", "npm run test"]});
    let tried = world.preview(&other, &commands).await;
    let states: Vec<_> = tried["commands"]
        .as_array()
        .expect("commands")
        .iter()
        .map(|command| (command["executed"].clone(), command["exitCode"].clone()))
        .collect();
    assert_eq!(states, [(json!(true), json!(1)), (json!(false), Value::Null)], "{tried}");
    let warnings = tried["preview"]["lintWarnings"].as_array().expect("warnings");
    let blanks = json!({"file": "cart.js", "line": 2, "message": "blanks at the end of the line"});
    assert_eq!(warnings[0], blanks, "{tried}");
    assert_eq!(world.service.get(&format!("/patches/{other}")).await["hasDryRun"], false);
    let (_, metrics) = world.service.try_get("/metrics").await;
    assert!(metrics.contains("coding_patch_compile_fail_total{program=\"npm\"} 1"), "{metrics}");
    // Without commands, it only has to fit.
    world.preview(&other, &json!({})).await;
    assert_eq!(world.service.get(&format!("/patches/{other}")).await["hasDryRun"], true);

    let attack = world.preview(&fix, &json!({"commands": ["npm run attack"]})).await;
    let logs = attack["commands"][0]["logs"].as_str().expect("logs");
    let outcomes: Vec<&str> = logs.lines().filter(|line| line.contains(": ")).collect();
    let refused = outcomes.iter().filter(|line| line.ends_with(": refused")).count();
    assert!(refused == 7 && !logs.contains("possible"), "{logs}");
    assert_eq!(before, contents(&world.directory()), "every byte is as before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cargo_tests_a_patch() {
    if !geteuid().is_root() || !can_mount() {
        let why = "commands do not find the toolchain of this user without a mount";
        mc_testkit::skip("MC_TEST_MOUNTS", why, "as root");
        return;
    }
    let world = World::launched(&["cargo test --offline"], true).await;
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,4 +1,4 @@\n #[test]\n fn sums() {\n-    \
                assert_eq!(1 + 2, 3);\n+    assert_eq!(1 + 2, 4);\n }\n";
    let patch = world.propose(diff).await;
    let tried = world.preview(&patch, &json!({"commands": ["cargo test --offline --lib"]})).await;
    let command = &tried["commands"][0];
    assert_eq!(command["exitCode"], 101, "{tried}");
    let logs = command["logs"].as_str().expect("logs");
    assert!(logs.contains("test result: FAILED. 0 passed; 1 failed"), "{logs}");
    let warnings = tried["preview"]["lintWarnings"].as_array().expect("warnings");
    let is_meant = |warning: &&Value| warning["file"] == "src/lib.rs" && warning["line"] == 3;
    assert!(warnings.iter().any(|warning| is_meant(&warning)), "{tried}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_the_policy_does_not_allow_are_refused() {
    let world = World::launched(&["npm test"], false).await;
    let patch = world.propose(FIX).await;
    for (command, status, expected) in [
        ("npm test; curl evil.example", 400, "without a shell"),
        ("npm test\nid", 400, ""),
        ("bash -c id", 400, "may start only bundle exec rake"),
        ("./npm test", 400, "may start only"),
        ("PATH=. npm test", 400, "may start only"),
        ("npm test --script-shell=evil", 400, "--script-shell"),
        ("npm run attack", 403, "allowed_commands"),
        ("cargo test", 403, "it allows npm test"),
    ] {
        let (found, problem) = world.refused(&patch, &json!({"commands": [command]})).await;
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert_eq!(found, status, "{command}: {problem}");
        assert!(detail.contains(expected), "{command}: {problem}");
        assert!(problem["field"].as_str().is_some_and(|field| field.starts_with("commands")));
    }
    let secret = format!("pytest ../{TOKEN}");
    let (status, problem) = world.refused(&patch, &json!({"commands": [secret]})).await;
    let problem = problem.to_string();
    assert!(status == 400 && problem.contains("[secret:"), "{problem}");
    assert!(!problem.contains(TOKEN), "{problem}");
    for (request, field) in [
        (json!({"dryRun": false}), "dryRun"),
        (json!({"timeout": "10 minutes"}), "timeout"),
        (json!({"timeout": "PT2H"}), "timeout"),
        (json!({"commands": vec!["npm test"; 11]}), "commands"),
    ] {
        let (status, problem) = world.refused(&patch, &request).await;
        assert!((400..=403).contains(&status), "{problem}");
        assert_eq!(problem["field"], field, "{problem}");
    }
    world.service.put("/projects/shop/policy", &json!({})).await;
    let (status, problem) = world.refused(&patch, &json!({"commands": ["npm test"]})).await;
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(status == 403 && detail.contains("it allows no commands"), "{problem}");
    assert_eq!(world.service.get(&format!("/patches/{patch}")).await["hasDryRun"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patch_that_no_longer_fits_is_not_tried() {
    let world = World::new().await;
    let patch = world.propose(FIX).await;
    fs::write(world.directory().join("tree/cart.js"), "exports.total = sum;\n").expect("a file");
    let tried = world.preview(&patch, &json!({"commands": ["npm test"]})).await;
    assert_eq!(tried["applied"], false, "{tried}");
    let conflict = tried["preview"]["detectedConflicts"][0].as_str().expect("a conflict");
    assert!(conflict.starts_with("cart.js "), "{conflict}");
    assert_eq!(tried["commands"][0]["executed"], false, "{tried}");
    let discarded = world.service.try_delete(&format!("/patches/{patch}")).await.0;
    assert_eq!(discarded, 200);
    let (status, problem) = world.refused(&patch, &json!({})).await;
    assert!(status == 409 && problem.to_string().contains("discarded already"), "{problem}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dry_run_ends_at_its_time_or_when_it_is_cancelled() {
    let mut world = World::new().await;
    let id = world.propose(FIX).await;
    let request = json!({"commands": ["npm run sleep", "npm test"], "timeout": "PT2S"});
    let tried = world.preview(&id, &request).await;
    let command = &tried["commands"][0];
    assert_eq!(command["exitCode"], 124, "{tried}");
    let logs = command["logs"].as_str().expect("logs");
    assert!(logs.contains("it ran longer than") && logs.contains("set timeout"), "{logs}");
    assert_eq!(tried["commands"][1]["executed"], false, "{tried}");

    let at_once = format!("{}?wait_seconds=0", world.path(&id));
    let run = world.service.post(&at_once, &json!({"commands": ["npm run sleep"]})).await;
    let path = world.path_of_run(run["runId"].as_str().expect("an id"));
    let runs = |run: &Value| run["stage"] == "running the commands";
    world.service.until(&format!("{path}?wait_seconds=0"), runs).await;
    world.service.delete(&path).await;
    let run = world.service.until(&path, |run| run["state"] != "running").await;
    assert_eq!(run["state"], "cancelled", "{run}");
    let copies = |directory: &Path| {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("copy-")).count()
    };
    assert_eq!(copies(&world.directory()), 0);

    // A copy of a process that was killed is deleted after the next start.
    fs::create_dir_all(world.directory().join("copy-1-1/below")).expect("a directory");
    world.service.stop();
    world.service.launch().await;
    let began = std::time::Instant::now();
    while copies(&world.directory()) > 0 {
        assert!(began.elapsed().as_secs() < 120, "the copy is still there");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_tries_a_patch_of_a_registered_directory() {
    let service_world = World::new().await;
    let service = &service_world.service;
    // Its own checkout of a developer: git's directory is in the tree, and not in the copy.
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository_with_tests(directory.path(), service);
    if geteuid().is_root() {
        open_for_passage(directory.path());
        let given = Command::new("chown").args(["-R", "12345"]).arg(&shop).status();
        assert!(given.expect("chown runs").success());
    }
    let request =
        json!({"project_key": "shop", "directory": shop, "name": "checkout", "editable": true});
    let registered = service.post("/workspaces/folders", &request).await;
    let workspace = registered["workspaceId"].as_str().expect("an id").to_owned();
    let world = World { workspace, ..service_world };
    let before = contents(&shop);
    let patch = world.propose(FIX).await;
    let mut command = world.service.command(&["mcp"]);
    command.args(["--toolsets", "coding"]);
    let mut client = Client::start(command);
    let arguments = json!({
        "workspaceId": world.workspace, "patchId": patch, "commands": ["npm test"],
    });
    let result = client.call("coding.apply_patch_preview", &arguments);
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    for part in ["it fits; the workspace is unchanged", "cart.js | 2 +-", "# pass 1"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(result["structuredContent"]["commands"][0]["exitCode"], 0, "{result}");
    assert_eq!(before, contents(&shop), "every byte is as before");
    assert!(!world.directory().exists(), "nothing is left of the copy");
    let refused = client.call(
        "coding.apply_patch_preview",
        &json!({"workspaceId": world.workspace, "patchId": patch, "commands": ["rm -rf /"]}),
    );
    let text = refused["content"][0]["text"].as_str().expect("text");
    assert!(refused["isError"] == true && text.contains("commands"), "{text}");
}
