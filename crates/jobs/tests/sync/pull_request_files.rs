//! Files of pull requests, read from the provider by a job.

use chrono::{DateTime, Utc};
use mc_connectors::client::{Limits, Provider};
use mc_domain::policy::RetentionDays;
use mc_domain::{Capability, PullRequestState};
use mc_jobs::{BackgroundJob as _, FetchPullRequestFiles};
use mc_sanitizer::mask;
use mc_store::hygiene::retention::{RetentionCategory, purge};
use mc_store::pull_requests::{self, NewPullRequest};
use serde_json::json;
use wiremock::{Request, ResponseTemplate};

use crate::fixture::{Fixture, Upstream};

const FILES: &str = "select coalesce(string_agg(concat_ws(' ', path, status, additions, deletions,
    diff), '; ' order by path), '') from pull_request_files";
const LIST: &str = "select concat_ws(' ', left(head_sha, 2), is_complete, has_diffs, error)
    from pull_request_file_lists";
const JOBS: &str = "select count(*)::text from apalis.jobs
    where job_type = 'fetch_pull_request_files'";
const KEY: &str = "AKIAZ7Q4M2N6X5V6B3T7";

/// Responds as GitHub's list of the files of pull request 12.
fn github(_: &Upstream, request: &Request) -> ResponseTemplate {
    if request.url.path() != "/api/v3/repos/octocat/hello/pulls/12/files" {
        return ResponseTemplate::new(404);
    }
    let files = json!([
        { "filename": "app/cart.rb", "status": "modified", "additions": 1, "deletions": 1,
          "patch": format!("-key = \"{KEY}\"\n+key = load") },
        { "filename": "logo.png", "status": "added", "additions": 0, "deletions": 0 },
    ]);
    ResponseTemplate::new(200).set_body_json(files)
}

/// Stores a state of the pull request, as the processing of a delivery does.
async fn apply(fixture: &Fixture, state: PullRequestState, head: &str, minute: u32) {
    let at: DateTime<Utc> = format!("2026-11-20T10:{minute:02}:00Z").parse().unwrap();
    let pull_request = NewPullRequest {
        external_id: "octocat/hello!12".to_owned(),
        title: mask("Load the key").text,
        state,
        author: Some("vera".to_owned()),
        head_sha: Some(head.repeat(20)),
        merge_sha: None,
        base_ref: None,
        url: format!("{}/octocat/hello/pull/12", fixture.server.uri()),
        opened_at: None,
        closed_at: None,
        merged_at: None,
        tasks: Vec::new(),
        source_updated_at: at,
    };
    let mut tx = fixture.db.store().begin().await.unwrap();
    pull_requests::upsert(&mut tx, fixture.project, &pull_request).await.unwrap();
    tx.commit().await.unwrap();
}

/// Runs the job of the pull request.
async fn fetch(fixture: &Fixture) -> Result<(), mc_jobs::JobError> {
    let id = fixture.text("select id::text from pull_requests").await;
    let job: FetchPullRequestFiles = serde_json::from_value(json!({ "id": id })).unwrap();
    job.run(&fixture.job_context(Limits { retries: 0, ..Limits::default() })).await
}

async fn requests(fixture: &Fixture) -> usize {
    fixture.server.received_requests().await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_stored_masked_and_diffs_only_while_it_is_open() {
    let fixture = Fixture::start(Provider::Github, github).await;
    fixture.create_integration_for("octocat/hello", Capability::Refs).await;
    apply(&fixture, PullRequestState::Open, "aa", 0).await;
    assert_eq!(fixture.text(JOBS).await, "1");
    fetch(&fixture).await.unwrap();
    let files = fixture.text(FILES).await;
    assert!(files.starts_with("app/cart.rb modified 1 1 -key = "), "{files}");
    assert!(files.contains("+key = load") && !files.contains(KEY), "{files}");
    assert!(files.ends_with("; logo.png added 0 0"), "{files}");
    assert_eq!(fixture.text(LIST).await, "aa t t");
    let before = requests(&fixture).await;
    fetch(&fixture).await.unwrap();
    assert_eq!(requests(&fixture).await, before, "the files of this head are stored");

    // A label changes neither the head nor the files.
    apply(&fixture, PullRequestState::Open, "aa", 1).await;
    assert_eq!(fixture.text(JOBS).await, "1");
    apply(&fixture, PullRequestState::Merged, "aa", 2).await;
    let names = "app/cart.rb modified 1 1; logo.png added 0 0";
    assert_eq!(fixture.text(FILES).await, names, "the diffs are deleted");
    assert_eq!(
        (fixture.text(LIST).await.as_str(), fixture.text(JOBS).await.as_str()),
        ("aa t f", "1")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_closed_pull_request_have_no_diffs() {
    let fixture = Fixture::start(Provider::Github, github).await;
    fixture.create_integration_for("octocat/hello", Capability::Issues).await;
    apply(&fixture, PullRequestState::Closed, "aa", 0).await;
    fetch(&fixture).await.unwrap();
    assert_eq!(fixture.text(FILES).await, "app/cart.rb modified 1 1; logo.png added 0 0");
    apply(&fixture, PullRequestState::Open, "aa", 1).await;
    fetch(&fixture).await.unwrap();
    assert!(fixture.text(FILES).await.contains("+key = load"), "reopened");
    fixture
        .execute("update pull_requests set source_updated_at = now() - interval '91 days'")
        .await;
    let mut tx = fixture.db.store().begin().await.unwrap();
    let (category, days) = (RetentionCategory::ProviderData, RetentionDays::default());
    assert_eq!(purge(&mut tx, fixture.project, category, &days).await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert!(!fixture.text(FILES).await.contains("+key = load"), "old");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_fetched_without_an_integration_of_the_project() {
    let fixture = Fixture::start(Provider::Github, github).await;
    fixture.create_integration_for("octocat/other", Capability::Refs).await;
    apply(&fixture, PullRequestState::Open, "aa", 0).await;
    assert_eq!(fixture.text(JOBS).await, "0");
    let list = fixture.text(LIST).await;
    assert!(list.contains("no active integration with this repository"), "{list}");

    let id = fixture.create_integration_for("octocat/hello", Capability::Refs).await;
    fixture.execute("update pull_requests set url = 'https://git.example.org/octocat/hello'").await;
    fetch(&fixture).await.unwrap();
    let list = fixture.text(LIST).await;
    assert!(list.contains("connector for the host of the pull request"), "{list}");
    assert_eq!(requests(&fixture).await, 0, "the credential goes to no repository of another host");

    apply(&fixture, PullRequestState::Open, "aa", 1).await;
    fetch(&fixture).await.unwrap();
    assert_eq!(fixture.text(LIST).await, "aa t t");
    fixture.execute(&format!("delete from integrations where id = '{id}'")).await;
    assert_eq!(fixture.text(FILES).await, "", "deleted with the integration that read them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denied_list_is_explained_and_a_rate_limit_is_waited_for() {
    let fixture = Fixture::start(Provider::Github, github).await;
    fixture.create_integration_for("octocat/hello", Capability::Refs).await;
    apply(&fixture, PullRequestState::Open, "aa", 0).await;
    fixture.update_upstream(|upstream| upstream.error = Some((403, r#"{"message": "no"}"#)));
    fetch(&fixture).await.unwrap();
    let list = fixture.text(LIST).await;
    assert!(list.contains("Pull requests"), "it names the permission: {list}");
    fixture.update_upstream(|upstream| upstream.error = Some((429, "")));
    assert!(matches!(fetch(&fixture).await, Err(mc_jobs::JobError::Retryable(_))));
}
