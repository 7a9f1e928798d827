//! Searches in HNSW indexes find the nearest neighbors of an exact scan, under any filter.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use mc_domain::{PassageId, ProjectId, RecordKind, SourceKind};
use mc_sanitizer::mask;
use mc_store::docs;
use mc_store::passages::{self, NewPassage, PassageFilter};
use mc_store::vectors::{self, Model, ScanWidth, VectorPlacement};
use mc_store::{Store, testing};
use mc_testkit::{TestDatabase, document};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;

const DIMENSIONS: usize = 32;
const QUERIES: usize = 30;
const WANTED: i64 = 10;
/// The list of a narrow scan, and its beginning that counts.
const LISTED: i64 = 200;
const FIRST: i64 = 50;
const RECALL_MIN: f64 = 0.98;
/// A project with most of the vectors, one with some, and one with hardly any.
const SIZES: [(&str, usize); 3] = [("large", 2_400), ("middle", 500), ("small", 100)];

#[tokio::test]
async fn index_scan_finds_the_neighbors_of_an_exact_scan() {
    let db = TestDatabase::create().await;
    let mut random = StdRng::seed_from_u64(7);
    let model = vectors::register_model(db.store(), "test", DIMENSIONS, &json!({})).await.unwrap();
    let topics: Vec<_> = (0..40).map(|_| vector(&mut random, None)).collect();
    let mut projects = Vec::new();
    for (key, size) in SIZES {
        let project = db.project(key).await.id;
        fill(db.store(), &model, project, size, &topics, &mut random).await;
        projects.push((key, project));
    }
    let mut asked = Vec::new();
    for (key, project) in projects {
        for (name, filter) in filters(project) {
            let case = format!("{key}, {name}");
            for query in 0..QUERIES {
                let query = vector(&mut random, Some(&topics[query % topics.len()]));
                asked.push((case.clone(), filter.clone(), query));
            }
        }
    }
    let mut scores = BTreeMap::<_, Score>::new();
    let (mut exact, mut exact_first) = (Vec::new(), Vec::new());
    for (_, filter, query) in &asked {
        exact.push(nearest(db.store(), &model, query, filter, WANTED).await);
        exact_first.push(nearest(db.store(), &model, query, filter, FIRST).await);
    }
    for flat in vectors::list_flat_vectors(db.store(), &model, 0).await.unwrap() {
        vectors::create_hnsw_index(db.store(), &model, &flat).await.unwrap();
        vectors::move_into_hnsw(db.store(), &model, &flat, i64::MAX).await.unwrap();
    }
    let graph = store_with_hnsw_scans(&db).await;
    for ((case, filter, query), exact) in asked.iter().zip(&exact) {
        let found = nearest(&graph, &model, query, filter, WANTED).await;
        scores.entry(case.clone()).or_default().add(exact, &found);
    }
    let scanned = asked.iter().zip(&exact_first).filter(|((_, filter, _), _)| filter.is_plain());
    for ((case, filter, query), exact) in scanned {
        let (placement, width) = (VectorPlacement::Hnsw, ScanWidth::Narrow);
        let found =
            vectors::nearest_in(&graph, &model, query, filter, LISTED, placement, width).await;
        let case = format!("{case}, the first {FIRST} of {LISTED}");
        scores.entry(case).or_default().add(exact, &found.unwrap());
    }
    graph.close().await;
    // Under these filters few passages pass and are compared; `plans.rs` tests filters that many
    // pass.
    let scanned = asked.iter().filter(|(_, filter, _)| filter.is_plain()).count();
    hnsw_scans(db.store(), 2 * scanned).await;
    for (case, score) in scores {
        assert!(score.expected > 0, "{case}: selects nothing");
        let recall = score.recall();
        assert!(recall >= RECALL_MIN, "{case}: the recall is {recall:.3}");
    }
}

/// Waits until the HNSW index was scanned so often; sessions report their statistics when they end.
async fn hnsw_scans(store: &Store, wanted: usize) {
    let sql = "select coalesce(sum(idx_scan), 0)::text from pg_stat_user_indexes
               where indexrelname like 'embeddings_hnsw%'";
    let within = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let scans: usize = testing::text(store, sql).await.unwrap().parse().unwrap();
        if scans >= wanted {
            return;
        }
        assert!(
            tokio::time::Instant::now() < within,
            "{scans} of {wanted} searches read the graph"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn nearest(
    store: &Store,
    model: &Model,
    query: &[f32],
    filter: &PassageFilter,
    limit: i64,
) -> Vec<(PassageId, f32)> {
    vectors::nearest(store, model, query, filter, limit).await.unwrap()
}

/// Filters that pass from nearly all passages down to a hundredth.
fn filters(project: ProjectId) -> Vec<(&'static str, PassageFilter)> {
    let all = PassageFilter::project(project);
    let tag = |tag: &str| PassageFilter { tags: vec![tag.into()], ..all.clone() };
    vec![
        ("everything", all.clone()),
        ("a source", PassageFilter { sources: vec![SourceKind::Doc], ..all.clone() }),
        ("a kind", PassageFilter { record_kinds: vec![RecordKind::Gotcha], ..all.clone() }),
        ("half", tag("half")),
        ("a tenth", tag("tenth")),
        ("a hundredth", tag("hundredth")),
        ("a scope", PassageFilter { scope: vec!["scope-3".into()], ..all.clone() }),
        ("a language", PassageFilter { languages: vec!["rust".into()], ..all.clone() }),
        ("a folder", PassageFilter { path_regex: Some("docs/7/[^/]*".into()), ..all }),
    ]
}

async fn fill(
    store: &Store,
    model: &Model,
    project: ProjectId,
    size: usize,
    topics: &[Vec<f32>],
    random: &mut StdRng,
) {
    let passages: Vec<_> = (0..size).map(passage).collect();
    let doc = document("all", "all");
    let mut tx = store.begin().await.unwrap();
    docs::upsert(&mut tx, project, &doc, &passages).await.unwrap();
    tx.commit().await.unwrap();
    let written = passages_of(store, project).await;
    let mut tx = store.begin().await.unwrap();
    for (n, (id, passage)) in written.into_iter().zip(&passages).enumerate() {
        let vector = vector(random, Some(&topics[n % topics.len()]));
        vectors::put(&mut tx, model, id, &vectors::text_hash(passage), &vector).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// Returns passages in the order of writing.
async fn passages_of(store: &Store, project: ProjectId) -> Vec<mc_domain::PassageId> {
    let all = passages::indexed_after(store, None, 10_000).await.unwrap();
    all.into_iter().filter(|passage| passage.project == project).map(|p| p.id).collect()
}

fn passage(n: usize) -> NewPassage {
    let every = |step: usize, tag: &str| n.is_multiple_of(step).then(|| tag.to_owned());
    NewPassage {
        record_kind: Some([RecordKind::Fact, RecordKind::Gotcha, RecordKind::Rule][n % 3]),
        location: mask(&format!("docs/{}/{n}.md", n % 20)).text,
        scope: vec![format!("scope-{}", n % 7)],
        tags: [every(2, "half"), every(10, "tenth"), every(100, "hundredth")]
            .into_iter()
            .flatten()
            .collect(),
        language: ["markdown", "rust"][usize::from(n.is_multiple_of(9))].into(),
        text: mask(&format!("passage {n}")).text,
        ..NewPassage::default()
    }
}

/// Returns a direction, near a topic if one is given: vectors of texts form clusters.
fn vector(random: &mut StdRng, topic: Option<&[f32]>) -> Vec<f32> {
    let noise = |random: &mut StdRng| random.random_range(-0.5..0.5_f32);
    (0..DIMENSIONS).map(|at| noise(random) + topic.map_or(0.0, |topic| topic[at])).collect()
}

/// With so few rows PostgreSQL would sort them all instead of scanning the index.
async fn store_with_hnsw_scans(db: &TestDatabase) -> Store {
    let name = db.url().rsplit('/').next().unwrap();
    for setting in ["enable_sort", "enable_seqscan", "enable_bitmapscan"] {
        let sql = format!("alter database {name} set {setting} = off");
        testing::execute(db.url(), &sql).await.unwrap();
    }
    Store::connect(db.url(), 2, mc_store::testing::chains()).await.unwrap()
}

#[derive(Default)]
struct Score {
    expected: usize,
    found: usize,
}

impl Score {
    fn add(
        &mut self,
        exact: &[(mc_domain::PassageId, f32)],
        found: &[(mc_domain::PassageId, f32)],
    ) {
        self.expected += exact.len();
        self.found += exact.iter().filter(|(id, _)| found.iter().any(|(f, _)| f == id)).count();
    }

    fn recall(&self) -> f64 {
        self.found as f64 / self.expected as f64
    }
}
