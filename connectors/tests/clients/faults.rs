//! Faults of each provider's API.

use std::time::Duration;

use chrono::Utc;
use mc_connectors::client::{Connector, Error, Limits, Provider};
use mc_domain::{Classified as _, ErrorKind};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, answer, config, connector, first, introduce, resource};

/// Checks the error after a response, for each provider.
async fn check(template: &ResponseTemplate, expected: impl Fn(&Error) -> bool) {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        answer(&server, template.clone()).await;
        let error = first(&connector(*kind, &server)).await.expect_err("no answer");
        assert!(expected(&error), "{kind}: {error:?}");
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("ours") && !shown.contains(TOKEN), "{kind}: {shown}");
        assert!(shown.len() < 1_500, "{kind}: {shown}");
    }
}

fn html() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw("<!DOCTYPE html><title>Log in</title>", "text/html")
}

fn json(status: u16, body: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw(body, "application/json")
}

#[tokio::test]
async fn denied_credential_names_the_missing_permission() {
    check(&json(401, "{}"), |error| {
        error.kind() == ErrorKind::Forbidden
            && error.to_string().contains("the token of connectors.ours is wrong")
    })
    .await;
    check(&json(403, "{}"), |error| {
        matches!(error, Error::Denied { status: 403, remedy, .. } if remedy.contains("it needs"))
    })
    .await;
}

#[tokio::test]
async fn denial_without_a_token_suggests_one() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        answer(&server, json(401, "{}")).await;
        let without =
            mc_connectors::client::ConnectorConfig { token: None, ..config(*kind, &server.uri()) };
        let error =
            first(&Connector::new(without).expect("a valid config")).await.expect_err("refused");
        assert!(error.to_string().contains("token_env"), "{error}");
    }
}

#[tokio::test]
async fn missing_resource_is_not_found() {
    check(&json(404, r#"{"message": "Not Found"}"#), |error| error.kind() == ErrorKind::NotFound)
        .await;
}

#[tokio::test]
async fn rate_limit_blocks_requests_until_its_end() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        let limit = json(429, "{}").insert_header("retry-after", "120");
        Mock::given(any()).respond_with(limit).with_priority(5).expect(1).mount(&server).await;
        let connector = connector(*kind, &server);
        for _ in 0..3 {
            let error = first(&connector).await.expect_err("limited");
            let Error::RateLimited { retry_at, .. } = error else { panic!("{kind}: {error:?}") };
            let wait = (retry_at - Utc::now()).num_seconds();
            assert!((100..=120).contains(&wait), "{kind}: {wait}");
        }
    }
}

#[tokio::test]
async fn client_waits_for_a_short_rate_limit() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        let limit = json(429, "{}").insert_header("retry-after", "0");
        let once = Mock::given(any()).respond_with(limit).with_priority(3).up_to_n_times(1);
        once.mount(&server).await;
        answer(&server, json(200, "[]")).await;
        let result = first(&connector(*kind, &server)).await;
        let is_limit = matches!(result, Err(Error::RateLimited { .. }));
        assert!(!is_limit, "{kind}: {result:?}");
    }
}

#[tokio::test]
async fn failing_server_is_retried_a_few_times() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        let failure = Mock::given(any()).respond_with(json(500, "{}")).with_priority(5);
        failure.expect(3).mount(&server).await;
        let error = first(&connector(*kind, &server)).await.expect_err("failure");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{kind}: {error:?}");
    }
}

#[tokio::test]
async fn login_page_is_an_error() {
    check(&html(), |error| {
        matches!(error, Error::UnexpectedResponse { reason, .. } if reason == "an HTML page")
    })
    .await;
}

#[tokio::test]
async fn incomplete_response_is_an_error() {
    for body in [r#"[{"number": 1, "ti"#, r#"{"issues": [{"key": "#, ""] {
        check(&json(200, body), |error| matches!(error, Error::UnexpectedResponse { .. })).await;
    }
}

#[tokio::test]
async fn response_error_has_the_position_and_no_quotation() {
    for body in [r#"{"issues": "hunter2", "results": "hunter2"}"#, r#"["hunter2"]"#] {
        check(&json(200, body), |error| {
            let message = error.to_string();
            message.contains("line 1, column") && !message.contains("hunter2")
        })
        .await;
    }
}

#[tokio::test]
async fn rejection_has_the_providers_message() {
    let echo = format!(r#"{{"message": "no such sort {TOKEN}\n{}"}}"#, "x".repeat(2_000));
    check(&json(422, &echo), |error| {
        matches!(error, Error::Rejected { status: 422, reason, .. }
            if reason.starts_with("no such sort *** x") && reason.len() == 300)
    })
    .await;
}

#[tokio::test]
async fn silent_server_times_out() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        answer(&server, json(200, "[]").set_delay(Duration::from_mins(1))).await;
        let mut impatient = config(*kind, &server.uri());
        impatient.limits =
            Limits { request_timeout: Duration::from_millis(300), retries: 1, ..impatient.limits };
        let error =
            first(&Connector::new(impatient).expect("a valid config")).await.expect_err("timeout");
        assert!(error.to_string().contains("it did not respond in time"), "{kind}: {error}");
    }
}

#[tokio::test]
async fn missing_server_is_unavailable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let missing = config(Provider::Gitlab, &format!("http://{address}"));
    let error =
        first(&Connector::new(missing).expect("a valid config")).await.expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn redirect_to_another_host_is_not_followed() {
    let elsewhere = MockServer::start().await;
    Mock::given(any()).respond_with(json(200, "[]")).expect(0).mount(&elsewhere).await;
    for status in [301, 302, 307, 308] {
        let away = ResponseTemplate::new(status).insert_header("location", elsewhere.uri());
        check(&away, |error| error.to_string().contains("a redirect to another host")).await;
    }
}

#[tokio::test]
async fn write_follows_no_redirect() {
    let issues =
        [(Provider::Github, "octocat/hello#12"), (Provider::Gitlab, "group/sub/project#23")];
    for (kind, issue) in issues {
        for status in [301, 302, 303, 307, 308] {
            let server = MockServer::start().await;
            let away = ResponseTemplate::new(status).insert_header("location", "/elsewhere");
            Mock::given(any()).respond_with(away).expect(1).mount(&server).await;
            let tracker = connector(kind, &server).tracker(resource(kind)).expect("a tracker");
            let error =
                tracker.upsert_comment(issue, None, "Known.").await.expect_err("a redirect");
            assert!(matches!(error, Error::ResourceMoved { .. }), "{kind} {status}: {error:?}");
            assert!(!error.kind().is_transient());
        }
    }
}

#[tokio::test]
async fn redirect_loop_ends() {
    let round = ResponseTemplate::new(302).insert_header("location", "/again");
    check(&round, |error| error.to_string().contains("a redirect loop")).await;
}

#[tokio::test]
async fn endless_response_is_aborted() {
    let server = MockServer::start().await;
    answer(&server, json(200, &" ".repeat(33 * 1024 * 1024))).await;
    let error = first(&connector(Provider::Gitlab, &server)).await.expect_err("too much");
    assert!(error.to_string().contains("more than 32 MiB"), "{error}");
}

#[test]
fn invalid_config_is_rejected_without_showing_it() {
    for url in [
        "ftp://example.org",
        "https://bot:hunter2@example.org",
        "https://example.org/?private_token=hunter2",
        "https://example.org/#hunter2",
    ] {
        let error = Connector::new(config(Provider::Gitlab, url)).expect_err(url);
        assert!(error.to_string().starts_with("connectors.ours: base_url must be"), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let mut broken = config(Provider::Jira, "https://example.org");
    broken.token = Some("hunter2\n".into());
    let error = Connector::new(broken).expect_err("a line break");
    assert!(!format!("{error:?}").contains("hunter2"));
    let config = config(Provider::Jira, "https://example.org");
    let shown = format!("{config:?} {:?}", Connector::new(config.clone()).expect("a valid config"));
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[test]
fn resource_name_with_path_characters_is_rejected() {
    for kind in Provider::ALL {
        let connector =
            Connector::new(config(*kind, "https://example.org")).expect("a valid config");
        for resource in
            ["", "..", "../x", "a/../b", "a b", "a\"b", "a/b?c", "a/b#c", "a%2e/b", "é/a"]
        {
            let refused = match kind {
                Provider::Confluence => connector.wiki(resource).err(),
                _ => connector.tracker(resource).err(),
            };
            let is_invalid = matches!(refused, Some(Error::InvalidResource { .. }));
            assert!(is_invalid, "{kind} {resource:?}: {refused:?}");
        }
    }
}

#[test]
fn unsupported_capability_is_named() {
    let jira =
        Connector::new(config(Provider::Jira, "https://example.org")).expect("a valid config");
    let error = jira.wiki("CS").err().expect("no wiki");
    assert_eq!(error.to_string(), "ours is a jira and has no pages; choose another connector");
    assert!(jira.git_host("a/b").is_err());
    let wiki = Connector::new(config(Provider::Confluence, "https://example.org"));
    assert!(wiki.expect("a valid config").tracker("CS").is_err());
}
