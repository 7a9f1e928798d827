//! What the rest of the house sees of a model.

use futures::future::BoxFuture;
use mc_domain::ProjectId;
use mc_sanitizer::Sanitized;

use crate::Error;

/// Turns texts into vectors.
///
/// Dropping the future gives up the work that has not started yet: a recall whose time is over
/// does not keep the model busy.
pub trait Embedder: Send + Sync {
    /// The model whose vectors these are.
    fn model(&self) -> &ModelId;

    /// One L2-normalised vector of [`ModelId::dimensions`] numbers for each text, in their order.
    ///
    /// Texts may be empty or larger than the model reads; what is beyond its limit has no effect.
    fn embed(
        &self,
        texts: Vec<Sanitized>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>>;
}

/// Names the weights and their quantisation: vectors of different ids can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// For example `all-minilm-l6-v2-int8`.
    pub name: String,
    /// Numbers in a vector.
    pub dimensions: usize,
}

/// What a text is embedded for. Some models want it said, and people wait for queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To search with in this project. Goes ahead of passages, and is remembered, for this project alone: by the
    /// time that an answer takes nobody can tell what was asked elsewhere.
    Query(ProjectId),
    /// To be found, and somebody waits until it is saved. Goes ahead of passages.
    Save,
    /// To be found.
    Passage,
}
