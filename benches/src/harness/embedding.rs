//! The service's embedding model in this process, and cached vectors.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use mc_embed::{Embedder, ProviderSettings, Purpose, RuntimeSettings};
use mc_sanitizer::{Sanitized, mask};
use mc_store::Store;
use mc_store::vectors::{self, Model};
use sha2::{Digest, Sha256};

use super::say;

/// The service's default model.
const NAME: &str = "all-minilm-l6-v2-int8";
/// Texts between two progress messages.
const STEP: usize = 5_000;
/// Texts per call.
const BATCH: usize = 32;

type Hash = [u8; 32];

/// Opens the model with the service's default configuration.
pub async fn open(cache_dir: &Path) -> Result<Arc<dyn Embedder>> {
    let runtime = RuntimeSettings {
        onnx_library: Some(cache_dir.join("onnxruntime/libonnxruntime.so")),
        ..RuntimeSettings::default()
    };
    mc_embed::open(&provider(cache_dir), &runtime).await.context("run `make setup` first")
}

/// Registers the model in a database, as the service does.
pub async fn register(store: &Store, cache_dir: &Path, embedder: &dyn Embedder) -> Result<Model> {
    let (id, settings) = (embedder.model(), serde_json::to_value(provider(cache_dir))?);
    Ok(vectors::register_model(store, &id.name, id.dimensions, &settings).await?)
}

fn provider(cache_dir: &Path) -> ProviderSettings {
    let dir = cache_dir.join("models").join(NAME);
    ProviderSettings::Folder { dir, name: Some(NAME.to_owned()) }
}

/// Vectors by the hash of their text, cached in a file: the model needs minutes for a hundred
/// thousand texts.
pub struct Vectors {
    file: PathBuf,
    dimensions: usize,
    known: HashMap<Hash, Vec<f32>>,
}

impl Vectors {
    /// Opens the cached vectors of this model.
    pub fn open(cache_dir: &Path, embedder: &dyn Embedder) -> Result<Self> {
        let model = embedder.model();
        let dir = cache_dir.join("bench");
        std::fs::create_dir_all(&dir)?;
        let file = dir.join(format!("vectors-{}.bin", model.name));
        let known = read(&file, model.dimensions)?;
        Ok(Self { file, dimensions: model.dimensions, known })
    }

    /// Computes and caches the missing vectors of these texts.
    pub async fn make(&mut self, embedder: &dyn Embedder, texts: &[String]) -> Result<()> {
        let missing: Vec<_> = texts.iter().filter(|t| !self.known.contains_key(&hash(t))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        say(&format!("embedding {} texts; they are kept for the next time", missing.len()));
        let file = File::options().create(true).append(true).open(&self.file)?;
        let mut file = BufWriter::new(file);
        let began = Instant::now();
        for (step, texts) in missing.chunks(STEP).enumerate() {
            for batch in texts.chunks(BATCH) {
                let prepared: Vec<Sanitized> = batch.iter().map(|text| mask(text).text).collect();
                let made = embedder.embed(prepared, Purpose::Passage).await?;
                for (text, vector) in batch.iter().zip(made) {
                    write(&mut file, hash(text), &vector)?;
                    self.known.insert(hash(text), vector);
                }
            }
            file.flush()?;
            let done = step * STEP + texts.len();
            let pace = done as f64 / began.elapsed().as_secs_f64();
            say(&format!("{done} of {} embedded, {pace:.0} a second", missing.len()));
        }
        Ok(())
    }

    /// Returns the vector of a text.
    pub fn get(&self, text: &str) -> Result<&[f32]> {
        let vector = self.known.get(&hash(text)).context("the text was not embedded before")?;
        debug_assert_eq!(vector.len(), self.dimensions);
        Ok(vector)
    }
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

fn write(file: &mut impl Write, hash: Hash, vector: &[f32]) -> std::io::Result<()> {
    file.write_all(&hash)?;
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    file.write_all(&bytes)
}

/// Reads entries of hash and vector; a truncated entry ends the file.
fn read(file: &Path, dimensions: usize) -> Result<HashMap<Hash, Vec<f32>>> {
    let mut bytes = Vec::new();
    match File::open(file) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error).context(file.display().to_string()),
    };
    let entries = bytes.chunks_exact(size_of::<Hash>() + dimensions * size_of::<f32>());
    let cut_off = entries.remainder().len();
    if cut_off > 0 {
        let whole = bytes.len() - cut_off;
        File::options().write(true).open(file)?.set_len(whole as u64)?;
    }
    let known = entries.map(|entry| {
        let (hash, vector) = entry.split_at(size_of::<Hash>());
        let values = vector.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        (hash.try_into().expect("32 bytes"), values.collect())
    });
    Ok(known.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_entry_is_dropped_and_others_are_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("vectors.bin");
        let mut file = File::create(&path).expect("a file");
        write(&mut file, hash("a"), &[1.0, 2.0]).expect("written");
        write(&mut file, hash("b"), &[3.0, 4.0]).expect("written");
        file.write_all(&[0; 5]).expect("written");
        for _ in 0..2 {
            let known = read(&path, 2).expect("readable");
            assert_eq!(known.len(), 2);
            assert_eq!(known[&hash("b")], [3.0, 4.0]);
        }
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), 80);
    }
}
