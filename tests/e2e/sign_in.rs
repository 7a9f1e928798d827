//! A remote terminal signs in, works, creates a token and signs out.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Service, binary};

/// A machine that knows the service's address only.
pub struct Elsewhere<'a> {
    pub service: &'a Service,
    pub home: TempDir,
}

impl<'a> Elsewhere<'a> {
    pub fn of(service: &'a Service) -> Self {
        Self { service, home: TempDir::new().unwrap() }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .env_remove("DATABASE_URL")
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", self.home.path())
            .env("MEMORY_COPILOT__DATA_DIR", self.home.path().join("data"))
            .env("MEMORY_COPILOT__CLIENT__URL", &self.service.url);
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Signs in with scopes that a user with the local token grants.
    pub fn sign_in(&self, scopes: &[&str]) {
        let waiting = self.begin(scopes);
        let approved = self.approve(&waiting.code, scopes);
        assert!(approved.status.success(), "{}", said(&approved));
        waiting.finish();
    }

    /// Starts a login.
    fn begin(&self, scopes: &[&str]) -> WaitingLogin {
        let args = [vec!["login"], options(scopes)].concat();
        let mut program = self.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let mut shown = lines.by_ref().map_while(Result::ok);
        let code = shown.find_map(|line| line.strip_prefix("and type ").map(str::to_owned));
        WaitingLogin { program, lines, code: code.unwrap() }
    }

    /// Approves a login on the service's host, as a script does.
    fn approve(&self, code: &str, scopes: &[&str]) -> Output {
        let code = code.to_lowercase();
        let args = [vec!["login", "--approve", code.as_str()], options(scopes)].concat();
        self.service.command(&args).output().unwrap()
    }

    /// Approves a login at a terminal on the service's host. Types `answer` once the question is
    /// shown. Returns the text up to the question, and the text after it.
    fn approve_at_a_terminal(&self, code: &str, answer: &str) -> (String, String) {
        let (mut keyboard, terminal) = open_terminal();
        let mut command = self.service.command(&["login", "--approve", code]);
        let mut program = command.stdin(terminal).stdout(Stdio::piped()).spawn().unwrap();
        let mut shown = BufReader::new(program.stdout.take().unwrap());
        let mut question = String::new();
        while !question.ends_with("Type yes to approve:\n") {
            assert_ne!(shown.read_line(&mut question).unwrap(), 0, "no question: {question}");
        }
        writeln!(keyboard, "{answer}").unwrap();
        let mut rest = String::new();
        shown.read_to_string(&mut rest).unwrap();
        assert!(program.wait().unwrap().success(), "{rest}");
        (question, rest)
    }
}

/// Opens a pseudo terminal: the end on which a person types, and the end of a program.
fn open_terminal() -> (File, File) {
    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let path = ptsname(&keyboard, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(path, flags, Mode::empty()).unwrap();
    (keyboard.into(), terminal.into())
}

fn options<'a>(scopes: &[&'a str]) -> Vec<&'a str> {
    scopes.iter().flat_map(|&scope| ["--scope", scope]).collect()
}

/// A login that waits for a decision.
struct WaitingLogin {
    program: Child,
    lines: Lines<BufReader<ChildStdout>>,
    code: String,
}

impl WaitingLogin {
    fn finish(mut self) {
        let rest: Vec<_> = self.lines.map_while(Result::ok).collect();
        assert!(self.program.wait().unwrap().success(), "{rest:?}");
        assert!(rest.iter().any(|line| line == "Signed in as local."), "{rest:?}");
    }
}

pub fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[tokio::test]
async fn remote_terminal_signs_in_works_and_signs_out() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let elsewhere = Elsewhere::of(&service);
    let out = elsewhere.run(&["whoami"]);
    assert!(!out.status.success() && said(&out).contains("token"), "{}", said(&out));

    elsewhere.sign_in(&["memory:read", "admin"]);
    let me: Value = serde_json::from_slice(&elsewhere.run(&["--json", "whoami"]).stdout).unwrap();
    assert_eq!(me["scopes"], serde_json::json!(["memory:read", "admin"]));
    let search = elsewhere.run(&["search", "anything", "--project", "shop"]);
    assert!(search.status.success(), "{}", said(&search));
    let save = elsewhere.run(&["save", "A thing that is not allowed.", "--project", "shop"]);
    assert!(!save.status.success() && said(&save).contains("memory:write"), "{}", said(&save));

    let made = elsewhere.run(&["--json", "token", "create", "ci", "--scope", "memory:read"]);
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let token = made["token"].as_str().unwrap();
    let with_token =
        elsewhere.command(&["whoami"]).env("MEMORY_COPILOT_TOKEN", token).output().unwrap();
    assert!(said(&with_token).contains("memory:read"), "{}", said(&with_token));
    let listed = elsewhere.run(&["token", "list"]);
    assert!(said(&listed).contains("ci") && !said(&listed).contains(token), "{}", said(&listed));
    let revoked = elsewhere.run(&["token", "revoke", made["id"].as_str().unwrap()]);
    assert!(revoked.status.success(), "{}", said(&revoked));
    let with_token =
        elsewhere.command(&["whoami"]).env("MEMORY_COPILOT_TOKEN", token).output().unwrap();
    assert!(!with_token.status.success(), "{}", said(&with_token));

    let out = elsewhere.run(&["logout"]);
    assert!(out.status.success() && said(&out).contains("Signed out"), "{}", said(&out));
    assert!(!elsewhere.run(&["whoami"]).status.success());
    assert!(!service.log().contains(token), "the log has a token");
}

#[tokio::test]
async fn approval_shows_the_login_and_grants_what_is_named() {
    let service = Service::embedded().await;
    let elsewhere = Elsewhere::of(&service);
    let waiting = elsewhere.begin(&["memory:read", "ingest", "admin"]);
    let unconfirmed = elsewhere.approve(&waiting.code, &[]);
    let shown = said(&unconfirmed);
    assert!(!unconfirmed.status.success() && shown.contains("--scope"), "{shown}");
    for part in ["memory-copilot-cli", waiting.code.as_str(), "memory:read ingest admin"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let too_much = elsewhere.approve(&waiting.code, &["coding"]);
    assert!(!too_much.status.success() && said(&too_much).contains("coding"));
    let approved = elsewhere.approve(&waiting.code, &["memory:read"]);
    assert!(approved.status.success(), "{}", said(&approved));
    waiting.finish();
    let me: Value = serde_json::from_slice(&elsewhere.run(&["--json", "whoami"]).stdout).unwrap();
    assert_eq!(me["scopes"], serde_json::json!(["memory:read"]));
}

#[tokio::test]
async fn approval_at_a_terminal_takes_a_yes() {
    let service = Service::embedded().await;
    let elsewhere = Elsewhere::of(&service);
    let mut waiting = elsewhere.begin(&["memory:read", "ingest", "admin"]);
    for answer in ["no", "", "y", "yes, please"] {
        let (question, rest) = elsewhere.approve_at_a_terminal(&waiting.code, answer);
        for part in [
            "program    memory-copilot-cli\n",
            &format!("code       {}\n", waiting.code),
            "asks for   memory:read ingest admin\n",
            "you grant  memory:read ingest\n",
            "The program signs in as you, with the scopes that you grant.\n",
        ] {
            assert!(question.contains(part), "{part}: {question}");
        }
        let denying = format!("memory-copilot login --deny {}", waiting.code);
        assert!(rest.starts_with("Not approved.") && rest.contains(&denying), "{rest}");
        assert!(waiting.program.try_wait().unwrap().is_none(), "the login still waits");
    }
    let (_, rest) = elsewhere.approve_at_a_terminal(&waiting.code, "Yes");
    assert_eq!(rest, "The other terminal is signed in as you.\n");
    waiting.finish();
    let me: Value = serde_json::from_slice(&elsewhere.run(&["--json", "whoami"]).stdout).unwrap();
    assert_eq!(me["scopes"], serde_json::json!(["memory:read", "ingest"]));
}

#[tokio::test]
async fn logout_of_all_sessions_signs_out_every_machine() {
    let service = Service::embedded().await;
    let (here, elsewhere) = (Elsewhere::of(&service), Elsewhere::of(&service));
    for machine in [&here, &elsewhere] {
        machine.sign_in(&["memory:read"]);
        assert!(machine.run(&["whoami"]).status.success());
    }
    let out = here.run(&["logout", "--all-sessions"]);
    assert!(out.status.success() && said(&out).contains("Signed out everywhere as local"));
    for machine in [&here, &elsewhere] {
        assert!(!machine.run(&["whoami"]).status.success());
    }
    let host = service.command(&["whoami"]).output().unwrap();
    assert!(host.status.success(), "the host's token is no login: {}", said(&host));
}

#[test]
fn sanitize_command_works_without_a_service() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("notes.txt");
    let secret = format!("{}_{}", "ghp", "16C7e42F292c6912E7710c838347Ae178B4a");
    std::fs::write(&file, format!("one line\ntoken = \"{secret}\"\n")).unwrap();
    let run = |args: &[&str]| {
        let output = Command::new(binary()).args(args).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let found = run(&["sanitize"]);
    assert!(found.starts_with("2:10  github-token") && !found.contains(&secret), "{found}");
    let masked = run(&["sanitize", "--masked"]);
    assert!(masked.contains("token = \"[secret:github-token]\""), "{masked}");
}
