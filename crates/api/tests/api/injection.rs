//! Text with a meaning to SQL, a file system or HTTP is treated as plain text.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::response::Parts;
use http::{HeaderValue, Request, header};
use mc_api::{ConnectInfo, Ingress, IngressConfig};
use mc_mcp::{CoreClient, MemoryServer, ServerSettings};
use mc_store::{Store, testing};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::accounts::newcomer;
use crate::client::TestApi;
use crate::remote_models::{Recorder, embed_all, fill};

/// Word in all texts of the project that Eve has no access to.
const MARK: &str = "amethyst";

const HOSTILE: [&str; 20] = [
    "'; drop table users; --",
    "' or '1'='1",
    "1) or (1=1",
    "\\' or 1=1 --",
    "'||pg_sleep(60)||'",
    "vault' or key='vault",
    "$1",
    "%",
    "_",
    "\0",
    "shop\0vault",
    "../../etc/passwd",
    "..\\..\\etc\\passwd",
    "%2e%2e%2fvault",
    "/etc/passwd",
    "file:///etc/passwd",
    "a\r\nset-cookie: b=c",
    "a\n\nb",
    "a%0d%0aset-cookie:%20b=c",
    "łódź \u{202e}🦀",
];

/// Method, target and body of a request. `{}` is replaced by a text: percent-encoded in the target,
/// and escaped as in a JSON string in the body.
type Template = (&'static str, &'static str, &'static str);

const IN_URLS: &[Template] = &[
    ("GET", "/projects/{}", ""),
    ("DELETE", "/projects/{}", ""),
    ("GET", "/projects/{}/policy", ""),
    ("PUT", "/projects/{}/policy", r#"{"allowed_commands": []}"#),
    ("GET", "/projects/{}/members", ""),
    ("PUT", "/projects/shop/members/{}", r#"{"role": "viewer"}"#),
    ("DELETE", "/projects/shop/members/{}", ""),
    ("PUT", "/projects/shop/teams/{}", r#"{"role": "viewer"}"#),
    ("GET", "/teams/{}/members", ""),
    ("PUT", "/teams/{}/members/eve", r#"{"role": "admin"}"#),
    ("PATCH", "/users/{}", r#"{"is_admin": true}"#),
    ("GET", "/users?cursor={}", ""),
    ("GET", "/records/{}", ""),
    ("GET", "/records?project_key={}", ""),
    ("GET", "/records?project_key=shop&saved_by={}", ""),
    ("GET", "/records?project_key=shop&source={}", ""),
    ("GET", "/proposals?project_key={}", ""),
    ("GET", "/quarantine?project_key={}", ""),
    ("GET", "/tasks/{}?project_key=shop", ""),
    ("GET", "/documents?project_key={}", ""),
    ("GET", "/documents/lookup?project_key=shop&title={}", ""),
    ("GET", "/documents/lookup?project_key=shop&url={}", ""),
    ("GET", "/ingest/runs/{}", ""),
    ("GET", "/repos/{}/core/index?project_key=shop", ""),
    ("GET", "/repos/acme/{}/index?project_key=shop", ""),
    ("GET", "/audit?project_key={}", ""),
    ("GET", "/audit?project_key=shop&actor={}", ""),
    ("GET", "/audit?project_key=shop&action={}", ""),
    ("GET", "/audit?project_key=shop&target={}", ""),
    ("GET", "/audit/verification?project_key={}", ""),
    ("GET", "/auth/device?user_code={}", ""),
    ("GET", "/auth/oauth/{}/start", ""),
];

const IN_BODIES: &[Template] = &[
    ("POST", "/projects", r#"{"key": "{}"}"#),
    ("POST", "/users", r#"{"login": "{}"}"#),
    ("POST", "/teams", r#"{"key": "{}"}"#),
    ("POST", "/search", r#"{"project_key": "{}", "query": "stock counters"}"#),
    ("POST", "/search", r#"{"project_key": "shop", "query": "{}"}"#),
    ("POST", "/search", r#"{"project_key": "shop", "query": "stock counters", "path": "{}"}"#),
    ("POST", "/search", r#"{"project_key": "shop", "query": "stock counters", "language": "{}"}"#),
    ("POST", "/search", r#"{"project_key": "shop", "query": "stock counters", "tags": ["{}"]}"#),
    ("POST", "/search", r#"{"project_key": "shop", "query": "stock counters", "scope": ["{}"]}"#),
    ("POST", "/recall", r#"{"project_key": "shop", "query": "{}"}"#),
    ("POST", "/recall", r#"{"project_key": "shop", "repo_path": "{}"}"#),
    ("POST", "/recall", r#"{"project_key": "shop", "task_external_id": "{}"}"#),
    ("POST", "/recall", r#"{"project_key": "shop", "symbols": ["{}"], "signals": ["{}"]}"#),
    (
        "POST",
        "/save",
        r#"{"project_key": "shop", "kind": "fact", "content": "Queues are sorted by {} first."}"#,
    ),
    (
        "POST",
        "/save",
        r#"{"project_key": "shop", "kind": "fact", "content": "Ledgers close at six.",
        "source": "{}"}"#,
    ),
    (
        "POST",
        "/save",
        r#"{"project_key": "shop", "kind": "fact", "content": "Carts expire in two days.",
        "title": "{}",
            "citations": [{"file": "{}"}]}"#,
    ),
    ("POST", "/forget", r#"{"project_key": "shop", "saved_by": "{}", "dry_run": true}"#),
    ("POST", "/forget", r#"{"project_key": "shop", "source": "{}", "dry_run": true}"#),
    (
        "POST",
        "/ingest/docs",
        r##"{"project_key": "shop", "source": "{}",
            "documents": [{"doc_id": "1", "title": "Queues",
            "content": "# Queues\n\nThey drain."}]}"##,
    ),
    (
        "POST",
        "/ingest/docs",
        r##"{"project_key": "shop", "source": "notes",
            "documents": [{"doc_id": "{}", "title": "Queues",
            "content": "# Queues\n\nThey fill."}]}"##,
    ),
    ("POST", "/ingest/git", r#"{"project_key": "shop", "location": "{}"}"#),
    ("POST", "/ingest/git", r#"{"project_key": "shop", "location": "https://example.org/{}"}"#),
    (
        "POST",
        "/ingest/git",
        r#"{"project_key": "shop", "location": "https://example.org/a/b.git", "owner": "{}"}"#,
    ),
    (
        "POST",
        "/ingest/git",
        r#"{"project_key": "shop", "location": "https://example.org/a/b.git", "name": "{}"}"#,
    ),
    (
        "POST",
        "/ingest/git",
        r#"{"project_key": "shop", "location": "https://example.org/a/b.git", "ref": "{}"}"#,
    ),
];

/// Headers that are read, and how a value of each begins.
const HEADERS: [(&str, &str); 8] = [
    ("x-request-id", ""),
    ("x-memory-copilot-project", ""),
    ("forwarded", "for="),
    ("x-forwarded-for", ""),
    ("x-forwarded-proto", ""),
    ("if-match", ""),
    ("authorization", ""),
    ("authorization", "Bearer "),
];

/// A statement that counts the rows of every table, by project. The change feed and the embedding
/// queue depend on the passages, and their entries may be processed meanwhile.
const TABLES: &str = "
    select string_agg(format('select concat(%L, %s) as place, count(*) as counted from %I group by \
    1',
                             name || ' ', owner, name), ' union all ')
    from (select table_name::text as name,
                 case when table_name = 'projects' then 'id'
                      when bool_or(column_name = 'project_id') then 'project_id'
                      when bool_or(column_name = 'chain') then 'chain'
                      else '''''' end as owner
          from information_schema.columns
          where table_schema = 'public' and table_name not in ('change_feed', 'embedding_queue')
          group by table_name) as tables";

/// Numbers of rows, by table and project.
type Rows = BTreeMap<String, i64>;

/// Eve administers `shop`; the other project is Vic's.
struct World {
    api: TestApi,
    /// The router as it is served to the network.
    router: Router,
    eve: String,
    /// The id of `shop`.
    shop: String,
    /// The database as its superuser sees it.
    root: Store,
    /// Counts all of its rows.
    count: String,
}

impl World {
    async fn new() -> Self {
        // Its model finds all texts equal, so only access decides which results are omitted.
        let api = TestApi::with_model(Arc::new(Recorder::new()), false).await;
        let eve = newcomer(&api, "eve").await;
        api.put("/projects/shop/members/eve", json!({"role": "admin"})).await.ok();
        fill(&api.with(&eve), "shop", "pewter").await;
        vault(&api).await;
        embed_all(&api).await;
        let project = api.get("/projects/shop").await.ok();
        let shop = project["id"].as_str().unwrap().to_owned();
        let root = Store::connect(api.database.url(), 1, testing::chains()).await.unwrap();
        let tables = testing::text(&root, TABLES).await.unwrap();
        let count = format!("select json_object_agg(place, counted)::text from ({tables}) as rows");
        Self { router: served(&api), api, eve, shop, root, count }
    }

    async fn rows(&self) -> Rows {
        // A recall is stored after its response.
        self.api.state.memory.finish().await;
        let counted = testing::text(&self.root, &self.count).await.unwrap();
        serde_json::from_str(&counted).unwrap()
    }

    /// A request of Eve's.
    fn request(&self, method: &str, target: &str, body: &str) -> Request<Body> {
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::HOST, "127.0.0.1")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.eve))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let here = ([127, 0, 0, 1], 7391).into();
        request.extensions_mut().insert(ConnectInfo { peer: here, local: here, is_tls: false });
        request
    }

    /// A recall by `/mcp`, in the project that a header names.
    fn tool_call(&self) -> Request<Body> {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "recall", "arguments": {"query": "stock counters"}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}});
        let mut request = self.request("POST", "/mcp", &call.to_string());
        for (name, value) in [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "recall"),
            ("x-memory-copilot-project", "shop"),
        ] {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        request
    }

    async fn answer(&self, request: Request<Body>) -> (Parts, String) {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (head, String::from_utf8_lossy(&body).into_owned())
    }

    /// Sends a request with `text`. The response is no server error, reveals nothing of the other
    /// project, and has no header with the text. A rejected request adds no row, and an accepted
    /// one adds rows of `shop` only. Returns the numbers of rows.
    async fn judge(&self, before: &Rows, request: Request<Body>, text: &str) -> Rows {
        let what = format!("{} {} with {text:?}", request.method(), request.uri());
        let (head, body) = self.answer(request).await;
        assert!(!head.status.is_server_error(), "{what}: {} {body}", head.status);
        assert!(!body.contains(MARK), "{what}: {body}");
        for (name, value) in &head.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            let is_repeated = value.contains(text) || value.contains(&encoded(text));
            assert!(!is_repeated, "{what}: {name}: {value}");
        }
        let after = self.rows().await;
        for place in before.keys().chain(after.keys()) {
            let (was, now) = (before.get(place), after.get(place));
            let is_added = head.status.is_success() && place.ends_with(&self.shop) && was < now;
            assert!(was == now || is_added, "{what}: {place} had {was:?} rows and has {now:?}");
        }
        after
    }

    async fn fill_in(&self, places: &[Template]) {
        let mut rows = self.rows().await;
        for text in hostile() {
            let quoted = Value::from(text.as_str()).to_string();
            let quoted = &quoted[1..quoted.len() - 1];
            for (method, target, body) in places {
                let target = target.replace("{}", &encoded(&text));
                let request = self.request(method, &target, &body.replace("{}", quoted));
                rows = self.judge(&rows, request, &text).await;
            }
        }
    }
}

/// Creates the project of which only Vic is a member, who finds its texts.
async fn vault(api: &TestApi) {
    let token = newcomer(api, "vic").await;
    let vic = api.with(&token);
    vic.post("/projects", json!({"key": "vault"})).await.ok();
    fill(&vic, "vault", MARK).await;
    let asked = json!({"project_key": "vault", "query": "stock counters"});
    let found = vic.post("/search", asked).await.ok();
    assert!(found.to_string().contains(MARK), "{found}");
}

/// Returns REST and `/mcp` behind an ingress that trusts its proxy.
fn served(api: &TestApi) -> Router {
    let core = CoreClient::in_process(mc_api::router(api.state.clone()));
    let server = MemoryServer::new(core, ServerSettings::default());
    let mcp = mc_mcp::http_router(move || server.for_session(), CancellationToken::new());
    let ingress = IngressConfig {
        trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()],
        auth_failures_per_minute_per_address: 0,
        ..IngressConfig::default()
    };
    mc_api::public_router(api.state.clone(), mcp, &Ingress::new(ingress))
}

fn hostile() -> impl Iterator<Item = String> {
    HOSTILE.into_iter().map(str::to_owned).chain(["x".repeat(5_000)])
}

fn encoded(text: &str) -> String {
    let encode = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric();
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_text_in_a_url_matches_nothing() {
    World::new().await.fill_in(IN_URLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_text_in_a_body_is_rejected_or_stored_unchanged() {
    World::new().await.fill_in(IN_BODIES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_header_changes_nothing_and_is_not_returned() {
    let world = World::new().await;
    let mut rows = world.rows().await;
    for text in hostile() {
        for (name, start) in HEADERS {
            let value = |sent: &str| HeaderValue::from_bytes(format!("{start}{sent}").as_bytes());
            // Text that a header can't contain is sent percent-encoded.
            let value = value(&text).unwrap_or_else(|_| value(&encoded(&text)).unwrap());
            for mut request in [
                world.request("GET", "/projects/shop", ""),
                world.request("PUT", "/projects/shop/policy", "{}"),
                world.tool_call(),
            ] {
                request.headers_mut().insert(name, value.clone());
                rows = world.judge(&rows, request, &text).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_leaves_its_root() {
    let world = World::new().await;
    for target in [
        "/projects/shop/../vault",
        "/projects/shop/%2e%2e/vault",
        "/projects/%2e%2e%2fvault",
        "/projects/shop%2f..%2fvault",
        "/projects/..%5cvault",
        "//projects/vault",
        "/openapi.json/../projects/vault",
        "/docs/..%2f..%2fetc%2fpasswd",
        "/docs/%2e%2e/%2e%2e/Cargo.toml",
        "/repos/a/..%2f..%2f..%2fetc/index?project_key=shop",
    ] {
        let (head, body) = world.answer(world.request("GET", target, "")).await;
        assert!(head.status.is_client_error(), "{target}: {} {body}", head.status);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_takes_wildcards_literally() {
    let world = World::new().await;
    let eve = world.api.with(&world.eve);
    let found = async |text: &str| {
        let source = encoded(text);
        let records = eve.get(&format!("/records?project_key=shop&source={source}")).await.ok();
        let events = eve.get(&format!("/audit?project_key=shop&target={source}")).await.ok();
        let forget = json!({"project_key": "shop", "source": text, "dry_run": true});
        let forgotten = eve.post("/forget", forget).await.ok();
        let all = [&records["items"], &events["items"], &forgotten["deleted"]];
        all.map(|found| found.as_array().unwrap().len())
    };
    assert_eq!(found("wiki").await, [1, 1, 1]);
    for text in ["%", "_", "wik_", "w%", "*", ".*", "\\w+", "$1", "wiki' or '1'='1"] {
        assert_eq!(found(text).await, [0, 0, 0], "{text}");
        let tagged = json!({"project_key": "shop", "query": "stock counters", "tags": [text]});
        assert_eq!(eve.post("/search", tagged).await.ok()["results"], json!([]), "{text}");
        for by in ["title", "url"] {
            let open = format!("/documents/lookup?project_key=shop&{by}={}", encoded(text));
            assert_eq!(eve.get(&open).await.fault(404), by, "{text}");
        }
    }
}
