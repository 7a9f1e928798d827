//! Changes of the model on a real database, between a local model and servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mc_domain::ProjectId;
use mc_indexer::embedding_queue::{self, Batch};
use mc_sanitizer::mask;
use mc_search::{KeywordIndex, Options, Query, SearchContext, SearchResponse};
use mc_store::docs;
use mc_store::passages::{NewPassage, PassageFilter};
use mc_testkit::{TestDatabase, document};
use tempfile::TempDir;

use super::*;
use crate::config::EmbeddingProvider;
use crate::embedding_server::EmbeddingServer;
use crate::{cache, tiny_model};

/// Variables that every test process has, with different values: keys of two servers.
const OLD_KEY: &str = "CARGO_PKG_NAME";
const NEW_KEY: &str = "CARGO_PKG_VERSION";

struct World {
    database: TestDatabase,
    project: ProjectId,
    keyword: KeywordIndex,
    stop: CancellationToken,
    directory: TempDir,
}

impl World {
    async fn new() -> Self {
        let database = TestDatabase::create().await;
        let project = database.project("shop").await.id;
        let directory = TempDir::new().expect("a directory");
        let stop = CancellationToken::new();
        let index = directory.path().join("index");
        let started = mc_search::index::start(database.store(), &index, stop.clone());
        let (keyword, _) = started.await.expect("an index");
        keyword.ready().await.expect("an index that follows");
        Self { database, project, keyword, stop, directory }
    }

    /// Returns the directory of the local model.
    fn model_dir(&self) -> PathBuf {
        self.directory.path().join("tiny")
    }

    fn local(&self) -> Config {
        tiny_model::write(&self.model_dir());
        let mut config = Config::defaults();
        config.cache_dir = self.directory.path().to_owned();
        config.data_dir = self.directory.path().to_owned();
        config.embedding.name = "tiny".to_owned();
        config.embedding.dir = self.model_dir();
        config.embedding.onnxruntime_library = cache::cache().join("onnxruntime/libonnxruntime.so");
        config
    }

    fn server(&self, server: &EmbeddingServer, model: &str, key: &str) -> Config {
        let mut config = self.local();
        config.embedding.provider = EmbeddingProvider::Openai;
        config.embedding.base_url = server.base_url();
        config.embedding.model = model.to_owned();
        config.embedding.api_key_env = key.to_owned();
        config
    }

    async fn open(&self, config: &Config) -> ActiveModels {
        let opened = open(config, self.database.store(), None).await;
        opened.unwrap_or_else(|error| panic!("{error:#}"))
    }

    async fn write(&self, name: &str, text: &str) {
        let doc = document(name, text);
        let passage = NewPassage {
            location: mask(name).text,
            text: doc.content.clone(),
            ..NewPassage::default()
        };
        let mut tx = self.database.store().begin().await.expect("a transaction");
        docs::upsert(&mut tx, self.project, &doc, &[passage]).await.expect("a document");
        tx.commit().await.expect("a commit");
    }

    /// Embeds the queue of the current model.
    async fn embed(&self, models: &ActiveModels) {
        let ActiveModel { model, embedder, is_remote } = models.current();
        let store = self.database.store().clone();
        let context = embedding_queue::Context { store, embedder, model, is_remote };
        while matches!(embedding_queue::process_batch(&context).await, Batch::Stored(_)) {}
    }

    async fn search(&self, models: &ActiveModels, text: &str) -> SearchResponse {
        let context = SearchContext {
            store: self.database.store().clone(),
            keyword: self.keyword.clone(),
            models: models.clone(),
            sanitizing: Arc::default(),
        };
        let options = Options { time_budget: Duration::from_secs(20), ..Options::default() };
        let query = Query::text(text, PassageFilter::project(self.project));
        mc_search::search(&context, &query, &options).await.expect("a search")
    }

    /// Searches by a synonym, which only vectors find, and expects the document with the word.
    async fn assert_whole(&self, models: &ActiveModels) {
        let SearchResponse { hits, degraded, .. } = self.search(models, "kestrel").await;
        assert!(degraded.is_empty(), "{degraded:?}");
        assert_eq!(hits[0].passage.indexed.location, "falcon.md");
        assert!(hits[0].similarity.is_some_and(|similarity| similarity > 0.9));
    }

    /// Runs with one configuration, then with another, and expects that search finds the document
    /// before, during and after the change.
    async fn change(&self, from: &Config, to: &Config) {
        let before = self.open(from).await;
        self.write("falcon.md", "the falcon dives").await;
        self.embed(&before).await;
        assert!(retire_if_complete(&before, self.database.store()).await);
        self.assert_whole(&before).await;

        let during = self.open(to).await;
        assert_ne!(during.current().model, before.current().model);
        assert!(during.has_previous());
        self.assert_whole(&during).await;
        assert!(!retire_if_complete(&during, self.database.store()).await);

        self.embed(&during).await;
        assert!(retire_if_complete(&during, self.database.store()).await);
        assert!(!during.has_previous());
        self.assert_whole(&during).await;
        assert!(!self.open(to).await.has_previous());
    }

    /// Like [`Self::change`], with a previous model that can't be used. Returns the reason.
    async fn change_without_previous(&self, to: &Config) -> String {
        let models = self.open(to).await;
        let unavailable = models.unavailable_previous().expect("a previous model");
        self.write("hawk.md", "the falcon rests").await;
        let SearchResponse { hits, degraded, .. } = self.search(&models, "falcon dives").await;
        let [note] = &degraded[..] else { panic!("{degraded:?}") };
        for words in ["vector: the previous embedding model", &unavailable.name, "doctor"] {
            assert!(note.contains(words), "{note}");
        }
        assert!(!hits.is_empty(), "found by words");

        // The new vectors are used as they are made, and the note ends with the last one.
        let ActiveModel { model, embedder, is_remote } = models.current();
        let store = self.database.store();
        let backlog = vectors::take_backlog(store, &model, 10, is_remote).await.expect("a queue");
        let rests = backlog.into_iter().find(|item| item.text.as_str().contains("rests"));
        let rests = rests.expect("a queued passage");
        let texts = vec![rests.text.clone()];
        let made = embedder.embed(texts, mc_embed::Purpose::Passage).await.expect("a vector");
        vectors::store_batch(store, &model, &[(rests, made[0].clone())]).await.expect("stored");
        let SearchResponse { hits, degraded, .. } = self.search(&models, "kestrel").await;
        assert_eq!(hits.len(), 1, "only one passage has a vector");
        assert_eq!(hits[0].passage.indexed.location, "hawk.md");
        assert_eq!(degraded.len(), 1, "{degraded:?}");

        mc_store::testing::execute(
            self.database.url(),
            "update embedding_queue set scheduled_at = now()",
        )
        .await
        .expect("due passages");
        self.embed(&models).await;
        assert!(retire_if_complete(&models, store).await);
        let degraded = self.search(&models, "kestrel").await.degraded;
        assert!(degraded.is_empty(), "{degraded:?}");
        unavailable.reason
    }

    /// Runs with the configuration that will be the previous one.
    async fn run_before(&self, config: &Config) {
        let before = self.open(config).await;
        self.write("falcon.md", "the falcon dives").await;
        self.embed(&before).await;
        self.assert_whole(&before).await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn value(variable: &str) -> String {
    std::env::var(variable).expect("a variable of every test process")
}

/// Asserts that the server saw no name but that of its own model, and no key but its own.
fn assert_separate(server: &EmbeddingServer, model: &str, key: Option<&str>) {
    let expected = key.map(|variable| format!("Bearer {}", value(variable)));
    assert!(!server.requests().is_empty());
    for request in server.requests() {
        assert_eq!((request.model.as_str(), &request.authorization), (model, &expected));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_stays_whole_from_local_to_server() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, Some(&value(NEW_KEY))).await;
    world.change(&world.local(), &world.server(&server, "embed-large", NEW_KEY)).await;
    assert_separate(&server, "embed-large", Some(NEW_KEY));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_stays_whole_from_server_to_local() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, Some(&value(OLD_KEY))).await;
    let mut to = world.local();
    to.embedding.previous.base_url = server.base_url();
    to.embedding.previous.api_key_env = OLD_KEY.to_owned();
    world.change(&world.server(&server, "embed-large", OLD_KEY), &to).await;
    assert_separate(&server, "embed-large", Some(OLD_KEY));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_stays_whole_from_server_to_server() {
    let world = World::new().await;
    // One model has an instruction prefix, and each has its own dimensions.
    let old = EmbeddingServer::start("nomic-embed-text", 16, Some(&value(OLD_KEY))).await;
    let new = EmbeddingServer::start("embed-large", 24, Some(&value(NEW_KEY))).await;
    let mut to = world.server(&new, "embed-large", NEW_KEY);
    to.embedding.previous.base_url = old.base_url();
    to.embedding.previous.api_key_env = OLD_KEY.to_owned();
    world.change(&world.server(&old, "nomic-embed-text", OLD_KEY), &to).await;
    assert_separate(&old, "nomic-embed-text", Some(OLD_KEY));
    assert_separate(&new, "embed-large", Some(NEW_KEY));
    let queries = old.requests().into_iter().flat_map(|request| request.inputs);
    assert!(queries.filter(|text| text == "search_query: kestrel").count() >= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_stays_whole_when_fewer_dimensions_are_requested() {
    let world = World::new().await;
    let key = value(OLD_KEY);
    let server = EmbeddingServer::start("text-embedding-3-large", 3072, Some(&key)).await;
    let from = world.server(&server, "text-embedding-3-large", OLD_KEY);
    let mut to = from.clone();
    to.embedding.dimensions = 256;
    world.change(&from, &to).await;
    assert_separate(&server, "text-embedding-3-large", Some(OLD_KEY));
    let dimensions: Vec<_> = vectors::models(world.database.store()).await.expect("models");
    let dimensions: Vec<_> = dimensions.into_iter().map(|model| model.dimensions).collect();
    assert_eq!(dimensions, [3072, 256]);
    assert!(server.requests().iter().any(|request| request.dimensions == Some(256)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_previous_model_is_reported() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    world.run_before(&world.local()).await;
    let to = world.server(&server, "embed-large", NEW_KEY);
    std::fs::remove_dir_all(world.model_dir()).expect("a directory");
    let reason = world.change_without_previous(&to).await;
    assert!(reason.contains(&world.model_dir().display().to_string()), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreachable_previous_server_is_reported() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    let url = server.base_url();
    world.run_before(&world.server(&server, "embed-large", "")).await;
    drop(server);
    let reason = world.change_without_previous(&world.local()).await;
    let host = url.trim_start_matches("http://").trim_end_matches("/v1");
    assert!(reason.contains(host), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_of_the_new_server_is_not_sent_to_the_previous_one() {
    let world = World::new().await;
    let old = EmbeddingServer::start("embed-small", 16, Some(&value(OLD_KEY))).await;
    let new = EmbeddingServer::start("embed-large", 16, Some(&value(NEW_KEY))).await;
    world.run_before(&world.server(&old, "embed-small", OLD_KEY)).await;
    let reason = world.change_without_previous(&world.server(&new, "embed-large", NEW_KEY)).await;
    assert!(reason.contains("embedding.previous.api_key_env"), "{reason}");
    assert_separate(&old, "embed-small", Some(OLD_KEY));
    assert_separate(&new, "embed-large", Some(NEW_KEY));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_previous_server_is_left_out_until_it_responds() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    world.run_before(&world.server(&server, "embed-large", "")).await;
    let models = world.open(&world.local()).await;
    world.assert_whole(&models).await;

    server.refuse(Some(""));
    let SearchResponse { degraded, .. } = world.search(&models, "the bill and the falcon").await;
    assert_eq!(degraded.len(), 1, "{degraded:?}");
    assert!(degraded[0].contains("previous embedding model embed-large"), "{degraded:?}");
    previous::check(&models).await;
    let requests = server.requests().len();
    let SearchResponse { degraded, .. } = world.search(&models, "another falcon").await;
    assert_eq!(degraded.len(), 1, "{degraded:?}");
    assert_eq!(server.requests().len(), requests, "no search waits for it");

    server.refuse(None);
    previous::check(&models).await;
    world.assert_whole(&models).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn previous_model_answers_while_the_new_server_fails() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    world.run_before(&world.local()).await;
    let to = world.server(&server, "embed-large", "");
    world.open(&to).await;
    // A known server may be away when the service starts.
    server.refuse(Some(""));
    let models = world.open(&to).await;
    let SearchResponse { hits, degraded, .. } = world.search(&models, "kestrel").await;
    assert_eq!(degraded, ["vector: embedding provider unavailable"]);
    assert_eq!(hits[0].passage.indexed.location, "falcon.md");
}

/// A passage that is written while the model is registered may not be queued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passage_that_was_not_queued_keeps_the_previous_model() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    world.run_before(&world.local()).await;
    let models = world.open(&world.server(&server, "embed-large", "")).await;
    let emptied = "delete from embedding_queue";
    mc_store::testing::execute(world.database.url(), emptied).await.expect("an empty queue");
    assert!(!retire_if_complete(&models, world.database.store()).await);
    world.embed(&models).await;
    assert!(retire_if_complete(&models, world.database.store()).await);
    world.assert_whole(&models).await;
}

/// While a new configuration is rolled out, nodes with the old one run, restart and write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_with_different_models_do_not_disturb_each_other() {
    let world = World::new().await;
    let server = EmbeddingServer::start("embed-large", 16, None).await;
    let (from, to) = (world.local(), world.server(&server, "embed-large", ""));
    let old = world.open(&from).await;
    world.write("falcon.md", "the falcon dives").await;
    world.embed(&old).await;
    let new = world.open(&to).await;
    for round in 0..3 {
        // A node with the old configuration restarts, and embeds its own queue alone.
        let old = world.open(&from).await;
        assert_eq!(old.current().model.name, "tiny");
        world.write("bill.md", &format!("the bill number {round} is sent")).await;
        world.embed(&old).await;
        for models in [&old, &new] {
            world.assert_whole(models).await;
            let found = world.search(models, "invoice").await.hits;
            assert_eq!(found[0].passage.indexed.location, "bill.md");
        }
        let store = world.database.store();
        assert!(retire_if_complete(&old, store).await);
        assert!(!retire_if_complete(&new, store).await, "its vectors are still missing");
    }
    world.embed(&new).await;
    assert!(retire_if_complete(&new, world.database.store()).await);
    world.assert_whole(&new).await;
}
