//! `client install`: each client's configuration is read by the client, or checked by its schema,
//! where they can be installed.

mod model;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cache::cache;
use crate::commands::printed;
use crate::harness::{Service, binary};
use model::Model;

/// Clients, each with the file and the object of its servers.
const CLIENTS: [(&str, &str, &str); 5] = [
    ("claude-code", ".mcp.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", ".vscode/mcp.json", "servers"),
    ("zed", ".zed/settings.json", "context_servers"),
    ("jetbrains", ".junie/mcp/mcp.json", "mcpServers"),
];
const LESSON: &str = "The delay of a cart is nil when its unit is missing; check delay_unit first.";

fn install(service: &Service, client: &str, project: &Path) -> Value {
    let dir = project.to_str().unwrap();
    let install = ["--json", "client", "install", client, "--dir", dir, "--project", "shop"];
    printed(service.command(&install))
}

/// Returns the directory of `scripts/setup clients`.
fn installation() -> PathBuf {
    let directory = cache().join("clients");
    assert!(directory.is_dir(), "run `scripts/setup clients`");
    directory
}

/// Returns a PATH with the program under test.
fn path_with_program() -> OsString {
    let directory = binary().parent().unwrap().to_owned();
    std::env::join_paths([directory, "/usr/bin".into(), "/bin".into()]).unwrap()
}

/// Returns a command that has nothing of this environment but the address of the service.
fn client_command(service: &Service, program: impl Into<OsString>, home: &Path) -> Command {
    let mut command = Command::new(program.into());
    command.env_clear().env("PATH", path_with_program()).env("HOME", home);
    command.envs(service.environment().iter().map(|(name, value)| (name, value)));
    command
}

#[tokio::test]
async fn every_client_starts_a_working_server() {
    let service = Service::embedded().await;
    service.project("shop").await;
    for (client, file, servers) in CLIENTS {
        let project = TempDir::new().unwrap();
        let installed = install(&service, client, project.path());
        assert_eq!(installed["files"][0], json!({"path": file, "change": "created"}));
        let written = std::fs::read_to_string(project.path().join(file)).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        let entry = &written[servers]["memory-copilot"];
        let mut command =
            client_command(&service, entry["command"].as_str().unwrap(), Path::new("/"));
        command.args(entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
        let answer = recall(command);
        assert_ne!(answer["result"]["isError"], true, "{client}: {answer}");
        assert!(answer["result"].is_object(), "{client}: {answer}");
    }
}

/// Recalls by the tool of a server that a client starts.
fn recall(mut command: Command) -> Value {
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ask = |request: Value| {
        writeln!(input, "{request}").unwrap();
        let Some(id) = request.get("id") else { return Value::Null };
        loop {
            let answer = answers.next().expect("an answer").unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            if answer.get("id") == Some(id) {
                return answer;
            }
        }
    };
    ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}));
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let answer = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "recall", "arguments": {"query": "anything"}}}));
    drop(input);
    server.wait().unwrap();
    answer
}

#[test]
fn configuration_of_vs_code_matches_its_schema() {
    let service = Service::prepared();
    let project = TempDir::new().unwrap();
    install(&service, "vscode", project.path());
    let file = project.path().join(".vscode/mcp.json");
    let validate = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/vscode.mjs");
        let mut node = Command::new(installation().join("bin/node"));
        node.arg(script).arg(installation()).arg(&file).output().unwrap()
    };
    let valid = validate();
    assert!(valid.status.success(), "{}", String::from_utf8_lossy(&valid.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"command\"", "\"program\"")).unwrap();
    let invalid = validate();
    assert!(!invalid.status.success());
    assert!(String::from_utf8_lossy(&invalid.stderr).contains("additionalProperties"));
}

/// Claude Code runs with a stand-in for the model, which changes a file and then does what the stop
/// hook asks for.
#[tokio::test(flavor = "multi_thread")]
async fn claude_code_recalls_at_a_prompt_and_saves_at_its_end() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let known = "Delays of CartSessions are nil when units differ; compare delay_unit first.";
    let save = ["--json", "save", known, "-p", "shop", "--kind", "gotcha"];
    printed(service.command(&save));
    let (home, project) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    install(&service, "claude-code", project.path());
    // The user allows the servers of the project.
    let settings = home.path().join(".claude/settings.json");
    std::fs::create_dir(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, json!({"enableAllProjectMcpServers": true}).to_string()).unwrap();
    let model = Model::start(project.path().join("note.txt"), LESSON).await;

    let claude = |args: &[&str]| {
        let mut command = client_command(&service, claude_code(), home.path());
        command
            .env("ANTHROPIC_BASE_URL", &model.url)
            .env("ANTHROPIC_API_KEY", "none")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("ENABLE_TOOL_SEARCH", "false")
            .args(args)
            .current_dir(project.path())
            .stdin(Stdio::null());
        command
    };
    let shown = text(&run(claude(&["mcp", "get", "memory-copilot"])).await);
    assert!(shown.contains("Connected"), "{shown}");

    let tools = "Write,mcp__memory-copilot__save";
    let prompt = "why is the delay of cart sessions nil?";
    let ended = run(claude(&["-p", prompt, "--allowedTools", tools])).await;
    assert!(ended.status.success(), "{}", text(&ended));
    let requests = model.requests();
    assert!(requests[0].contains("compare delay_unit first"), "the bundle is in the first request");
    let asked = requests.iter().filter(|request| request.contains("nothing was saved")).count();
    assert!(asked > 0 && requests.len() < 10, "{} requests", requests.len());
    let found = printed(service.command(&["--json", "recall", "delay of a cart", "-p", "shop"]));
    assert!(found.to_string().contains("its unit is missing"), "{found}");
}

/// Returns the program of the package for this machine.
fn claude_code() -> PathBuf {
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("node_modules/@anthropic-ai/claude-code-linux-{architecture}/claude");
    installation().join(package)
}

async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams.map(|stream| String::from_utf8_lossy(stream).into_owned()).join("\n")
}

#[test]
fn commands_of_claude_code_never_fail() {
    let service = Service::prepared();
    let project = TempDir::new().unwrap();
    install(&service, "claude-code", project.path());
    let settings = std::fs::read_to_string(project.path().join(".claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let event = json!({"prompt": "why is the delay nil", "transcript_path": "/nonexistent"});
    for name in ["UserPromptSubmit", "Stop"] {
        let command = settings["hooks"][name][0]["hooks"][0]["command"].as_str().unwrap();
        // The service is not running; then, the program is not installed.
        for path in [path_with_program(), "/usr/bin:/bin".into()] {
            let mut shell = client_command(&service, "sh", Path::new("/"));
            shell.args(["-c", command]).env("PATH", path);
            let mut shell = shell
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // The shell may end without reading.
            let _ = shell.stdin.take().unwrap().write_all(event.to_string().as_bytes());
            let ended = shell.wait_with_output().unwrap();
            assert!(ended.status.success() && ended.stdout.is_empty(), "{}", text(&ended));
            assert!(!ended.stderr.is_empty(), "the reason is said");
        }
    }
}
