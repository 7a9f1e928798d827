//! Tests of the embedding queue, with a scripted embedder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use mc_domain::ProjectId;
use mc_embed::{Embedder, Error, ModelId, Purpose};
use mc_indexer::embedding_queue::{self, Batch, Context};
use mc_indexer::hnsw;
use mc_sanitizer::{Sanitized, mask};
use mc_store::docs;
use mc_store::passages::NewPassage;
use mc_store::{testing, vectors};
use mc_testkit::{TestDatabase, document};

/// Embedder that refuses texts with "poison", and is unavailable on request.
struct ScriptedEmbedder {
    model: ModelId,
    is_unavailable: AtomicBool,
}

impl Embedder for ScriptedEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        _: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>> {
        let answer = if self.is_unavailable.load(Ordering::SeqCst) {
            let (server, reason) = ("example.org".into(), "no route".into());
            Err(Error::Unavailable { server, reason, retry_after: None })
        } else if texts.iter().any(|text| text.as_str().contains("poison")) {
            Err(Error::Model { model: "scripted".into(), reason: "too spicy".into() })
        } else {
            Ok(vec![vec![1.0, 0.0, 0.0]; texts.len()])
        };
        async { answer }.boxed()
    }
}

async fn context(database: &TestDatabase) -> (Context, Arc<ScriptedEmbedder>, ProjectId) {
    let project = database.project("shop").await.id;
    let model = ModelId { name: "scripted".into(), dimensions: 3 };
    let embedder = Arc::new(ScriptedEmbedder { model, is_unavailable: AtomicBool::new(false) });
    let store = database.store().clone();
    let provider = serde_json::json!({});
    let model = vectors::register_model(&store, "scripted", 3, &provider).await.expect("a model");
    (Context { store, embedder: embedder.clone(), model, is_remote: false }, embedder, project)
}

async fn add(ctx: &Context, project: ProjectId, texts: &[String]) {
    let passage = |text: &String| NewPassage {
        symbols: Vec::new(),
        scope: Vec::new(),
        tags: Vec::new(),
        text: mask(text).text,
        ..NewPassage::default()
    };
    let doc = document(&texts[0], "c");
    let passages: Vec<_> = texts.iter().map(passage).collect();
    let mut tx = ctx.store.begin().await.expect("a transaction");
    docs::upsert(&mut tx, project, &doc, &passages).await.expect("a document");
    tx.commit().await.expect("committed");
}

fn texts(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix} {n}")).collect()
}

async fn drain(ctx: &Context) -> usize {
    let mut stored = 0;
    loop {
        match embedding_queue::process_batch(ctx).await {
            Batch::Stored(count) => stored += count,
            Batch::Empty => return stored,
            Batch::Refused | Batch::Unavailable => {
                panic!("the provider should be available and accept most texts")
            }
        }
    }
}

#[tokio::test]
async fn queue_is_processed_in_batches() {
    let database = TestDatabase::create().await;
    let (ctx, _, project) = context(&database).await;
    add(&ctx, project, &texts("valid", 100)).await;
    assert_eq!(
        vectors::queue_length(&ctx.store, None, &ctx.model, false).await.expect("a database"),
        100
    );
    assert_eq!(drain(&ctx).await, 100);
    assert_eq!(
        vectors::queue_length(&ctx.store, None, &ctx.model, false).await.expect("a database"),
        0
    );
    assert_eq!(vectors::count(&ctx.store, &ctx.model).await.expect("a database"), 100);
}

#[tokio::test]
async fn failing_passage_does_not_block_others() {
    let database = TestDatabase::create().await;
    let (ctx, _, project) = context(&database).await;
    let mut passages = texts("valid", 40);
    passages.insert(17, "poison".into());
    add(&ctx, project, &passages).await;
    assert_eq!(drain(&ctx).await, 40);
    assert_eq!(
        vectors::queue_length(&ctx.store, None, &ctx.model, false).await.expect("a database"),
        1,
        "it is still counted"
    );
    for _ in 0..2 {
        let now = "update embedding_queue set scheduled_at = now()";
        testing::execute(database.url(), now).await.expect("a database");
        assert_eq!(drain(&ctx).await, 0);
    }
    let queue = vectors::queue(&ctx.store, None, &ctx.model, false).await.expect("a database");
    assert_eq!((queue.pending, queue.failed_count), (0, 1));
}

#[tokio::test]
async fn passages_stay_queued_while_the_provider_is_unavailable() {
    let database = TestDatabase::create().await;
    let (ctx, embedder, project) = context(&database).await;
    add(&ctx, project, &texts("valid", 5)).await;
    embedder.is_unavailable.store(true, Ordering::SeqCst);
    assert_eq!(embedding_queue::process_batch(&ctx).await, Batch::Unavailable);
    embedder.is_unavailable.store(false, Ordering::SeqCst);
    assert_eq!(drain(&ctx).await, 5);
}

#[tokio::test]
async fn batch_is_requeued_when_all_its_passages_are_refused() {
    let database = TestDatabase::create().await;
    let (ctx, _, project) = context(&database).await;
    add(&ctx, project, &texts("poison", 40)).await;
    assert_eq!(embedding_queue::process_batch(&ctx).await, Batch::Refused);
    assert_eq!(
        vectors::queue_length(&ctx.store, None, &ctx.model, false).await.expect("a database"),
        40
    );
}

#[tokio::test]
async fn only_many_flat_vectors_are_moved_into_the_hnsw_index() {
    let database = TestDatabase::create().await;
    let (ctx, _, large) = context(&database).await;
    let small = database.project("small").await.id;
    add(&ctx, large, &texts("large", 130)).await;
    add(&ctx, small, &texts("small", 20)).await;
    drain(&ctx).await;
    hnsw::fill_hnsw(&ctx.store, &ctx.model, 100).await.expect("a database");
    let flat = vectors::list_flat_vectors(&ctx.store, &ctx.model, 0).await.expect("a database");
    let flat: Vec<_> = flat.iter().map(|flat| (flat.project, flat.vectors)).collect();
    assert_eq!(flat, [(small, 20)]);
}
