//! An indexed and embedded repository, with all that a search needs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use mc_chat::ChatModels;
use mc_contract::operations::rag::{RagSearchRequest, RagSearchResponse};
use mc_domain::Policy;
use mc_indexer::embedding_queue::{self, Batch};
use mc_indexer::hnsw::{self, FLAT_VECTORS_MAX};
use mc_memory::chat::ProjectChat;
use mc_rag::{RagContext, RagSettings};
use mc_search::{ActiveModel, ActiveModels, Freshness, KeywordIndex, SearchContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Converted;
use crate::harness::database::Database;
use crate::harness::{Common, embedding, say};
use crate::replay::index::Index;
use crate::replay::source::Source;

/// Key of the project.
const PROJECT: &str = "measured";
/// Time for the keyword index to read a whole repository.
const KEYWORD_WAIT: Duration = Duration::from_mins(5);

/// An indexed repository.
pub struct Engine {
    /// Index of the repository, with the store.
    pub index: Index,
    /// Context of the pipeline, without a chat model.
    pub context: RagContext,
    queue: embedding_queue::Context,
    database: Database,
    stop: CancellationToken,
}

impl Engine {
    /// Indexes the branch of `source`, and waits until all of it can be searched.
    pub async fn start(common: &Common, work: &Path, source: &Source) -> Result<Self> {
        let database = Database::open(&work.join("data"), &common.cache_dir).await?;
        let store = database.store.clone();
        // Registered before the run, so that its passages are queued for the model.
        let embedder = embedding::open(&common.cache_dir).await?;
        let model = embedding::register(&store, &common.cache_dir, &*embedder).await?;
        let index = Index::new(&store, work.join("cache"), PROJECT, source).await.converted()?;
        let started = Instant::now();
        let run = index.update().await.converted()?;
        say(&format!(
            "{} files indexed in {:.1} s",
            run.counts.files_changed,
            started.elapsed().as_secs_f64()
        ));
        let queue = embedding_queue::Context {
            store: store.clone(),
            embedder: Arc::clone(&embedder),
            model: model.clone(),
            is_remote: false,
        };
        let (mut count, started) = (0, Instant::now());
        loop {
            match embedding_queue::process_batch(&queue).await {
                Batch::Stored(stored) => count += stored,
                Batch::Empty => break,
                batch => bail!("the passages can't be embedded: {batch:?}"),
            }
        }
        ensure!(count > 0, "no passage was embedded");
        say(&format!("{count} passages embedded in {:.1} s", started.elapsed().as_secs_f64()));
        // As the service does every minute.
        hnsw::fill_hnsw(&store, &model, FLAT_VECTORS_MAX).await?;
        let stop = CancellationToken::new();
        let (keyword, _) =
            mc_search::index::start(&store, &work.join("keyword"), stop.clone()).await?;
        keyword.ready().await?;
        let freshness = keyword.refresh(KEYWORD_WAIT).await;
        ensure!(freshness == Freshness::Current, "the keyword index is {freshness:?}");
        database.settle().await?;
        let context =
            rag_context(&index, keyword, ActiveModel { model, embedder, is_remote: false });
        Ok(Self { index, context, queue, database, stop })
    }

    /// Asks the pipeline, with the defaults and these fields.
    pub async fn ask(&self, query: &str, fields: &Value) -> Result<RagSearchResponse> {
        let mut request = json!({"project_key": PROJECT, "rawQuery": query});
        for (name, value) in fields.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        let request: RagSearchRequest =
            serde_json::from_value(request).context(query.to_owned())?;
        Ok(mc_rag::search(&self.context, &RagSettings::default(), &request).await?)
    }

    /// Indexes the branch of `source` again and again, each time into a new project, and embeds its
    /// passages, until `stop`. Returns the number of complete runs.
    pub async fn index_repeatedly(
        &self,
        source: &Source,
        work: &Path,
        stop: &CancellationToken,
    ) -> Result<usize> {
        let mut runs = 0;
        let (store, cache) = (&self.index.context.store, work.join("cache"));
        while !stop.is_cancelled() {
            let project = format!("load-{runs}");
            let index = Index::new(store, cache.clone(), &project, source).await.converted()?;
            index.update().await.converted()?;
            while !stop.is_cancelled() {
                match embedding_queue::process_batch(&self.queue).await {
                    Batch::Stored(_) => {}
                    Batch::Empty => break,
                    batch => bail!("the passages can't be embedded: {batch:?}"),
                }
            }
            runs += 1;
        }
        Ok(runs)
    }

    /// Stops the database.
    pub async fn close(self) {
        self.stop.cancel();
        self.database.close().await;
    }
}

fn rag_context(index: &Index, keyword: KeywordIndex, current: ActiveModel) -> RagContext {
    let (store, project) = (index.context.store.clone(), index.repository.project_id);
    let search = SearchContext {
        store: store.clone(),
        keyword,
        models: ActiveModels::new(current, None),
        sanitizing: Arc::default(),
    };
    let models = Arc::new(ChatModels::default());
    RagContext {
        search,
        chat: ProjectChat::new(models, store, project, &Policy::default()),
        cross_encoder: None,
        project,
    }
}
