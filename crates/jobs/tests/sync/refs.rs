//! Repositories that are read again because their ref moved.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mc_connectors::client::Provider;
use mc_domain::Capability;
use mc_store::ingest_runs;
use mc_store::repositories::{self, Repository};
use serde_json::json;
use wiremock::matchers::path;
use wiremock::{Mock, Request, ResponseTemplate};

use crate::fixture::{World, github, redmine};

const RUNS: &str = "select count(*)::text from ingest_runs";
const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_read_again_when_its_ref_moved_and_not_before() {
    let world = World::of(Provider::Github, github).await;
    world.has(|upstream| upstream.head = FIRST);
    let node = world.node();
    let id = world.connect_for("example/shop", Capability::Refs).await;
    let unknown = world.until(id, |one| one.consecutive_failures == 1).await;
    assert!(unknown.last_error.unwrap().contains("has not indexed example/shop"));

    let location = format!("{}/Example/shop.git", world.server.uri());
    let shop = world.shop();
    let mut tx = shop.begin().await.unwrap();
    let ensured = repositories::ensure(&mut tx, world.project, "example", "shop", &location).await;
    let repository = ensured.unwrap();
    tx.commit().await.unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "1", "nobody knows what was indexed");
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    repositories::mark_indexed(world.db.store(), repository.id, FIRST).await.unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "1", "nothing moved");
    world.has(|upstream| upstream.head = SECOND);
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2");
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "it was asked for once");
    let fails =
        "update ingest_runs set status = 'FAILED', completed_at = now() where status = 'QUEUED'";
    world.execute(fails).await;
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "it failed just now");
    let earlier = "update ingest_runs set completed_at = now() - interval '2 hours'";
    world.execute(earlier).await;
    for _ in 0..2 {
        world.synced(id).await;
        assert_eq!(world.text(RUNS).await, "3", "it is tried once more");
    }
    repositories::mark_indexed(world.db.store(), repository.id, SECOND).await.unwrap();
    world.execute("update ingest_runs set status = 'FAILED'").await;
    world.execute(earlier).await;
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "3", "what is indexed is not tried again");
    node.stop().await;
}

/// A repository at the host that is indexed as it is there: its default branch, at the first
/// commit.
async fn indexed(world: &World) -> Repository {
    world.has(|upstream| upstream.head = FIRST);
    let location = format!("{}/example/shop.git", world.server.uri());
    let mut tx = world.shop().begin().await.unwrap();
    let ensured = repositories::ensure(&mut tx, world.project, "example", "shop", &location).await;
    let repository = ensured.unwrap();
    ingest_runs::enqueue(&mut tx, &repository, "").await.unwrap();
    tx.commit().await.unwrap();
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    repositories::mark_indexed(world.db.store(), repository.id, FIRST).await.unwrap();
    repository
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ref_that_is_put_back_while_a_run_reads_it_is_read_once_more() {
    let world = World::of(Provider::Github, github).await;
    indexed(&world).await;
    world.has(|upstream| upstream.head = SECOND);
    let node = world.node();
    let id = world.connect_for("example/shop", Capability::Refs).await;
    world.until(id, |one| one.last_success_at.is_some()).await;
    assert_eq!(world.text(RUNS).await, "2");
    // It has fetched the second commit by now, and will end with that.
    let at_work = "update ingest_runs set status = 'RUNNING' where status = 'QUEUED'";
    world.execute(at_work).await;
    world.has(|upstream| upstream.head = FIRST);
    for _ in 0..2 {
        world.synced(id).await;
        assert_eq!(world.text(RUNS).await, "3", "one waits behind it");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ref_that_somebody_asks_for_while_the_host_is_asked_stays_the_last() {
    let world = World::of(Provider::Github, github).await;
    let repository = indexed(&world).await;
    world.has(|upstream| upstream.head = SECOND);
    let (open, gate) = mpsc::channel::<()>();
    let (asked, gate) = (Arc::new(AtomicBool::new(false)), Mutex::new(gate));
    let is_asked = Arc::clone(&asked);
    let wait = move |_: &Request| {
        is_asked.store(true, Ordering::SeqCst);
        // Until the other end is dropped.
        let _ = gate.lock().unwrap().recv();
        ResponseTemplate::new(200).set_body_json(json!({"default_branch": "main"}))
    };
    let branch = Mock::given(path("/api/v3/repos/example/shop")).respond_with(wait);
    branch.with_priority(1).mount(&world.server).await;
    let node = world.node();
    let id = world.connect_for("example/shop", Capability::Refs).await;
    while !asked.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    let mut tx = world.shop().begin().await.unwrap();
    ingest_runs::enqueue(&mut tx, &repository, "release").await.unwrap();
    tx.commit().await.unwrap();
    drop(open);
    world.until(id, |one| one.last_success_at.is_some()).await;
    let asked_for = "select string_agg(requested_ref, ',' order by queued_at) from ingest_runs";
    assert_eq!(world.text(asked_for).await, ",release");
    node.stop().await;
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits what a file says from now on; answers the commit.
fn committed(folder: &Path, text: &str) -> String {
    std::fs::write(folder.join("note.md"), text).unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", text]);
    git(folder, &["rev-parse", "HEAD"])
}

/// Has the project know a repository there, which a run was asked for at that ref.
async fn known(
    world: &World,
    location: &str,
    at: &str,
    allows_private_network: bool,
) -> Repository {
    let mut tx = world.shop().begin().await.unwrap();
    let ensured =
        repositories::ensure(&mut tx, world.project, "local", "notes", location).await.unwrap();
    repositories::set_network_access(&mut tx, ensured.id, allows_private_network).await.unwrap();
    ingest_runs::enqueue(&mut tx, &ensured, at).await.unwrap();
    tx.commit().await.unwrap();
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    ensured
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_at_any_host_of_git_is_read_again_when_its_ref_moved_and_not_before() {
    let world = World::of(Provider::Redmine, redmine).await;
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("notes");
    std::fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    let first = committed(&folder, "one");
    let location = format!("file://{}", folder.display());
    let repository = known(&world, &location, "main", true).await;
    repositories::mark_indexed(world.db.store(), repository.id, &first).await.unwrap();
    let node = world.node();
    let id = world.connect_to("git", "local/notes", Capability::Refs).await;
    world.until(id, |one| one.last_success_at.is_some()).await;
    assert_eq!(world.text(RUNS).await, "1", "what is there is indexed");

    committed(&folder, "two");
    let moved = world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2");
    assert_eq!(moved.last_run.map(|round| round.items), Some(1));
    let same = world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "it was asked for once");
    assert_eq!(same.last_run.map(|round| round.items), Some(0));

    git(&folder, &["checkout", "--quiet", "--detach"]);
    git(&folder, &["branch", "--quiet", "-D", "main"]);
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "there is nothing to be read at a branch that is gone");

    std::fs::remove_dir_all(&folder).unwrap();
    world.ask(id).await;
    let gone = world.until(id, |one| one.consecutive_failures == 1).await;
    assert!(gone.last_error.unwrap().contains("check the location"));
    assert_eq!(world.text(RUNS).await, "2");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_read_again_when_what_stands_in_it_changed() {
    let world = World::of(Provider::Redmine, redmine).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.md"), "one").unwrap();
    known(&world, folder.path().to_str().unwrap(), "", true).await;
    let node = world.node();
    let id = world.connect_to("git", "local/notes", Capability::Refs).await;
    world.until(id, |one| one.last_success_at.is_some()).await;
    assert_eq!(world.text(RUNS).await, "2", "nobody knows what was indexed");
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "nothing changed");
    std::fs::write(folder.path().join("note.md"), "one, and two").unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "3");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_lost_everything_is_not_taken_for_one_that_was_emptied() {
    let world = World::of(Provider::Redmine, redmine).await;
    let folder = tempfile::tempdir().unwrap();
    let repository = known(&world, folder.path().to_str().unwrap(), "", true).await;
    world
        .execute(&format!(
            "insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
             language, line_count, chunker_version)
             values (gen_random_uuid(), '{}', '{}', 'note.md', '\\x00', 3, 'markdown', 1, 1)",
            repository.id, world.project
        ))
        .await;
    let node = world.node();
    let id = world.connect_to("git", "local/notes", Capability::Refs).await;
    let lost = world.until(id, |one| one.consecutive_failures == 1).await;
    assert!(lost.last_error.unwrap().contains("is it mounted?"));
    assert_eq!(world.text(RUNS).await, "1");
    std::fs::write(folder.path().join("note.md"), "one").unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2");
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    world.execute("delete from files").await;
    std::fs::remove_file(folder.path().join("note.md")).unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "3", "nothing is lost of what is not known");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_goes_no_further_for_a_connection_than_for_a_run() {
    let world = World::of(Provider::Redmine, redmine).await;
    let node = world.node();
    let unknown = world.connect_to("git", "local/none", Capability::Refs).await;
    let unknown = world.until(unknown, |one| one.consecutive_failures == 1).await;
    assert!(unknown.last_error.unwrap().contains("has not indexed local/none"));
    let id = world.connect_to("git", "local/notes", Capability::Refs).await;
    for (location, told) in [
        ("file:///srv/notes", "only an administrator"),
        ("https://127.0.0.1:1/a/notes", "has no public address"),
    ] {
        world.execute(&format!("update repositories set location = '{location}'")).await;
        known(&world, location, "main", false).await;
        world.ask(id).await;
        let refused = world
            .until(id, |one| one.last_error.as_deref().is_some_and(|said| said.contains(told)))
            .await;
        assert!(refused.consecutive_failures > 0, "{refused:?}");
    }
    node.stop().await;
}
