//! `memory-copilot login` at a terminal, and a browser with a provider's session.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use super::browser::Browser;
use super::world::World;
use crate::harness::binary;

/// A machine that knows the service's address only.
struct Terminal<'a> {
    world: &'a World,
    home: TempDir,
}

/// A waiting login.
struct Waiting {
    process: Child,
    page: Url,
    lines: Lines<BufReader<ChildStdout>>,
}

impl<'a> Terminal<'a> {
    fn at(world: &'a World) -> Self {
        Self { world, home: TempDir::new().unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).env_remove("DATABASE_URL").env_remove("XDG_CONFIG_HOME");
        command.env("HOME", self.home.path());
        command.env("MEMORY_COPILOT__DATA_DIR", self.home.path().join("data"));
        command.env("MEMORY_COPILOT__CLIENT__URL", &self.world.service.url);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn login(&self) -> Waiting {
        let mut command = self.command(&["login", "--scope", "memory:read"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut said = lines.by_ref().map_while(Result::ok);
        let page = said.find_map(|line| line.strip_prefix("or open  ").map(str::to_owned));
        Waiting { page: page.unwrap().parse().unwrap(), process, lines }
    }
}

impl Waiting {
    /// Waits for the end, and returns whether it succeeded and its output.
    fn end(self) -> (bool, String) {
        let said: Vec<_> = self.lines.map_while(Result::ok).collect();
        let output = self.process.wait_with_output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), format!("{}\n{complaints}", said.join("\n")))
    }
}

#[tokio::test]
async fn browser_session_of_a_provider_decides_device_logins() {
    let world = World::new().await;
    world.service.project("shop").await;
    world.invite("ada", "1815").await;
    world.give("ada", "shop", "viewer").await;
    let (welcome, refused) = (Terminal::at(&world), Terminal::at(&world));
    let (waiting, in_vain) = (welcome.login(), refused.login());
    let last = world.decide(&waiting.page, "1815", "approve").await;
    assert!(last.contains("You are signed in at the terminal"), "{last}");
    assert_eq!(forged_decision(&world, &in_vain.page).await, 403);
    let last = world.decide(&in_vain.page, "1815", "deny").await;
    assert!(last.contains("The login was denied"), "{last}");

    let (came_in, said) = waiting.end();
    assert!(came_in && said.contains("Signed in as ada."), "{said}");
    let me: Value = serde_json::from_slice(&welcome.run(&["--json", "whoami"]).stdout).unwrap();
    assert_eq!((&me["login"], &me["scopes"]), (&json!("ada"), &json!(["memory:read"])));
    assert!(welcome.run(&["search", "anything", "--project", "shop"]).status.success());
    let save = welcome.run(&["save", "Not for who only reads.", "--project", "shop"]);
    assert!(!save.status.success());
    assert!(welcome.run(&["logout"]).status.success());
    assert!(!welcome.run(&["whoami"]).status.success());

    let (came_in, said) = in_vain.end();
    assert!(!came_in && !said.contains("Signed in"), "{said}");
    assert!(!refused.run(&["whoami"]).status.success());
}

/// Submits a decision from another site: the browser sends its cookie, but the page lacks the
/// service's CSRF token.
async fn forged_decision(world: &World, page: &Url) -> u16 {
    let code = parameter(page, "user_code");
    let back = world.up_to_callback(&Browser::new(), "corp", "1815").await;
    let answer = world.get(&back, &format!("mc_login={}", parameter(&back, "state"))).await;
    let visit = answer.cookies.iter().find(|cookie| cookie.starts_with("mc_visit=")).unwrap();
    let visit = visit.split(';').next().unwrap();
    let fields = [("user_code", code.as_str()), ("decision", "approve"), ("proof", "guessed")];
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let forged = client.post(world.address("/auth/device/page")).header("cookie", visit);
    forged.form(&fields).send().await.unwrap().status().as_u16()
}

fn parameter(address: &Url, name: &str) -> String {
    address.query_pairs().find(|(key, _)| key == name).expect(name).1.into_owned()
}
