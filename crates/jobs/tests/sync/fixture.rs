//! A project, a fake provider, and nodes that sync integrations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use mc_connectors::ConnectorRegistry;
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use mc_contract::operations::integration::Integration;
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::{Capability, IntegrationId, ProjectId, UserId};
use mc_files::ProtectedDirectories;
use mc_jobs::{Embedding, JobContext, JobSettings, PromptSettings, SyncContext, Timing};
use mc_store::integrations::{self, NewIntegration};
use mc_store::testing::{execute, text};
use mc_store::vectors::Model;
use mc_store::{Store, policies};
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// Longer than any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(30);
/// The credential of the connector.
pub const TOKEN: &str = "t0ken-of-the-system-4242";

/// Responds as a provider does.
pub type Responder = fn(&Upstream, &Request) -> ResponseTemplate;

/// The data and the state of the fake provider.
#[derive(Debug, Default)]
pub struct Upstream {
    pub issues: Vec<Issue>,
    pub pages: Vec<Value>,
    /// Status and body of every response, if set.
    pub error: Option<(u16, &'static str)>,
    /// The commit of the repository's default branch.
    pub head: &'static str,
    /// Whether responses after the first page are delayed.
    pub delays_later_pages: bool,
    /// Whether all responses are delayed.
    pub never_responds: bool,
    /// Delays the responses to requests for changes since this time.
    pub delayed_since: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone)]
pub struct Issue {
    pub id: u64,
    pub subject: &'static str,
    pub updated: DateTime<Utc>,
    pub comments: Vec<&'static str>,
}

pub struct Fixture {
    pub db: TestDatabase,
    pub project: ProjectId,
    pub upstream: Arc<Mutex<Upstream>>,
    pub server: MockServer,
    provider: Provider,
}

/// A running node.
pub struct Node {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Node {
    /// Ends the node as `kill -9` does, as far as other nodes can see.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(TIMEOUT, self.task).await.unwrap().unwrap();
    }
}

impl Fixture {
    pub async fn start(provider: Provider, responder: Responder) -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        let (server, upstream) = (MockServer::start().await, Arc::new(Mutex::default()));
        let shared: Arc<Mutex<Upstream>> = Arc::clone(&upstream);
        let respond = move |request: &Request| respond(&shared.lock().unwrap(), request, responder);
        Mock::given(any()).respond_with(respond).mount(&server).await;
        let fixture = Self { db, project, upstream, server, provider };
        fixture.set_policy(json!({ "trackers": {"import_comments": true } })).await;
        fixture
    }

    pub fn update_upstream(&self, update: impl FnOnce(&mut Upstream)) {
        update(&mut self.upstream.lock().unwrap());
    }

    /// Starts a node that requests two items a page.
    pub fn node(&self) -> Node {
        self.start_node(Limits { page_size: 2, retries: 0, ..Limits::default() })
    }

    /// Starts a node whose requests time out early.
    pub fn node_with_short_timeout(&self) -> Node {
        let request_timeout = Duration::from_millis(300);
        self.start_node(Limits { request_timeout, retries: 0, ..Limits::default() })
    }

    fn start_node(&self, limits: Limits) -> Node {
        let context = self.job_context(limits);
        let workers = mc_jobs::workers(context.store.clone(), &context).with_timing(quick());
        let stop = CancellationToken::new();
        Node { task: tokio::spawn(workers.run(stop.clone())), stop }
    }

    /// Returns the context of jobs, with a connector of these limits.
    pub fn job_context(&self, limits: Limits) -> JobContext {
        let config = ConnectorConfig {
            name: "ours".to_owned(),
            kind: self.provider,
            url: self.server.uri().parse().unwrap(),
            user: None,
            token: Some(TOKEN.to_owned().into()),
            limits,
        };
        let mut connectors = ConnectorRegistry::default();
        connectors.add(Connector::new(config).unwrap(), Vec::new());
        let sync = SyncContext {
            connectors: Arc::new(connectors),
            encryptor: Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new())),
            allowed_private_hosts: Arc::default(),
            protected: ProtectedDirectories::default(),
        };
        // These jobs embed nothing.
        let model = Model { id: 0, name: String::new(), dimensions: 3, provider: json!({}) };
        let (embedding, settings) = (Embedding { model, is_remote: false }, JobSettings::default());
        JobContext {
            store: self.db.store().clone(),
            sync,
            embedding,
            chat: Arc::default(),
            prompts: PromptSettings::default(),
            settings,
        }
    }

    /// Returns the store for a maintainer of the project.
    pub fn project_store(&self) -> Store {
        self.db.service().for_project(UserId::LOCAL, self.project)
    }

    /// Creates an integration with the provider's first capability.
    pub async fn create_integration(&self, resource: &str) -> IntegrationId {
        self.create_integration_for(resource, Capability::of(self.provider)[0]).await
    }

    pub async fn create_integration_for(
        &self,
        resource: &str,
        capability: Capability,
    ) -> IntegrationId {
        self.create_integration_at("ours", resource, capability).await
    }

    pub async fn create_integration_at(
        &self,
        connector: &str,
        resource: &str,
        capability: Capability,
    ) -> IntegrationId {
        let id = IntegrationId::generate();
        let integration = NewIntegration {
            id,
            connector: connector.to_owned(),
            resource: resource.to_owned(),
            capability,
            interval_minutes: 15,
            include_comments: true,
        };
        let mut tx = self.project_store().begin().await.unwrap();
        integrations::create(&mut tx, self.project, &integration).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    pub async fn request_sync(&self, id: IntegrationId) {
        let mut tx = self.project_store().begin().await.unwrap();
        assert!(integrations::request_sync(&mut tx, self.project, id).await.unwrap());
        tx.commit().await.unwrap();
    }

    /// Requests a sync and waits until it has succeeded.
    pub async fn sync(&self, id: IntegrationId) -> Integration {
        let before = self.integration(id).await.last_success_at;
        self.request_sync(id).await;
        self.wait_for(id, |integration| integration.last_success_at > before).await
    }

    pub async fn integration(&self, id: IntegrationId) -> Integration {
        integrations::find(&self.project_store(), self.project, id).await.unwrap().unwrap()
    }

    pub async fn wait_for(
        &self,
        id: IntegrationId,
        condition: impl Fn(&Integration) -> bool,
    ) -> Integration {
        let started = Instant::now();
        loop {
            let integration = self.integration(id).await;
            if condition(&integration) {
                return integration;
            }
            assert!(started.elapsed() < TIMEOUT, "{integration:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub async fn wait_for_text(&self, sql: &str, expected: &str) {
        let started = Instant::now();
        loop {
            let text = self.text(sql).await;
            if text == expected {
                return;
            }
            assert!(started.elapsed() < TIMEOUT, "{sql}: {text}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub async fn text(&self, sql: &str) -> String {
        text(self.db.store(), sql).await.unwrap()
    }

    pub async fn execute(&self, sql: &str) {
        execute(self.db.url(), sql).await.unwrap();
    }

    /// Moves the last reconciliation to more than a day ago.
    pub async fn make_reconciliation_due(&self) {
        self.execute("update integrations set reconciled_at = now() - interval '25 hours'").await;
    }

    pub async fn set_policy(&self, policy: Value) {
        let policy = serde_json::from_value(policy).unwrap();
        let version = self.text("select policy_version::text from projects").await;
        let version = version.parse().ok().filter(|version| *version > 0);
        let mut tx = self.project_store().begin().await.unwrap();
        policies::set(&mut tx, self.project, version, &policy).await.unwrap().unwrap();
        tx.commit().await.unwrap();
    }

    /// Returns the queries of the requests to a path.
    pub async fn request_queries(&self, path: &str) -> Vec<String> {
        let requests = self.server.received_requests().await.unwrap();
        let matching = requests.iter().filter(|request| request.url.path() == path);
        matching.map(|request| request.url.query().unwrap_or_default().to_owned()).collect()
    }
}

fn respond(upstream: &Upstream, request: &Request, responder: Responder) -> ResponseTemplate {
    match upstream.error {
        _ if upstream.never_responds => ResponseTemplate::new(200).set_delay(TIMEOUT),
        Some((429, body)) => {
            ResponseTemplate::new(429).insert_header("retry-after", "3600").set_body_string(body)
        }
        Some((status, body)) => ResponseTemplate::new(status).set_body_string(body),
        None => responder(upstream, request),
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

/// Projects of the fake Redmine: identifier, and id in issues.
pub const CARTS: (&str, u32) = ("carts", 1);
pub const CUSTOMERS: (&str, u32) = ("customers", 2);

/// Responds as Redmine does.
pub fn redmine(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let path = request.url.path();
    if path == "/projects/carts/issues.json" {
        return issue_list(upstream, request);
    }
    for (identifier, id) in [CARTS, CUSTOMERS] {
        if path == format!("/projects/{identifier}.json") {
            let body = json!({"project": {"id": id, "identifier": identifier}});
            return ResponseTemplate::new(200).set_body_json(body);
        }
    }
    let id = path.strip_prefix("/issues/").and_then(|file| file.strip_suffix(".json"));
    let issue = id.and_then(|id| upstream.issues.iter().find(|issue| issue.id.to_string() == id));
    let Some(issue) = issue else { return ResponseTemplate::new(404) };
    let journals = issue.comments.iter().enumerate().map(|(n, comment)| {
        json!({"id": n, "user": {"name": "Vera"}, "notes": comment, "created_on": issue.updated})
    });
    let journals = journals.collect::<Vec<_>>();
    let body = json!({"issue": {"id": issue.id, "project": {"id": CARTS.1}, "journals": journals}});
    ResponseTemplate::new(200).set_body_json(body)
}

fn issue_list(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let query: HashMap<_, _> = request.url.query_pairs().into_owned().collect();
    let since = query.get("updated_on").and_then(|since| since.strip_prefix(">="));
    let since: Option<DateTime<Utc>> = since.map(|since| since.parse().unwrap());
    let number = |name: &str| query.get(name).map_or(0, |number| number.parse().unwrap());
    let (offset, limit): (usize, usize) = (number("offset"), number("limit"));
    let mut all = upstream.issues.clone();
    all.retain(|issue| since.is_none_or(|since| issue.updated >= since));
    all.sort_by_key(|issue| (issue.updated, issue.id));
    let page: Vec<_> = all
        .iter()
        .skip(offset)
        .take(limit)
        .map(|issue| {
            json!({"id": issue.id, "subject": issue.subject, "status": {"name": "New"},
               "created_on": issue.updated, "updated_on": issue.updated})
        })
        .collect();
    let body = json!({"issues": page, "total_count": all.len(), "offset": offset, "limit": limit});
    let response = ResponseTemplate::new(200).set_body_json(body);
    let is_first = since.is_none() && offset == 0;
    let is_later_page = upstream.delays_later_pages && !is_first;
    let is_delayed_since = since.is_some() && since == upstream.delayed_since;
    if is_later_page || is_delayed_since { response.set_delay(TIMEOUT) } else { response }
}

/// Responds as a GitHub Enterprise Server does.
pub fn github(upstream: &Upstream, request: &Request) -> ResponseTemplate {
    let path = request.url.path().strip_prefix("/api/v3/repos/example/shop");
    let body = match path {
        Some("") => json!({"default_branch": "main"}),
        Some("/git/ref/heads/main" | "/git/ref/heads%2Fmain") => json!({
            "ref": "refs/heads/main", "node_id": "x", "url": "https://git.example.org/x",
            "object": {"type": "commit", "sha": upstream.head, "url": "https://git.example.org/x"}
        }),
        _ => return ResponseTemplate::new(404),
    };
    ResponseTemplate::new(200).set_body_json(body)
}

/// Responds as Confluence does.
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
