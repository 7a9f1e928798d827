//! The policy of a project sets which models may receive its texts. Without remote models, none
//! leaves the machine.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use mc_embed::{Embedder, Error, ModelId, Purpose};
use mc_indexer::embedding_queue::{self, Batch};
use mc_sanitizer::Sanitized;
use serde_json::json;

use crate::client::{As, SECRET, TestApi};

const POLICY: &str = "/projects/shop/policy";
/// Words in all texts of `shop`, and of the other project.
const OURS: &str = "saffron";
const THEIRS: &str = "copper";
/// Parts of a record, a document and a dialog ([`fill`]), and of a query ([`ask`]).
const PARTS: [&str; 4] = ["stock counters", "drained nightly", "delivery_unit", "how often"];

/// A model that records every text that it receives, and returns the same vector for all.
pub struct Recorder {
    model: ModelId,
    texts: Mutex<Vec<String>>,
}

impl Recorder {
    pub fn new() -> Self {
        let model = ModelId { name: "recorder".into(), dimensions: 3 };
        Self { model, texts: Mutex::default() }
    }

    fn texts_with(&self, mark: &str) -> Vec<String> {
        let texts = self.texts.lock().unwrap();
        texts.iter().filter(|text| text.to_lowercase().contains(mark)).cloned().collect()
    }

    #[track_caller]
    fn assert_has_none_of(&self, mark: &str) {
        assert_eq!(self.texts_with(mark), Vec::<String>::new());
    }

    #[track_caller]
    fn assert_has_all_of(&self, mark: &str) {
        let texts = self.texts_with(mark);
        for part in PARTS {
            assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
        }
    }
}

impl Embedder for Recorder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        _: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>> {
        let vectors = vec![vec![1.0, 0.0, 0.0]; texts.len()];
        self.texts.lock().unwrap().extend(texts.into_iter().map(Sanitized::into_string));
        Box::pin(async move { Ok(vectors) })
    }
}

/// Keeps a record, a document and a dialog with `mark` in a project.
pub async fn fill(caller: &As<'_>, project: &str, mark: &str) {
    let text = format!("The {mark} warehouse resets its stock counters every Thursday at noon.");
    let fact = json!({"project_key": project, "kind": "fact", "content": text, "source": "wiki"});
    caller.post("/save", fact).await.ok();
    let text = format!("# Deliveries\n\nThe {mark} queue is drained nightly.");
    let page = json!({"doc_id": "1", "title": "Deliveries", "content": text});
    let pages = json!({"project_key": project, "source": "wiki", "documents": [page]});
    caller.post("/ingest/docs", pages).await.ok();
    let text = format!("The {mark} order failed because delivery_unit and retry_unit differed.");
    let dialog = json!({"project_key": project, "distilled": text, "messages": [
        {"role": "user", "content": "Why did the order fail?"}]});
    caller.post("/dialogs", dialog).await.ok();
}

/// Makes the vectors that are still to come, as the service does in the background.
pub async fn embed_all(api: &TestApi) {
    let model = api.state.memory.search.models.current();
    let context = embedding_queue::Context {
        store: api.background().clone(),
        embedder: model.embedder,
        model: model.model,
        is_remote: model.is_remote,
    };
    let mut batch = embedding_queue::process_batch(&context).await;
    while matches!(batch, Batch::Stored(_)) {
        batch = embedding_queue::process_batch(&context).await;
    }
    assert_eq!(batch, Batch::Empty);
}

/// Sets which embedding models may receive texts of `shop`.
async fn set_embedding(api: &TestApi, providers: &str) {
    let policy = json!({"models": {"embedding": providers, "chat": "off"}});
    api.put_if(POLICY, "*", policy).await.ok();
}

/// A client that waits for vectors (`memory-copilot ingest --wait-for-vectors`) does not wait for
/// vectors that the policy excludes.
async fn assert_nothing_is_awaited(api: &TestApi) {
    let overview = api.get("/projects/shop").await.ok();
    assert_eq!(overview["pending_vectors"], 0, "{overview}");
    assert_ne!(overview["passages"], 0, "{overview}");
    let status = api.get("/status").await.ok();
    assert_eq!(status["pending_vectors"], 0, "{status}");
}

/// Searches and recalls: with or without a model, texts are found by their words.
async fn ask(caller: &As<'_>, project: &str, mark: &str) {
    let query = format!("how often does the {mark} order fail");
    let asked = json!({"project_key": project, "query": query, "time_budget_ms": 20000});
    let found = caller.post("/search", asked.clone()).await.ok();
    assert!(found["results"].to_string().contains(mark), "{found}");
    caller.post("/recall", asked).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forbidden_remote_model_receives_nothing() {
    let recorder = Arc::new(Recorder::new());
    let api = TestApi::with_model(recorder.clone(), true).await;
    let caller = api.with(SECRET);
    set_embedding(&api, "local").await;
    api.post("/projects", json!({"key": "ledger"})).await.ok();
    for (project, mark) in [("shop", OURS), ("ledger", THEIRS)] {
        fill(&caller, project, mark).await;
        ask(&caller, project, mark).await;
    }
    embed_all(&api).await;
    recorder.assert_has_all_of(THEIRS);
    recorder.assert_has_none_of(OURS);
    assert_nothing_is_awaited(&api).await;

    set_embedding(&api, "any").await;
    embed_all(&api).await;
    ask(&caller, "shop", OURS).await;
    recorder.assert_has_all_of(OURS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_model_is_used_unless_models_are_off() {
    let recorder = Arc::new(Recorder::new());
    let api = TestApi::with_model(recorder.clone(), false).await;
    let caller = api.with(SECRET);
    set_embedding(&api, "off").await;
    fill(&caller, "shop", OURS).await;
    ask(&caller, "shop", OURS).await;
    embed_all(&api).await;
    recorder.assert_has_none_of(OURS);
    assert_nothing_is_awaited(&api).await;

    set_embedding(&api, "local").await;
    embed_all(&api).await;
    ask(&caller, "shop", OURS).await;
    recorder.assert_has_all_of(OURS);
}
