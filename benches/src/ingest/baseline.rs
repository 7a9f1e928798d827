//! The baseline: the model without the service.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use mc_embed::Purpose;
use mc_sanitizer::Sanitized;
use mc_store::Store;
use mc_store::passages::{self, embedding_text};

use super::run::Window;
use crate::harness::{embedding, say};

/// Texts per call, as in the service.
const BATCH: usize = 32;
const PAGE: i64 = 1_000;

/// Embeds the texts that the service embedded in the window, in this process with the service's
/// settings; returns texts per second for each slice.
pub async fn throughput(store: &Store, cache_dir: &Path, window: &Window) -> Result<Vec<f64>> {
    let texts = texts(store, window).await?;
    let embedder = embedding::open(cache_dir).await?;
    // The first calls load data that later ones use.
    embedder.embed(texts.iter().take(BATCH).cloned().collect(), Purpose::Passage).await?;
    say(&format!("the model alone: {} texts", texts.len()));
    let mut texts = texts.into_iter();
    let mut paces = Vec::new();
    for slice in &window.slices {
        let texts: Vec<_> = texts.by_ref().take(usize::try_from(slice.made)?).collect();
        let began = Instant::now();
        for batch in texts.chunks(BATCH) {
            embedder.embed(batch.to_vec(), Purpose::Passage).await?;
        }
        paces.push(texts.len() as f64 / began.elapsed().as_secs_f64());
    }
    Ok(paces)
}

/// The queue is processed in the order in which passages were written, which is that of their ids.
async fn texts(store: &Store, window: &Window) -> Result<Vec<Sanitized>> {
    let made: u64 = window.slices.iter().map(|slice| slice.made).sum();
    let (first, made) = (usize::try_from(window.first)?, usize::try_from(made)?);
    let mut texts = Vec::new();
    let mut after = None;
    while texts.len() < first + made {
        let page = passages::indexed_after(store, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        let text = |p: &passages::IndexedPassage| {
            embedding_text(p.source, &p.title, &p.location, &p.context, &p.text)
        };
        texts.extend(page.iter().map(|passage| Sanitized::stored(text(passage))));
    }
    Ok(texts.into_iter().skip(first).take(made).collect())
}
