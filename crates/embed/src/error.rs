//! What can go wrong with embeddings, each with the way out in its message.

use std::path::PathBuf;
use std::time::Duration;

use mc_domain::{Classified, ErrorKind};

/// Why there are no vectors.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The ONNX runtime can't be loaded.
    #[error(
        "can't load the ONNX runtime {}: {reason}; run `make setup`, or set `embedding.onnxruntime_library` to its shared library",
        path.display()
    )]
    Library {
        /// The library that was tried.
        path: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// A folder does not hold a model.
    #[error("can't read the embedding model's {}: {reason}; run `make setup`, or point the provider's `dir` at a folder with an ONNX model", path.display())]
    ModelFile {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A model of the hub can't be had.
    #[error(
        "can't get the model {model} from the hub: {reason}; check the network, set HF_ENDPOINT to a mirror, or use a local folder (`provider: folder`)"
    )]
    Hub {
        /// The model's name.
        model: String,
        /// The client's words.
        reason: String,
    },
    /// The name is none of the hub's models that can be run here.
    #[error(
        "unknown model {model}; use the repository of a model that fastembed knows (for example intfloat/multilingual-e5-small), or a local folder (`provider: folder`)"
    )]
    UnknownModel {
        /// The name.
        model: String,
    },
    /// The local model failed on a text, or its thread is gone.
    #[error("the embedding model {model} failed: {reason}")]
    Model {
        /// The model's name.
        model: String,
        /// The runtime's words.
        reason: String,
    },
    /// A setting can't be used.
    #[error("embedding settings: {reason}")]
    Settings {
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The server wants another key.
    #[error("the embedding server {server} refused the key (status {status}): {remedy}")]
    Credentials {
        /// Host and port.
        server: String,
        /// HTTP status.
        status: u16,
        /// Where the key is configured.
        remedy: String,
    },
    /// The server wants fewer requests.
    #[error("the embedding server {server} is limiting requests; try again later")]
    RateLimited {
        /// Host and port.
        server: String,
        /// The wait it asked for.
        retry_after: Option<Duration>,
    },
    /// The server is away, slow, or failing.
    #[error(
        "the embedding server {server} is unavailable: {reason}; check that it runs and that `base_url` is right"
    )]
    Unavailable {
        /// Host and port.
        server: String,
        /// Status, or the client's words.
        reason: String,
        /// The wait it asked for.
        retry_after: Option<Duration>,
    },
    /// The server understood and said no.
    #[error(
        "the embedding server {server} refused the request (status {status}): {reason}; check `model` and `dimensions`"
    )]
    Refused {
        /// Host and port.
        server: String,
        /// HTTP status.
        status: u16,
        /// The server's words, shortened and masked.
        reason: String,
    },
    /// What came back are not the vectors that were asked for.
    #[error("the embedding model {model} answered {reason}")]
    BadAnswer {
        /// The model's name.
        model: String,
        /// What is wrong with the answer.
        reason: String,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Library { .. }
            | Self::ModelFile { .. }
            | Self::Hub { .. }
            | Self::Credentials { .. }
            | Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            Self::UnknownModel { .. } | Self::Settings { .. } => ErrorKind::Invalid,
            Self::Model { .. } | Self::Refused { .. } | Self::BadAnswer { .. } => {
                ErrorKind::Internal
            }
        }
    }
}

impl Error {
    /// Whether the same request may succeed in a moment. Narrower than the kind: a missing library
    /// or a wrong key stays so until a person acts.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable { .. })
    }

    /// The wait that the server asked for.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}
