//! Path of a text: truncate, add the instruction prefix, look up, embed, validate.

use std::sync::Arc;

use futures::future::{BoxFuture, try_join_all};
use mc_domain::ProjectId;
use mc_sanitizer::Sanitized;
use moka::future::Cache;
use sha2::{Digest, Sha256};

use crate::{
    Embedder, Error, ModelId, Purpose, QueryCache, RuntimeSettings, instruction_prefix, vector,
};

/// Model behind the pipeline: takes prepared texts and returns raw vectors.
///
/// Each backend bounds its own work and gives queries priority.
pub(crate) trait EmbeddingBackend: Send + Sync {
    fn vectors(
        &self,
        texts: Vec<String>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>>;
}

/// Maximum size of a text that reaches a model. More than any supported model reads (8,192 tokens),
/// and small enough that a text of megabytes is not tokenized in vain.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Text that is embedded for an empty one, which servers reject and no vector represents.
const NOTHING: &str = "(empty)";

/// An [`Embedder`] over an [`EmbeddingBackend`].
pub(crate) struct Pipeline<P> {
    model: ModelId,
    provider: P,
    /// Vectors of recent queries by the hash of model, project and text, which is not kept.
    queries: Cache<[u8; 32], Vec<f32>>,
    /// Vectors of all nodes, by the same hash.
    shared: Option<Arc<dyn QueryCache>>,
}

impl<P: EmbeddingBackend> Pipeline<P> {
    pub(crate) fn new(model: ModelId, provider: P, runtime: &RuntimeSettings) -> Self {
        let queries = Cache::new(runtime.query_cache);
        Self { model, provider, queries, shared: runtime.shared_queries.clone() }
    }

    async fn fresh(&self, texts: Vec<String>, purpose: Purpose) -> Result<Vec<Vec<f32>>, Error> {
        let expected = texts.len();
        let vectors = self.provider.vectors(texts, purpose).await?;
        vector::checked(&self.model, expected, vectors)
    }

    /// Returns the vector of a query. Concurrent equal queries share one call of the provider.
    async fn query(&self, text: String, of: ProjectId) -> Result<Vec<f32>, Error> {
        let key = self.key(of, &text);
        self.queries
            .try_get_with(key, self.shared_or_new(key, text, of))
            .await
            .map_err(|error: Arc<Error>| (*error).clone())
    }

    /// Returns the vector from the shared cache, else embeds the query and stores it there.
    async fn shared_or_new(
        &self,
        key: [u8; 32],
        text: String,
        of: ProjectId,
    ) -> Result<Vec<f32>, Error> {
        let Some(shared) = &self.shared else { return self.embedded(text, of).await };
        let known = shared.get(key).await;
        if let Some(vector) = known.and_then(|bytes| vector::read(&self.model, &bytes)) {
            return Ok(vector);
        }
        let vector = self.embedded(text, of).await?;
        shared.put(key, vector::written(&vector));
        Ok(vector)
    }

    async fn embedded(&self, text: String, of: ProjectId) -> Result<Vec<f32>, Error> {
        Ok(self.fresh(vec![text], Purpose::Query(of)).await?.remove(0))
    }

    fn key(&self, of: ProjectId, text: &str) -> [u8; 32] {
        let ModelId { name, dimensions } = &self.model;
        let named = Sha256::new().chain_update(name).chain_update([0]);
        let named = named.chain_update(dimensions.to_le_bytes());
        named.chain_update(of.0).chain_update(text).finalize().into()
    }
}

impl<P: EmbeddingBackend> Embedder for Pipeline<P> {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>> {
        let prefix = instruction_prefix::prefix(&self.model.name, purpose);
        let texts: Vec<_> = texts.iter().map(|text| prepared(prefix, text.as_str())).collect();
        Box::pin(async move {
            match purpose {
                _ if texts.is_empty() => Ok(Vec::new()),
                Purpose::Query(of) => {
                    try_join_all(texts.into_iter().map(|text| self.query(text, of))).await
                }
                Purpose::Save | Purpose::Passage => self.fresh(texts, purpose).await,
            }
        })
    }
}

/// Returns the text as the model reads it.
pub(crate) fn prepared(prefix: &str, text: &str) -> String {
    let text = text.trim();
    let text = if text.is_empty() { NOTHING } else { text };
    format!("{prefix}{}", &text[..text.floor_char_boundary(MAX_TEXT_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_truncated_at_a_character_and_never_empty() {
        assert_eq!(prepared("", " \n"), NOTHING);
        assert_eq!(prepared("query: ", " a "), "query: a");
        let long = prepared("", &"я".repeat(MAX_TEXT_BYTES));
        assert_eq!(long.len(), MAX_TEXT_BYTES);
        let odd = prepared("", &format!("x{}", "я".repeat(MAX_TEXT_BYTES)));
        assert_eq!(odd.len(), MAX_TEXT_BYTES - 1);
    }
}
