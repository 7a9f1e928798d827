//! Providers by the crate `genai`, which knows their protocols. Its errors and log lines quote
//! answers of servers, so they stay inside this file: the errors are translated, and the target
//! `genai` is not logged.

use std::fmt;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest as GenaiRequest, ChatResponseFormat, ChatStreamEvent,
    JsonSpec, StopReason, StreamEnd,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use mc_model_server::{Key, http_client, reason, retry_after};
use reqwest::header::HeaderMap;
use serde_json::json;
use url::Url;

use crate::settings::Protocol;
use crate::{
    Answer, AnswerEnd, AnswerFormat, ChatModelSettings, ChatProvider, ChatRequest, Error, Message,
    Progress, Role, StructuredOutput, Usage,
};

/// Time for a response beyond the time limit of the answer, which is enforced above.
const GRACE: Duration = Duration::from_secs(5);

/// A model at a server.
pub(crate) struct GenaiProvider {
    /// Name in the configuration.
    name: String,
    client: Client,
    target: ServiceTarget,
    /// Host and port.
    server: String,
    key: Key,
    structured_output: StructuredOutput,
    max_tokens: u32,
}

impl fmt::Debug for GenaiProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenaiProvider").field("server", &self.server).finish_non_exhaustive()
    }
}

impl GenaiProvider {
    /// Creates the client of a model. The server is not contacted.
    pub(crate) fn new(name: &str, settings: &ChatModelSettings) -> Result<Self, Error> {
        let invalid = |field, rule| Error::Settings { model: name.to_owned(), field, rule };
        let base_url = settings.base_url().map_err(|rule| invalid("base_url", rule))?;
        let variable = settings.api_key_env.as_deref().filter(|name| !name.is_empty());
        let default = settings.provider.default_key_variable();
        let variable = variable.or(default.filter(|_| settings.api_key_file.is_none()));
        let key = Key::read(variable, settings.api_key_file.as_deref())
            .map_err(|error| invalid("api_key_env", error.to_string()))?;
        if settings.model.trim().is_empty() {
            return Err(invalid("model", "must name a model of the provider".to_owned()));
        }
        let client = http_client(&base_url, settings.timeout() + GRACE)
            .map_err(|error| invalid("base_url", error.to_string()))?;
        let server = base_url[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        let protocol = settings.provider.protocol();
        let protocol = protocol.ok_or_else(|| invalid("provider", "has no server".to_owned()))?;
        Ok(Self {
            name: name.to_owned(),
            client: Client::builder()
                .with_reqwest(client)
                .build()
                .map_err(|error| invalid("provider", error.to_string()))?,
            target: target(protocol, &base_url, &settings.model, &key),
            server,
            key,
            structured_output: settings
                .structured_output
                .unwrap_or_else(|| settings.provider.structured_output()),
            max_tokens: settings.max_completion_tokens,
        })
    }

    async fn answer(&self, request: &ChatRequest, progress: &Progress) -> Result<Answer, Error> {
        let (prompt, options) = self.prompt(request);
        let opened =
            self.client.exec_chat_stream(self.target.clone(), prompt, Some(&options)).await;
        let mut stream = opened.map_err(|error| self.translated(&error))?.stream;
        let mut text = String::new();
        while let Some(event) = stream.next().await {
            match event.map_err(|error| self.translated(&error))? {
                ChatStreamEvent::Chunk(part) => {
                    progress.receive(&part.content)?;
                    text.push_str(&part.content);
                }
                ChatStreamEvent::ReasoningChunk(part) => progress.receive(&part.content)?,
                ChatStreamEvent::End(end) => return self.ended(text, &end),
                ChatStreamEvent::Start
                | ChatStreamEvent::Heartbeat
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::ToolCallChunk(_) => {}
            }
        }
        Err(self.broken_off())
    }

    fn ended(&self, text: String, end: &StreamEnd) -> Result<Answer, Error> {
        // Some adapters report an end when the connection ends. Without a reason, it broke.
        let reason = end.captured_stop_reason.as_ref().ok_or_else(|| self.broken_off())?;
        let end_of_answer = match reason {
            StopReason::MaxTokens(_) => AnswerEnd::TokenLimit,
            StopReason::ContentFilter(_) => AnswerEnd::Declined,
            StopReason::Completed(_)
            | StopReason::StopSequence(_)
            | StopReason::ToolCall(_)
            | StopReason::Other(_) => AnswerEnd::Complete,
        };
        let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
        let usage = end.captured_usage.as_ref().and_then(|usage| {
            Some(Usage {
                prompt_tokens: count(usage.prompt_tokens)?,
                completion_tokens: count(usage.completion_tokens)?,
            })
        });
        Ok(Answer { text, end: end_of_answer, usage })
    }

    /// Returns the request as `genai` has it.
    fn prompt(&self, request: &ChatRequest) -> (GenaiRequest, ChatOptions) {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_max_tokens(self.max_tokens)
            // A model's name may end like one of genai's words for the effort of reasoning.
            .with_extra_body(json!({"model": &*self.target.model.model_name}));
        options.temperature = request.temperature;
        options.seed = request.seed;
        let mut messages: Vec<ChatMessage> = request.messages.iter().map(message).collect();
        if let AnswerFormat::Json(answer) = &request.format {
            match self.structured_output {
                StructuredOutput::Schema => {
                    let spec = JsonSpec::new(answer.name(), answer.schema().clone());
                    options.response_format = Some(ChatResponseFormat::JsonSpec(spec));
                }
                StructuredOutput::Json => {
                    options.response_format = Some(ChatResponseFormat::JsonMode);
                }
                StructuredOutput::Prompt => {}
            }
            if self.structured_output != StructuredOutput::Schema {
                messages.insert(0, ChatMessage::system(answer.instruction()));
            }
        }
        (GenaiRequest::from_messages(messages), options)
    }

    fn unavailable(&self, reason: impl Into<String>, retry_after: Option<Duration>) -> Error {
        Error::Unavailable { server: self.server.clone(), reason: reason.into(), retry_after }
    }

    fn broken_off(&self) -> Error {
        self.unavailable("it broke off its answer", None)
    }

    /// Returns our error for one of `genai`, without anything that it quotes.
    fn translated(&self, error: &genai::Error) -> Error {
        match error {
            genai::Error::HttpError { status, body, headers, .. } => {
                self.refusal(status.as_u16(), headers, body)
            }
            genai::Error::WebStream { error, .. } => {
                if let Some(error) = error.downcast_ref::<genai::Error>() {
                    return self.translated(error);
                }
                self.lost(error.downcast_ref::<reqwest::Error>())
            }
            genai::Error::WebModelCall { webc_error, .. }
            | genai::Error::WebAdapterCall { webc_error, .. } => {
                match (webc_error.status(), webc_error.headers()) {
                    (Some(status), Some(headers)) => self.refusal(status.as_u16(), headers, ""),
                    _ => self.lost(None),
                }
            }
            // The server began an answer and reported an error in it.
            genai::Error::ChatResponse { body, .. } => {
                self.unavailable(reason(json!({"error": body}).to_string().as_bytes()), None)
            }
            _ => {
                let (model, defect) =
                    (self.name.clone(), "a stream of an unknown format".to_owned());
                Error::BadAnswer { model, defect }
            }
        }
    }

    fn refusal(&self, status: u16, headers: &HeaderMap, body: &str) -> Error {
        let server = self.server.clone();
        let wait = retry_after(headers);
        match status {
            401 | 403 => Error::Credentials { server, status, remedy: self.key.remedy() },
            429 => Error::RateLimited { server, retry_after: wait },
            408 | 409 | 425 | 500..=599 => {
                self.unavailable(format!("it answered with status {status}"), wait)
            }
            status => Error::Refused { server, status, reason: reason(body.as_bytes()) },
        }
    }

    /// Returns the error of a request or response that was lost.
    fn lost(&self, error: Option<&reqwest::Error>) -> Error {
        let what = match error {
            Some(error) if error.is_connect() => "can't connect",
            Some(error) if error.is_timeout() => "it did not answer in time",
            _ => "the connection broke",
        };
        self.unavailable(what, None)
    }
}

impl ChatProvider for GenaiProvider {
    fn request<'a>(
        &'a self,
        request: &'a ChatRequest,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Answer, Error>> {
        Box::pin(self.answer(request, progress))
    }
}

fn message(message: &Message) -> ChatMessage {
    let text = message.text.as_str();
    match message.role {
        Role::System => ChatMessage::system(text),
        Role::User => ChatMessage::user(text),
        Role::Assistant => ChatMessage::assistant(text),
    }
}

/// Returns where requests go. Without a key, a server of the protocol of `OpenAI` gets no header
/// for one.
fn target(protocol: Protocol, base_url: &Url, model: &str, key: &Key) -> ServiceTarget {
    let base = base_url.as_str().trim_end_matches('/');
    let kind = match protocol {
        Protocol::OpenAi => AdapterKind::OpenAI,
        Protocol::Anthropic => AdapterKind::Anthropic,
        Protocol::Ollama => AdapterKind::Ollama,
    };
    let auth = match (key.value(), protocol) {
        (Some(key), _) => AuthData::from_single(key),
        (None, Protocol::OpenAi) => AuthData::RequestOverride {
            url: format!("{base}/chat/completions"),
            headers: Headers::default(),
        },
        (None, Protocol::Anthropic | Protocol::Ollama) => AuthData::from_single(""),
    };
    ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{base}/")),
        auth,
        model: ModelIden::new(kind, model),
    }
}
