//! Whatever happens to the folder, the index comes back.

use std::fs;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};
use mc_search::Phase;
use tokio_util::sync::CancellationToken;

use crate::support::{Node, TIMEOUT, World, passage};

/// tantivy's folder in use.
fn generation(index_dir: &Path) -> PathBuf {
    index_dir.join(fs::read_to_string(index_dir.join("current")).expect("a generation in use"))
}

fn segment_files(index_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(generation(index_dir)).expect("the generation");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|e| e != "json" && e != "lock")).collect()
}

/// Writes, stops, damages, starts again: the passage must be found, in a new generation.
async fn survives(damage: impl FnOnce(&Path)) {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"]);
    node.stop().await;

    let before = generation(world.index_dir());
    damage(world.index_dir());
    let node = world.node().await.ready().await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"]);
    assert_ne!(generation(world.index_dir()), before);
    assert!(!before.exists(), "the damaged one is cleared away");
    world.write("b", &[passage("b.md", "the kestrel lands")]).await;
    assert_eq!(node.find(&world.query("kestrel")).await.hits.len(), 2, "and it follows on");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_found_and_the_index_rebuilt() {
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
async fn truncated_and_missing_files_are_survived() {
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
    survives(|dir| fs::remove_dir_all(generation(dir)).expect("no folder")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_vanishes_under_a_running_node_is_survived() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"]);
    fs::remove_dir_all(generation(world.index_dir())).expect("no folder");
    world.write("b", &[passage("b.md", "the kestrel lands")]).await;

    // Searches go on meanwhile, with a note; sooner or later they find both again.
    let mended = async {
        while node.places(&world.query("kestrel")).await.len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, mended).await.expect("a rebuilt index");
    node.index().ready().await.expect("an index that follows");
    assert_eq!(node.index().status().passages, 2);
    node.stop().await;
}

/// As on a full disk: what the index writes is refused, and what it wrote before is whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_is_caught_up_without_a_rebuild() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"]);
    let before = generation(world.index_dir());
    // Where the draft of the list of segments would go.
    let obstacle = before.join("meta.new");
    fs::create_dir(&obstacle).expect("a folder");
    world.write("b", &[passage("b.md", "the kestrel lands")]).await;
    until(&node, Phase::Stuck).await;

    let found = node.find(&world.query("kestrel")).await;
    let places: Vec<_> =
        found.hits.iter().map(|hit| hit.passage.indexed.location.as_str()).collect();
    assert_eq!(places, ["a.md"], "what was in before is found");
    let notes = found.degraded.join("; ");
    assert!(notes.contains("keyword index can't be written"), "{notes}");
    let mended = node.index().repair(world.store()).await.expect("a look");
    assert_eq!(mended, None, "nobody knows what it lacks");

    fs::remove_dir(&obstacle).expect("there is room again");
    until(&node, Phase::Following).await;
    let mut places = node.places(&world.query("kestrel")).await;
    places.sort();
    assert_eq!(places, ["a.md", "b.md"]);
    assert_eq!(generation(world.index_dir()), before, "it went on where it stood");
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
async fn an_index_that_can_not_be_built_leaves_no_halves_behind() {
    let world = World::new().await;
    // Where the name of the first whole one would go.
    let obstacle = world.index_dir().join("current.new");
    fs::create_dir(&obstacle).expect("a folder");
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    let node = world.node().await;
    until(&node, Phase::Unbuilt).await;
    let notes = async || node.find(&world.query("kestrel")).await.degraded.join("; ");
    // While it is tried again it says that it is being rebuilt.
    let says_so = async {
        while !notes().await.contains("can't be built") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, says_so).await.expect("a search says that there is only a part");
    let folders = || {
        let entries = fs::read_dir(world.index_dir()).expect("the index").flatten();
        entries.filter(|entry| entry.path().join("meta.json").exists()).count()
    };
    let none_is_left = async {
        while folders() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, none_is_left).await.expect("they take room");

    fs::remove_dir(&obstacle).expect("there is room again");
    until(&node, Phase::Following).await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"]);
    assert_eq!(folders(), 1);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_format_is_rebuilt() {
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
async fn an_index_of_another_database_is_rebuilt() {
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
async fn an_index_of_a_younger_database_is_rebuilt() {
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
async fn a_second_process_on_one_folder_is_told_so() {
    let world = World::new().await;
    let node = world.node().await;
    let second =
        mc_search::index::start(world.store(), world.index_dir(), CancellationToken::new()).await;
    let error = second.err().expect("a refusal");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("in use by another process"), "{error}");
    node.stop().await;
}
