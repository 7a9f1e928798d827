//! Host, Origin and CORS.

use mc_api::{ApiSettings, IngressConfig, Serving};

use super::limits::served;
use super::wire::{Service, routes_behind};
use crate::client::TestApi;
use crate::document;

fn open_to(hosts: &[&str], origins: &[&str]) -> IngressConfig {
    IngressConfig {
        allowed_hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        allowed_origins: origins.iter().map(|origin| origin.parse().unwrap()).collect(),
        ..IngressConfig::default()
    }
}

#[tokio::test]
async fn only_hosts_of_the_service_are_accepted() {
    let service = Service::behind(open_to(&["memory.example", "other.example:8443"], &[])).await;
    let port = service.address.port();
    for (host, expected) in [
        ("localhost".to_owned(), 200),
        (format!("LOCALHOST.:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
        ("127.0.0.2:9999".to_owned(), 200),
        (format!("[::1]:{port}"), 200),
        ("[::ffff:127.0.0.1]".to_owned(), 200),
        ("Memory.Example.".to_owned(), 200),
        ("memory.example:1234".to_owned(), 200),
        ("other.example:8443".to_owned(), 200),
        ("other.example".to_owned(), 421),
        ("a.memory.example".to_owned(), 421),
        ("rebound.example".to_owned(), 421),
        (format!("rebound.example:{port}"), 421),
        ("localhost.rebound.example".to_owned(), 421),
        ("0.0.0.0".to_owned(), 421),
        ("127.1".to_owned(), 421),
        ("192.0.2.1".to_owned(), 421),
        ("localhost@rebound.example".to_owned(), 400),
        (String::new(), 400),
        ("[::1".to_owned(), 400),
    ] {
        for path in ["/", "/healthz", "/mcp", "/nowhere"] {
            let method = if path == "/mcp" { "POST" } else { "GET" };
            let answer = service.ask(&format!("{method} {path} HTTP/1.1\r\nHost: {host}")).await;
            let expected = if path == "/nowhere" && expected == 200 { 404 } else { expected };
            assert_eq!(answer.status, expected, "{path} at {host}");
            if expected == 421 {
                let problem = answer.problem();
                assert_eq!(problem["field"], "Host");
                assert!(problem["hint"].as_str().unwrap().contains("server.allowed_hosts"));
            }
        }
    }
}

#[tokio::test]
async fn a_request_has_exactly_one_host() {
    let service = Service::behind(IngressConfig::default()).await;
    for (head, expected) in [
        ("GET / HTTP/1.1", 400),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost", 400),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: rebound.example", 400),
        ("GET http://localhost/ HTTP/1.1\r\nHost: localhost", 200),
        ("GET http://localhost:80/ HTTP/1.1\r\nHost: LOCALHOST", 200),
        ("GET http://rebound.example/ HTTP/1.1\r\nHost: localhost", 400),
        ("GET http://localhost/ HTTP/1.1\r\nHost: rebound.example", 400),
        ("GET http://rebound.example/ HTTP/1.1\r\nHost: rebound.example", 421),
        ("GET / HTTP/1.0", 400),
        ("GET / HTTP/1.0\r\nHost: localhost", 200),
    ] {
        assert_eq!(service.ask(head).await.status, expected, "{head}");
    }
}

#[tokio::test]
async fn http_2_names_its_host_in_the_authority() {
    let service = Service::behind(IngressConfig::default()).await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .no_proxy()
        .resolve("rebound.example", service.address)
        .resolve("localhost", service.address)
        .build()
        .unwrap();
    let port = service.address.port();
    for (host, expected) in [("localhost", 200), ("127.0.0.1", 200), ("rebound.example", 421)] {
        let answer = client.get(format!("http://{host}:{port}/")).send().await.unwrap();
        assert_eq!(answer.version(), http::Version::HTTP_2);
        assert_eq!(answer.status(), expected, "{host}");
    }
    let contradicting = client.get(format!("http://localhost:{port}/"));
    let answer = contradicting.header("host", "rebound.example").send().await.unwrap();
    assert!(answer.status().is_client_error(), "{answer:?}");
}

#[tokio::test]
async fn the_address_of_the_connection_is_an_accepted_host() {
    let routes = routes_behind(IngressConfig::default());
    let service = Service::at("0.0.0.0:0", routes, Serving::default()).await;
    assert_eq!(service.get("/").await.status, 200);
    assert_eq!(service.ask("GET / HTTP/1.1\r\nHost: 0.0.0.0").await.status, 421);
}

#[tokio::test]
async fn only_pages_of_the_service_and_allowed_origins_may_call() {
    let service = Service::behind(open_to(&["memory.example"], &["https://app.example"])).await;
    for (host, origin, expected) in [
        ("localhost:7391", "http://localhost:7391", 200),
        ("LOCALHOST:7391", "http://localhost.:7391", 200),
        ("[::1]:7391", "http://[::1]:7391", 200),
        ("memory.example", "http://memory.example", 200),
        ("memory.example", "https://app.example", 200),
        ("memory.example", "https://APP.example:443", 200),
        ("localhost:7391", "http://localhost:5173", 403),
        ("localhost:7391", "http://127.0.0.1:7391", 403),
        ("localhost:7391", "https://localhost:7391", 403),
        ("memory.example", "http://app.example", 403),
        ("memory.example", "https://app.example.evil.example", 403),
        ("memory.example", "null", 403),
        ("memory.example", "*", 403),
        ("memory.example", "", 403),
        ("memory.example", "https://app.example\r\nOrigin: https://evil.example", 403),
    ] {
        for (method, path) in [("GET", "/"), ("GET", "/healthz"), ("POST", "/mcp")] {
            let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}");
            let answer = service.ask(&head).await;
            assert_eq!(answer.status, expected, "{path} at {host} from {origin}");
            if expected == 403 {
                let problem = answer.problem();
                assert_eq!(problem["field"], "Origin");
                assert!(problem["hint"].as_str().unwrap().contains("server.allowed_origins"));
                assert_eq!(answer.header("access-control-allow-origin"), None);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_sites_only_open_pages() {
    let api = TestApi::start().await;
    let ingress = open_to(&[], &["https://app.example"]);
    let service = served(&api, ApiSettings::default(), ingress).await;
    let ask = async |path: &str, headers: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost:7391\r\n{headers}");
        service.ask(&head).await
    };
    let opened = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document";
    // A page or a redirect, and an unknown provider: the request has reached its handler.
    let pages = [
        ("/", 307),
        ("/docs", 303),
        ("/docs/", 200),
        ("/openapi.json", 200),
        ("/auth/device", 200),
    ];
    let redirects = [("/auth/oauth/any/start", 404), ("/auth/oauth/any/callback", 404)];
    let others = ["/healthz", "/readyz", "/status", "/mcp", "/nowhere", "/auth/token"];
    for site in ["cross-site", "same-site"] {
        let from = format!("Sec-Fetch-Site: {site}");
        for (path, status) in pages.into_iter().chain(redirects) {
            let answer = ask(path, &format!("{from}\r\n{opened}")).await;
            assert_eq!(answer.status, status, "{path} opened from {site}");
            let framed = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe";
            for part in ["Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image", framed] {
                let answer = ask(path, &format!("{from}\r\n{part}")).await;
                assert_eq!(answer.status, 403, "{path} as {part} of {site}");
            }
        }
        for path in others {
            let answer = ask(path, &format!("{from}\r\n{opened}")).await;
            assert_eq!(answer.status, 403, "{path} from {site}");
            let problem = answer.problem();
            assert_eq!(problem["field"], "Sec-Fetch-Site");
            let hint = problem["hint"].as_str().unwrap();
            assert!(hint.contains("paste any other address into the address bar"), "{hint}");
        }
    }
    for headers in [
        "Sec-Fetch-Site: none",
        "Sec-Fetch-Site: same-origin",
        "Sec-Fetch-Site: cross-site\r\nOrigin: https://app.example",
    ] {
        assert_eq!(ask("/openapi.json", headers).await.status, 200, "{headers}");
    }
}

/// Without the header, each of these requests would reach its operation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_sites_call_no_operation() {
    let api = TestApi::start().await;
    let service = served(&api, ApiSettings::default(), IngressConfig::default()).await;
    let document = serde_json::to_value(mc_api::openapi()).unwrap();
    let mut count = 0;
    for operation in document::operations(&document) {
        let target = operation.target(|_, spec| (spec["in"] == "path").then(|| "x".to_owned()));
        for (mode, destination) in [("cors", "empty"), ("no-cors", "image")] {
            let head = format!(
                "{} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\
                 Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: {mode}\r\n\
                 Sec-Fetch-Dest: {destination}",
                operation.method
            );
            let answer = service.ask(&head).await;
            assert_eq!(answer.status, 403, "{} {target}, {mode}", operation.method);
            assert_eq!(answer.problem()["field"], "Sec-Fetch-Site");
        }
        count += 1;
    }
    assert!(count > 0, "the document has no operations");
}

const PREFLIGHT: &str = "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\
                         Access-Control-Request-Method: POST\r\n\
                         Access-Control-Request-Headers: authorization\r\nOrigin: ";

#[tokio::test]
async fn cors_is_off_by_default() {
    let service = Service::behind(IngressConfig::default()).await;
    let own = service.ask(&format!("{PREFLIGHT}http://localhost")).await;
    assert_eq!(own.status, 405);
    assert_eq!(own.header("access-control-allow-origin"), None);
    assert_eq!(service.ask(&format!("{PREFLIGHT}https://app.example")).await.status, 403);
}

#[tokio::test]
async fn allowed_origins_get_exactly_what_they_need() {
    let service = Service::behind(open_to(&[], &["https://app.example"])).await;
    let preflight = service.ask(&format!("{PREFLIGHT}https://app.example")).await;
    assert_eq!(preflight.status, 200);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(preflight.header("access-control-allow-credentials"), None);
    let headers = preflight.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization") && !headers.contains('*'), "{headers}");
    assert_eq!(service.ask(&format!("{PREFLIGHT}https://evil.example")).await.status, 403);

    let head = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example";
    let refusal = service.ask(head).await;
    assert_eq!(refusal.header("access-control-allow-origin"), Some("https://app.example"));
}
