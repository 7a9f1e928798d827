//! Vectors: queue, replacement, filters, and several models.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_domain::{ProjectId, RepositoryId, SourceKind};
use mc_sanitizer::mask;
use mc_store::docs;
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::testing::{execute, hold, text, until_a_session_waits};
use mc_store::vectors::{self, FlatVectors, Model, ScanWidth, VectorPlacement};
use mc_store::{Store, projects};
use mc_testkit::{TestDatabase, document};
use serde_json::json;

async fn write(store: &Store, project: ProjectId, place: &str, tag: &str, text: &str) {
    let passage = NewPassage {
        location: mask(place).text,
        tags: vec![tag.into()],
        language: "markdown".into(),
        text: mask(text).text,
        ..NewPassage::default()
    };
    let mut tx = store.begin().await.unwrap();
    docs::upsert(&mut tx, project, &document(place, text), &[passage]).await.unwrap();
    tx.commit().await.unwrap();
}

/// Embeds all queued passages; the vector of a text points along the axis of its first byte.
async fn embed_all(store: &Store, model: &Model) -> usize {
    let mut done = 0;
    loop {
        let batch = vectors::take_backlog(store, model, 10, false).await.unwrap();
        if batch.is_empty() {
            return done;
        }
        done += batch.len();
        let batch: Vec<_> = batch
            .into_iter()
            .map(|item| {
                let first = item.text.as_str().rsplit('\n').next().unwrap().as_bytes()[0];
                (item, axis(model, first))
            })
            .collect();
        vectors::store_batch(store, model, &batch).await.unwrap();
    }
}

fn axis(model: &Model, byte: u8) -> Vec<f32> {
    let mut vector = vec![0.0; usize::try_from(model.dimensions).unwrap()];
    let at = usize::from(byte) % vector.len();
    vector[at] = 1.0;
    vector
}

#[tokio::test]
async fn queue_empties_and_nearest_passage_comes_first() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("near").await.id;
    let other = db.project("other").await.id;
    let model = vectors::register_model(store, "test-8", 8, &json!({})).await.unwrap();
    write(store, project, "docs/a.md", "x", "a").await;
    write(store, project, "docs/b.md", "y", "b").await;
    write(store, other, "docs/a.md", "x", "a").await;
    assert_eq!(vectors::queue_length(store, None, &model, false).await.unwrap(), 3);
    assert_eq!(embed_all(store, &model).await, 3);
    assert_eq!(vectors::queue_length(store, None, &model, false).await.unwrap(), 0);

    let query = axis(&model, b'a');
    let plain = PassageFilter::project(project);
    let hits = vectors::nearest(store, &model, &query, &plain, 10).await.unwrap();
    assert_eq!(hits.len(), 2, "another project's passages are never seen");
    assert!((hits[0].1 - 1.0).abs() < 1e-6 && hits[1].1.abs() < 1e-6, "{hits:?}");

    let filters = [
        (PassageFilter { tags: vec!["y".into()], ..plain.clone() }, 1),
        (PassageFilter { path_regex: Some("docs/[^/]*\\.md".into()), ..plain.clone() }, 2),
        (PassageFilter { path_regex: Some("docs".into()), ..plain.clone() }, 0),
        (PassageFilter { sources: vec![SourceKind::Doc], ..plain.clone() }, 2),
        (PassageFilter { sources: vec![SourceKind::Code], ..plain.clone() }, 0),
        (PassageFilter { languages: vec!["rust".into()], ..plain.clone() }, 0),
        (PassageFilter { repositories: vec![RepositoryId::generate()], ..plain.clone() }, 0),
    ];
    let nearest = async || {
        let mut found = Vec::new();
        for (filter, expected) in &filters {
            let hits = vectors::nearest(store, &model, &query, filter, 10).await.unwrap();
            assert_eq!(hits.len(), *expected, "{filter:?}");
            found.push(hits);
        }
        found
    };
    let compared = nearest().await;
    // All flat, one in the HNSW index, all in it: the result is the same.
    let groups = vectors::list_flat_vectors(store, &model, 1).await.unwrap();
    let [flat] = groups[..] else { panic!("{groups:?}") };
    assert_eq!((flat.project, flat.source, flat.vectors), (project, SourceKind::Doc, 2));
    vectors::create_hnsw_index(store, &model, &flat).await.unwrap();
    for _ in 0..2 {
        assert_eq!(vectors::move_into_hnsw(store, &model, &flat, 1).await.unwrap(), 1);
        assert_eq!(nearest().await, compared);
    }
    assert_eq!(vectors::move_into_hnsw(store, &model, &flat, 1).await.unwrap(), 0);
    assert_eq!(vectors::list_flat_vectors(store, &model, 1).await.unwrap(), []);
}

#[tokio::test]
async fn changed_text_is_queued_and_outdated_vector_dropped() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("changed").await.id;
    let model = vectors::register_model(store, "test-8", 8, &json!({})).await.unwrap();
    write(store, project, "a.md", "x", "a").await;
    let taken = vectors::take_backlog(store, &model, 1, false).await.unwrap().remove(0);
    write(store, project, "a.md", "x", "b").await;
    let late = vec![(taken, axis(&model, b'a'))];
    vectors::store_batch(store, &model, &late).await.unwrap();
    assert_eq!(vectors::count(store, &model).await.unwrap(), 0);
    assert_eq!(embed_all(store, &model).await, 1);
}

#[tokio::test]
async fn second_model_fills_while_the_first_is_used() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("models").await.id;
    let old = vectors::register_model(store, "old", 8, &json!({"kind": "folder"})).await.unwrap();
    write(store, project, "a.md", "x", "a").await;
    embed_all(store, &old).await;

    let new = vectors::register_model(store, "new", 16, &json!({})).await.unwrap();
    assert_eq!(vectors::enqueue_missing(store, &new).await.unwrap(), 1);
    let filter = PassageFilter::project(project);
    let hits = vectors::nearest(store, &old, &axis(&old, b'a'), &filter, 5).await.unwrap();
    assert_eq!(hits.len(), 1);
    embed_all(store, &new).await;
    let hits = vectors::nearest(store, &new, &axis(&new, b'a'), &filter, 5).await.unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(vectors::models(store).await.unwrap().len(), 2);
}

/// A node may start while a project is being deleted.
#[tokio::test]
async fn enqueueing_waits_for_deletions_of_passages() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("going").await.id;
    let old = vectors::register_model(store, "old", 8, &json!({})).await.unwrap();
    for (model, is_deleted, expected) in [("second", false, 2), ("third", true, 1)] {
        write(store, project, "a.md", "x", "a").await;
        write(store, project, "b.md", "x", "b").await;
        embed_all(store, &old).await;
        let new = vectors::register_model(store, model, 8, &json!({})).await.unwrap();
        let mut tx = store.begin().await.unwrap();
        assert!(docs::remove(&mut tx, project, "test", "a.md").await.unwrap());
        let end = async {
            until_a_session_waits(store).await.unwrap();
            if is_deleted {
                tx.commit().await.unwrap();
            } else {
                drop(tx);
            }
        };
        let (queued, ()) = tokio::join!(vectors::enqueue_missing(store, &new), end);
        assert_eq!(queued.unwrap(), expected, "{model}");
        assert_eq!(embed_all(store, &new).await, usize::try_from(expected).unwrap(), "{model}");
    }
}

/// A transaction changes the second of two documents. Once a starting node waits for it, it deletes
/// the first, which the node has locked. Its deadlock timeout is longer, so PostgreSQL aborts the
/// node's statement.
#[tokio::test]
async fn enqueueing_retries_after_a_deadlock_with_a_writer() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("shop").await.id;
    let old = vectors::register_model(store, "old", 8, &json!({})).await.unwrap();
    write(store, project, "a.md", "x", "a").await;
    write(store, project, "b.md", "x", "b").await;
    embed_all(store, &old).await;
    let new = vectors::register_model(store, "new", 8, &json!({})).await.unwrap();
    let writer = hold(
        db.url(),
        "do $$ begin
             perform set_config('deadlock_timeout', '1h', true);
             update passages set content_hash = '\\x01' where location = 'b.md';
         end $$",
    )
    .await
    .unwrap();
    let writing = async {
        until_a_session_waits(store).await.unwrap();
        writer.commit_after("delete from passages where location = 'a.md'").await.unwrap();
    };
    let ((), queued) = tokio::join!(writing, vectors::enqueue_missing(store, &new));
    assert_eq!(queued.unwrap(), 0, "one is gone, the other was queued by its change");
    assert_eq!(embed_all(store, &new).await, 1);
}

/// PostgreSQL aborts one of two transactions in a deadlock; the deletion of the project retries.
#[tokio::test]
async fn project_is_deleted_despite_concurrent_writers() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let going = db.project("going").await;
    write(store, going.id, "a.md", "x", "a").await;
    let mut tx = store.begin().await.unwrap();
    assert!(docs::remove(&mut tx, going.id, "test", "a.md").await.unwrap());
    let writing = async {
        until_a_session_waits(store).await.unwrap();
        // Waits for the project, and the deletion waits for the document.
        if docs::upsert(&mut tx, going.id, &document("b.md", "b"), &[]).await.is_ok() {
            tx.commit().await.unwrap();
        }
    };
    let (removed, ()) = tokio::join!(projects::delete(store, &going), writing);
    removed.unwrap();
}

/// Passages that a policy hides from the model don't delay those of other projects, and are due
/// when the policy allows the model.
#[tokio::test]
async fn hidden_passages_wait_until_the_policy_changes() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let [closed, open] = [db.project("closed").await.id, db.project("open").await.id];
    let set = async |embedding: &str| {
        let set = format!(
            "select mc.set_policy('{}', '{}', null,
                 '{{\"models\":{{\"embedding\":\"{embedding}\"}}}}')",
            mc_domain::UserId::LOCAL.0,
            closed.0
        );
        execute(db.url(), &set).await.unwrap();
    };
    let model = vectors::register_model(store, "any", 8, &json!({})).await.unwrap();
    set("local").await;
    for n in 0..3 {
        write(store, closed, &format!("{n}.md"), "x", &format!("a {n}")).await;
    }
    write(store, open, "open.md", "x", "b").await;
    let taken = vectors::take_backlog(store, &model, 2, true).await.unwrap();
    assert_eq!(taken.iter().map(|item| item.project).collect::<Vec<_>>(), [open]);
    let due = "select count(*)::text from embedding_queue where scheduled_at <= now()";
    assert_eq!(text(store, due).await.unwrap(), "0", "nobody looks past them again");
    assert_eq!(vectors::queue_length(store, Some(closed), &model, true).await.unwrap(), 0);
    assert_eq!(vectors::queue_length(store, Some(closed), &model, false).await.unwrap(), 3);

    set("any").await;
    let taken: Vec<_> = vectors::take_backlog(store, &model, 2, true).await.unwrap();
    let projects: Vec<_> = taken.iter().map(|item| item.project).collect();
    assert_eq!(projects, [closed; 2]);
    assert!(vectors::may_embed(store, &projects, true).await.unwrap());
    set("off").await;
    assert!(!vectors::may_embed(store, &projects, true).await.unwrap(), "claimed as they are");
    assert!(!vectors::may_embed(store, &[open, closed], false).await.unwrap());
}

#[tokio::test]
async fn model_is_known_by_name_and_dimensions() {
    let db = TestDatabase::create().await;
    let short = vectors::register_model(db.store(), "same", 8, &json!({})).await.unwrap();
    let other = json!({"kind": "other"});
    let long = vectors::register_model(db.store(), "same", 16, &other).await.unwrap();
    assert_ne!(short.id, long.id);
    let again = vectors::register_model(db.store(), "same", 8, &other).await.unwrap();
    assert_eq!((again.id, again.provider), (short.id, other));
    assert_eq!(vectors::models(db.store()).await.unwrap().len(), 2);
}

/// Two nodes may run different models, as while a new configuration is rolled out.
#[tokio::test]
async fn each_model_in_use_has_its_own_queue() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("rolling").await.id;
    let old = vectors::register_model(store, "old", 8, &json!({})).await.unwrap();
    let new = vectors::register_model(store, "new", 16, &json!({})).await.unwrap();
    write(store, project, "a.md", "x", "a").await;
    assert_eq!(embed_all(store, &old).await, 1);
    let waiting = async |model: &Model| {
        vectors::queue_length(store, Some(project), model, false).await.unwrap()
    };
    assert_eq!((waiting(&old).await, waiting(&new).await), (0, 1));
    let previous = async |model: &Model| vectors::previous_model(store, model).await.unwrap();
    assert_eq!(previous(&new).await, Some(old.clone()));
    assert_eq!(previous(&old).await, None, "it lacks no vector");

    // No node has used the old model for a while.
    let unused = "update embedding_models set used_at = now() - interval '11 minutes'
                  where name = 'old'";
    execute(db.url(), unused).await.unwrap();
    write(store, project, "a.md", "x", "b").await;
    assert_eq!((waiting(&old).await, waiting(&new).await), (0, 1));
    assert_eq!(previous(&new).await, None, "its vector is of an older text");
    assert_eq!(embed_all(store, &new).await, 1);

    // A model that is used again queues what it lacks. If it is not renewed, its queue is deleted.
    assert_eq!(vectors::enqueue_missing(store, &old).await.unwrap(), 1);
    vectors::renew_model(store, &new).await.unwrap();
    assert_eq!(waiting(&old).await, 0);
    vectors::renew_model(store, &old).await.unwrap();
    write(store, project, "b.md", "x", "c").await;
    assert_eq!((waiting(&old).await, waiting(&new).await), (1, 1));
}

/// As those of text-embedding-3-large.
#[tokio::test]
async fn vectors_of_3072_dimensions_are_found_in_the_hnsw_index() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("large").await.id;
    let model = vectors::register_model(store, "large", 3_072, &json!({})).await.unwrap();
    for letter in b'a'..=b'z' {
        let text = char::from(letter).to_string();
        write(store, project, &format!("{text}.md"), "x", &text).await;
    }
    assert_eq!(embed_all(store, &model).await, 26);
    let flat = vectors::list_flat_vectors(store, &model, 0).await.unwrap().remove(0);
    vectors::create_hnsw_index(store, &model, &flat).await.unwrap();
    assert_eq!(vectors::move_into_hnsw(store, &model, &flat, 100).await.unwrap(), 26);
    let filter = PassageFilter::project(project);
    let placement = vectors::placement(store, &model, &filter).await.unwrap();
    assert_eq!(placement, VectorPlacement::Hnsw);
    let query = axis(&model, b'q');
    let found = vectors::nearest_in(store, &model, &query, &filter, 1, placement, ScanWidth::Wide)
        .await
        .unwrap();
    assert!((found[0].1 - 1.0).abs() < 1e-3, "{found:?}");
    let location = format!("select location from passages where id = '{}'", found[0].0);
    assert_eq!(text(store, &location).await.unwrap(), "q.md");
}

#[tokio::test]
async fn vectors_with_too_many_dimensions_are_rejected() {
    let db = TestDatabase::create().await;
    let refused = vectors::register_model(db.store(), "huge", 4_001, &json!({})).await.unwrap_err();
    assert!(refused.to_string().contains("embedding.dimensions"), "{refused}");
    assert_eq!(vectors::models(db.store()).await.unwrap(), []);
    let longest = vectors::register_model(db.store(), "large", 4_000, &json!({})).await.unwrap();
    let project = db.project("shop").await.id;
    let flat = FlatVectors { project, source: SourceKind::Doc, vectors: 0 };
    vectors::create_hnsw_index(db.store(), &longest, &flat).await.unwrap();
}
