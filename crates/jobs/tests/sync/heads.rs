//! Repositories that are read again because their ref moved.

use std::path::Path;
use std::process::Command;

use mc_connectors::client::SystemKind;
use mc_domain::Ability;
use mc_store::ingests;
use mc_store::repositories::{self, Repository};

use crate::world::{World, github, redmine};

const RUNS: &str = "select count(*)::text from ingest_runs";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_read_again_when_its_ref_moved_and_not_before() {
    const FIRST: &str = "1111111111111111111111111111111111111111";
    const SECOND: &str = "2222222222222222222222222222222222222222";
    let world = World::of(SystemKind::Github, github).await;
    world.has(|upstream| upstream.head = FIRST);
    let node = world.node();
    let id = world.connect_for("example/shop", Ability::Heads).await;
    let unknown = world.until(id, |one| one.failures == 1).await;
    assert!(unknown.error.unwrap().contains("has not indexed example/shop"));

    let location = format!("{}/Example/shop.git", world.server.uri());
    let shop = world.shop();
    let mut tx = shop.begin().await.unwrap();
    let ensured = repositories::ensure(&mut tx, world.project, "example", "shop", &location).await;
    let repository = ensured.unwrap();
    tx.commit().await.unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "1", "nobody knows what was indexed");
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    repositories::indexed(world.db.store(), repository.id, FIRST).await.unwrap();
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
    repositories::indexed(world.db.store(), repository.id, SECOND).await.unwrap();
    world.execute("update ingest_runs set status = 'FAILED'").await;
    world.execute(earlier).await;
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "3", "what is indexed is not tried again");
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
async fn known(world: &World, location: &str, at: &str, reaches_inside: bool) -> Repository {
    let mut tx = world.shop().begin().await.unwrap();
    let ensured =
        repositories::ensure(&mut tx, world.project, "local", "notes", location).await.unwrap();
    repositories::set_reach(&mut tx, ensured.id, reaches_inside).await.unwrap();
    ingests::enqueue(&mut tx, &ensured, at).await.unwrap();
    tx.commit().await.unwrap();
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    ensured
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_at_any_host_of_git_is_read_again_when_its_ref_moved_and_not_before() {
    let world = World::of(SystemKind::Redmine, redmine).await;
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("notes");
    std::fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    let first = committed(&folder, "one");
    let location = format!("file://{}", folder.display());
    let repository = known(&world, &location, "main", true).await;
    repositories::indexed(world.db.store(), repository.id, &first).await.unwrap();
    let node = world.node();
    let id = world.connect_to("git", "local/notes", Ability::Heads).await;
    world.until(id, |one| one.ok_at.is_some()).await;
    assert_eq!(world.text(RUNS).await, "1", "what is there is indexed");

    committed(&folder, "two");
    let moved = world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2");
    assert_eq!(moved.last_round.map(|round| round.things), Some(1));
    let same = world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "it was asked for once");
    assert_eq!(same.last_round.map(|round| round.things), Some(0));

    git(&folder, &["checkout", "--quiet", "--detach"]);
    git(&folder, &["branch", "--quiet", "-D", "main"]);
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "there is nothing to be read at a branch that is gone");

    std::fs::remove_dir_all(&folder).unwrap();
    world.ask(id).await;
    let gone = world.until(id, |one| one.failures == 1).await;
    assert!(gone.error.unwrap().contains("check the location"));
    assert_eq!(world.text(RUNS).await, "2");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_read_again_when_what_stands_in_it_changed() {
    let world = World::of(SystemKind::Redmine, redmine).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.md"), "one").unwrap();
    known(&world, folder.path().to_str().unwrap(), "", true).await;
    let node = world.node();
    let id = world.connect_to("git", "local/notes", Ability::Heads).await;
    world.until(id, |one| one.ok_at.is_some()).await;
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
async fn git_goes_no_further_for_a_connection_than_for_a_run() {
    let world = World::of(SystemKind::Redmine, redmine).await;
    let node = world.node();
    let unknown = world.connect_to("git", "local/none", Ability::Heads).await;
    let unknown = world.until(unknown, |one| one.failures == 1).await;
    assert!(unknown.error.unwrap().contains("has not indexed local/none"));
    let id = world.connect_to("git", "local/notes", Ability::Heads).await;
    for (location, told) in [
        ("file:///srv/notes", "only what an administrator"),
        ("https://127.0.0.1:1/a/notes", "no address outside of the service's network"),
    ] {
        world.execute(&format!("update repositories set location = '{location}'")).await;
        known(&world, location, "main", false).await;
        world.ask(id).await;
        let refused = world
            .until(id, |one| one.error.as_deref().is_some_and(|said| said.contains(told)))
            .await;
        assert!(refused.failures > 0, "{refused:?}");
    }
    node.stop().await;
}
