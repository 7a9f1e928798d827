//! The stored form of events. A committed file has an event of each kind and variant in each
//! version; a later program must read it.

use mc_connectors::{
    CiRun, Comment, Event, Issue, Link, PullRequestEvent, Push, Release, Review, StoredEventError,
    Thread, WikiPush,
};
use mc_domain::{CiConclusion, PullRequestReview, PullRequestState};
use serde_json::{Value, json};

const VERSION_1: &str = include_str!("stored_events/version_1.json");

#[test]
fn events_of_version_1_decode() {
    let stored: Vec<Value> = serde_json::from_str(VERSION_1).expect("the fixture is JSON");
    let decoded: Vec<Event> = stored
        .iter()
        .map(|stored| Event::decode(stored).unwrap_or_else(|e| panic!("{e}: {stored:#}")))
        .collect();
    assert_eq!(decoded, events());
}

#[test]
fn events_encode_as_version_1() {
    let stored: Vec<Value> = serde_json::from_str(VERSION_1).expect("the fixture is JSON");
    let encoded: Vec<Value> = events().iter().map(Event::encode).collect();
    assert_eq!(encoded, stored, "a change of the stored form needs a new version");
}

#[test]
fn events_survive_storage() {
    for event in events() {
        let decoded = Event::decode(&event.encode()).expect("an event");
        assert_eq!(decoded, event);
    }
}

/// The match is exhaustive: a new variant of `Event` must get an index here, and then an event in
/// `events` and in the fixture.
#[test]
fn fixture_has_every_kind_of_event() {
    const KINDS: usize = 11;
    let index = |event: &Event| match event {
        Event::Push(_) => 0,
        Event::Issue(_) => 1,
        Event::IssueDeleted { .. } => 2,
        Event::PullRequest(_) => 3,
        Event::CiRun(_) => 4,
        Event::Comment { .. } => 5,
        Event::Release(_) => 6,
        Event::WikiPush(_) => 7,
        Event::PageChanged { .. } => 8,
        Event::PageDeleted { .. } => 9,
        Event::Ignored { .. } => KINDS - 1,
    };
    let mut found = [false; KINDS];
    for event in events() {
        found[index(&event)] = true;
    }
    assert_eq!(found, [true; KINDS]);
}

#[test]
fn unknown_version_error_suggests_an_upgrade() {
    let later = json!({ "version": 2, "kind": "telepathy" });
    let error = Event::decode(&later).expect_err("a later version");
    assert!(matches!(error, StoredEventError::UnknownVersion(2)));
    let expected = "the event is stored in version 2, and this node reads version 1; \
                    upgrade the node";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn malformed_stored_event_is_an_error() {
    let values = [
        Value::Null,
        json!({ "kind": "page_deleted", "id": "98" }),
        json!({ "version": 1, "kind": "telepathy" }),
        json!({ "version": "1", "kind": "page_deleted", "id": "98" }),
    ];
    for value in values {
        let result = Event::decode(&value);
        assert!(matches!(result, Err(StoredEventError::Malformed(_))), "{value}: {result:?}");
    }
}

/// The events of the fixture, in its order: of each kind one with all fields and, if fields are
/// optional, one without. Fields that were added later are in events of their own at the end.
fn events() -> Vec<Event> {
    let mut events = vec![
        Event::Push(push()),
        Event::Push(Push { after: None, urls: Vec::new(), commits: Vec::new(), ..push() }),
        Event::Issue(issue()),
        Event::Issue(bare_issue()),
        Event::IssueDeleted { external_id: "CS-214".to_owned() },
        Event::PullRequest(pull_request()),
        Event::Comment { thread: thread(), comment: comment() },
        Event::Release(release()),
        Event::Release(Release { author: None, sent_at: None, updated_at: None, ..release() }),
        Event::WikiPush(WikiPush {
            path: "octocat/hello.wiki".to_owned(),
            urls: vec!["https://git.example.org/octocat/hello.wiki.git".to_owned()],
        }),
        Event::PageChanged { id: "98".to_owned() },
        Event::PageDeleted { id: "98".to_owned() },
        Event::Ignored { reason: "ping".to_owned() },
    ];
    events.extend(CiConclusion::ALL.iter().map(|conclusion| Event::CiRun(ci_run(*conclusion))));
    events.extend(PullRequestState::ALL.iter().map(|state| {
        Event::PullRequest(PullRequestEvent { state: *state, ..bare_pull_request() })
    }));
    // Earlier programs did not store these times.
    let (opened_at, closed_at) = (time("2026-01-01T00:00:00Z"), time("2026-01-02T03:04:05Z"));
    events.push(Event::Issue(Issue { opened_at, closed_at, ..bare_issue() }));
    events.push(Event::PullRequest(PullRequestEvent {
        opened_at,
        closed_at,
        merged_at: closed_at,
        ..bare_pull_request()
    }));
    events
}

#[expect(clippy::unnecessary_wraps, reason = "fields of events are optional times")]
fn time(text: &str) -> Option<chrono::DateTime<chrono::Utc>> {
    Some(text.parse().expect("a time"))
}

fn push() -> Push {
    Push {
        path: "octocat/hello".to_owned(),
        urls: vec![
            "https://git.example.org/octocat/hello.git".to_owned(),
            "git@git.example.org:octocat/hello.git".to_owned(),
        ],
        reference: "refs/heads/main".to_owned(),
        is_default: true,
        after: Some("ab".repeat(20)),
        is_forced: true,
        commits: vec!["cd".repeat(20)],
    }
}

fn thread() -> Thread {
    Thread {
        external_id: "octocat/hello!12".to_owned(),
        title: "Fix the delay".to_owned(),
        url: "https://git.example.org/octocat/hello/pull/12".to_owned(),
    }
}

fn comment() -> Comment {
    Comment {
        id: "line-7".to_owned(),
        author: Some("vera".to_owned()),
        text: "Since May.".to_owned(),
        sent_at: time("2026-01-02T03:04:05Z"),
        updated_at: time("2026-01-02T03:05:00.250Z"),
        is_deleted: false,
    }
}

fn deleted_comment() -> Comment {
    let (id, text) = ("8".to_owned(), String::new());
    Comment { id, author: None, text, sent_at: None, updated_at: None, is_deleted: true }
}

fn issue() -> Issue {
    Issue {
        external_id: "octocat/hello#12".to_owned(),
        title: "It breaks".to_owned(),
        status: Some("open".to_owned()),
        assignee: Some("Vera B".to_owned()),
        labels: vec!["bug".to_owned(), "API".to_owned()],
        links: vec![Link {
            title: "GitHub issue".to_owned(),
            url: "https://git.example.org/octocat/hello/issues/12".to_owned(),
        }],
        opened_at: None,
        closed_at: None,
        updated_at: time("2026-01-02T03:04:05Z"),
        is_whole: true,
        comment: Some(comment()),
    }
}

fn bare_issue() -> Issue {
    Issue {
        external_id: "CS-214".to_owned(),
        title: "It breaks".to_owned(),
        status: None,
        assignee: None,
        labels: Vec::new(),
        links: Vec::new(),
        opened_at: None,
        closed_at: None,
        updated_at: None,
        is_whole: false,
        comment: None,
    }
}

fn pull_request() -> PullRequestEvent {
    let states = PullRequestReview::ALL.iter().copied().map(Some);
    let review = |state| Review {
        reviewer: "omar".to_owned(),
        state,
        source_updated_at: time("2026-01-02T03:04:00Z"),
    };
    PullRequestEvent {
        external_id: "octocat/hello!12".to_owned(),
        title: "Fix the delay".to_owned(),
        state: PullRequestState::Merged,
        author: Some("vera".to_owned()),
        head_sha: Some("ab".repeat(20)),
        merge_sha: Some("ef".repeat(20)),
        base_ref: Some("main".to_owned()),
        url: "https://git.example.org/octocat/hello/pull/12".to_owned(),
        tasks: vec!["octocat/hello#7".to_owned(), "CS-214".to_owned()],
        reviews: states.chain([None]).map(review).collect(),
        comment: Some(comment()),
        opened_at: None,
        closed_at: None,
        merged_at: None,
        updated_at: time("2026-01-02T03:04:05Z"),
    }
}

fn bare_pull_request() -> PullRequestEvent {
    PullRequestEvent {
        author: None,
        head_sha: None,
        merge_sha: None,
        base_ref: None,
        url: String::new(),
        tasks: Vec::new(),
        reviews: Vec::new(),
        comment: Some(deleted_comment()),
        updated_at: None,
        ..pull_request()
    }
}

fn release() -> Release {
    Release {
        path: "octocat/hello".to_owned(),
        id: "9".to_owned(),
        tag: "v1.2".to_owned(),
        title: "Retries".to_owned(),
        author: Some("vera".to_owned()),
        notes: "# New\nRetries.".to_owned(),
        url: "https://git.example.org/octocat/hello/releases/v1.2".to_owned(),
        sent_at: time("2026-01-02T03:04:05Z"),
        updated_at: time("2026-01-02T03:05:00Z"),
        is_deleted: false,
    }
}

fn ci_run(conclusion: CiConclusion) -> CiRun {
    let has_ended = conclusion != CiConclusion::Pending;
    CiRun {
        repository: "octocat/hello".to_owned(),
        sha: "ab".repeat(20),
        name: "suite 12: build".to_owned(),
        conclusion,
        url: "https://git.example.org/octocat/hello/runs/4".to_owned(),
        completed_at: time("2026-01-02T03:06:00Z").filter(|_| has_ended),
        updated_at: time("2026-01-02T03:06:00Z"),
    }
}
