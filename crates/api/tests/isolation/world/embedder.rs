//! A model that costs nothing: the vector of a text counts its words.

use futures::future::BoxFuture;
use mc_embed::{Embedder, Error, ModelId, Purpose};
use mc_sanitizer::Sanitized;

pub const DIMENSIONS: usize = 16;

/// Texts with common words have similar vectors, whoever wrote them.
pub struct WordCounts(ModelId);

impl WordCounts {
    pub fn new() -> Self {
        Self(ModelId { name: "word-counts".into(), dimensions: DIMENSIONS })
    }
}

impl Embedder for WordCounts {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        _purpose: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, Error>> {
        Box::pin(async move { Ok(texts.iter().map(|text| vector(text.as_str())).collect()) })
    }
}

/// The vector of a text, of unit length.
pub fn vector(text: &str) -> Vec<f32> {
    let mut counts = [0.1_f32; DIMENSIONS];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word.bytes().fold(2_166_136_261_u32, |hash, byte| {
            (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(16_777_619)
        });
        counts[hash as usize % DIMENSIONS] += 1.0;
    }
    let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
    counts.iter().map(|count| count / length).collect()
}
