//! The command line.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::Service;
use crate::repository;

#[tokio::test]
async fn empty_service_indexes_saves_and_recalls() {
    let service = Service::embedded().await;
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    let shop = shop.to_str().unwrap();

    let ingest =
        printed(service.command(&["--json", "ingest", shop, "-p", "shop", "--wait-for-vectors"]));
    assert_eq!(ingest["status"], "SUCCEEDED", "{ingest}");
    assert_eq!(ingest["files_skipped"]["binary"], 1, "{ingest}");
    let again = printed(service.command(&["--json", "ingest", shop, "-p", "shop"]));
    assert_eq!(again["files_changed"], 0, "{again}");

    let symbol = "CartSessions::Setting#trigger_delay_time_in_minutes";
    let found = printed(service.command(&["--json", "search", symbol, "-p", "shop"]));
    assert_eq!(found["results"][0]["location"], "app/services/cart_sessions/setting.rb", "{found}");

    let content =
        "trigger_delay_time_in_minutes is nil when delay_unit is missing; check the unit first.";
    let place = format!("app/services/cart_sessions/setting.rb#{symbol}");
    let save = ["--json", "save", content, "-p", "shop", "--kind", "gotcha", "--cite", &place];
    let saved = printed(service.command(&save));
    assert_eq!(saved["outcome"], "created", "{saved}");
    assert_eq!(saved["citations"][0]["verdict"], "fresh", "{saved}");
    let twice = printed(service.command(&save));
    assert_eq!((&twice["outcome"], &twice["id"]), (&"merged".into(), &saved["id"]), "{twice}");

    let recall = [
        "--json",
        "recall",
        "-p",
        "shop",
        "--path",
        "app/services/cart_sessions",
        "--symbol",
        symbol,
        "--signal",
        "nil-delay",
    ];
    let bundle = printed(service.command(&recall));
    assert_eq!(bundle["gotchas"][0]["id"], saved["id"], "{bundle}");

    // The cited code changes, so the record is marked until a person reviews it.
    repository::write(
        std::path::Path::new(shop),
        "app/services/cart_sessions/setting.rb",
        "module CartSessions\n  class Setting\n    def trigger_delay_time_in_minutes\n      0\n    \
         end\n  end\nend\n",
    );
    printed(service.command(&["--json", "ingest", shop, "-p", "shop"]));
    let bundle = printed(service.command(&recall));
    assert_eq!(bundle["gotchas"][0]["state"], "stale", "{bundle}");
}

#[tokio::test]
async fn audit_is_listed_verified_and_exported() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let saved =
        ["save", "Exports of orders run at 02:00 UTC, after the stock count.", "-p", "shop"];
    output(service.command(&saved));
    let listed = printed(service.command(&["--json", "audit", "list", "-p", "shop"]));
    assert_eq!(listed["items"][0]["action"], "record.saved", "{listed}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("audit.jsonl");
    let export = ["audit", "export", "-p", "shop", "-o", file.to_str().unwrap()];
    output(service.command(&export));
    let lines = std::fs::read_to_string(&file).unwrap();
    let actions: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["action"].to_string())
        .collect();
    assert_eq!(actions, [r#""record.saved""#, r#""audit.read""#], "the export itself is noted");
    let verified = printed(service.command(&["--json", "audit", "verify", "-p", "shop"]));
    assert_eq!(verified["is_valid"], true, "{verified}");

    let nowhere = ["audit", "export", "-p", "nowhere", "-o", file.to_str().unwrap()];
    assert!(!service.command(&nowhere).output().unwrap().status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lines, "what was there stays");
}

#[tokio::test]
async fn records_are_imported_and_exported_as_yaml() {
    let service = Service::embedded().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("facts.yaml");
    std::fs::write(
        &file,
        "- kind: fact\n  content: \"При nil в trigger_delay_time_in_minutes проверь \
         delay_unit.\"\n  scope: [cart_sessions]\n  tags: [bugfix]\n  meta: { patch_sha: abc123 \
         }\n- kind: rule\n  content: \"Log lines stay below 120 characters, the linter \
         insists.\"\n  ttl: 2035-01-01\n  citations: [{ file: lib/log.rb, symbol: Log#line }]\n- \
         kind: fewshot\n  title: Fix nil delay\n  content: How the nil delay of carts was \
         fixed.\n  steps: [find nil, check **the** units]\n  patch_ref: abc123\n  url: \
         https://git.example.org/pr/88\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let imported =
        printed(service.command(&["--json", "import", file, "-p", "one", "--create-project"]));
    assert_eq!(imported["outcomes"]["created"], 3, "{imported}");

    let exported = output(service.command(&["export", "-p", "one"]));
    let copy = directory.path().join("copy.yaml");
    std::fs::write(&copy, &exported).unwrap();
    let copy = copy.to_str().unwrap();
    let into_two = ["--json", "import", copy, "-p", "two", "--create-project"];
    let imported = printed(service.command(&into_two));
    assert_eq!(imported["outcomes"]["created"], 3, "{imported}\n{exported}");
    let again = output(service.command(&["export", "-p", "two"]));
    assert_eq!(again, exported);
    for part in
        ["file: lib/log.rb", "- check **the** units", "patch_ref: abc123", "url: https://git"]
    {
        assert!(exported.contains(part), "{part} in {exported}");
    }
    assert_eq!(exported.matches("ttl:").count(), 1, "only an end that was named: {exported}");

    let json = printed(service.command(&["--json", "export", "-p", "one"]));
    std::fs::write(copy, json.to_string()).unwrap();
    let merged = printed(service.command(&["--json", "import", copy, "-p", "two"]));
    assert_eq!(merged["outcomes"], json!({"merged": 3}), "{merged}");
    assert_eq!(output(service.command(&["export", "-p", "two"])), exported);

    std::fs::write(copy, "[{kind: fact, content: ok}]").unwrap();
    let rejected = service.command(&["import", copy, "-p", "two"]).output().unwrap();
    let said = String::from_utf8_lossy(&rejected.stdout).into_owned();
    assert!(!rejected.status.success() && said.contains("record 1: rejected, "), "{said}");
}

#[tokio::test]
async fn import_waits_for_the_limits_of_its_caller() {
    let mut service = Service::prepared();
    // A project takes one unit, and a record four.
    service.set("MEMORY_COPILOT__SERVER__LIMITS__UNITS_PER_MINUTE_PER_CALLER", "30".into());
    service.launch().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("facts.json");
    let names =
        ["orders", "invoices", "returns", "vouchers", "parcels", "carts", "stocks", "prices"];
    let facts = names.map(|name| {
        json!({"kind": "fact", "content": format!("The table of {name} is archived on Fridays.")})
    });
    std::fs::write(&file, json!(facts).to_string()).unwrap();
    let import = ["--json", "import", file.to_str().unwrap(), "-p", "shop", "--create-project"];
    assert_eq!(printed(service.command(&import))["failures"], json!([]));
}

#[tokio::test]
async fn weekly_exports_are_listed_and_downloaded() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let said = "Exports of orders run at 02:00 UTC, after the stock count.";
    output(service.command(&["save", said, "-p", "shop"]));
    let run = ["--json", "hygiene", "run", "export", "-p", "shop"];
    let report = printed(service.command(&run));
    let report = format!("/projects/shop/hygiene-runs/{}", report["id"].as_str().unwrap());
    service.until(&report, |report| report["completed_at"].is_string()).await;

    let listed = printed(service.command(&["--json", "exports", "list", "-p", "shop"]));
    let kept = &listed["items"][0];
    assert_eq!(kept["record_count"], 1, "{listed}");
    let id = kept["id"].as_str().unwrap();
    assert!(output(service.command(&["exports", "list", "-p", "shop"])).contains(id));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.yaml");
    let file = file.to_str().unwrap();
    output(service.command(&["exports", "download", id, "-p", "shop", "-o", file]));
    let written = std::fs::read_to_string(file).unwrap();
    assert!(written.contains("02:00 UTC"), "{written}");
    let printed_one = output(service.command(&["exports", "download", id, "-p", "shop"]));
    assert_eq!(printed_one.trim_end(), written.trim_end());
    let import = ["--json", "import", file, "-p", "copy", "--create-project"];
    let imported = printed(service.command(&import));
    assert_eq!(imported["outcomes"]["created"], 1, "{imported}");
}

#[tokio::test]
async fn doctor_passes_on_a_running_service_only() {
    let mut service = Service::embedded().await;
    let checks = printed(service.command(&["--json", "doctor"]));
    let checks = checks.as_array().unwrap();
    assert!(checks.len() >= 6 && checks.iter().all(|check| check["ok"] == true), "{checks:?}");
    let components = checks.iter().find(|check| check["check"] == "components").unwrap();
    let said = components["message"].as_str().unwrap();
    assert!(
        said.contains("PostgreSQL 1") && said.contains("pgvector 0.") && said.contains("minilm"),
        "{said}"
    );
    let elsewhere = service
        .command(&["--json", "doctor"])
        .env("DATABASE_URL", "postgres://nobody:hunter2@127.0.0.1:1/none")
        .output()
        .unwrap();
    let checks: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
    let database = checks.as_array().unwrap().iter().find(|c| c["check"] == "database").unwrap();
    assert_eq!(database["ok"], false, "{database}");
    assert!(
        database["message"].as_str().unwrap().contains("127.0.0.1:1 can't be reached"),
        "{database}"
    );
    assert!(!database.to_string().contains("hunter2"), "{database}");
    service.stop();
    let output = service.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success());
    assert!(
        said.contains("FAIL  service") && said.contains("to fix: memory-copilot serve"),
        "{said}"
    );
}

#[test]
fn invalid_configuration_names_the_key() {
    let run = |name: &str, value: &str| {
        let output = Command::new(crate::harness::binary())
            .args(["config", "show"])
            .env(name, value)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (ok, said) = run("MEMORY_COPILOT__SERVER__LISTEN", "nowhere");
    for part in ["`server.listen` is not valid", "variable MEMORY_COPILOT__SERVER__LISTEN"] {
        assert!(!ok && said.contains(part), "{said}");
    }
    let (ok, said) = run("MEMORY_COPILOT__SERVER__LISTNE", "127.0.0.1:1");
    let expected = "`server.listne` is not a setting, set by the environment variable \
        MEMORY_COPILOT__SERVER__LISTNE; did you mean `server.listen`?";
    assert!(!ok && said.contains(expected), "{said}");
}

#[test]
fn passwords_are_not_printed() {
    let output = Command::new(crate::harness::binary())
        .args(["config", "show"])
        .env("DATABASE_URL", "postgres://me:hunter2@db.example.com/memory")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("me:masked@db.example.com") && !said.contains("hunter2"), "{said}");
}

#[test]
fn closed_output_pipe_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for args in [["config", "show"].as_slice(), &["--json", "config", "show"]] {
        let output = Command::new(crate::harness::binary())
            .args(args)
            .stdout(writer.try_clone().unwrap())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", output.status);
    }
}

#[test]
fn unwritable_output_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(crate::harness::binary())
        .args(["config", "show"])
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("standard output"), "{said}");
}

#[test]
fn configuration_is_printed_with_the_token_path() {
    let show = |args: &[&str]| {
        let mut command = Command::new(crate::harness::binary());
        output_of(command.args(args).env("MEMORY_COPILOT__DATA_DIR", "/srv/memory"))
    };
    let yaml = show(&["config", "show"]);
    assert!(yaml.contains("\n# token_file: /srv/memory/token"), "{yaml}");
    let shown: Value = serde_json::from_str(&show(&["--json", "config", "show"])).unwrap();
    assert_eq!(shown["token_file"], "/srv/memory/token");
}

#[test]
fn unknown_key_is_reported_with_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.yaml");
    std::fs::write(&file, "server:\n  listne: 127.0.0.1:1\n").unwrap();
    let output = Command::new(crate::harness::binary())
        .args(["config", "show", "--config"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = format!(
        "`server.listne` is not a setting, in {}; did you mean `server.listen`?",
        file.display()
    );
    assert!(said.contains(&expected), "{said}");
    assert!(!said.contains(".rs") && !said.contains("default."), "{said}");
}

#[test]
fn key_of_another_section_is_suggested_with_its_section() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.yaml");
    for (content, expected) in [
        ("listen: 127.0.0.1:1", "`listen` is not a setting"),
        ("listen: 127.0.0.1:1", "did you mean `server.listen`?"),
        ("redis: {timeout_ms: soon}", "`redis.timeout_ms` is not valid"),
        ("ingest: {xyzzy: 1}", "known there: "),
    ] {
        std::fs::write(&file, content).unwrap();
        let mut command = Command::new(crate::harness::binary());
        let output = command.args(["config", "show", "--config"]).arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{content}: {said}");
    }
}

#[test]
fn environment_overrides_the_database_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.yaml");
    std::fs::write(&file, "database:\n  url: postgres://of-the-file/db\n").unwrap();
    let shown = |environment: &[(&str, &str)]| {
        let mut command = Command::new(crate::harness::binary());
        command.args(["--json", "config", "show", "--config"]).arg(&file);
        command.env_remove("DATABASE_URL").envs(environment.iter().copied());
        let shown: Value = serde_json::from_str(&output_of(&mut command)).unwrap();
        shown["database"]["url"].as_str().unwrap().to_owned()
    };
    let (general, own) = ("DATABASE_URL", "MEMORY_COPILOT__DATABASE__URL");
    assert_eq!(shown(&[]), "postgres://of-the-file/db");
    assert_eq!(shown(&[(general, "postgres://general/db")]), "postgres://general/db");
    let both = [(general, "postgres://general/db"), (own, "postgres://own/db")];
    assert_eq!(shown(&both), "postgres://own/db");
    assert_eq!(shown(&[(general, "")]), "postgres://of-the-file/db");
}

#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(crate::harness::binary()).args(["completions", shell]).output();
        assert!(String::from_utf8_lossy(&output.unwrap().stdout).contains("memory-copilot"));
    }
}

#[tokio::test]
async fn tools_are_called_from_the_command_line() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let content = "The delay is nil while the units differ; compare the units first.";
    let saved = printed(service.command(&[
        "--json",
        "tool",
        "save",
        "--project",
        "shop",
        "--kind",
        "gotcha",
        "--content",
        content,
        "--tags",
        "unit",
        "--tags",
        "delay",
        "--citations",
        "app/cart.rb:3-9",
    ]));
    assert_eq!(saved["outcome"], "created", "{saved}");
    let id = saved["id"].as_str().unwrap();
    let text = output(service.command(&["tool", "open_doc", "-p", "shop", "--id", id]));
    for shown in [content, "unit", "delay", "app/cart.rb:3-9"] {
        assert!(text.contains(shown), "{shown} is not shown: {text}");
    }
    let failed = service.command(&["tool", "forget", "--id", "m1"]).output().unwrap();
    let error = String::from_utf8_lossy(&failed.stderr);
    assert!(error.contains("--project: ") && error.contains("You may use: shop"), "{error}");
    assert!(!failed.status.success());
    let recalled = ["--json", "tool", "recall", "-p", "shop", "--query", "- why is the delay nil"];
    let bundle = printed(service.command(&recalled))["bundle_id"].clone();
    let bundle = bundle.as_str().unwrap();
    let none = ["--json", "tool", "feedback", "--bundle-id", bundle, "--used", "[]"];
    assert_eq!(printed(service.command(&none))["recorded"], 0);
    let used = ["--json", "tool", "feedback", "--bundle-id", bundle, "--used", id];
    assert_eq!(printed(service.command(&used))["recorded"], 1);
    let help = output(service.command(&["tool", "search", "--help"]));
    assert!(help.contains("--limit-tokens") && help.contains("possible values"), "{help}");
}

pub fn printed(command: Command) -> Value {
    serde_json::from_str(&output(command)).expect("the output is JSON")
}

pub fn output(mut command: Command) -> String {
    output_of(&mut command)
}

fn output_of(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[test]
fn signal_ends_a_command_that_waits_for_a_response() {
    // Accepts the connection and never responds.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let data_dir = tempfile::TempDir::new().unwrap();
    std::fs::write(data_dir.path().join("token"), "secret").unwrap();
    let mut command = Command::new(crate::harness::binary())
        .args(["recall", "anything", "--project", "shop"])
        .env("MEMORY_COPILOT__DATA_DIR", data_dir.path())
        .env("MEMORY_COPILOT__SERVER__LISTEN", silent.local_addr().unwrap().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _connection = silent.accept().unwrap();
    let pid = command.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(command.wait().unwrap().signal(), Some(2));
}
