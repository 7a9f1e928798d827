//! A tracker whose issues change during a sync.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use mc_connectors::client::Provider;
use mc_connectors::traits::{Cursor, Tracker};
use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::{all, connector};

/// Redmine's issues: ids and times of change.
#[derive(Clone, Default)]
struct Issues(Arc<Mutex<BTreeMap<u64, DateTime<Utc>>>>);

impl Issues {
    fn change(&self, id: u64, second: i64) {
        self.0.lock().expect("a lock").insert(id, time(second));
    }

    fn remove(&self, id: u64) {
        self.0.lock().expect("a lock").remove(&id);
    }
}

impl Respond for Issues {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let parameter = |name: &str| {
            let mut pairs = request.url.query_pairs();
            pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        let since = parameter("updated_on")
            .map(|since| since.trim_start_matches(">=").parse::<DateTime<Utc>>().expect("a time"));
        let number = |name| parameter(name).and_then(|value| value.parse().ok()).unwrap_or(0_usize);
        let issues = self.0.lock().expect("a lock");
        let mut found: Vec<_> =
            issues.iter().filter(|(_, at)| since.is_none_or(|since| **at >= since)).collect();
        found.sort_by_key(|(id, at)| (**at, **id));
        let total = found.len();
        let page: Vec<Value> = found
            .into_iter()
            .skip(number("offset"))
            .take(number("limit"))
            .map(|(id, at)| json!({ "id": id, "subject": "T", "updated_on": at }))
            .collect();
        ResponseTemplate::new(200).set_body_json(json!({ "issues": page, "total_count": total }))
    }
}

fn time(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_secs(1_767_323_045).expect("a time") + TimeDelta::seconds(second)
}

async fn tracker(issues: &Issues) -> (MockServer, Arc<dyn Tracker>) {
    let server = MockServer::start().await;
    let place = path("/projects/shop/issues.json");
    Mock::given(place).respond_with(issues.clone()).mount(&server).await;
    let tracker = connector(Provider::Redmine, &server).tracker("shop").expect("a tracker");
    (server, tracker)
}

fn numbers(threads: &[mc_connectors::traits::IssueWithComments]) -> Vec<u64> {
    let number = |id: &str| id.trim_start_matches("redmine#").parse().expect("a number");
    threads.iter().map(|thread| number(&thread.issue.external_id)).collect()
}

#[tokio::test]
async fn items_of_one_time_all_come_once() {
    let issues = Issues::default();
    for id in 1..=9 {
        issues.change(id, 0);
    }
    let (_server, tracker) = tracker(&issues).await;
    let (threads, cursor) = all(&*tracker, Cursor::default(), false).await;
    assert_eq!(numbers(&threads), (1..=9).collect::<Vec<_>>());
    let (again, _) = all(&*tracker, cursor, false).await;
    assert_eq!(numbers(&again), Vec::<u64>::new(), "nothing changed since");
}

#[tokio::test]
async fn change_during_a_sync_is_not_lost() {
    let issues = Issues::default();
    for id in 1..=8 {
        issues.change(id, 0);
    }
    let (_server, tracker) = tracker(&issues).await;
    let first = tracker.list_changed(&Cursor::default(), false).await.expect("a page");
    assert_eq!(numbers(&first.items), [1, 2]);
    // The listed issues move behind the others, which move two places forward.
    issues.change(1, 60);
    issues.change(2, 60);
    issues.remove(3);
    let (rest, cursor) = all(&*tracker, first.next, false).await;
    let mut listed = numbers(&rest);
    listed.sort_unstable();
    assert_eq!(listed, [1, 2, 4, 5, 6, 7, 8]);
    issues.change(5, 61);
    let (later, _) = all(&*tracker, cursor, false).await;
    assert_eq!(numbers(&later), [5]);
}

#[tokio::test]
async fn interrupted_sync_resumes_at_its_cursor() {
    let issues = Issues::default();
    for (id, second) in (1..=6).zip(1..) {
        issues.change(id, second);
    }
    let (_server, tracker) = tracker(&issues).await;
    let first = tracker.list_changed(&Cursor::default(), false).await.expect("a page");
    // The page was processed, and its cursor was not stored: the page comes again.
    let again = tracker.list_changed(&Cursor::default(), false).await.expect("a page");
    assert_eq!(numbers(&again.items), numbers(&first.items));
    let (rest, _) = all(&*tracker, again.next, false).await;
    assert_eq!(numbers(&rest), [3, 4, 5, 6]);
}

#[tokio::test]
async fn late_item_is_found_by_the_next_sync() {
    let issues = Issues::default();
    issues.change(1, 100);
    let (_server, tracker) = tracker(&issues).await;
    let (_, cursor) = all(&*tracker, Cursor::default(), false).await;
    // Changed a minute before the other, and listed only now.
    issues.change(2, 40);
    let (threads, _) = all(&*tracker, cursor, false).await;
    assert_eq!(numbers(&threads), [2]);
}

#[tokio::test]
async fn list_of_ids_is_complete() {
    let issues = Issues::default();
    for id in 1..=5 {
        issues.change(id, 0);
    }
    let (_server, tracker) = tracker(&issues).await;
    let (mut ids, mut cursor, mut is_last) = (Vec::new(), Cursor::default(), false);
    while !is_last {
        let page = tracker.list_ids(&cursor).await.expect("a page");
        ids.extend(page.items);
        (cursor, is_last) = (page.next, page.is_last);
        issues.remove(1);
    }
    assert!(
        ["redmine#2", "redmine#3", "redmine#4", "redmine#5"]
            .iter()
            .all(|id| ids.contains(&(*id).to_owned()))
    );
    assert_eq!(cursor, Cursor::default(), "the next list is complete again");
}

#[tokio::test]
async fn foreign_cursor_is_rejected() {
    let (_server, tracker) = tracker(&Issues::default()).await;
    let refused =
        tracker.list_changed(&Cursor(json!({ "page": 7 })), false).await.expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "the cursor is not of ours; start the sync again without a cursor"
    );
}
