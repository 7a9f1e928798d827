//! A project with its own database and keyword index, and an embedder of word bags.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{self, BoxFuture, FutureExt};
use mc_chat::{ChatModelSettings, ChatModels, ChatSettings};
use mc_contract::number::VersionNumber;
use mc_contract::operations::proposal::AcceptProposal;
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::{DialogId, ProjectId, RecordId, RecordKind, UserId};
use mc_embed::{Embedder, ModelId, Purpose};
use mc_memory::citations::hash_lines;
use mc_memory::{
    Bundle, Decision, MemoryContext, RecallRequest, ReviewStatus, SaveDialog, SaveDialogOutcome,
    SaveOutcome, SaveRequest, TokenBudget, recall, save, save_dialog,
};
use mc_sanitizer::{Sanitized, mask};
use mc_search::{ActiveModel, ActiveModels, SearchContext};
use mc_store::files::{self, NewChunk, NewFile, NewSymbol};
use mc_store::passages::NewPassage;
use mc_store::records::RecordFilter;
use mc_store::repositories::Repository;
use mc_store::{Store, repositories, testing, vectors};
use mc_testkit::{ModelProtocol, ModelRequest, ModelServer, TestDatabase};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Time budget of recalls in tests, which only a hanging one exceeds.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The acceptance of a proposal, as it is, of these reviewed versions.
pub fn reviewed(version: i32, amends_version: Option<i32>) -> AcceptProposal {
    let number = |version: i32| VersionNumber::new(version.into()).unwrap();
    let amends_version = amends_version.map(number);
    AcceptProposal { version: number(version), amends_version, title: None, content: None }
}

/// Returns a model of a scripted server with these roles.
pub fn chat_models(server: &ModelServer, roles: &[&str]) -> Arc<ChatModels> {
    let settings: ChatModelSettings = serde_json::from_value(json!({
        "provider": "openai_compatible", "model": "scripted", "roles": roles,
        "base_url": server.base_url(ModelProtocol::OpenAi), "max_concurrent": 64,
    }))
    .unwrap();
    let settings = ChatSettings { models: [("small".to_owned(), settings)].into() };
    Arc::new(ChatModels::open(&settings).unwrap())
}

/// Returns the data of a request to a model, which is its last message.
pub fn request_data(request: &ModelRequest) -> Value {
    let messages = request.body["messages"].as_array().expect("messages");
    let text = messages.last().expect("a message")["content"].as_str().expect("a text");
    serde_json::from_str(text).expect("JSON")
}

/// An encryption key for tests.
fn encryptor() -> Arc<Encryptor> {
    Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new()))
}

pub struct World {
    pub ctx: MemoryContext,
    pub project: ProjectId,
    stop: CancellationToken,
    // Dropped last, as everything above uses it.
    _folder: TempDir,
    database: TestDatabase,
}

impl World {
    pub async fn new() -> Self {
        Self::with(Arc::new(Words::default())).await
    }

    pub async fn with(embedder: Arc<dyn Embedder>) -> Self {
        let database = TestDatabase::create().await;
        let project = database.project("shop").await.id;
        let folder = TempDir::new().unwrap();
        let stop = CancellationToken::new();
        let store = database.store().clone();
        let (keyword, _) =
            mc_search::index::start(&store, folder.path(), stop.clone()).await.unwrap();
        keyword.ready().await.unwrap();
        let id = embedder.model().clone();
        let model =
            vectors::register_model(&store, &id.name, id.dimensions, &serde_json::json!({}))
                .await
                .unwrap();
        let models = ActiveModels::new(ActiveModel { model, embedder, is_remote: false }, None);
        let ctx = MemoryContext::new(
            SearchContext { store, keyword, models, sanitizing: Arc::default() },
            encryptor(),
        );
        Self { ctx, project, stop, _folder: folder, database }
    }

    pub fn store(&self) -> &Store {
        self.database.store()
    }

    /// Returns the store with the service's role.
    pub fn service(&self) -> &Store {
        self.database.service()
    }

    pub fn url(&self) -> &str {
        self.database.url()
    }

    /// Returns the context of a new member of the project.
    pub async fn member(&self) -> MemoryContext {
        let (user, project) = (UserId::generate(), self.project);
        let joined = format!(
            "with joining as (insert into users (id, login) values ('{user}', 'user {user}'))
             insert into project_members (project_id, user_id, role)
             values ('{project}', '{user}', 'member')"
        );
        testing::execute(self.url(), &joined).await.unwrap();
        self.ctx.with_store(self.database.service().for_project(user, project), Arc::default())
    }

    pub fn note(&self, content: &str) -> SaveRequest {
        SaveRequest::new(self.project, "ann", RecordKind::Fact, content)
    }

    pub async fn save(&self, request: &SaveRequest) -> SaveOutcome {
        save(&self.ctx, request).await.unwrap()
    }

    /// Saves a note, which must create a record.
    pub async fn created(&self, request: &SaveRequest) -> RecordId {
        match self.save(request).await.decision {
            Decision::Created(id) => id,
            other => panic!("expected a new record, got {other:?}"),
        }
    }

    /// Returns a dialog with one message of the assistant.
    pub fn dialog(&self, task: Option<&str>, said: &str) -> SaveDialog {
        SaveDialog {
            principal: "ann".into(),
            saved_by: None,
            is_searchable: true,
            replaces_any: true,
            project: self.project,
            id: None,
            task_external_id: task.map(str::to_owned),
            developer: None,
            messages: vec![("assistant".into(), said.into())],
            distilled: None,
            outcome: None,
            prompt_version: None,
            answer: None,
        }
    }

    /// Saves a dialog that is not quarantined.
    pub async fn kept(&self, dialog: &SaveDialog) -> DialogId {
        match save_dialog(&self.ctx, dialog, ReviewStatus::Unreviewed).await.unwrap() {
            SaveDialogOutcome::Kept { id, .. } => id,
            SaveDialogOutcome::Quarantined(id) => panic!("held as {id}"),
        }
    }

    /// A recall without a query.
    pub fn empty_recall(&self) -> RecallRequest {
        RecallRequest {
            is_control: false,
            project: self.project,
            principal: "bob".to_owned(),
            query: None,
            task_external_id: None,
            repo_path: None,
            symbols: Vec::new(),
            signals: Vec::new(),
            limit: TokenBudget::default(),
            time_budget: Duration::from_millis(300),
        }
    }

    pub fn question(&self, query: &str) -> RecallRequest {
        RecallRequest { query: Some(query.to_owned()), time_budget: TIMEOUT, ..self.empty_recall() }
    }

    pub async fn recall(&self, request: &RecallRequest) -> Bundle {
        recall(&self.ctx, request).await.unwrap()
    }

    /// Returns the ids of the statements recalled for a query, in order.
    pub async fn recalled(&self, query: &str) -> Vec<RecordId> {
        let bundle = self.recall(&self.question(query)).await;
        bundle.gotchas.iter().chain(&bundle.facts).map(|statement| statement.id).collect()
    }

    pub async fn live_records(&self) -> usize {
        mc_store::records::list(self.store(), self.project, &RecordFilter::default(), None, 1_000)
            .await
            .unwrap()
            .len()
    }

    async fn repository(&self) -> Repository {
        let mut tx = self.store().begin().await.unwrap();
        let ensured =
            repositories::ensure(&mut tx, self.project, "acme", "shop", "/srv/shop").await;
        tx.commit().await.unwrap();
        ensured.unwrap()
    }

    /// Indexes a file of one chunk, as the indexer does, with a definition on `symbol`'s lines.
    pub async fn index_file(&self, path: &str, text: &str, symbol: Option<(&str, usize, usize)>) {
        let repository = self.repository().await;
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let line = |n: usize| i32::try_from(n).unwrap();
        let file = NewFile {
            path: path.to_owned(),
            content_hash: hash_lines(&lines),
            size_bytes: i64::try_from(text.len()).unwrap(),
            language: "ruby".to_owned(),
            line_count: line(lines.len()),
            chunker_version: 1,
            masking_fingerprint: 0,
        };
        let chunk = NewChunk {
            trust: mc_domain::Trust::Imported,
            passage: NewPassage {
                location: mask(path).text,
                symbols: symbol.iter().map(|s| s.0.to_owned()).collect(),
                scope: Vec::new(),
                tags: Vec::new(),
                language: "ruby".to_owned(),
                text: mask(text).text,
                ..NewPassage::default()
            },
            chunk_index: 0,
            line_start: 1,
            line_end: line(lines.len()),
            overlap_lines: 0,
            chunk_hash: hash_lines(&lines),
            span_hash: hash_lines(&lines),
            summary: "a file".to_owned(),
            parent_symbol: None,
        };
        let symbols: Vec<_> = symbol
            .map(|(name, start, end)| NewSymbol {
                name: name.to_owned(),
                kind: "method".to_owned(),
                line_start: line(start),
                line_end: line(end),
                span_hash: hash_lines(&lines[start - 1..end]),
            })
            .into_iter()
            .collect();
        let mut tx = self.store().begin().await.unwrap();
        let id = files::put(&mut tx, &repository, &file, "abc").await.unwrap();
        files::put_code(&mut tx, &repository, id, &[chunk], &symbols).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub async fn delete_file(&self, path: &str) {
        let repository = self.repository().await;
        let known = files::known(self.store(), repository.id).await.unwrap();
        let mut tx = self.store().begin().await.unwrap();
        files::delete(&mut tx, &[known[path].id]).await.unwrap();
        tx.commit().await.unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

const DIMENSIONS: usize = 256;

/// Embeds texts as a bag of hashed words, so that texts with common words are near.
pub struct Words {
    model: ModelId,
    asked: Mutex<Vec<Vec<String>>>,
}

impl Words {
    /// The texts of each query since the last call of `texts`.
    pub fn asked(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Default for Words {
    fn default() -> Self {
        let model = ModelId { name: "words".into(), dimensions: DIMENSIONS };
        Self { model, asked: Mutex::default() }
    }
}

impl Embedder for Words {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, mc_embed::Error>> {
        if let Purpose::Query(_) = purpose {
            let texts = texts.iter().map(|text| text.as_str().to_owned()).collect();
            self.asked.lock().unwrap().push(texts);
        }
        future::ready(Ok(texts.iter().map(|text| bag_of_words(text.as_str())).collect())).boxed()
    }
}

fn bag_of_words(text: &str) -> Vec<f32> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    let mut vector = vec![0.0; DIMENSIONS];
    for word in words.collect::<BTreeSet<_>>() {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % DIMENSIONS as u64).unwrap();
        vector[at] += 1.0;
    }
    let length = vector.iter().map(|x: &f32| x * x).sum::<f32>().sqrt().max(f32::EPSILON);
    vector.into_iter().map(|x| x / length).collect()
}

/// A provider that times out or is unavailable.
pub struct Away {
    model: ModelId,
    silent: bool,
}

impl Away {
    pub fn failing() -> Self {
        Self { model: ModelId { name: "away".into(), dimensions: 3 }, silent: false }
    }

    pub fn silent() -> Self {
        Self { silent: true, ..Self::failing() }
    }
}

impl Embedder for Away {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(
        &self,
        _: Vec<Sanitized>,
        _: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, mc_embed::Error>> {
        if self.silent {
            return future::pending().boxed();
        }
        let error = mc_embed::Error::Unavailable {
            server: "embeddings:8080".into(),
            reason: "connection refused".into(),
            retry_after: None,
        };
        future::ready(Err(error)).boxed()
    }
}
