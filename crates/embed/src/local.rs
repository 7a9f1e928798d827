//! Models that run in this process.
//!
//! The model embeds one text at a time. Measured on two cores, a batch of 256-token texts is no
//! faster than as many single ones. An int8 model quantizes its activations over the whole batch,
//! so a vector would depend on the other texts (cosine 0.99). Alone, a text always has the same
//! vector, nothing is padded, and a query waits for one text at most.

mod hub;
mod model;
mod priority_queue;
mod runtime;

use std::fmt::Display;
use std::sync::Arc;
use std::thread;

use futures::future::{BoxFuture, try_join_all};
use tokio::sync::Semaphore;

use self::model::ModelSession;
pub(crate) use self::model::Source;
use self::priority_queue::{EmbedRequest, PriorityQueue};
use crate::pipeline::EmbeddingBackend;
use crate::{Error, Purpose, RuntimeSettings};

/// Texts that may wait in a lane for each thread; more callers wait outside the queue.
const QUEUED_PER_THREAD: usize = 8;

/// A local model and the threads that run it.
pub(crate) struct Local {
    name: String,
    lanes: Arc<PriorityQueue>,
    queries: Semaphore,
    saves: Semaphore,
    passages: Semaphore,
}

impl Local {
    /// Loads the model and starts its threads.
    pub(crate) async fn start(source: Source, settings: &RuntimeSettings) -> Result<Self, Error> {
        let name = source.name().to_owned();
        let library = settings.onnx_library.clone();
        let threads = settings.threads.unwrap_or_else(processors).max(1);
        let load = move || {
            runtime::load_library(library.as_deref())?;
            source.load(threads)
        };
        let models = tokio::task::spawn_blocking(load).await.map_err(|e| failed(&name, &e))??;
        let room = models.len() * QUEUED_PER_THREAD;
        let lanes = Arc::new(PriorityQueue::new(models.len()));
        for (number, model) in models.into_iter().enumerate() {
            spawn(number, model, Arc::clone(&lanes)).map_err(|e| failed(&name, &e))?;
        }
        let [queries, saves, passages] = [(); 3].map(|()| Semaphore::new(room));
        Ok(Self { name, lanes, queries, saves, passages })
    }

    async fn vector(&self, text: String, purpose: Purpose) -> Result<Vec<f32>, Error> {
        let lane = match purpose {
            Purpose::Query(_) => &self.queries,
            Purpose::Save => &self.saves,
            Purpose::Passage => &self.passages,
        };
        let _room = lane.acquire().await.map_err(|e| failed(&self.name, &e))?;
        let (job, answer) = EmbedRequest::new(text);
        self.lanes.push(job, purpose);
        let answer = answer.await.map_err(|e| failed(&self.name, &e))?;
        answer.map_err(|reason| failed(&self.name, &reason))
    }
}

impl EmbeddingBackend for Local {
    fn vectors(
        &self,
        texts: Vec<String>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>> {
        Box::pin(try_join_all(texts.into_iter().map(move |text| self.vector(text, purpose))))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.lanes.close();
    }
}

/// Starts a thread that runs the model on queued texts until the queue is closed.
fn spawn(number: usize, mut model: ModelSession, lanes: Arc<PriorityQueue>) -> std::io::Result<()> {
    let work = move || {
        while let Some(job) = lanes.next() {
            job.run(|text| model.embed(text));
        }
    };
    thread::Builder::new().name(format!("embed-{number}")).spawn(work)?;
    Ok(())
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn failed(model: &str, reason: &dyn Display) -> Error {
    Error::Model { model: model.to_owned(), reason: reason.to_string() }
}
