//! Recovery from damage to the index directory.

use std::fs;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};
use mc_search::Phase;
use tokio_util::sync::CancellationToken;

use crate::support::{Fixture, Node, TIMEOUT, passage};

/// Returns the directory of the current generation.
fn generation(index_dir: &Path) -> PathBuf {
    index_dir.join(fs::read_to_string(index_dir.join("current")).expect("a generation in use"))
}

fn segment_files(index_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(generation(index_dir)).expect("the generation");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|e| e != "json" && e != "lock")).collect()
}

/// Damages the index of a stopped node, and checks that the restarted node rebuilds it.
async fn survives(damage: impl FnOnce(&Path)) {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    node.stop().await;

    let before = generation(fixture.index_dir());
    damage(fixture.index_dir());
    let node = fixture.node().await.ready().await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    assert_ne!(generation(fixture.index_dir()), before);
    assert!(!before.exists(), "the damaged generation is deleted");
    fixture.write("b", &[passage("b.md", "the kestrel lands")]).await;
    assert_eq!(
        node.find(&fixture.query("kestrel")).await.hits.len(),
        2,
        "the new generation is followed"
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_with_a_flipped_byte_is_rebuilt() {
    survives(|dir| {
        let files = segment_files(dir);
        let largest = files.iter().max_by_key(|path| fs::metadata(path).expect("a file").len());
        let path = largest.expect("a segment");
        let mut bytes = fs::read(path).expect("a file");
        bytes[0] ^= 0xFF;
        fs::write(path, bytes).expect("a damaged file");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_with_truncated_or_missing_files_is_rebuilt() {
    survives(|dir| {
        for path in segment_files(dir) {
            fs::write(path, b"").expect("an empty file");
        }
    })
    .await;
    survives(|dir| {
        for path in segment_files(dir) {
            fs::remove_file(path).expect("a file less");
        }
    })
    .await;
    survives(|dir| fs::write(generation(dir).join("meta.json"), "{").expect("half a file")).await;
    survives(|dir| fs::remove_dir_all(generation(dir)).expect("no directory")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_deleted_under_a_running_node_is_rebuilt() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    fs::remove_dir_all(generation(fixture.index_dir())).expect("no directory");
    fixture.write("b", &[passage("b.md", "the kestrel lands")]).await;

    // Searches continue during the rebuild, and then find both.
    let repaired = async {
        while node.places(&fixture.query("kestrel")).await.len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, repaired).await.expect("a rebuilt index");
    node.index().ready().await.expect("an index that follows");
    assert_eq!(node.index().status().passages, 2);
    node.stop().await;
}

/// As on a full disk: writes fail, and the files written before are intact.
#[tokio::test(flavor = "multi_thread")]
async fn failed_index_write_is_caught_up_without_a_rebuild() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    let before = generation(fixture.index_dir());
    // Blocks the temporary file of the list of segments.
    let obstacle = before.join("meta.new");
    fs::create_dir(&obstacle).expect("a directory");
    fixture.write("b", &[passage("b.md", "the kestrel lands")]).await;
    until(&node, Phase::ReadOnly).await;

    let found = node.find(&fixture.query("kestrel")).await;
    let places: Vec<_> =
        found.hits.iter().map(|hit| hit.passage.indexed.location.as_str()).collect();
    assert_eq!(places, ["a.md"], "the passage indexed before is found");
    let notes = found.degraded.join("; ");
    assert!(notes.contains("keyword index can't be written"), "{notes}");
    let repaired = node.index().repair(fixture.store()).await.expect("a report");
    assert_eq!(repaired, None, "an index that cannot be written is not repaired");

    fs::remove_dir(&obstacle).expect("the obstacle is removed");
    until(&node, Phase::Live).await;
    let mut places = node.places(&fixture.query("kestrel")).await;
    places.sort();
    assert_eq!(places, ["a.md", "b.md"]);
    assert_eq!(generation(fixture.index_dir()), before, "the same generation is used");
    node.stop().await;
}

async fn until(node: &Node, phase: Phase) {
    let reached = async {
        while node.index().status().phase != phase {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, reached).await.expect("the phase is reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_rebuild_leaves_no_incomplete_generation() {
    let fixture = Fixture::new().await;
    // Blocks the temporary file with the name of the generation.
    let obstacle = fixture.index_dir().join("current.new");
    fs::create_dir(&obstacle).expect("a directory");
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    let node = fixture.node().await;
    until(&node, Phase::Incomplete).await;
    let notes = async || node.find(&fixture.query("kestrel")).await.degraded.join("; ");
    // The note alternates with "rebuilding" during each attempt.
    let reported = async {
        while !notes().await.contains("can't be rebuilt") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, reported).await.expect("a note of the failed rebuild");
    let generations = || {
        let entries = fs::read_dir(fixture.index_dir()).expect("the index").flatten();
        entries.filter(|entry| entry.path().join("meta.json").exists()).count()
    };
    let all_deleted = async {
        while generations() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, all_deleted).await.expect("incomplete generations are deleted");

    fs::remove_dir(&obstacle).expect("the obstacle is removed");
    until(&node, Phase::Live).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    assert_eq!(generations(), 1);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_of_another_format_is_rebuilt() {
    survives(|dir| {
        let path = generation(dir).join("meta.json");
        let meta = fs::read_to_string(&path).expect("tantivy's meta file");
        let other = meta.replace(r#"{\"format\":"#, r#"{\"format\":1000"#);
        assert_ne!(meta, other, "the payload carries the format");
        fs::write(path, other).expect("an index of another format");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_of_another_database_is_rebuilt() {
    survives(|dir| {
        let path = generation(dir).join("meta.json");
        let meta = fs::read_to_string(&path).expect("tantivy's meta file");
        let other = meta.replace(r#"\"database\":\""#, r#"\"database\":\"1"#);
        assert_ne!(meta, other, "the payload carries the database");
        fs::write(path, other).expect("an index of another database");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_ahead_of_the_database_is_rebuilt() {
    survives(|dir| {
        let path = generation(dir).join("meta.json");
        let meta = fs::read_to_string(&path).expect("tantivy's meta file");
        let ahead = meta.replace(r#"\"txid\":"#, r#"\"txid\":9999999"#);
        assert_ne!(meta, ahead, "the payload carries the position");
        fs::write(path, ahead).expect("an index of a later time");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_in_one_directory_is_rejected() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await;
    let second =
        mc_search::index::start(fixture.store(), fixture.index_dir(), CancellationToken::new())
            .await;
    let error = second.err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("in use by another process"), "{error}");
    node.stop().await;
}
