//! What each system may answer instead of an answer.

use std::time::Duration;

use chrono::Utc;
use mc_connectors::client::{Connector, Error, Limits, Provider, Token};
use mc_domain::{Classified as _, ErrorKind};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{TOKEN, answer, first, introduce, settings, system, what};

/// What comes of an answer, for one system after the other.
async fn check(template: &ResponseTemplate, expected: impl Fn(&Error) -> bool) {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        answer(&server, template.clone()).await;
        let error = first(&system(*kind, &server)).await.expect_err("no answer");
        assert!(expected(&error), "{kind}: {error:?}");
        let said = format!("{error} {error:?}");
        assert!(said.contains("ours") && !said.contains(TOKEN), "{kind}: {said}");
        assert!(said.len() < 1_500, "{kind}: {said}");
    }
}

fn html() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw("<!DOCTYPE html><title>Log in</title>", "text/html")
}

fn json(status: u16, body: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw(body, "application/json")
}

#[tokio::test]
async fn a_refused_credential_is_named_with_what_it_lacks() {
    check(&json(401, "{}"), |error| {
        error.kind() == ErrorKind::Forbidden
            && error.to_string().contains("the token of connectors.ours is wrong")
    })
    .await;
    check(&json(403, "{}"), |error| {
        matches!(error, Error::Refused { status: 403, remedy, .. } if remedy.contains("it needs"))
    })
    .await;
}

#[tokio::test]
async fn without_a_token_one_is_asked_for() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        answer(&server, json(401, "{}")).await;
        let without = mc_connectors::client::ConnectorConfig {
            token: None,
            ..settings(*kind, &server.uri())
        };
        let error = first(&Connector::new(without).expect("settings")).await.expect_err("refused");
        assert!(error.to_string().contains("token_env"), "{error}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    check(&json(404, r#"{"message": "Not Found"}"#), |error| error.kind() == ErrorKind::NotFound)
        .await;
}

#[tokio::test]
async fn a_limit_says_until_when_and_nothing_is_asked_before() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        let limit = json(429, "{}").insert_header("retry-after", "120");
        Mock::given(any()).respond_with(limit).with_priority(5).expect(1).mount(&server).await;
        let system = system(*kind, &server);
        for _ in 0..3 {
            let error = first(&system).await.expect_err("limited");
            let Error::RateLimited { retry_at, .. } = error else { panic!("{kind}: {error:?}") };
            let wait = (retry_at - Utc::now()).num_seconds();
            assert!((100..=120).contains(&wait), "{kind}: {wait}");
        }
    }
}

#[tokio::test]
async fn a_limit_that_soon_ends_is_waited_for() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        let limit = json(429, "{}").insert_header("retry-after", "0");
        let once = Mock::given(any()).respond_with(limit).with_priority(3).up_to_n_times(1);
        once.mount(&server).await;
        answer(&server, json(200, "[]")).await;
        let told = first(&system(*kind, &server)).await;
        let is_limit = matches!(told, Err(Error::RateLimited { .. }));
        assert!(!is_limit, "{kind}: {told:?}");
    }
}

#[tokio::test]
async fn a_server_in_trouble_is_asked_again_and_then_left_alone() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        let trouble = Mock::given(any()).respond_with(json(500, "{}")).with_priority(5);
        trouble.expect(3).mount(&server).await;
        let error = first(&system(*kind, &server)).await.expect_err("trouble");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{kind}: {error:?}");
    }
}

#[tokio::test]
async fn a_page_to_log_in_at_is_no_answer() {
    check(
        &html(),
        |error| matches!(error, Error::NotUnderstood { reason, .. } if reason == "a page of HTML"),
    )
    .await;
}

#[tokio::test]
async fn half_an_answer_is_none() {
    for body in [r#"[{"number": 1, "ti"#, r#"{"issues": [{"key": "#, ""] {
        check(&json(200, body), |error| matches!(error, Error::NotUnderstood { .. })).await;
    }
}

#[tokio::test]
async fn an_answer_of_another_shape_is_told_by_its_place_and_without_its_text() {
    for body in [r#"{"issues": "hunter2", "results": "hunter2"}"#, r#"["hunter2"]"#] {
        check(&json(200, body), |error| {
            let said = error.to_string();
            said.contains("line 1, column") && !said.contains("hunter2")
        })
        .await;
    }
}

#[tokio::test]
async fn what_a_system_does_not_agree_to_is_said_in_its_words() {
    let echo = format!(r#"{{"message": "no such sort {TOKEN}\n{}"}}"#, "x".repeat(2_000));
    check(&json(422, &echo), |error| {
        matches!(error, Error::Rejected { status: 422, reason, .. }
            if reason.starts_with("no such sort *** x") && reason.len() == 300)
    })
    .await;
}

#[tokio::test]
async fn a_system_that_says_nothing_is_given_up() {
    for kind in Provider::ALL {
        let server = MockServer::start().await;
        introduce(&server).await;
        answer(&server, json(200, "[]").set_delay(Duration::from_mins(1))).await;
        let mut impatient = settings(*kind, &server.uri());
        impatient.limits =
            Limits { request_timeout: Duration::from_millis(300), retries: 1, ..impatient.limits };
        let error =
            first(&Connector::new(impatient).expect("settings")).await.expect_err("silence");
        assert!(error.to_string().contains("it did not answer in time"), "{kind}: {error}");
    }
}

#[tokio::test]
async fn nobody_there_is_told_as_that() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let nobody = settings(Provider::Gitlab, &format!("http://{address}"));
    let error = first(&Connector::new(nobody).expect("settings")).await.expect_err("nobody");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let elsewhere = MockServer::start().await;
    Mock::given(any()).respond_with(json(200, "[]")).expect(0).mount(&elsewhere).await;
    for status in [301, 302, 307, 308] {
        let away = ResponseTemplate::new(status).insert_header("location", elsewhere.uri());
        check(&away, |error| error.to_string().contains("which is another host")).await;
    }
}

#[tokio::test]
async fn what_is_written_follows_no_redirect() {
    let issues =
        [(Provider::Github, "octocat/hello#12"), (Provider::Gitlab, "group/sub/project#23")];
    for (kind, issue) in issues {
        for status in [301, 302, 303, 307, 308] {
            let server = MockServer::start().await;
            let away = ResponseTemplate::new(status).insert_header("location", "/elsewhere");
            Mock::given(any()).respond_with(away).expect(1).mount(&server).await;
            let tracker = system(kind, &server).tracker(what(kind)).expect("a tracker");
            let error = tracker.comment(issue, None, "Known.").await.expect_err("it is elsewhere");
            assert!(matches!(error, Error::Moved { .. }), "{kind} {status}: {error:?}");
            assert!(!error.kind().is_transient());
        }
    }
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let round = ResponseTemplate::new(302).insert_header("location", "/again");
    check(&round, |error| error.to_string().contains("go round in circles")).await;
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let server = MockServer::start().await;
    answer(&server, json(200, &" ".repeat(33 * 1024 * 1024))).await;
    let error = first(&system(Provider::Gitlab, &server)).await.expect_err("too much");
    assert!(error.to_string().contains("more than 32 MiB"), "{error}");
}

#[test]
fn settings_that_can_t_be_right_are_refused_without_being_shown() {
    for url in [
        "ftp://example.org",
        "https://bot:hunter2@example.org",
        "https://example.org/?private_token=hunter2",
        "https://example.org/#hunter2",
    ] {
        let error = Connector::new(settings(Provider::Gitlab, url)).expect_err(url);
        assert!(error.to_string().starts_with("connectors.ours: base_url must be"), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let mut broken = settings(Provider::Jira, "https://example.org");
    broken.token = Some(Token::from("hunter2\n".to_owned()));
    let error = Connector::new(broken).expect_err("a line break");
    assert!(!format!("{error:?}").contains("hunter2"));
    let settings = settings(Provider::Jira, "https://example.org");
    let shown = format!("{settings:?} {:?}", Connector::new(settings.clone()).expect("settings"));
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[test]
fn a_name_that_could_lead_elsewhere_is_refused() {
    for kind in Provider::ALL {
        let system = Connector::new(settings(*kind, "https://example.org")).expect("settings");
        for what in ["", "..", "../x", "a/../b", "a b", "a\"b", "a/b?c", "a/b#c", "a%2e/b", "é/a"]
        {
            let refused = match kind {
                Provider::Confluence => system.wiki(what).err(),
                _ => system.tracker(what).err(),
            };
            let is_unfit = matches!(refused, Some(Error::Unfit { .. }));
            assert!(is_unfit, "{kind} {what:?}: {refused:?}");
        }
    }
}

#[test]
fn what_a_system_does_not_have_is_said() {
    let jira = Connector::new(settings(Provider::Jira, "https://example.org")).expect("settings");
    let error = jira.wiki("CS").err().expect("no wiki");
    assert_eq!(error.to_string(), "ours is a jira and has no pages; choose another system");
    assert!(jira.git_host("a/b").is_err());
    let wiki = Connector::new(settings(Provider::Confluence, "https://example.org"));
    assert!(wiki.expect("settings").tracker("CS").is_err());
}
