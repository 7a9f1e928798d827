//! Fixtures: a database, an index in a temporary directory, and fake embedders.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture, FutureExt};
use mc_domain::{PassageId, ProjectId};
use mc_embed::{Embedder, ModelId, Purpose};
use mc_sanitizer::{Sanitized, mask};
use mc_search::{
    ActiveModel, ActiveModels, Freshness, KeywordIndex, Options, Query, SearchContext,
    SearchResponse,
};
use mc_store::docs;
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::{Store, Tx, vectors};
use mc_testkit::{TestDatabase, document};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Timeout of a test, which only a hanging search reaches.
pub const TIMEOUT: Duration = Duration::from_secs(30);

pub struct Fixture {
    pub database: TestDatabase,
    pub project: ProjectId,
    pub directory: TempDir,
}

/// Node with a running follower; [`Node::stop`] stops it and waits for it.
pub struct Node {
    pub context: SearchContext,
    task: JoinHandle<()>,
    stop: CancellationToken,
}

impl Fixture {
    pub async fn new() -> Self {
        let database = TestDatabase::create().await;
        let project = database.project("shop").await.id;
        Self { database, project, directory: TempDir::new().expect("a directory") }
    }

    pub fn store(&self) -> &Store {
        self.database.store()
    }

    pub fn index_dir(&self) -> &Path {
        self.directory.path()
    }

    /// Starts a node whose vector retriever fails at once.
    pub async fn node(&self) -> Node {
        self.node_with(Arc::new(Fake::failing())).await
    }

    pub async fn node_with(&self, embedder: Arc<dyn Embedder>) -> Node {
        let stop = CancellationToken::new();
        let (keyword, task) = mc_search::index::start(self.store(), self.index_dir(), stop.clone())
            .await
            .expect("an index");
        let id = embedder.model().clone();
        let provider = serde_json::json!({});
        let model = vectors::register_model(self.store(), &id.name, id.dimensions, &provider)
            .await
            .expect("a model");
        let models = ActiveModels::new(ActiveModel { model, embedder, is_remote: false }, None);
        let context = SearchContext {
            store: self.store().clone(),
            keyword,
            models,
            sanitizing: Arc::default(),
        };
        Node { context, task, stop }
    }

    /// Writes a document with these passages in its own transaction.
    pub async fn write(&self, name: &str, passages: &[NewPassage]) {
        let mut tx = self.store().begin().await.expect("a transaction");
        self.write_in(&mut tx, name, passages).await;
        tx.commit().await.expect("a commit");
    }

    pub async fn write_in(&self, tx: &mut Tx, name: &str, passages: &[NewPassage]) {
        let doc = document(name, name);
        docs::upsert(tx, self.project, &doc, passages).await.expect("a document");
    }

    pub fn filter(&self) -> PassageFilter {
        PassageFilter::project(self.project)
    }

    pub fn query(&self, text: &str) -> Query {
        Query::text(text, self.filter())
    }
}

impl Node {
    pub async fn find(&self, query: &Query) -> SearchResponse {
        let options = Options { time_budget: TIMEOUT, explain: true, ..Options::default() };
        mc_search::search(&self.context, query, &options).await.expect("a search")
    }

    /// Returns the locations of the hits, best first.
    pub async fn places(&self, query: &Query) -> Vec<String> {
        let hits = self.find(query).await.hits;
        hits.into_iter().map(|hit| hit.passage.indexed.location).collect()
    }

    pub fn index(&self) -> &KeywordIndex {
        &self.context.keyword
    }

    pub async fn ready(self) -> Self {
        self.index().ready().await.expect("an index that follows");
        assert_eq!(self.index().refresh(TIMEOUT).await, Freshness::Current);
        self
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("a follower that ends");
    }
}

pub fn passage(place: &str, text: &str) -> NewPassage {
    NewPassage {
        location: mask(place).text,
        symbols: Vec::new(),
        scope: Vec::new(),
        tags: Vec::new(),
        text: mask(text).text,
        ..NewPassage::default()
    }
}

pub fn code(place: &str, symbol: &str, text: &str) -> NewPassage {
    NewPassage { symbols: vec![symbol.into()], language: "ruby".into(), ..passage(place, text) }
}

type Response =
    Box<dyn Fn(&str) -> BoxFuture<'static, Result<Vec<f32>, mc_embed::Error>> + Send + Sync>;

/// Fake embedder with a given response.
pub struct Fake {
    model: ModelId,
    respond: Response,
}

impl Fake {
    pub fn new(name: &str, respond: Response) -> Self {
        Self { model: ModelId { name: name.into(), dimensions: 3 }, respond }
    }

    pub fn failing() -> Self {
        let error = mc_embed::Error::Settings("none".into());
        Self::new("failing", Box::new(move |_| future::ready(Err(error.clone())).boxed()))
    }

    pub fn silent() -> Self {
        Self::new("silent", Box::new(|_| future::pending().boxed()))
    }

    pub fn constant(name: &str, vector: [f32; 3]) -> Self {
        Self::new(name, Box::new(move |_| future::ready(Ok(vector.to_vec())).boxed()))
    }
}

impl Embedder for Fake {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        _: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, mc_embed::Error>> {
        let vectors: Vec<_> = texts.iter().map(|text| (self.respond)(text.as_str())).collect();
        future::try_join_all(vectors).boxed()
    }
}

/// Stores a vector for every queued passage, which `vector` computes from its text.
pub async fn embed_backlog(node: &Node, vector: impl Fn(&str) -> Vec<f32>) -> Vec<PassageId> {
    let store = &node.context.store;
    let model = node.context.models.current().model;
    // Texts that were written before the node had registered its model are in no queue.
    vectors::enqueue_missing(store, &model).await.expect("a queue");
    let backlog = vectors::take_backlog(store, &model, 1000, false).await.expect("a backlog");
    let batch: Vec<_> = backlog
        .into_iter()
        .map(|item| {
            let vector = vector(item.text.as_str());
            (item, vector)
        })
        .collect();
    vectors::store_batch(store, &model, &batch).await.expect("stored vectors");
    batch.iter().map(|(item, _)| item.passage).collect()
}
