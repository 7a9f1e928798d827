//! The trait that other crates use.

use futures::future::BoxFuture;
use mc_domain::ProjectId;
use mc_sanitizer::Sanitized;

use crate::Error;

/// Converts texts to vectors.
///
/// Dropping the future cancels work that has not started, for example after a timeout.
pub trait Embedder: Send + Sync {
    /// Returns the name and the dimensions of the model.
    fn model(&self) -> &ModelId;

    /// Returns one L2-normalized vector of [`ModelId::dimensions`] numbers per text, in order.
    ///
    /// Texts may be empty or longer than the model reads; the excess has no effect.
    fn embed(
        &self,
        texts: Vec<Sanitized>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>>;
}

/// Identity of the weights and their quantization: vectors of different ids are not comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// For example `all-minilm-l6-v2-int8`.
    pub name: String,
    /// Number of dimensions of a vector.
    pub dimensions: usize,
}

/// Purpose of an embedding. Some models need it in the text, and it sets the priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Search in this project. Has priority over passages and is cached per project: the response
    /// time must not reveal the queries of other projects.
    Query(ProjectId),
    /// Store a text in a request that waits for it. Has priority over passages.
    Save,
    /// Store a text in the background.
    Passage,
}
