//! The subset of `OpenAI`'s embeddings schema that clients use.

use std::fmt::Display;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mc_embed::ModelId;
use serde::{Deserialize, Serialize};

/// The body of `POST /v1/embeddings`. Unknown fields, such as `user`, are ignored.
#[derive(Deserialize)]
pub(super) struct Request {
    model: String,
    input: Input,
    #[serde(default)]
    encoding_format: Encoding,
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Texts(Vec<String>),
    Tokens(#[expect(dead_code, reason = "only the shape is checked")] Vec<i64>),
    TokenLists(#[expect(dead_code, reason = "only the shape is checked")] Vec<Vec<i64>>),
}

/// The encoding of vectors. `OpenAI`'s own client requests base64 by default.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Encoding {
    #[default]
    Float,
    Base64,
}

impl Request {
    /// Returns the texts to embed, if the request is valid for `model`.
    pub(super) fn validate(self, model: &ModelId) -> Result<(Vec<String>, Encoding), ApiError> {
        if self.model != model.name {
            let reason = format!("the model {} is not served; use {}", self.model, model.name);
            return Err(ApiError::new(StatusCode::NOT_FOUND, "model", reason));
        }
        if let Some(wanted) = self.dimensions.filter(|&wanted| wanted != model.dimensions) {
            let reason = format!("vectors have {} dimensions, not {wanted}", model.dimensions);
            return Err(ApiError::bad_request("dimensions", reason));
        }
        let texts = match self.input {
            Input::Text(text) => vec![text],
            Input::Texts(texts) if texts.is_empty() => {
                return Err(ApiError::bad_request("input", "is empty; send at least one text"));
            }
            Input::Texts(texts) => texts,
            Input::Tokens(_) | Input::TokenLists(_) => {
                let reason = "token ids are not supported; send a string or a list of strings";
                return Err(ApiError::bad_request("input", reason));
            }
        };
        Ok((texts, self.encoding_format))
    }
}

/// The vectors, in the order of the texts.
#[derive(Serialize)]
pub(super) struct EmbeddingsResponse {
    object: &'static str,
    data: Vec<Item>,
    model: String,
    usage: Usage,
}

#[derive(Serialize)]
struct Item {
    object: &'static str,
    index: usize,
    embedding: Embedding,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Embedding {
    Float(Vec<f32>),
    /// Base64 of the little-endian `f32` bytes.
    Base64(String),
}

/// Counts of words, not of tokens. Clients require the fields.
#[derive(Serialize)]
struct Usage {
    prompt_tokens: usize,
    total_tokens: usize,
}

impl EmbeddingsResponse {
    pub(super) fn new(
        model: &str,
        vectors: Vec<Vec<f32>>,
        encoding: Encoding,
        words: usize,
    ) -> Self {
        let data = vectors.into_iter().enumerate().map(|(index, vector)| Item {
            object: "embedding",
            index,
            embedding: Embedding::new(vector, encoding),
        });
        Self {
            object: "list",
            data: data.collect(),
            model: model.to_owned(),
            usage: Usage { prompt_tokens: words, total_tokens: words },
        }
    }
}

impl Embedding {
    fn new(vector: Vec<f32>, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Float => Self::Float(vector),
            Encoding::Base64 => {
                let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
                Self::Base64(STANDARD.encode(bytes))
            }
        }
    }
}

/// `GET /v1/models`.
#[derive(Serialize)]
pub(super) struct Models {
    object: &'static str,
    data: [Model; 1],
}

#[derive(Serialize)]
struct Model {
    id: String,
    object: &'static str,
    owned_by: &'static str,
}

impl Models {
    pub(super) fn new(name: &str) -> Self {
        let model = Model { id: name.to_owned(), object: "model", owned_by: "memory-copilot" };
        Self { object: "list", data: [model] }
    }
}

/// An error in `OpenAI`'s form: `{"error": {"message", "type", "param"}}`.
pub(super) struct ApiError {
    status: StatusCode,
    param: Option<&'static str>,
    message: String,
}

impl ApiError {
    fn new(status: StatusCode, param: &'static str, reason: impl Display) -> Self {
        Self { status, param: Some(param), message: format!("{param}: {reason}") }
    }

    fn bad_request(param: &'static str, reason: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, param, reason)
    }

    /// Returns the error of an invalid body.
    #[expect(clippy::needless_pass_by_value, reason = "passed to `map_err`")]
    pub(super) fn unreadable(rejection: JsonRejection) -> Self {
        Self { status: rejection.status(), param: None, message: rejection.body_text() }
    }

    /// Returns the error of a failed model.
    #[expect(clippy::needless_pass_by_value, reason = "passed to `map_err`")]
    pub(super) fn failed(error: mc_embed::Error) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self { status, param: None, message: error.to_string() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let kind =
            if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        let error = ErrorBody { message: self.message, r#type: kind, param: self.param };
        (self.status, Json(Problem { error })).into_response()
    }
}

#[derive(Serialize)]
struct Problem {
    error: ErrorBody,
}

#[derive(Serialize)]
struct ErrorBody {
    message: String,
    r#type: &'static str,
    param: Option<&'static str>,
}
