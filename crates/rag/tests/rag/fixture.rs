//! A project with an indexed repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::Utc;
use futures::FutureExt;
use futures::future::BoxFuture;
use mc_chat::{ChatModelSettings, ChatModels, ChatSettings};
use mc_contract::operations::rag::{RagSearchRequest, RagSearchResponse};
use mc_domain::{Policy, ProjectId, Trust, UserId};
use mc_files::ProtectedDirectories;
use mc_indexer::embedding_queue::{self, Batch};
use mc_indexer::index::{Context, FilesObserver};
use mc_indexer::{chunker, run, walk};
use mc_memory::chat::ProjectChat;
use mc_rag::{Error, RagContext, RagSettings};
use mc_sanitizer::mask;
use mc_search::{ActiveModel, ActiveModels, KeywordIndex, SearchContext};
use mc_store::history::{self, NewCommit};
use mc_store::passages::NewPassage;
use mc_store::repositories::Repository;
use mc_store::vectors::Model;
use mc_store::{Store, docs, ingest_runs, repositories, testing, vectors};
use mc_testkit::{ModelProtocol, ModelServer, TestDatabase};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::words::Words;

/// Observer without interest.
struct NoObserver;

impl FilesObserver for NoObserver {
    fn files_changed<'a>(
        &'a self,
        _: ProjectId,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        async { Ok(()) }.boxed()
    }
}

pub struct Fixture {
    pub database: TestDatabase,
    pub project: ProjectId,
    keyword: KeywordIndex,
    model: Model,
    stop: CancellationToken,
    folder: TempDir,
}

impl Fixture {
    /// Creates a project without a repository.
    pub async fn empty() -> Self {
        let database = TestDatabase::create().await;
        let project = database.project("shop").await.id;
        let folder = TempDir::new().unwrap();
        let stop = CancellationToken::new();
        let (keyword, _) =
            mc_search::index::start(database.store(), &folder.path().join("index"), stop.clone())
                .await
                .unwrap();
        keyword.ready().await.unwrap();
        let id = mc_embed::Embedder::model(&Words::default()).clone();
        let model =
            vectors::register_model(database.store(), &id.name, id.dimensions, &json!({})).await;
        Self { database, project, keyword, model: model.unwrap(), stop, folder }
    }

    /// Creates a project with the repository `local/shop`.
    pub async fn new() -> Self {
        let fixture = Self::empty().await;
        fixture.index("shop", &shop()).await;
        fixture
    }

    /// Indexes a repository with these files in the project.
    pub async fn index(&self, name: &str, files: &[(&str, String)]) -> Repository {
        self.index_in(self.project, name, files).await
    }

    /// Indexes a repository with these files, as the job does, and embeds its passages.
    pub async fn index_in(
        &self,
        project: ProjectId,
        name: &str,
        files: &[(&str, String)],
    ) -> Repository {
        let tree = self.tree(project, name);
        for (path, text) in files {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let repository = self.add(project, name, &tree).await;
        let run = self.enqueue(&repository).await;
        let never = CancellationToken::new();
        let outcome = run::execute(&self.indexer(), run, &never).await.unwrap();
        assert_eq!(outcome, run::RunOutcome::Done);
        self.embed().await;
        repository
    }

    fn tree(&self, project: ProjectId, name: &str) -> PathBuf {
        self.folder.path().join("trees").join(project.to_string()).join(name)
    }

    async fn add(&self, project: ProjectId, name: &str, tree: &Path) -> Repository {
        let mut tx = self.database.store().begin().await.unwrap();
        let location = tree.to_str().unwrap();
        let repository =
            repositories::ensure(&mut tx, project, "local", name, location).await.unwrap();
        repositories::set_network_access(&mut tx, repository.id, true).await.unwrap();
        tx.commit().await.unwrap();
        repository
    }

    /// Requests an index run, which is open until it is executed.
    pub async fn enqueue(&self, repository: &Repository) -> mc_domain::IngestRunId {
        let mut tx = self.database.store().begin().await.unwrap();
        let run = ingest_runs::enqueue(&mut tx, repository, "").await.unwrap();
        tx.commit().await.unwrap();
        run.id
    }

    /// Writes a document that belongs to no repository, with one passage.
    pub async fn add_document(&self, name: &str, text: &str) {
        let passage = NewPassage {
            location: mask(&format!("{name}.md")).text,
            text: mask(text).text,
            ..NewPassage::default()
        };
        let mut tx = self.database.store().begin().await.unwrap();
        let document = mc_testkit::document(name, text);
        docs::upsert(&mut tx, self.project, &document, &[passage]).await.unwrap();
        tx.commit().await.unwrap();
        self.embed().await;
    }

    /// Adds a commit to the history of `local/shop`, which touched no indexed file.
    pub async fn add_commit(&self, message: &str) {
        let mut tx = self.database.store().begin().await.unwrap();
        let tree = self.tree(self.project, "shop");
        let location = tree.to_str().unwrap();
        let repository =
            repositories::ensure(&mut tx, self.project, "local", "shop", location).await;
        let commit = NewCommit {
            sha: "1".repeat(40),
            subject: mask(message).text,
            message: mask(message).text,
            committed_at: Utc::now(),
            trust: Trust::Imported,
            files: Vec::new(),
        };
        history::insert(&mut tx, &repository.unwrap(), &[commit]).await.unwrap();
        tx.commit().await.unwrap();
        self.embed().await;
    }

    fn indexer(&self) -> Context {
        Context {
            store: self.database.store().clone(),
            cache: self.folder.path().join("cache"),
            protected: ProtectedDirectories::default(),
            inside: Vec::new(),
            worker: "tests".into(),
            repository: mc_git::Limits::default(),
            walk: walk::Limits::default(),
            cut: chunker::Limits::default(),
            history: mc_git::HistoryLimits::default(),
            clones: None,
            credentials: None,
            observer: Arc::new(NoObserver),
        }
    }

    async fn embed(&self) {
        let context = embedding_queue::Context {
            store: self.database.store().clone(),
            embedder: Arc::new(Words::default()),
            model: self.model.clone(),
            is_remote: false,
        };
        while embedding_queue::process_batch(&context).await != Batch::Empty {}
    }

    /// Returns the context without a chat model.
    pub fn context(&self) -> RagContext {
        self.context_of(self.project, Arc::default(), &Policy::default())
    }

    /// Returns the context without a chat model, with at most so many database connections.
    pub async fn context_with_connections(&self, most: u32) -> RagContext {
        let mut context = self.context();
        let login = &self.database.logins().worker;
        context.search.store = Store::connect(login, most, testing::chains()).await.unwrap();
        context
    }

    /// Returns the context with the model of a scripted server.
    pub fn with_model(&self, server: &ModelServer) -> RagContext {
        self.context_of(self.project, chat_models(server), &Policy::default())
    }

    pub fn context_of(
        &self,
        project: ProjectId,
        models: Arc<ChatModels>,
        policy: &Policy,
    ) -> RagContext {
        // As a request of the local administrator reads.
        let store = self.database.service().for_project(UserId::LOCAL, project);
        let current = ActiveModel {
            model: self.model.clone(),
            embedder: Arc::new(Words::default()),
            is_remote: false,
        };
        let search = SearchContext {
            store: store.clone(),
            keyword: self.keyword.clone(),
            models: ActiveModels::new(current, None),
            sanitizing: Arc::default(),
        };
        let chat = ProjectChat::new(models, store, project, policy);
        RagContext { search, chat, cross_encoder: None, project }
    }

    /// Searches without a chat model.
    pub async fn search(&self, fields: Value) -> RagSearchResponse {
        search(&self.context(), fields).await.unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Returns a request with these fields.
pub fn request(fields: &Value) -> RagSearchRequest {
    let mut request = json!({"project_key": "shop"});
    for (name, value) in fields.as_object().unwrap() {
        request[name] = value.clone();
    }
    serde_json::from_value(request).unwrap()
}

pub async fn search(context: &RagContext, fields: Value) -> Result<RagSearchResponse, Error> {
    // Only a hanging part exceeds these limits.
    let settings =
        RagSettings { time_budget_ms: 30_000, model_wait_ms: 60_000, ..RagSettings::default() };
    mc_rag::search(context, &settings, &request(&fields)).await
}

/// Returns a model of a scripted server.
pub fn chat_models(server: &ModelServer) -> Arc<ChatModels> {
    let settings: ChatModelSettings = serde_json::from_value(json!({
        "provider": "openai_compatible", "model": "scripted", "roles": ["writer"],
        "base_url": server.base_url(ModelProtocol::OpenAi),
    }))
    .unwrap();
    let settings = ChatSettings { models: [("small".to_owned(), settings)].into() };
    Arc::new(ChatModels::open(&settings).unwrap())
}

/// Returns the paths of the matches, in order.
pub fn paths(response: &RagSearchResponse) -> Vec<&str> {
    response.matches.iter().map(|found| found.path.as_str()).collect()
}

/// Returns whether a module or profile acted.
pub fn has(response: &RagSearchResponse, module: &str) -> bool {
    response.applied_modules.iter().any(|applied| applied == module)
}

/// Returns whether a warning has these words.
pub fn warned(response: &RagSearchResponse, words: &str) -> bool {
    response.warnings.iter().any(|warning| warning.contains(words))
}

/// Returns the files of a small shop.
pub fn shop() -> Vec<(&'static str, String)> {
    let readme = "# Shop\n\nA web shop. The cart reminds customers after a delay.\n\n\
                  ## Tests\n\nRun the tests with `cargo test`.\n";
    let main = "mod cart;\n\nfn main() {\n    cart::serve();\n}\n";
    let retry = "/// Retries a failed payment at the gateway.\n\
                 pub fn retry_payment(attempt: u32) -> bool {\n    \
                 let limit = 5;\n    attempt < limit\n}\n";
    let test = "#[test]\nfn payment_is_retried() {\n    assert!(retry_payment(1));\n    \
                assert!(!retry_payment(9));\n}\n";
    vec![
        ("README.md", readme.to_owned()),
        ("Cargo.toml", "[package]\nname = \"shop\"\n".to_owned()),
        ("src/main.rs", main.to_owned()),
        ("src/cart/trigger.rs", trigger()),
        ("src/payments/retry.rs", retry.to_owned()),
        ("tests/retry_test.rs", test.to_owned()),
    ]
}

/// Returns a file with one definition of several chunks: only the middle one computes the delay.
fn trigger() -> String {
    let body = |name: &str, word: &str| {
        let lines = (0..40).map(|n| format!("        let {word}_{n} = self.{word} + {n};\n"));
        format!(
            "    pub fn {name}(&self) -> u64 {{\n{}        0\n    }}\n\n",
            lines.collect::<String>()
        )
    };
    let delay = "    /// Computes the reminder delay of an abandoned basket in minutes.\n    \
                 pub fn reminder_delay(&self) -> u64 {\n        self.hours * 60\n    }\n\n";
    format!(
        "pub struct Trigger {{\n    hours: u64,\n}}\n\nimpl Trigger {{\n{}{delay}{}}}\n",
        body("before", "alpha"),
        body("after", "omega")
    )
}
