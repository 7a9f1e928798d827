//! Models of the Hugging Face hub: their names, and the files in the cache.

mod names;

use std::path::{Path, PathBuf};

use fastembed::{EmbeddingModel, TextEmbedding, TextInitOptions};
use mc_privileges::raise_privileges;

use super::model::{ModelSession, TOKENIZER_FILES, chain, session_config};
use crate::Error;

pub(super) use names::find;

/// A model of the hub.
pub(crate) struct HubModel {
    model: EmbeddingModel,
    /// Repository from which fastembed downloads the files.
    repository: String,
    /// Path of the graph in that repository.
    graph: String,
    /// Paths of the files with the graph's weights, if they are separate.
    weights: Vec<String>,
}

impl HubModel {
    /// Returns the name under which vectors are stored. A repository may have several
    /// quantizations, which fastembed's name distinguishes.
    pub(super) fn stored_name(&self) -> String {
        format!("{} ({})", self.repository, self.model)
    }

    /// Loads the model, and downloads files that are not in the cache. Blocks.
    pub(super) fn load(&self, cache_dir: &Path, threads: usize) -> Result<ModelSession, Error> {
        let mut options = TextInitOptions::new(self.model.clone())
            .with_cache_dir(cache_dir.to_owned())
            .with_show_download_progress(false)
            .with_intra_threads(threads);
        options.session_config = session_config();
        let loaded = TextEmbedding::try_new(options);
        let session = loaded.map_err(|error| self.failed(cache_dir, &error))?;
        Ok(ModelSession::new(session, threads))
    }

    /// Returns whether every file is in the cache.
    pub(super) fn is_downloaded(&self, cache_dir: &Path) -> bool {
        let _raised = raise_privileges();
        let snapshot = snapshot(&self.dir(cache_dir));
        let model_files = self.weights.iter().chain([&self.graph]).map(String::as_str);
        model_files.chain(TOKENIZER_FILES).all(|file| snapshot.join(file).exists())
    }

    /// Returns the directory of the repository in the cache.
    fn dir(&self, cache_dir: &Path) -> PathBuf {
        cache(cache_dir).join(format!("models--{}", self.repository.replace('/', "--")))
    }

    /// Distinguishes a file that is damaged from one that can't be downloaded.
    fn failed(&self, cache_dir: &Path, error: &fastembed::Error) -> Error {
        let reason = chain(error);
        let Some(file) = self.damaged_file(error) else {
            return Error::Hub { model: self.stored_name(), reason };
        };
        let dir = self.dir(cache_dir);
        let remedy = format!("delete {} and start again to download it", dir.display());
        Error::DamagedModel { path: path_in_cache(&dir, &file), reason, remedy }
    }

    /// Returns the file of the repository that the error is about, if it was downloaded.
    fn damaged_file(&self, error: &fastembed::Error) -> Option<String> {
        use fastembed::Error as E;
        match error {
            E::Ort(_) | E::OrtBuilder(_) | E::OrtSession(_) => Some(self.graph.clone()),
            E::TokenizerConfig(_) => Some("tokenizer_config.json".to_owned()),
            E::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                let message = error.to_string();
                let named = |file: &&str| message.contains(&format!("read {file} "));
                TOKENIZER_FILES.into_iter().find(named).map(str::to_owned)
            }
            _ => None,
        }
    }
}

/// Returns the directory of downloads: the variable of the hub's clients precedes the setting.
fn cache(configured: &Path) -> PathBuf {
    std::env::var_os("HF_HOME").map_or_else(|| configured.to_owned(), PathBuf::from)
}

/// Returns the directory of the files of the downloaded commit.
fn snapshot(dir: &Path) -> PathBuf {
    let commit = std::fs::read_to_string(dir.join("refs/main")).unwrap_or_default();
    dir.join("snapshots").join(commit.trim())
}

/// Returns the path of a downloaded file, or of the model's directory if the cache lacks it.
fn path_in_cache(dir: &Path, file: &str) -> PathBuf {
    let path = snapshot(dir).join(file);
    if path.exists() { path } else { dir.to_owned() }
}
