//! Chat models on behalf of a search: the policy and the budget of every searched project apply,
//! and all calls of a request share one time limit.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mc_chat::{ChatRequest, JsonAnswer, ModelRole};
use mc_memory::chat::ProjectChat;
use mc_prompt_guard::neutralize;
use mc_sanitizer::{Sanitized, mask};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

/// The role of the model that improves queries and writes texts.
const ROLE: ModelRole = ModelRole::Writer;

/// Why a module has no answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelFailure {
    /// No model may be asked in this request.
    Unavailable(String),
    /// The model gave no usable answer, or answered too late.
    Failed(String),
}

/// The chat models of one request.
pub(crate) struct Models {
    /// The model of each searched project; the budget of the first one is used.
    chats: Vec<ProjectChat>,
    /// Why none may be asked.
    unavailable: Option<String>,
    deadline: Instant,
}

/// A kind of question, with the form of its answer.
pub(crate) struct Task {
    /// Instructions for the model.
    pub instructions: Sanitized,
    /// Form of the answer.
    pub answer: Arc<JsonAnswer>,
    /// Randomness of the answer, from 0 to 2.
    pub temperature: f64,
}

/// A kind of question whose answer is one text.
pub(crate) struct TextTask {
    task: Task,
    /// Field of the answer.
    field: &'static str,
}

impl Models {
    /// Creates the access for a search of these projects. A project whose policy allows no model
    /// forbids it for the whole request.
    pub fn new(chats: Vec<ProjectChat>, is_allowed: bool, wait: Duration) -> Self {
        let forbidden = chats.iter().find_map(|chat| chat.model(ROLE).err());
        let unavailable = if !is_allowed {
            Some("the profile uses no chat model".to_owned())
        } else if chats.is_empty() {
            Some("no project is searched".to_owned())
        } else {
            forbidden.map(|error| error.to_string())
        };
        Self { chats, unavailable, deadline: Instant::now() + wait }
    }

    /// Asks about data, and reads the answer.
    pub async fn ask<T: DeserializeOwned + Send + 'static>(
        &self,
        task: &Task,
        data: &Value,
    ) -> Result<T, ModelFailure> {
        if let Some(reason) = &self.unavailable {
            return Err(ModelFailure::Unavailable(reason.clone()));
        }
        if Instant::now() >= self.deadline {
            return Err(late());
        }
        let question = mask(&data.to_string()).text;
        let request = ChatRequest {
            temperature: Some(task.temperature),
            ..ChatRequest::new(task.instructions.clone(), question)
        };
        let request = request.with_json(Arc::clone(&task.answer));
        let chat = self.chats[0].clone();
        // In a task of its own: if the search stops waiting, the tokens are recorded all the same.
        let answer = tokio::spawn(async move {
            chat.complete_json(ROLE, &request, |answer| serde_json::from_value(answer.clone()))
                .await
                .map_err(|error| ModelFailure::Failed(mask(&error.to_string()).text.into_string()))
        });
        match timeout_at(self.deadline, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_panicked)) => Err(ModelFailure::Failed("the call of the model failed".into())),
            Err(_elapsed) => Err(late()),
        }
    }

    /// Asks about data, and returns the text of the answer.
    pub async fn ask_text(&self, task: &TextTask, data: &Value) -> Result<String, ModelFailure> {
        let mut answer: HashMap<String, String> = self.ask(&task.task, data).await?;
        let missing = || ModelFailure::Failed(format!("the answer has no {}", task.field));
        answer.remove(task.field).ok_or_else(missing)
    }
}

fn late() -> ModelFailure {
    ModelFailure::Failed(
        "no time was left for the chat model; raise `rag.model_wait_ms`, or use fewer modules"
            .to_owned(),
    )
}

impl TextTask {
    /// Creates a task from a file of instructions. Its answer has one field of text.
    pub fn new(instructions: &str, field: &'static str, max_chars: usize) -> Self {
        let properties = serde_json::json!({
            field: {"type": "string", "minLength": 1, "maxLength": max_chars},
        });
        Self { task: Task::of(instructions, field, &properties, &[field]), field }
    }
}

impl Task {
    /// Creates a task whose answer has these properties, all of them required.
    pub fn of(instructions: &str, name: &str, properties: &Value, required: &[&str]) -> Self {
        let schema = serde_json::json!({
            "type": "object", "additionalProperties": false, "required": required,
            "properties": properties,
        });
        let answer = JsonAnswer::new(name, schema).expect("a test compiles the schema");
        let instructions = format!("{instructions}\n{}", *DATA);
        Self { instructions: mask(&instructions).text, answer: Arc::new(answer), temperature: 0.0 }
    }
}

/// What all instructions say about the data.
static DATA: LazyLock<&str> = LazyLock::new(|| include_str!("../prompts/data.txt"));

/// Returns a text as a model receives it: without the special tokens of chat templates.
pub(crate) fn neutralized(text: &str) -> String {
    neutralize(text).into_owned()
}
