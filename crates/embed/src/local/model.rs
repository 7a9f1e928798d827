//! Model files and the sessions that run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fastembed::{
    InitOptionsUserDefined, Pooling, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel,
};
use mc_privileges::raise_privileges;
use mc_processor_time::add_helper_time;
use serde_json::Value;

use super::hub::{self, HubModel};
use crate::Error;

/// The graph of a directory's model.
const GRAPH: &str = "model.onnx";
/// Files of the tokenizer in a model's directory or repository.
pub(super) const TOKENIZER_FILES: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// Tokens that a directory's model reads if its files do not say.
const DEFAULT_MAX_LENGTH: usize = 256;

/// Size of weights, in bytes, up to which each thread has its own session: threads without
/// coordination are faster. Larger weights are loaded once, and all threads work on one text.
const LARGEST_REPLICATED: u64 = 64 * 1024 * 1024;

pub(crate) enum Source {
    Folder { dir: PathBuf, name: String },
    Hub { model: HubModel, name: String, cache_dir: PathBuf },
}

/// A session and its tokenizer.
pub(super) struct ModelSession {
    model: TextEmbedding,
    /// Threads that the session has besides the one that calls it.
    other_threads: u32,
}

impl Source {
    pub(crate) fn folder(dir: &Path, name: Option<&str>) -> Result<Self, Error> {
        let folder_name = || dir.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.map(str::to_owned).or_else(folder_name).ok_or_else(|| {
            Error::Settings(format!("{} has no name; set the provider's `name`", dir.display()))
        })?;
        Ok(Self::Folder { dir: dir.to_owned(), name })
    }

    /// Finds a model of the hub by one of its names.
    pub(crate) fn hub(model: &str, cache_dir: &Path) -> Result<Self, Error> {
        let model = hub::find(model)?;
        Ok(Self::Hub { name: model.stored_name(), model, cache_dir: cache_dir.to_owned() })
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Folder { name, .. } | Self::Hub { name, .. } => name,
        }
    }

    /// Returns whether no file has to be downloaded.
    pub(crate) fn is_downloaded(&self) -> bool {
        match self {
            Self::Folder { .. } => true,
            Self::Hub { model, cache_dir, .. } => model.is_downloaded(cache_dir),
        }
    }

    /// Loads one session for each thread that will run it. Blocks: it reads or downloads files.
    pub(super) fn load(&self, threads: usize) -> Result<Vec<ModelSession>, Error> {
        match self {
            Self::Folder { dir, .. } => from_folder(dir, threads),
            Self::Hub { model, cache_dir, .. } => Ok(vec![model.load(cache_dir, threads)?]),
        }
    }
}

impl ModelSession {
    pub(super) fn new(model: TextEmbedding, threads: usize) -> Self {
        let other_threads = u32::try_from(threads.saturating_sub(1)).unwrap_or(u32::MAX);
        Self { model, other_threads }
    }

    pub(super) fn embed(&mut self, text: &str) -> Result<Vec<f32>, String> {
        let start = Instant::now();
        let vectors = self.model.embed([text], None).map_err(|error| error.to_string());
        // The other threads of the session work, or wait in a loop, for as long.
        add_helper_time(start.elapsed().saturating_mul(self.other_threads));
        vectors?.into_iter().next().ok_or_else(|| "no vector came out".to_owned())
    }
}

fn from_folder(dir: &Path, threads: usize) -> Result<Vec<ModelSession>, Error> {
    let model = user_defined(dir)?;
    let weights = model.onnx_file.len()
        + model.external_initializers.iter().map(|f| f.buffer.len()).sum::<usize>();
    let (sessions, threads_each) =
        if weights as u64 <= LARGEST_REPLICATED { (threads, 1) } else { (1, threads) };
    let mut options = InitOptionsUserDefined::new()
        .with_max_length(max_length(dir)?)
        .with_intra_threads(threads_each);
    options.session_config = session_config();
    (0..sessions)
        .map(|_| TextEmbedding::try_new_from_user_defined(model.clone(), options.clone()))
        .map(|loaded| match loaded {
            Ok(session) => Ok(ModelSession::new(session, threads_each)),
            Err(error) => Err(damaged(dir, &error)),
        })
        .collect()
}

/// Returns the error for files that can be read, but not loaded.
fn damaged(dir: &Path, error: &fastembed::Error) -> Error {
    let reason = chain(error);
    let named = |file: &&str| reason.contains(&format!("read {file} "));
    let file = TOKENIZER_FILES.into_iter().find(named).unwrap_or(GRAPH);
    let remedy = format!(
        "delete {} and run `make setup`, or set embedding.dir to a directory with an ONNX model",
        dir.display()
    );
    Error::DamagedModel { path: dir.join(file), reason, remedy }
}

/// Returns the options of the ONNX runtime for a session, by name.
pub(super) fn session_config() -> Vec<(String, String)> {
    let options = [
        // On a CPU, an addition fused with the normalization after it takes several times as long
        // as both alone: a quarter of a short text's time. The vectors are the same.
        ("optimization.disable_specified_optimizers", "SkipLayerNormFusion"),
        // An x64 processor without VNNI multiplies int8 weights in 16 bits, where sums saturate:
        // the vectors differ from those of other processors (cosine .991). The option takes
        // unsigned weights there. No other processor is affected.
        ("session.x64quantprecision", "1"),
    ];
    options.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn user_defined(dir: &Path) -> Result<UserDefinedEmbeddingModel, Error> {
    let tokenizer_files = TokenizerFiles {
        tokenizer_file: read(dir, "tokenizer.json")?,
        config_file: read(dir, "config.json")?,
        special_tokens_map_file: read(dir, "special_tokens_map.json")?,
        tokenizer_config_file: read(dir, "tokenizer_config.json")?,
    };
    let model = UserDefinedEmbeddingModel::new(read(dir, GRAPH)?, tokenizer_files);
    let model = model.with_pooling(pooling(dir)?);
    // Weights of more than 2 GB are in a file of their own.
    let outside = "model.onnx_data";
    if exists(&dir.join(outside)) {
        return Ok(model.with_external_initializer(outside.to_owned(), read(dir, outside)?));
    }
    Ok(model)
}

/// Returns `max_seq_length` of `sentence_bert_config.json`, or the default.
fn max_length(dir: &Path) -> Result<usize, Error> {
    let config = read_optional_json(dir, "sentence_bert_config.json")?;
    let length = config["max_seq_length"].as_u64().and_then(|n| usize::try_from(n).ok());
    Ok(length.unwrap_or(DEFAULT_MAX_LENGTH))
}

/// Returns the mean, unless `1_Pooling/config.json` requires the first token.
fn pooling(dir: &Path) -> Result<Pooling, Error> {
    let config = read_optional_json(dir, "1_Pooling/config.json")?;
    let first_token = config["pooling_mode_cls_token"].as_bool().unwrap_or(false);
    Ok(if first_token { Pooling::Cls } else { Pooling::Mean })
}

fn read(dir: &Path, file: &str) -> Result<Vec<u8>, Error> {
    let path = dir.join(file);
    // Root's cache may be closed to other users.
    let _raised = raise_privileges();
    fs::read(&path).map_err(|error| Error::ModelFile { path, reason: error.to_string() })
}

fn exists(path: &Path) -> bool {
    let _raised = raise_privileges();
    path.exists()
}

/// Returns `null` if there is no such file.
fn read_optional_json(dir: &Path, file: &str) -> Result<Value, Error> {
    let path = dir.join(file);
    if !exists(&path) {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&read(dir, file)?)
        .map_err(|error| Error::ModelFile { path, reason: error.to_string() })
}

/// Returns the error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |message, cause| format!("{message}: {cause}"))
}
