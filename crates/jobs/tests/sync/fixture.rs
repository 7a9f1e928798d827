//! A project, a system that it is connected to, and those who ask it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use mc_connectors::ConnectorRegistry;
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::{Capability, IntegrationId, ProjectId, UserId};
use mc_jobs::{Embedding, JobContext, JobSettings, SyncContext, Timing};
use mc_store::integrations::{self, Integration, NewIntegration};
use mc_store::testing::{execute, text};
use mc_store::vectors::Model;
use mc_store::{Store, policies};
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// Longer than any of this takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The credential of the system.
pub const TOKEN: &str = "t0ken-of-the-system-4242";

/// Answers as the system does.
pub type Answering = fn(&Upstream, &Request) -> ResponseTemplate;

/// What the system has, and how it is.
#[derive(Debug, Default)]
pub struct Upstream {
    pub issues: Vec<Issue>,
    pub pages: Vec<Value>,
    /// Answers this in place of anything else.
    pub trouble: Option<(u16, &'static str)>,
    /// What the default branch of its repository points to.
    pub head: &'static str,
    /// Lets whoever asks for more than the beginning wait.
    pub is_stuck: bool,
    /// Takes requests and answers none of them.
    pub is_silent: bool,
    /// Lets whoever asks for what changed since then wait.
    pub stuck_since: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub struct Issue {
    pub id: u64,
    pub subject: &'static str,
    pub updated: DateTime<Utc>,
    pub said: Vec<&'static str>,
}

pub struct World {
    pub db: TestDatabase,
    pub project: ProjectId,
    pub upstream: Arc<Mutex<Upstream>>,
    pub server: MockServer,
    kind: Provider,
}

/// A node at work.
pub struct Node {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Node {
    /// As `kill -9` ends it, for all that others see.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(TIMEOUT, self.task).await.unwrap().unwrap();
    }
}

impl World {
    pub async fn of(kind: Provider, answering: Answering) -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        let (server, upstream) = (MockServer::start().await, Arc::new(Mutex::default()));
        let had: Arc<Mutex<Upstream>> = Arc::clone(&upstream);
        let answer = move |request: &Request| answer(&had.lock().unwrap(), request, answering);
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let world = Self { db, project, upstream, server, kind };
        world.set_policy(json!({ "trackers": {"import_comments": true } })).await;
        world
    }

    pub fn has(&self, change: impl FnOnce(&mut Upstream)) {
        change(&mut self.upstream.lock().unwrap());
    }

    /// A node that asks the system, and asks for two things at a time.
    pub fn node(&self) -> Node {
        self.node_within(Limits { page_size: 2, retries: 0, ..Limits::default() })
    }

    /// One that waits for no answer.
    pub fn impatient_node(&self) -> Node {
        let request_timeout = Duration::from_millis(300);
        self.node_within(Limits { request_timeout, retries: 0, ..Limits::default() })
    }

    fn node_within(&self, limits: Limits) -> Node {
        let settings = ConnectorConfig {
            name: "ours".to_owned(),
            kind: self.kind,
            url: self.server.uri().parse().unwrap(),
            user: None,
            token: Some(TOKEN.to_owned().into()),
            limits,
        };
        let mut systems = ConnectorRegistry::default();
        systems.add(Connector::new(settings).unwrap(), Vec::new());
        let sealer = Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new()));
        let connecting = SyncContext { systems: Arc::new(systems), sealer, inside: Arc::default() };
        let store = self.db.store();
        // Nothing is embedded here.
        let model = Model { id: 0, name: String::new(), dimensions: 3, provider: json!({}) };
        let embedding = Embedding { model, is_remote: false };
        let (sync, settings) = (connecting, JobSettings::default());
        let context = JobContext { store: store.clone(), sync, embedding, settings };
        let workers = mc_jobs::workers(store.clone(), &context).with_timing(quick());
        let stop = CancellationToken::new();
        Node { task: tokio::spawn(workers.run(stop.clone())), stop }
    }

    /// The project as its maintainer has it.
    pub fn shop(&self) -> Store {
        self.db.service().for_project(UserId::LOCAL, self.project)
    }

    pub async fn connect(&self, what: &str) -> IntegrationId {
        self.connect_for(what, Capability::of(self.kind)[0]).await
    }

    pub async fn connect_for(&self, what: &str, ability: Capability) -> IntegrationId {
        self.connect_to("ours", what, ability).await
    }

    pub async fn connect_to(&self, system: &str, what: &str, ability: Capability) -> IntegrationId {
        let id = IntegrationId::generate();
        let new = NewIntegration {
            id,
            connector: system.to_owned(),
            resource: what.to_owned(),
            capability: ability,
            interval_minutes: 15,
            include_comments: true,
        };
        let mut tx = self.shop().begin().await.unwrap();
        integrations::create(&mut tx, self.project, &new).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    pub async fn ask(&self, id: IntegrationId) {
        let mut tx = self.shop().begin().await.unwrap();
        assert!(integrations::request_sync(&mut tx, self.project, id).await.unwrap());
        tx.commit().await.unwrap();
    }

    /// Has the system asked, and returns when that has come to its end.
    pub async fn synced(&self, id: IntegrationId) -> Integration {
        let before = self.connection(id).await.last_success_at;
        self.ask(id).await;
        self.until(id, |one| one.last_success_at > before).await
    }

    pub async fn connection(&self, id: IntegrationId) -> Integration {
        integrations::find(&self.shop(), self.project, id).await.unwrap().unwrap()
    }

    pub async fn until(
        &self,
        id: IntegrationId,
        is_so: impl Fn(&Integration) -> bool,
    ) -> Integration {
        let begun = Instant::now();
        loop {
            let one = self.connection(id).await;
            if is_so(&one) {
                return one;
            }
            assert!(begun.elapsed() < TIMEOUT, "{one:?}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub async fn until_text(&self, sql: &str, expected: &str) {
        let begun = Instant::now();
        loop {
            let said = self.text(sql).await;
            if said == expected {
                return;
            }
            assert!(begun.elapsed() < TIMEOUT, "{sql}: {said}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub async fn text(&self, sql: &str) -> String {
        text(self.db.store(), sql).await.unwrap()
    }

    pub async fn execute(&self, sql: &str) {
        execute(self.db.url(), sql).await.unwrap();
    }

    /// As if a day had passed since what is known was compared with what is there.
    pub async fn a_day_passes(&self) {
        self.execute("update integrations set reconciled_at = now() - interval '25 hours'").await;
    }

    pub async fn set_policy(&self, policy: Value) {
        let policy = serde_json::from_value(policy).unwrap();
        let shop = self.shop();
        let version = self.text("select policy_version::text from projects").await;
        let version = version.parse().ok().filter(|version| *version > 0);
        let mut tx = shop.begin().await.unwrap();
        policies::set(&mut tx, self.project, version, &policy).await.unwrap().unwrap();
        tx.commit().await.unwrap();
    }

    /// The queries of the requests to a path.
    pub async fn asked(&self, path: &str) -> Vec<String> {
        let all = self.server.received_requests().await.unwrap();
        let of_it = all.iter().filter(|request| request.url.path() == path);
        of_it.map(|request| request.url.query().unwrap_or_default().to_owned()).collect()
    }
}

fn answer(upstream: &Upstream, request: &Request, answering: Answering) -> ResponseTemplate {
    match upstream.trouble {
        _ if upstream.is_silent => ResponseTemplate::new(200).set_delay(TIMEOUT),
        // What asks to be left alone says for how long.
        Some((429, body)) => {
            ResponseTemplate::new(429).insert_header("retry-after", "3600").set_body_string(body)
        }
        Some((status, body)) => ResponseTemplate::new(status).set_body_string(body),
        None => answering(upstream, request),
    }
}

fn quick() -> Timing {
    Timing {
        poll_interval: Duration::from_millis(300),
        heartbeat: Duration::from_millis(200),
        heartbeat_timeout: Duration::from_secs(1),
        maintenance_interval: Duration::from_millis(500),
        rescue_spread: Duration::from_millis(100),
        grace: Duration::from_millis(500),
    }
}

/// Projects of the Redmine: their identifiers, and by which ids issues name them.
pub const CARTS: (&str, u32) = ("carts", 1);
pub const CUSTOMERS: (&str, u32) = ("customers", 2);

/// As Redmine answers.
pub fn redmine(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let path = request.url.path();
    if path == "/projects/carts/issues.json" {
        return listed(upstream, request);
    }
    for (identifier, id) in [CARTS, CUSTOMERS] {
        if path == format!("/projects/{identifier}.json") {
            let body = json!({"project": {"id": id, "identifier": identifier}});
            return ResponseTemplate::new(200).set_body_json(body);
        }
    }
    let id = path.strip_prefix("/issues/").and_then(|file| file.strip_suffix(".json"));
    let issue = id.and_then(|id| upstream.issues.iter().find(|one| one.id.to_string() == id));
    let Some(issue) = issue else { return ResponseTemplate::new(404) };
    let journals = issue.said.iter().enumerate().map(|(n, said)| {
        json!({"id": n, "user": {"name": "Vera"}, "notes": said, "created_on": issue.updated})
    });
    let journals = journals.collect::<Vec<_>>();
    let body = json!({"issue": {"id": issue.id, "project": {"id": CARTS.1}, "journals": journals}});
    ResponseTemplate::new(200).set_body_json(body)
}

fn listed(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let query: std::collections::HashMap<_, _> = request.url.query_pairs().into_owned().collect();
    let since = query.get("updated_on").and_then(|since| since.strip_prefix(">="));
    let since: Option<DateTime<Utc>> = since.map(|since| since.parse().unwrap());
    let number = |name: &str| query.get(name).map_or(0, |number| number.parse().unwrap());
    let (offset, limit): (usize, usize) = (number("offset"), number("limit"));
    let mut all = upstream.issues.clone();
    all.retain(|issue| since.is_none_or(|since| issue.updated >= since));
    all.sort_by_key(|issue| (issue.updated, issue.id));
    let some: Vec<_> = all
        .iter()
        .skip(offset)
        .take(limit)
        .map(|issue| {
            json!({"id": issue.id, "subject": issue.subject, "status": {"name": "New"},
               "created_on": issue.updated, "updated_on": issue.updated})
        })
        .collect();
    let body = json!({"issues": some, "total_count": all.len(), "offset": offset, "limit": limit});
    let answer = ResponseTemplate::new(200).set_body_json(body);
    let is_first = since.is_none() && offset == 0;
    let is_stuck = upstream.is_stuck && !is_first;
    let is_stuck_there = since.is_some() && since == upstream.stuck_since;
    if is_stuck || is_stuck_there { answer.set_delay(TIMEOUT) } else { answer }
}

/// As a GitHub that is hosted elsewhere answers.
pub fn github(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let place = request.url.path().strip_prefix("/api/v3/repos/example/shop");
    let body = match place {
        Some("") => json!({"default_branch": "main"}),
        Some("/git/ref/heads/main" | "/git/ref/heads%2Fmain") => json!({
            "ref": "refs/heads/main", "node_id": "x", "url": "https://git.example.org/x",
            "object": {"type": "commit", "sha": upstream.head, "url": "https://git.example.org/x"}
        }),
        _ => return ResponseTemplate::new(404),
    };
    ResponseTemplate::new(200).set_body_json(body)
}

/// As Confluence answers.
pub fn confluence(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let body = match request.url.path() {
        "/rest/api/user/current" => json!({"type": "known", "username": "bot"}),
        "/rest/api/content/search" => {
            json!({"results": upstream.pages, "_links": {"base": "", "context": ""}})
        }
        _ => return ResponseTemplate::new(404),
    };
    ResponseTemplate::new(200).set_body_json(body)
}
