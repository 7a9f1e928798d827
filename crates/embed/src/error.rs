//! Errors of embedding; each message names a remedy.

use std::path::PathBuf;
use std::time::Duration;

use mc_domain::{Classified, ErrorKind};

/// Reason why texts cannot be embedded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The ONNX runtime can't be loaded.
    #[error(
        "can't load the ONNX runtime {}: {reason}; run `make setup`, or set \
        `embedding.onnxruntime_library` to its shared library",
        path.display()
    )]
    Library {
        /// Path of the library.
        path: PathBuf,
        /// Message of the loader.
        reason: String,
    },
    /// The directory contains no model.
    #[error(
        "can't read the embedding model's {}: {reason}; run `make setup`, or set embedding.dir to \
        a directory with an ONNX model",
        path.display()
    )]
    ModelFile {
        /// File that could not be read.
        path: PathBuf,
        /// Cause.
        reason: String,
    },
    /// A model cannot be downloaded from the Hugging Face hub.
    #[error(
        "can't get the model {model} from the hub: {reason}; check the network, set HF_ENDPOINT \
        to a mirror, or use a local directory (embedding.provider: local)"
    )]
    Hub {
        /// The model's name.
        model: String,
        /// Message of the client.
        reason: String,
    },
    /// A file of a local model is damaged or incomplete.
    #[error(
        "can't load the embedding model's {}: {reason}; the file is damaged or incomplete: \
        {remedy}",
        path.display()
    )]
    DamagedModel {
        /// The file, or the directory if the file is unknown.
        path: PathBuf,
        /// Message of the ONNX runtime or the tokenizer.
        reason: String,
        /// How to get the file again.
        remedy: String,
    },
    /// The name is not that of a hub model that fastembed supports.
    #[error(
        "embedding.model is \"{model}\", which is no supported model of the hub; the nearest names \
        are {nearest}; for other models, set embedding.provider to local and embedding.dir to a \
        directory with an ONNX model"
    )]
    UnknownModel {
        /// The unknown name.
        model: String,
        /// Supported names that are spelled most alike.
        nearest: String,
    },
    /// The local model failed on a text, or its thread ended.
    #[error("the embedding model {model} failed: {reason}")]
    Model {
        /// The model's name.
        model: String,
        /// Message of the ONNX runtime.
        reason: String,
    },
    /// A setting is invalid, with the cause and remedy.
    #[error("embedding settings: {0}")]
    Settings(String),
    /// The server rejected the API key.
    #[error("the embedding server {server} refused the key (status {status}): {remedy}")]
    Credentials {
        /// Host and port.
        server: String,
        /// HTTP status.
        status: u16,
        /// Setting that configures the key.
        remedy: String,
    },
    /// The server limits the rate of requests.
    #[error("the embedding server {server} is limiting requests; try again later")]
    RateLimited {
        /// Host and port.
        server: String,
        /// Wait that the server requested.
        retry_after: Option<Duration>,
    },
    /// The server is unreachable, slow or failing.
    #[error(
        "the embedding server {server} is unavailable: {reason}; check that it runs and that \
        `base_url` is right"
    )]
    Unavailable {
        /// Host and port.
        server: String,
        /// HTTP status or message of the client.
        reason: String,
        /// Wait that the server requested.
        retry_after: Option<Duration>,
    },
    /// The server rejected the request as invalid.
    #[error(
        "the embedding server {server} refused the request (status {status}): {reason}; check \
        `model` and `dimensions`"
    )]
    Refused {
        /// Host and port.
        server: String,
        /// HTTP status.
        status: u16,
        /// Message of the server, shortened and masked.
        reason: String,
    },
    /// The response does not contain the requested vectors.
    #[error("the embedding model {model} returned {reason}")]
    BadAnswer {
        /// The model's name.
        model: String,
        /// Defect of the response.
        reason: String,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Library { .. }
            | Self::ModelFile { .. }
            | Self::DamagedModel { .. }
            | Self::Hub { .. }
            | Self::Credentials { .. }
            | Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            Self::UnknownModel { .. } | Self::Settings(_) => ErrorKind::Invalid,
            Self::Model { .. } | Self::Refused { .. } | Self::BadAnswer { .. } => {
                ErrorKind::Internal
            }
        }
    }
}

impl Error {
    /// Returns whether a retry may succeed.
    ///
    /// Narrower than the kind: a missing library or a wrong key needs an administrator.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable { .. })
    }

    /// Returns the wait that the server requested.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}
