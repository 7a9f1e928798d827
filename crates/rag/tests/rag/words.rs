//! An embedder of word bags, so that texts with common words are near.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use futures::future::{self, BoxFuture, FutureExt};
use mc_embed::{Embedder, ModelId, Purpose};
use mc_sanitizer::Sanitized;

const DIMENSIONS: usize = 256;
/// Letters of a word that count, so that some words are near that no keyword search finds.
const STEM: usize = 5;

pub struct Words(ModelId);

impl Default for Words {
    fn default() -> Self {
        Self(ModelId { name: "words".into(), dimensions: DIMENSIONS })
    }
}

impl Embedder for Words {
    fn model(&self) -> &ModelId {
        &self.0
    }

    fn embed(
        &self,
        texts: Vec<Sanitized>,
        _: Purpose,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, mc_embed::Error>> {
        future::ready(Ok(texts.iter().map(|text| bag_of_words(text.as_str())).collect())).boxed()
    }
}

fn bag_of_words(text: &str) -> Vec<f32> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in words.collect::<BTreeSet<_>>() {
        let mut hasher = DefaultHasher::new();
        let stem: String = word.chars().take(STEM).collect();
        stem.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % DIMENSIONS as u64).unwrap();
        vector[at] += 1.0;
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::EPSILON);
    vector.into_iter().map(|x| x / length).collect()
}
