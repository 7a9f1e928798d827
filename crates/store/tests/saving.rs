//! The writes of a save, and the candidates that it compares.
#![allow(missing_docs, clippy::unwrap_used)]

use chrono::{TimeDelta, Utc};
use mc_domain::{ProjectId, RecordId, RecordKind};
use mc_sanitizer::{Sanitized, mask};
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::records::{
    self, Candidate, Fingerprint, Nearness, NewRecord, RecordBody, RecordSource,
};
use mc_store::vectors::{self, Model, VectorPlacement};
use mc_store::{Store, testing};
use mc_testkit::TestDatabase;
use serde_json::json;

const FAR: u64 = u64::MAX;

#[tokio::test]
async fn record_with_vector_is_found_and_never_queued() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("saving").await.id;
    let model = vectors::register_model(store, "test-2", 2, &json!({})).await.unwrap();

    create(store, project, "with a vector", 0, Some((&model, &[1.0, 0.0]))).await;
    assert_eq!(vectors::queue_length(store, None, &model, false).await.unwrap(), 0);
    let filter = PassageFilter::project(project);
    let found = vectors::nearest(store, &model, &[1.0, 0.0], &filter, 5).await.unwrap();
    assert_eq!(found.len(), 1);

    create(store, project, "without one", 0, None).await;
    assert_eq!(vectors::queue_length(store, None, &model, false).await.unwrap(), 1);
}

const TEXT: Fingerprint<'static> = Fingerprint { content_hash: b"same", simhash: 0, vector: None };
const NEARNESS: Nearness = Nearness { max_distance: 4, limit: 1 };

#[tokio::test]
async fn candidates_are_near_by_hash_simhash_or_vector() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("candidates").await.id;
    let model = vectors::register_model(store, "test-2", 2, &json!({})).await.unwrap();
    let same = create(store, project, "same", FAR, None).await;
    let alike = create(store, project, "alike", 0b11, Some((&model, &[0.0, 1.0]))).await;
    let near = create(store, project, "near", FAR, Some((&model, &[1.0, 0.1]))).await;
    create(store, db.project("other").await.id, "same", 0, Some((&model, &[1.0, 0.0]))).await;
    let candidates_in = async |placement: VectorPlacement, vector: Option<(&Model, &[f32])>| {
        let mut tx = store.begin_with_memory_lock(project).await.unwrap();
        let (model, vector) = vector.unzip();
        let model = model.map(|model| (model, placement));
        let texts = [
            Fingerprint { vector, ..TEXT },
            Fingerprint { content_hash: b"none", simhash: FAR, vector },
        ];
        let found =
            records::candidates(&mut tx, project, None, model, &texts, NEARNESS).await.unwrap();
        let [of_text, _]: [Vec<Candidate>; 2] = found.try_into().unwrap();
        of_text
    };

    let candidates = async |vector| candidates_in(VectorPlacement::Flat, vector).await;
    let by_words = candidates(None).await;
    assert_eq!(ids(&by_words), sorted([same, alike]));
    let all = candidates(Some((&model, [1.0, 0.0].as_slice()))).await;
    assert_eq!(ids(&all), sorted([same, alike, near]));
    let similarity = |id| all.iter().find(|candidate| candidate.id == id).unwrap().similarity;
    assert_eq!((similarity(same), similarity(alike)), (None, Some(0.0)));
    assert!(similarity(near).unwrap() > 0.9);

    for flat in vectors::list_flat_vectors(store, &model, 1).await.unwrap() {
        vectors::create_hnsw_index(store, &model, &flat).await.unwrap();
        // One flat and one in the HNSW index, then both in it: the result is the same.
        for _ in 0..2 {
            vectors::move_into_hnsw(store, &model, &flat, 1).await.unwrap();
            let found =
                candidates_in(VectorPlacement::Hnsw, Some((&model, [1.0, 0.0].as_slice()))).await;
            assert_eq!(ids(&found), ids(&all));
        }
    }

    testing::execute(db.url(), "update memory_records set ttl = now()").await.unwrap();
    let expired = candidates(Some((&model, [1.0, 0.0].as_slice()))).await;
    assert_eq!(ids(&expired), [same], "an equal text holds its place while the row is there");
}

fn ids(candidates: &[Candidate]) -> Vec<RecordId> {
    sorted(candidates.iter().map(|candidate| candidate.id))
}

fn sorted(ids: impl IntoIterator<Item = RecordId>) -> Vec<RecordId> {
    let mut ids: Vec<_> = ids.into_iter().collect();
    ids.sort();
    ids
}

/// Creates a record whose hash is its text.
async fn create(
    store: &Store,
    project: ProjectId,
    text: &str,
    simhash: u64,
    vector: Option<(&Model, &[f32])>,
) -> RecordId {
    let content = mask(text).text;
    let passage = NewPassage {
        record_kind: Some(RecordKind::Fact),
        text: content.clone(),
        ..NewPassage::default()
    };
    let body = RecordBody {
        kind: RecordKind::Fact,
        title: Sanitized::default(),
        content,
        scope: vec![],
        tags: vec![],
        owner: None,
        ttl: Utc::now() + TimeDelta::days(1),
        is_ttl_explicit: false,
        quality: json!({}),
        meta: mc_domain::RecordMeta::default(),
        task: None,
        dialog: None,
        content_hash: text.as_bytes().to_vec(),
        simhash,
    };
    let mut tx = store.begin_with_memory_lock(project).await.unwrap();
    let origin = RecordSource::default();
    let new = NewRecord::of_the_team(&body, &origin, &passage, vector);
    let record = records::create(&mut tx, project, new).await.unwrap();
    tx.commit().await.unwrap();
    record.id
}
