//! Sync of refs.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mc_connectors::client::Provider;
use mc_domain::{Capability, RepositoryId};
use mc_store::ingest_runs;
use mc_store::repositories::{self, Repository};
use serde_json::json;
use wiremock::matchers::path;
use wiremock::{Mock, Request, ResponseTemplate};

use crate::fixture::{Fixture, github, redmine};

const RUN_COUNT: &str = "select count(*)::text from ingest_runs";
const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_ref_enqueues_one_index_run() {
    let fixture = Fixture::start(Provider::Github, github).await;
    fixture.update_upstream(|upstream| upstream.head = FIRST);
    let node = fixture.node();
    let id = fixture.create_integration_for("example/shop", Capability::Refs).await;
    let failed = fixture.wait_for(id, |integration| integration.consecutive_failures == 1).await;
    assert!(failed.last_error.unwrap().contains("has not indexed example/shop"));

    let location = format!("{}/Example/shop.git", fixture.server.uri());
    let mut tx = fixture.project_store().begin().await.unwrap();
    let ensured =
        repositories::ensure(&mut tx, fixture.project, "example", "shop", &location).await;
    let repository = ensured.unwrap();
    tx.commit().await.unwrap();
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "1", "the indexed commit is unknown");
    fixture.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    mark_indexed(&fixture, repository.id, FIRST).await;
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "1", "the ref has not moved");
    fixture.update_upstream(|upstream| upstream.head = SECOND);
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2");
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2", "the run is enqueued once");
    let fail =
        "update ingest_runs set status = 'FAILED', completed_at = now() where status = 'QUEUED'";
    fixture.execute(fail).await;
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2", "the failed run is not retried at once");
    let hours_pass = "update ingest_runs set completed_at = now() - interval '2 hours'";
    fixture.execute(hours_pass).await;
    for _ in 0..2 {
        fixture.sync(id).await;
        assert_eq!(fixture.text(RUN_COUNT).await, "3", "the failed run is retried once");
    }
    mark_indexed(&fixture, repository.id, SECOND).await;
    fixture.execute("update ingest_runs set status = 'FAILED'").await;
    fixture.execute(hours_pass).await;
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "3", "an indexed commit is not indexed again");
    // As a run of another ref leaves the index, whose branch has not moved.
    fixture.execute("update repositories set is_partial = true").await;
    let newest = "(select max(queued_at) from ingest_runs)";
    let others = format!("update ingest_runs set status = 'SUCCEEDED' where queued_at < {newest}");
    fixture.execute(&others).await;
    fixture.execute("update ingest_runs set requested_ref = 'other' where status = 'FAILED'").await;
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "4", "a partial index is completed");
    node.stop().await;
}

/// Creates a repository whose default branch is indexed at the first commit.
async fn mark_indexed(fixture: &Fixture, repository: RepositoryId, commit: &str) {
    let mut tx = fixture.db.store().begin().await.unwrap();
    repositories::mark_indexed(&mut tx, repository, commit, 0).await.unwrap();
    tx.commit().await.unwrap();
}

async fn create_indexed_repository(fixture: &Fixture) -> Repository {
    fixture.update_upstream(|upstream| upstream.head = FIRST);
    let location = format!("{}/example/shop.git", fixture.server.uri());
    let mut tx = fixture.project_store().begin().await.unwrap();
    let ensured =
        repositories::ensure(&mut tx, fixture.project, "example", "shop", &location).await;
    let repository = ensured.unwrap();
    ingest_runs::enqueue(&mut tx, &repository, "").await.unwrap();
    tx.commit().await.unwrap();
    fixture.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    mark_indexed(fixture, repository.id, FIRST).await;
    repository
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ref_moved_back_during_a_run_is_indexed_again() {
    let fixture = Fixture::start(Provider::Github, github).await;
    create_indexed_repository(&fixture).await;
    fixture.update_upstream(|upstream| upstream.head = SECOND);
    let node = fixture.node();
    let id = fixture.create_integration_for("example/shop", Capability::Refs).await;
    fixture.wait_for(id, |integration| integration.last_success_at.is_some()).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2");
    // The run has fetched the second commit.
    let start_run = "update ingest_runs set status = 'RUNNING' where status = 'QUEUED'";
    fixture.execute(start_run).await;
    fixture.update_upstream(|upstream| upstream.head = FIRST);
    for _ in 0..2 {
        fixture.sync(id).await;
        assert_eq!(fixture.text(RUN_COUNT).await, "3", "one run is queued after it");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ref_requested_during_a_sync_stays_the_last_requested() {
    let fixture = Fixture::start(Provider::Github, github).await;
    let repository = create_indexed_repository(&fixture).await;
    fixture.update_upstream(|upstream| upstream.head = SECOND);
    let (unblock, blocked) = mpsc::channel::<()>();
    let (is_requested, blocked) = (Arc::new(AtomicBool::new(false)), Mutex::new(blocked));
    let requested = Arc::clone(&is_requested);
    let wait = move |_: &Request| {
        requested.store(true, Ordering::SeqCst);
        // Returns when the sender is dropped.
        let _ = blocked.lock().unwrap().recv();
        ResponseTemplate::new(200).set_body_json(json!({"default_branch": "main"}))
    };
    let branch = Mock::given(path("/api/v3/repos/example/shop")).respond_with(wait);
    branch.with_priority(1).mount(&fixture.server).await;
    let node = fixture.node();
    let id = fixture.create_integration_for("example/shop", Capability::Refs).await;
    while !is_requested.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let mut tx = fixture.project_store().begin().await.unwrap();
    ingest_runs::enqueue(&mut tx, &repository, "release").await.unwrap();
    tx.commit().await.unwrap();
    drop(unblock);
    fixture.wait_for(id, |integration| integration.last_success_at.is_some()).await;
    let requested_refs =
        "select string_agg(requested_ref, ',' order by queued_at) from ingest_runs";
    assert_eq!(fixture.text(requested_refs).await, ",release");
    node.stop().await;
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits a file with this text; returns the commit.
fn commit(directory: &Path, text: &str) -> String {
    std::fs::write(directory.join("note.md"), text).unwrap();
    git(directory, &["add", "."]);
    git(directory, &["commit", "--quiet", "-m", text]);
    git(directory, &["rev-parse", "HEAD"])
}

/// Creates a repository for which a run at this ref was requested.
async fn create_repository(
    fixture: &Fixture,
    location: &str,
    requested_ref: &str,
    allows_private_network: bool,
) -> Repository {
    let mut tx = fixture.project_store().begin().await.unwrap();
    let repository =
        repositories::ensure(&mut tx, fixture.project, "local", "notes", location).await.unwrap();
    repositories::set_network_access(&mut tx, repository.id, allows_private_network).await.unwrap();
    ingest_runs::enqueue(&mut tx, &repository, requested_ref).await.unwrap();
    tx.commit().await.unwrap();
    fixture.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    repository
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_ref_of_plain_git_enqueues_one_index_run() {
    let fixture = Fixture::start(Provider::Redmine, redmine).await;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("notes");
    std::fs::create_dir(&directory).unwrap();
    git(&directory, &["init", "--quiet", "--initial-branch=main"]);
    let first = commit(&directory, "one");
    let location = format!("file://{}", directory.display());
    let repository = create_repository(&fixture, &location, "main", true).await;
    mark_indexed(&fixture, repository.id, &first).await;
    let node = fixture.node();
    let id = fixture.create_integration_at("git", "local/notes", Capability::Refs).await;
    fixture.wait_for(id, |integration| integration.last_success_at.is_some()).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "1", "the commit is indexed");

    commit(&directory, "two");
    let moved = fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2");
    let access = "select allows_private_network::text from repositories";
    assert_eq!(fixture.text(access).await, "true", "as the repository was requested");
    assert_eq!(moved.last_run.map(|run| run.items_synced), Some(1));
    let unchanged = fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2", "the run is enqueued once");
    assert_eq!(unchanged.last_run.map(|run| run.items_synced), Some(0));

    git(&directory, &["checkout", "--quiet", "--detach"]);
    git(&directory, &["branch", "--quiet", "-D", "main"]);
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2", "a deleted branch has nothing to index");

    std::fs::remove_dir_all(&directory).unwrap();
    fixture.request_sync(id).await;
    let failed = fixture.wait_for(id, |integration| integration.consecutive_failures == 1).await;
    assert!(failed.last_error.unwrap().contains("check the location"));
    assert_eq!(fixture.text(RUN_COUNT).await, "2");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_directory_is_indexed_again() {
    let fixture = Fixture::start(Provider::Redmine, redmine).await;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("note.md"), "one").unwrap();
    create_repository(&fixture, directory.path().to_str().unwrap(), "", true).await;
    let node = fixture.node();
    let id = fixture.create_integration_at("git", "local/notes", Capability::Refs).await;
    fixture.wait_for(id, |integration| integration.last_success_at.is_some()).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2", "the indexed commit is unknown");
    fixture.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2", "the directory has not changed");
    std::fs::write(directory.path().join("note.md"), "one, and two").unwrap();
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "3");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_directory_with_indexed_files_fails_the_sync() {
    let fixture = Fixture::start(Provider::Redmine, redmine).await;
    let directory = tempfile::tempdir().unwrap();
    let repository =
        create_repository(&fixture, directory.path().to_str().unwrap(), "", true).await;
    fixture
        .execute(&format!(
            "insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
             language, line_count, chunker_version)
             values (gen_random_uuid(), '{}', '{}', 'note.md', '\\x00', 3, 'markdown', 1, 1)",
            repository.id, fixture.project
        ))
        .await;
    let node = fixture.node();
    let id = fixture.create_integration_at("git", "local/notes", Capability::Refs).await;
    let failed = fixture.wait_for(id, |integration| integration.consecutive_failures == 1).await;
    assert!(failed.last_error.unwrap().contains("is it mounted?"));
    assert_eq!(fixture.text(RUN_COUNT).await, "1");
    std::fs::write(directory.path().join("note.md"), "one").unwrap();
    fixture.sync(id).await;
    assert_eq!(fixture.text(RUN_COUNT).await, "2");
    fixture.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    fixture.execute("delete from files").await;
    std::fs::remove_file(directory.path().join("note.md")).unwrap();
    fixture.sync(id).await;
    assert_eq!(
        fixture.text(RUN_COUNT).await,
        "3",
        "without indexed files an empty directory is indexed"
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_integration_has_the_network_access_of_index_runs() {
    let fixture = Fixture::start(Provider::Redmine, redmine).await;
    let node = fixture.node();
    let unindexed = fixture.create_integration_at("git", "local/none", Capability::Refs).await;
    let failed =
        fixture.wait_for(unindexed, |integration| integration.consecutive_failures == 1).await;
    assert!(failed.last_error.unwrap().contains("has not indexed local/none"));
    let id = fixture.create_integration_at("git", "local/notes", Capability::Refs).await;
    for (location, expected) in [
        ("file:///srv/notes", "only an administrator"),
        ("https://127.0.0.1:1/a/notes", "has no public address"),
    ] {
        fixture.execute(&format!("update repositories set location = '{location}'")).await;
        create_repository(&fixture, location, "main", false).await;
        fixture.request_sync(id).await;
        let failed = fixture
            .wait_for(id, |integration| {
                integration.last_error.as_deref().is_some_and(|error| error.contains(expected))
            })
            .await;
        assert!(failed.consecutive_failures > 0, "{failed:?}");
    }
    node.stop().await;
}
