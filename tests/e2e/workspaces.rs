//! Workspaces in the real service, on one node and on two.

use std::path::Path;
use std::process::Command;

use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::cache::cache;
use crate::git_server::GitServer;
use crate::harness::{Service, binary, direct_client};
use crate::mcp::script;
use crate::question_sets::{parse, rank};
use crate::repository;

/// Fetches a repository of this disk into a workspace, and waits until it is there.
async fn fetched(service: &Service, location: &Path) -> Value {
    ready(service, &json!({"project_key": "shop", "location": location})).await
}

/// Requests a workspace, and waits until its files are there.
async fn ready(service: &Service, request: &Value) -> Value {
    let created = service.post("/workspaces", request).await;
    assert!(created["job"].is_string(), "{created}");
    let path = format!("/workspaces/{}", id(&created));
    let is_over = |found: &Value| found["state"] == "ready" || found["state"] == "failed";
    let found = service.until(&path, is_over).await;
    assert_eq!(found["state"], "ready", "{found}\n{}", service.log());
    found
}

/// Runs a command that succeeds, and returns its standard output.
fn printed(service: &Service, arguments: &[&str]) -> String {
    let output = service.command(arguments).output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn id(workspace: &Value) -> String {
    workspace["workspaceId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn repository_is_fetched_read_indexed_and_deleted() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let service = Service::embedded().await;
    service.project("shop").await;
    let workspace = fetched(&service, &shop).await;
    let id = id(&workspace);
    assert_eq!(workspace["commit"].as_str().map(str::len), Some(40), "{workspace}");
    assert!(workspace["fetchStartedAt"].is_string() && workspace["expiresAt"].is_string());

    let inspected = service.get(&format!("/workspaces/{id}/inspection?depth=1")).await;
    assert!(inspected["files"].as_u64() > Some(0), "{inspected}");
    let entries = inspected["entries"].as_array().expect("entries");
    assert!(entries.iter().all(|entry| entry["path"] != ".git"), "{inspected}");
    let file = entries.iter().find(|entry| entry["kind"] == "directory").expect("a directory");
    let missing = format!("/workspaces/{id}/file?path={}", file["path"].as_str().expect("a path"));
    assert_eq!(service.try_get(&missing).await.0, 400, "a directory is no file");
    let outside = service.try_get(&format!("/workspaces/{id}/file?path=../../token")).await;
    assert_eq!(outside.0, 400, "{outside:?}");
    assert!(outside.1.contains("Path is outside the sandbox"), "{outside:?}");

    let path = "app/services/cart_sessions/setting.rb";
    let read = service.get(&format!("/workspaces/{id}/file?path={path}&endLine=2")).await;
    assert_eq!((&read["startLine"], &read["endLine"]), (&json!(1), &json!(2)), "{read}");
    assert_eq!(read["encoding"], "utf-8", "{read}");
    assert!(read["content"].as_str().is_some_and(|text| text.starts_with("     1\t")), "{read}");

    // The fetch enqueued an index run of the same commit.
    let run = format!("/ingest/runs/{}", workspace["ingestId"].as_str().expect("a run"));
    let run = service.until(&run, |run| run["completed_at"].is_string()).await;
    assert_eq!((&run["status"], &run["source_ref"]), (&json!("SUCCEEDED"), &workspace["commit"]));

    let listed = service.get("/workspaces?project_key=shop&all=true").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    let files = service.data_dir.join("workspaces").join(&id);
    assert!(files.exists());
    let listed = printed(&service, &["workspaces", "list", "--project", "shop"]);
    assert!(listed.contains(&id) && listed.contains("ready"), "{listed}");
    assert_eq!(printed(&service, &["workspaces", "delete", &id, "--yes"]), "Deleted.\n");
    assert!(!files.exists());
    let gone = service.try_get(&format!("/workspaces/{id}/inspection")).await;
    assert_eq!(gone.0, 404, "{gone:?}");
}

#[tokio::test]
async fn failed_fetch_says_why() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let request = json!({"project_key": "shop", "location": shop, "ref": "no-such-branch"});
    let created = service.post("/workspaces", &request).await;
    let path = format!("/workspaces/{}", id(&created));
    let failed = service.until(&path, |found| found["state"] == "failed").await;
    let message = failed["lastError"]["message"].as_str().expect("a message");
    assert!(message.contains("no branch, tag or commit \"no-such-branch\""), "{failed}");
    let (status, said) = service.try_get(&format!("{path}/inspection")).await;
    assert_eq!(status, 409, "{said}");
    assert!(said.contains("no-such-branch") && said.contains("fetch it again"), "{said}");
}

#[tokio::test]
async fn registered_directory_is_read_in_place_and_stays() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let request = json!({"project_key": "shop", "directory": shop});
    if geteuid().is_root() {
        let (status, said) =
            service.try_post("/workspaces/folders", &request).await.expect("a reply");
        assert_eq!((status, &said["field"]), (400, &json!("directory")), "{said}");
        // Of another user than root and those of the service.
        let mut give = Command::new("chown");
        assert!(give.args(["-R", "12345"]).arg(&shop).status().expect("chown runs").success());
    }
    let created = service.post("/workspaces/folders", &request).await;
    assert_eq!((&created["state"], &created["editable"]), (&json!("ready"), &json!(false)));
    repository::write(&shop, "new.txt", "not committed\n");
    let id = id(&created);
    let read = service.get(&format!("/workspaces/{id}/file?path=new.txt")).await;
    assert_eq!(read["content"], "     1\tnot committed\n");
    service.delete(&format!("/workspaces/{id}")).await;
    assert!(shop.join("new.txt").exists());

    let protected = json!({"project_key": "shop", "directory": service.data_dir});
    let (status, said) =
        service.try_post("/workspaces/folders", &protected).await.expect("a reply");
    assert_eq!(status, 400, "{said}");
}

/// Starts a node on a shared database, which other nodes reach.
async fn node(database: &TestDatabase, first: Option<&Service>) -> Service {
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    let url = service.url.clone();
    service.set("MEMORY_COPILOT__SERVER__NODE_URL", url.into());
    if let Some(first) = first {
        let key = first.data_dir.join("encryption.key");
        service.set("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", key);
    }
    service.launch().await;
    service
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workspace_is_reached_by_both_nodes_until_its_node_dies() {
    let database = TestDatabase::create().await;
    let first = node(&database, None).await;
    let second = node(&database, Some(&first)).await;
    first.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let workspace = fetched(&first, &shop).await;
    let id = id(&workspace);
    let path = format!("/workspaces/{id}/file?path=app/services/cart_sessions/setting.rb");
    let of_first = first.get(&path).await;
    assert_eq!(of_first, second.get(&path).await);
    let missing = format!("/workspaces/{id}/file?path=missing.rb");
    assert_eq!(first.try_get(&missing).await.0, second.try_get(&missing).await.0);

    let is_on_first = first.data_dir.join("workspaces").join(&id).exists();
    let (mut owner, other) = if is_on_first { (first, second) } else { (second, first) };
    delete_elsewhere(&owner, &other, &shop).await;
    let navigation = navigation(&other, &id).await;
    owner.kill();
    let (path_of_call, list) = (format!("{navigation}/navigator"), json!({"subcommand": "ls"}));
    let (status, said) = other.try_post(&path_of_call, &list).await.expect("a reply");
    assert_eq!(status, 503, "{said}");
    let (status, said) = other.try_get(&path).await;
    assert_eq!(status, 503, "{said}");
    assert!(said.contains("did not respond"), "{said}");
    // As if half a minute had passed.
    let late = "update nodes set seen_at = now() - interval '31 seconds'
                where id = (select node_id from workspaces)";
    execute(database.url(), late).await.expect("a dead node");
    let (status, said) = other.try_get(&path).await;
    assert_eq!(status, 503, "{said}");
    assert!(said.contains("has not been seen since"), "{said}");
    assert!(said.contains("fetch the repository again"), "{said}");

    // A workspace that the node had begun to fetch is fetched by the other one.
    let again = "update workspaces set state = 'fetching', attempt = 'of the dead node'";
    execute(database.url(), again).await.expect("an open fetch");
    let job = text(database.store(), "select job_id from workspaces").await.expect("a job");
    let job = format!("update apalis.jobs set status = 'Pending' where id = '{job}'");
    execute(database.url(), &job).await.expect("the job runs again");
    let found = other.until(&format!("/workspaces/{id}"), |found| found["state"] == "ready").await;
    assert_eq!(found["commit"], workspace["commit"]);
    assert_eq!(other.get(&path).await, of_first);
}

/// Starts a navigation, and returns its path.
async fn navigation(service: &Service, workspace: &str) -> String {
    let started = service.post(&format!("/workspaces/{workspace}/navigations"), &json!({})).await;
    format!("/navigations/{}", started["handle"].as_str().expect("a handle"))
}

/// A node deletes a workspace of another node, where a command runs: the command ends, and the
/// files are gone.
async fn delete_elsewhere(owner: &Service, other: &Service, location: &Path) {
    let mut id = id(&fetched(owner, location).await);
    while !owner.data_dir.join("workspaces").join(&id).exists() {
        // The other node has fetched it.
        owner.delete(&format!("/workspaces/{id}")).await;
        id = self::id(&fetched(owner, location).await);
    }
    let path = navigation(other, &id).await;
    other.post(&format!("{path}/navigator"), &json!({"subcommand": "lock_cwd"})).await;
    let command = json!({"command": "echo begun > begun; sleep 600", "timeout_seconds": 600});
    other.post(&format!("{path}/commands?wait_seconds=0"), &command).await;
    other.delete(&format!("/workspaces/{id}")).await;
    assert!(!owner.data_dir.join("workspaces").join(&id).exists(), "{}", owner.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn space_of_a_project_is_limited() {
    let database = TestDatabase::create().await;
    let mut service = Service::prepared();
    service.write_config("workspaces: {max_per_user: 2, max_project_megabytes: 1000}\n");
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    service.launch().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let workspace = fetched(&service, &shop).await;
    let files = service.data_dir.join("workspaces").join(id(&workspace));
    let size = size_of(&files);
    let measured = workspace["sizeBytes"].as_u64().expect("a size");
    assert!(measured >= size && measured < 10 * size + (1 << 20), "{measured} of {size}");

    // One that could not be fetched takes no place.
    let request = json!({"project_key": "shop", "location": shop, "ref": "no-such-branch"});
    let failed = id(&service.post("/workspaces", &request).await);
    service.until(&format!("/workspaces/{failed}"), |found| found["state"] == "failed").await;
    fetched(&service, &shop).await;
    let request = json!({"project_key": "shop", "location": shop});
    let (status, said) = service.try_post("/workspaces", &request).await.expect("a reply");
    assert_eq!(status, 409, "{said}");
    assert!(said.to_string().contains("workspaces.max_per_user"), "{said}");

    let path = navigation(&service, &id(&workspace)).await;
    service.post(&format!("{path}/navigator"), &json!({"subcommand": "lock_cwd"})).await;
    // A large one of another node, which the collector of this node does not measure.
    let large = format!(
        "insert into workspaces (id, project_id, owner_id, repo_owner, repo_name, kind,
             is_editable, state, size_bytes, expires_at)
         select gen_random_uuid(), project_id, owner_id, repo_owner, repo_name, kind, true,
             'ready', {}, expires_at
         from workspaces where id = '{}'",
        1_000_u64 << 20,
        id(&workspace)
    );
    execute(database.url(), &large).await.expect("a workspace");
    let edit = json!({"subcommand": "create", "path": "x.txt", "content": "x"});
    let command = json!({"command": "echo x > x.txt"});
    for (part, request) in [("edit", &edit), ("commands", &command)] {
        let reply = service.try_post(&format!("{path}/{part}"), request).await;
        let (status, said) = reply.expect("a reply");
        assert_eq!(status, 409, "{part}: {said}");
        assert!(said.to_string().contains("workspaces.max_project_megabytes"), "{said}");
    }
}

/// Returns the size of the files below a directory, in bytes.
fn size_of(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).expect("a listing").flatten();
    let size = |entry: std::fs::DirEntry| match entry.file_type().expect("a type") {
        kind if kind.is_dir() => size_of(&entry.path()),
        _ => entry.metadata().expect("a size").len(),
    };
    entries.map(size).sum()
}

/// The tools that a client sees in the edit phase only.
const EDITING: [&str; 4] = ["bash", "edit_tool", "git_tool", "json_edit_tool"];

/// Runs the official Python client over a transport; returns what it saw in a session, and without.
fn worked(service: &Service, transport: [&str; 2], location: &Path) -> Value {
    let mut client = Command::new("python3");
    client.arg(script("workspace.py")).env("PYTHONPATH", cache().join("mcp-client"));
    for (name, value) in service.environment() {
        client.env(name, value);
    }
    client.args(transport).arg("shop").arg(service.data_dir.join("token")).arg(location);
    let output = client.output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn official_client_works_in_both_phases() {
    let mut service = Service::prepared();
    service.write_config("server: {mcp_toolsets: [rag, files]}\n");
    service.launch().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let url = format!("{}/mcp", service.url);
    let binary = binary().to_str().expect("UTF-8");
    for transport in [["--stdio", binary], ["--http", &url]] {
        let found = worked(&service, transport, &shop);
        for (era, has_session) in [("session", true), ("stateless", false)] {
            check_phases(&found[era], has_session);
        }
    }
}

/// Checks what a client saw.
fn check_phases(seen: &Value, has_session: bool) {
    let has_editing = |list: &str| {
        let tools: Vec<&str> =
            seen[list].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let editing = EDITING.iter().filter(|name| tools.contains(name)).count();
        assert!(tools.contains(&"navigator") && [0, EDITING.len()].contains(&editing), "{tools:?}");
        editing > 0
    };
    assert_eq!(seen["list_changed"], has_session, "{seen}");
    let lists = ["before", "locked", "after"].map(has_editing);
    let changes = seen["changes"].as_array().map(Vec::len);
    if has_session {
        assert_eq!((lists, changes), ([false, true, false], Some(2)), "{seen}");
    } else {
        assert_eq!((lists, changes), ([true; 3], Some(0)), "{seen}");
    }
    let text = |call: &str, field: &str| seen[call][field].as_str().unwrap_or_default().to_owned();
    let refused = |call: &str, part: &str| {
        assert!(text(call, "refused").contains(part), "{call}: {}", seen[call]);
    };
    refused("without_handle", "workspaceId");
    refused("early", "Cannot edit files in discovery phase. Use navigator.lock_cwd() first");
    refused("outside", "Path is outside the sandbox");
    refused("ambiguous", "order.rb");
    refused("elsewhere", "is not below the locked directory");
    assert_eq!(text("cd", "output"), "CWD is now /workspace/app");
    assert!(text("lock", "text").contains("This is the edit phase"), "{}", seen["lock"]);
    assert!(!text("lock", "text").contains("not instructions"), "{}", seen["lock"]);
    assert!(text("edited", "output").contains("edited successfully"), "{}", seen["edited"]);
    assert!(text("set", "output").contains("null"), "{}", seen["set"]);
    assert!(text("diff", "output").contains("-    lines.sum(&:price) + shipping_fee"), "{seen}");
    assert_eq!(seen["committed"]["error_code"], 0, "{}", seen["committed"]);
    let bash = &seen["bash"];
    assert_eq!(text("bash", "output"), "/workspace/app\n{\"b\": null,\n \"a\": 2}\n", "{bash}");
    assert_eq!((text("bash", "error"), &bash["error_code"]), ("no\n".to_owned(), &json!(3)));
    assert_ne!(seen["network"]["error_code"], 0, "{}", seen["network"]);
    assert_eq!(text("repeated", "output"), "/workspace/app", "the navigation goes on: {seen}");
    let progress = seen["slow"]["progress"].as_array().expect("messages");
    let is_told = |message: &Value| {
        message.as_str().is_some_and(|text| text.contains("6 bytes of output, 0 bytes of errors"))
    };
    assert!(progress.iter().any(is_told), "{progress:?}");
    assert_eq!(seen["is_freed"], true, "the cancelled call ended its command");
    assert_eq!(seen["indexed"]["is_ready"], true, "{}", seen["indexed"]);
    assert_eq!(seen["unlock"]["phase"], "discovery", "{}", seen["unlock"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_command_is_followed_and_cancelled() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let workspace = id(&fetched(&service, &shop).await);
    let started = service.post(&format!("/workspaces/{workspace}/navigations"), &json!({})).await;
    let handle = started["handle"].as_str().expect("a handle");
    let path = format!("/navigations/{handle}");
    service.post(&format!("{path}/navigator"), &json!({"subcommand": "lock_cwd"})).await;

    // A process that ignores SIGTERM, and one that is no child of the shell.
    let command = "trap '' TERM; (setsid sleep 600 &); echo begun; while :; do sleep 1; done";
    let request = json!({"command": command, "timeout_seconds": 600});
    let (status, running) = service
        .try_post(&format!("{path}/commands?wait_seconds=0"), &request)
        .await
        .expect("a reply");
    assert_eq!((status, &running["state"]), (202, &json!("running")), "{running}");
    let command = format!("{path}/commands/{}", running["command_id"].as_str().expect("an id"));
    let now = format!("{command}?wait_seconds=0");
    service.until(&now, |running| running["stdout_bytes"] == 6).await;
    let edit = json!({"subcommand": "create", "path": "x.txt", "content": "x"});
    let (status, said) = service.try_post(&format!("{path}/edit"), &edit).await.expect("a reply");
    assert_eq!(status, 409, "{said}");
    assert!(said["detail"].as_str().is_some_and(|text| text.contains("wait until")), "{said}");

    service.delete(&command).await;
    let ended = service.until(&command, |found| found["state"] != "running").await;
    assert_eq!(ended["state"], "cancelled", "{ended}");
    assert_eq!(ended["result"]["error_code"], 130, "{ended}");
    assert_eq!(ended["result"]["output"], "begun\n", "{ended}");
    service.post(&format!("{path}/edit"), &edit).await;
    // The handle belongs to its user, and ends.
    service.delete(&path).await;
    let (status, said) = service
        .try_post(&format!("{path}/navigator"), &json!({"subcommand": "pwd"}))
        .await
        .expect("a reply");
    assert_eq!(status, 404, "{said}");
}

/// Files of an answer in which the expected one counts as found.
const FIRST_FILES: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn repository_of_a_git_server_answers_questions() {
    let directory = tempfile::tempdir().expect("a directory");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rag/src");
    repository::of_sources(directory.path(), &sources);
    let server = GitServer::start(directory.path()).await.expect("a server");
    let mut service = Service::prepared();
    let certificate = service.data_dir.with_file_name("certificate.pem");
    std::fs::write(&certificate, &server.certificate).expect("a file");
    service.set("GIT_SSL_CAINFO", certificate);
    service.launch().await;
    service.project("shop").await;
    let request = json!({
        "project_key": "shop", "location": server.url("sources"), "owner": "acme", "name": "rag",
    });
    let workspace = ready(&service, &request).await;
    let run = format!("/ingest/runs/{}", workspace["ingestId"].as_str().expect("a run"));
    let run = service.until(&run, |run| run["completed_at"].is_string()).await;
    assert_eq!(run["status"], "SUCCEEDED", "{run}");
    service.until("/projects/shop", |project| project["pending_vectors"] == 0).await;
    let questions = parse(include_str!("../questions/rag.tsv"));
    assert_eq!(questions.len(), 10);
    let mut missed = Vec::new();
    for question in questions {
        let request = json!({"project_key": "shop", "rawQuery": question.text, "topK": 40});
        let response = service.post("/rag/search", &request).await;
        assert_eq!(
            (&response["repoOwner"], &response["repoName"]),
            (&json!("acme"), &json!("rag"))
        );
        let matches = response["matches"].as_array().expect("matches");
        let found = rank(question, matches.iter().filter_map(|found| found["path"].as_str()));
        if found.is_none_or(|rank| rank > FIRST_FILES) {
            missed.push((question, found));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// A request of the revision without sessions, from a client that declares tasks or does not.
async fn mcp(service: &Service, has_tasks: bool, method: &str, params: Value) -> Value {
    let extensions =
        if has_tasks { json!({"io.modelcontextprotocol/tasks": {}}) } else { json!({}) };
    let name = params.get("name").or(params.get("taskId")).and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = direct_client().post(format!("{}/mcp", service.url)).bearer_auth(service.token());
    let request = request
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", name)
        .header("x-memory-copilot-project", "shop");
    let text = request.json(&body).send().await.expect("a response").text().await.expect("a text");
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let message = events.map(str::trim).rfind(|data| data.starts_with('{')).unwrap_or(&text);
    serde_json::from_str(message).unwrap_or_else(|_| panic!("no message: {text}"))
}

/// Waits until a task has ended.
async fn ended_task(service: &Service, id: &Value) -> Value {
    let mut task = Value::Null;
    for _ in 0..600 {
        task = mcp(service, true, "tasks/get", json!({"taskId": id})).await["result"].take();
        if task["status"] != "working" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    task
}

#[tokio::test(flavor = "multi_thread")]
async fn long_calls_are_tasks_of_clients_that_declare_them() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let tools = async || {
        let listed = mcp(&service, true, "tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect::<Vec<_>>().join(" ")
    };
    assert!(tools().await.starts_with("recall save "), "{}", tools().await);
    let inspect = json!({"name": "github_workspace_directory_inspector", "arguments": {}});
    let refused = mcp(&service, true, "tools/call", inspect).await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    assert!(refused.to_string().contains("in a toolset that is off: rag"), "{refused}");
    service.put("/projects/shop/policy", &json!({"mcp_toolsets": ["rag", "files"]})).await;
    let of_policy = tools().await;
    assert!(of_policy.starts_with("repo_rag_index_status "), "{of_policy}");
    assert!(of_policy.ends_with(" git_tool bash"), "{of_policy}");
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let fetch = call("github_repository_fetch", json!({"location": shop}));

    let plain = mcp(&service, false, "tools/call", fetch.clone()).await;
    assert_eq!(plain["result"]["resultType"], "complete", "{plain}");
    let created = mcp(&service, true, "tools/call", fetch).await["result"].take();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    let task = ended_task(&service, &created["taskId"]).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("complete"), &json!("completed")));
    let workspace = task["result"]["structuredContent"]["workspaceId"].clone();
    assert!(workspace.is_string() && task["result"]["isError"] != true, "{task}");
    let failing = json!({"location": shop, "name": "other", "owner": "acme", "ref": "no-branch"});
    let failing = call("github_repository_fetch", failing);
    let created = mcp(&service, true, "tools/call", failing).await["result"].take();
    let failed = ended_task(&service, &created["taskId"]).await;
    assert_eq!(
        (&failed["status"], &failed["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    assert!(failed["result"].to_string().contains("no-branch"), "{failed}");

    let navigator = |arguments: Value| call("navigator", arguments);
    let locked = json!({"workspaceId": workspace, "subcommand": "lock_cwd"});
    let locked = mcp(&service, true, "tools/call", navigator(locked)).await;
    let handle = locked["result"]["structuredContent"]["handle"].clone();
    let run = |command: &str| call("bash", json!({"handle": handle, "command": command}));
    let mut short = mcp(&service, true, "tools/call", run("echo short")).await["result"].take();
    // On a busy machine, it is a task as well.
    if short["resultType"] == "task" {
        short = ended_task(&service, &short["taskId"]).await["result"].take();
    }
    assert_eq!(short["structuredContent"]["output"], "short\n", "{short}");
    let created = mcp(&service, true, "tools/call", run("sleep 4; echo long")).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let task = ended_task(&service, &created["result"]["taskId"]).await;
    assert_eq!(task["result"]["structuredContent"]["output"], "long\n", "{task}");

    let created = mcp(&service, true, "tools/call", run("sleep 600")).await;
    let id = json!({"taskId": created["result"]["taskId"]});
    let running = mcp(&service, true, "tasks/get", id.clone()).await;
    assert_eq!(running["result"]["status"], "working", "{running}");
    let updated = json!({"taskId": id["taskId"], "inputResponses": {}});
    let updated = mcp(&service, true, "tasks/update", updated).await;
    assert_eq!(updated["result"]["resultType"], "complete", "{updated}");
    for _ in 0..2 {
        let acknowledged = mcp(&service, true, "tasks/cancel", id.clone()).await;
        assert_eq!(acknowledged["result"], json!({"resultType": "complete"}), "{acknowledged}");
        assert_eq!(ended_task(&service, &id["taskId"]).await["status"], "cancelled");
    }
    for unknown in ["x", "fetch.019a0000-0000-7000-8000-000000000021"] {
        let unknown = mcp(&service, true, "tasks/get", json!({"taskId": unknown})).await;
        assert_eq!(unknown["error"]["code"], -32_602, "{unknown}");
    }
    let undeclared = mcp(&service, false, "tasks/get", id).await;
    assert_eq!(undeclared["error"]["code"], -32_021, "{undeclared}");
}
