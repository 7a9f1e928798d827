//! Figures of a project, and the metrics of the process with their access.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::Body;
use http::{Request, header};
use mc_api::{ApiSettings, ConnectInfo, Ingress, IngressConfig, MetricsAccess};
use mc_auth::secret::SecretHash;
use serde_json::json;

use crate::accounts::newcomer;
use crate::client::{Answer, SECRET, TestApi};

/// The token of the scraper.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Starts an API with these readers of metrics, behind the ingress.
async fn start(access: Option<MetricsAccess>, with_projects: bool) -> TestApi {
    let mut api = TestApi::start().await;
    let settings = ApiSettings { metrics: access, ..ApiSettings::default() };
    let state = api.state.clone().with_settings(settings);
    state.register_metrics(with_projects);
    let proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let ingress = Ingress::new(IngressConfig { trusted_proxies: proxies, ..Default::default() });
    api.router = mc_api::public_router(state, Router::new(), &ingress);
    api
}

fn token() -> MetricsAccess {
    MetricsAccess::Token(SecretHash::of(TOKEN.as_bytes()))
}

/// Reads the metrics from an address, with headers.
async fn scrape(api: &TestApi, from: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get("/metrics").header(header::HOST, "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    let local = SocketAddr::from(([127, 0, 0, 1], 7391));
    let peer = SocketAddr::new(from.parse::<IpAddr>().unwrap(), 40_000);
    request.extensions_mut().insert(ConnectInfo { peer, local, is_tls: false });
    api.answer(request).await
}

async fn with_token(api: &TestApi, token: &str) -> Answer {
    scrape(api, "127.0.0.1", &[("authorization", &format!("Bearer {token}"))]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_off_by_default() {
    let api = start(ApiSettings::default().metrics, false).await;
    for answer in [with_token(&api, SECRET).await, scrape(&api, "127.0.0.1", &[]).await] {
        answer.fault(404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_take_their_own_token_alone() {
    let api = start(Some(token()), false).await;
    let shown = with_token(&api, TOKEN).await.ok();
    assert!(shown.as_str().unwrap().contains("# TYPE memory_copilot_"), "{shown}");
    scrape(&api, "127.0.0.1", &[]).await.fault(401);
    for wrong in ["", "x", SECRET, &TOKEN[1..], &format!("{TOKEN}0"), &TOKEN.to_uppercase()] {
        with_token(&api, wrong).await.fault(401);
    }
    let basic = format!("Basic {TOKEN}");
    scrape(&api, "127.0.0.1", &[("authorization", &basic)]).await.fault(401);
    // It gives access to nothing else.
    let other = Request::get("/projects")
        .header(header::HOST, "localhost")
        .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
        .extension(ConnectInfo {
            peer: ([127, 0, 0, 1], 40_000).into(),
            local: ([127, 0, 0, 1], 7391).into(),
            is_tls: false,
        });
    api.answer(other.body(Body::empty()).unwrap()).await.fault(401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_for_this_machine_are_denied_to_others_and_to_proxies() {
    let api = start(Some(MetricsAccess::Loopback), false).await;
    scrape(&api, "127.0.0.1", &[]).await.ok();
    scrape(&api, "::1", &[]).await.ok();
    scrape(&api, "192.0.2.7", &[]).await.fault(403);
    // A trusted proxy, and one on this machine that is not configured.
    scrape(&api, "10.0.0.1", &[("x-forwarded-for", "127.0.0.1")]).await.fault(403);
    scrape(&api, "127.0.0.1", &[("x-forwarded-for", "192.0.2.7")]).await.fault(403);
    scrape(&api, "127.0.0.1", &[("forwarded", "for=192.0.2.7")]).await.fault(403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_count_requests_by_route_and_hide_projects() {
    let api = start(Some(token()), false).await;
    with_token(&api, "wrong").await.fault(401);
    let unknown = Request::builder().method("BREW").uri("/records/secret-title");
    let here = ConnectInfo {
        peer: ([127, 0, 0, 1], 40_000).into(),
        local: ([127, 0, 0, 1], 7391).into(),
        is_tls: false,
    };
    let unknown = unknown.header(header::HOST, "localhost").extension(here);
    api.answer(unknown.body(Body::empty()).unwrap()).await;
    api.execute("insert into users (id, login) values (gen_random_uuid(), 'ann')").await;
    let text = with_token(&api, TOKEN).await.ok();
    let text = text.as_str().unwrap();
    for line in [
        r#"memory_copilot_http_requests_total{method="GET",route="/metrics",status="401"} 1"#,
        r#"memory_copilot_http_request_duration_seconds_count{method="GET",route="/metrics"} 1"#,
        r#"memory_copilot_database_connections_max{pool="service"} 8.0"#,
        "memory_copilot_index_lag_passages 0.0",
        "memory_copilot_embedding_queue_length 0.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n\n{text}");
    }
    assert!(text.contains(r#"method="other""#), "{text}");
    for hidden in ["BREW", "secret-title", "shop", "ann"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_are_labels_only_if_configured() {
    for with_projects in [false, true] {
        let api = start(Some(token()), with_projects).await;
        // Of three persons in the present week.
        api.execute(
            "with person as (
                 insert into users (id, login) select gen_random_uuid(), 'user-' || n
                 from generate_series(1, 3) n returning id)
             insert into bundles (id, project_id, principal, user_id, request, confidence,
                                  token_count)
             select gen_random_uuid(), p.id, 'x', person.id, '{}', 1, 1
             from projects p, person, generate_series(1, 5)",
        )
        .await;
        let text = with_token(&api, TOKEN).await.ok();
        let text = text.as_str().unwrap();
        assert!(text.lines().any(|line| line == "memory_copilot_kpi_recalls 15.0"), "{text}");
        let of_project = r#"memory_copilot_kpi_recalls{project="shop"} 15.0"#;
        assert_eq!(text.lines().any(|line| line == of_project), with_projects, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_are_for_members_of_the_project_and_of_the_team() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    let path = "/metrics/kpi?project_key=shop&weeks=2";
    assert_eq!(api.with(&ann).get(path).await.fault(404), "project_key");
    api.put("/projects/shop/members/ann", json!({ "role": "viewer" })).await.ok();
    let kpi = api.with(&ann).get(path).await.ok();
    assert_eq!(kpi["weeks"].as_array().unwrap().len(), 2, "{kpi}");
    assert_eq!(kpi["period"]["recall_hit_rate"]["reason"], "no_events");
    assert_eq!((&kpi["persons_min"], &kpi["health"]["quarantined"]), (&json!(3), &json!(null)));
    let own = api.get(path).await.ok();
    assert_eq!(own["health"]["quarantined"], 0, "for maintainers");

    api.post("/teams", json!({ "key": "core" })).await.ok();
    let of_team = format!("{path}&team=core");
    assert_eq!(api.with(&ann).get(&of_team).await.fault(404), "team");
    api.put("/teams/core/members/ann", json!({ "role": "member" })).await.ok();
    assert_eq!(api.with(&ann).get(&of_team).await.ok()["team"], "core");
    assert_eq!(api.get("/metrics/kpi?project_key=shop&weeks=54").await.fault(400), "weeks");

    let report = api.with(&ann).get("/metrics/report?project_key=shop&weeks=2").await.ok();
    assert_eq!(report["changes"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(report["pending"]["proposals"], 0);
    assert_eq!(report["project_key"], "shop");
}
