#![doc = include_str!("../README.md")]

mod circuit_breaker;
mod client_model;
mod completion;
mod error;
mod genai_provider;
mod json_answer;
mod model;
mod models;
mod provider;
mod request;
mod settings;

pub use client_model::ClientModel;
pub use completion::{Completion, Content, Usage};
pub use error::{Error, Failure};
pub use json_answer::{InvalidSchema, JsonAnswer};
pub use model::ChatModel;
pub use models::ChatModels;
pub use provider::{Answer, AnswerEnd, ChatProvider, Progress};
pub use request::{AnswerFormat, ChatRequest, Message, Role};
pub use settings::{
    ChatModelSettings, ChatProviderName, ChatSettings, ModelRole, Price, StructuredOutput,
};
