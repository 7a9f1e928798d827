//! Whatever happens to the folder, the index comes back.

use std::fs;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENCE, World, passage};

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
    tokio::time::timeout(PATIENCE, mended).await.expect("a rebuilt index");
    node.index().ready().await.expect("an index that follows");
    assert_eq!(node.index().status().passages, 2);
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
