use chrono::DateTime;

use super::field::{is_branch, links, ref_target, time};
use super::*;

fn push() -> Push {
    Push {
        path: "octocat/hello".to_owned(),
        urls: Vec::new(),
        reference: "refs/heads/main".to_owned(),
        is_default: true,
        after: Some("a".repeat(40)),
        is_forced: false,
        commits: Vec::new(),
    }
}

fn issue() -> Issue {
    Issue {
        external_id: "CS-1".to_owned(),
        title: "T".to_owned(),
        status: None,
        assignee: None,
        labels: Vec::new(),
        links: Vec::new(),
        opened_at: None,
        closed_at: None,
        updated_at: None,
        is_whole: true,
        comment: None,
    }
}

fn truncated(issue: Issue) -> Issue {
    issue.truncated().expect("a valid issue")
}

#[test]
fn issue_texts_are_truncated_to_one_line() {
    let long = truncated(Issue {
        title: "ж".repeat(600),
        status: Some(" in\u{2028}progress\r\n".to_owned()),
        assignee: Some("\u{7}\n".to_owned()),
        labels: vec!["я".repeat(99), String::new(), "a\tb".to_owned()],
        ..issue()
    });
    assert_eq!(long.title, "ж".repeat(512));
    assert_eq!(long.status.as_deref(), Some("in progress"));
    assert_eq!(long.assignee, None);
    assert_eq!(long.labels, ["я".repeat(64), "a b".to_owned()]);
    let many = truncated(Issue { labels: vec!["x".to_owned(); 40], ..issue() });
    assert_eq!(many.labels.len(), 32);
}

#[test]
fn invalid_id_is_rejected_and_not_truncated() {
    for id in [String::new(), "x".repeat(201), "A-1\n".to_owned(), "A\u{0}1".to_owned()] {
        let is_invalid =
            matches!(Event::issue_deleted(id.clone()), Err(ParseError::InvalidValue(_)));
        assert!(is_invalid, "{id:?}");
        assert!(Issue { external_id: id.clone(), ..issue() }.truncated().is_err(), "{id:?}");
    }
    assert!(Event::issue_deleted("ü".repeat(200)).is_ok());
}

#[test]
fn issue_has_only_web_links() {
    let kept = |url: &str| {
        !truncated(Issue { links: links("Issue", Some(url.to_owned())), ..issue() })
            .links
            .is_empty()
    };
    assert!(kept("https://example.org/issues/1?a=b#c"));
    assert!(kept("http://example.org"));
    let long = format!("https://example.org/{}", "x".repeat(2048));
    let others = ["javascript:alert(1)", "ssh://git@example.org/a", "/a", "https://a b", ""];
    for url in others.into_iter().chain([long.as_str()]) {
        assert!(!kept(url), "{url}");
    }
}

#[test]
fn push_has_only_addresses_that_git_accepts_each_once() {
    let sent = [
        "https://example.org/octocat/hello.git",
        "git@example.org:octocat/hello.git",
        "ssh://git@example.org:2222/octocat/hello.git",
        "https://example.org/octocat/hello.git",
        "https://example.org/octocat/hello",
        "git@-oProxyCommand=x:y",
        "-u@example.org:y",
        "git@example.org:",
        "git@example.org:-x",
        "ssh://-oProxyCommand=x/y",
        "ext::sh -c x",
        "file:///etc",
        "/srv/git",
        "https://example.org/a\nb",
    ];
    let push = Push { urls: sent.map(str::to_owned).to_vec(), ..push() };
    let push = push.truncated().expect("a valid push");
    assert_eq!(push.urls, [sent[0], sent[1], sent[2], sent[4]]);
}

#[test]
fn push_with_an_invalid_ref_or_id_is_rejected() {
    assert!(push().truncated().is_ok());
    assert!(Push { after: None, ..push() }.truncated().is_ok());
    assert!(Push { after: Some("B".repeat(64)), ..push() }.truncated().is_ok());
    for after in ["", "--all", "abc", "g".repeat(40).as_str()] {
        assert!(Push { after: Some(after.to_owned()), ..push() }.truncated().is_err(), "{after}");
    }
    for reference in ["", "main", "--all", "refs/heads/a\nb"] {
        let odd = Push { reference: reference.to_owned(), ..push() };
        assert!(odd.truncated().is_err(), "{reference}");
    }
    assert!(Push { path: "x".repeat(513), ..push() }.truncated().is_err());
    assert!(Push { path: String::new(), ..push() }.truncated().is_err());
}

#[test]
fn ref_target_of_zeros_is_none() {
    assert_eq!(ref_target("0".repeat(40)), None);
    assert_eq!(ref_target("0".repeat(64)), None);
    assert_eq!(ref_target("10".repeat(20)), Some("10".repeat(20)));
}

#[test]
fn tag_is_never_the_default_branch() {
    assert!(is_branch("refs/heads/main", Some("main")));
    assert!(is_branch("refs/heads/a/b", Some("a/b")));
    assert!(!is_branch("refs/heads/b", Some("a/b")));
    assert!(!is_branch("refs/tags/main", Some("main")));
    assert!(!is_branch("refs/tags/main", None));
}

#[test]
fn time_is_parsed_in_each_providers_format() {
    let at = |text: &str| time(text).map(|time| time.to_rfc3339());
    let expected = Some("2019-08-27T19:43:24.193+00:00".to_owned());
    assert_eq!(at("2019-08-27T19:43:24.193Z"), expected);
    assert_eq!(at("2019-08-27T12:43:24.193-0700"), expected);
    assert_eq!(at("2015-04-26 08:28:42 UTC").as_deref(), Some("2015-04-26T08:28:42+00:00"));
    assert_eq!(at("yesterday"), None);
    let far = DateTime::from_timestamp_millis(i64::from(u32::MAX) * 1_000_000);
    assert!(far.is_some());
    assert_eq!(truncated(Issue { updated_at: far, ..issue() }).updated_at, None);
}

#[test]
fn masking_covers_every_text_and_each_path_segment() {
    let mask = |text: &str| {
        if text == "4111" { "****".to_owned() } else { text.replace("secret", "******") }
    };
    let Event::Push(pushed) = Event::Push(Push {
        path: "shop/4111".to_owned(),
        urls: vec!["https://example.org/4111/secret".to_owned()],
        reference: "refs/heads/4111".to_owned(),
        ..push()
    })
    .masked(mask) else {
        panic!("another event");
    };
    assert_eq!(pushed.path, "shop/****");
    assert_eq!(pushed.urls, ["https://example.org/****/******"]);
    assert_eq!(pushed.reference, "refs/heads/****");
    let event = Event::Issue(Issue {
        external_id: "shop/secret#1".to_owned(),
        title: "a secret".to_owned(),
        status: Some("secret".to_owned()),
        assignee: Some("secret".to_owned()),
        labels: vec!["secret".to_owned()],
        links: links("secret", Some("https://example.org/secret".to_owned())),
        ..issue()
    });
    let json = serde_json::to_string(&event.clone().masked(mask)).expect("JSON");
    assert!(!json.contains("secret"), "{json}");
    assert_eq!(event.masked(mask).subject(), Some("shop/******#1"));
    let deleted = Event::IssueDeleted { external_id: "a/4111".to_owned() }.masked(mask);
    assert_eq!(deleted.subject(), Some("a/****"));
}
