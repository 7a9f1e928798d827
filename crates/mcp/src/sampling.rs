//! The own model of the client, asked by MCP sampling: it judges what the client has saved, if the
//! service is configured for that. The record is stored before, so a client that asks its user
//! first, or never answers, delays and loses nothing.

#![expect(deprecated, reason = "sampling leaves the protocol in 2027, and clients have it now")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::HeaderValue;
use mc_chat::{
    Answer, AnswerEnd, AnswerFormat, ChatProvider, ChatRequest, ClientModel, ClientModelLimits,
    Content, Error as ChatError, JsonAnswer, Progress, Role,
};
use mc_contract::operations::judgment::{JudgmentAnswer, JudgmentQuestion, JudgmentResponse};
use mc_sanitizer::mask;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ModelHint, ModelPreferences, ProtocolVersion, RequestId, SamplingMessage,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer, ServiceError};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::core::{CoreCall, CoreClient, CoreError, Forwarded};

/// Questions that this process has open at clients. A save beyond them is judged by the rules.
static OPEN: Semaphore = Semaphore::const_new(256);

/// Code of the error of a client whose user rejects the request.
const REJECTED_BY_USER: i32 = -1;

/// A client whose model can be asked, and the Core on its behalf.
pub struct Sampler {
    peer: Peer<RoleServer>,
    core: CoreClient,
    authorization: Option<HeaderValue>,
    session: Option<HeaderValue>,
}

/// Reason why there is no judgment.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Core(#[from] CoreError),
    #[error("the service sent an unknown form of a question or a judgment")]
    UnknownForm,
    #[error(transparent)]
    Model(#[from] ChatError),
    #[error("too many questions are open at clients")]
    TooMany,
}

impl Sampler {
    /// Returns the client of a request, if it offers sampling and the session allows it: the
    /// newest revision of the protocol has no requests to clients.
    pub fn of(
        context: &RequestContext<RoleServer>,
        core: &CoreClient,
        headers: Forwarded<'_>,
    ) -> Option<Self> {
        context.peer.peer_info()?.capabilities.sampling.as_ref()?;
        if context.protocol_version()? >= ProtocolVersion::V_2026_07_28 {
            return None;
        }
        Some(Self {
            peer: context.peer.clone(),
            core: core.clone(),
            authorization: headers.authorization.cloned(),
            session: headers.session.cloned(),
        })
    }

    /// Has the client's model judge the record of a save, if the Core's `response` asks for it. The
    /// response then says what came of it. An answer that takes longer than the Core lets a save
    /// wait is handed to the Core when it arrives.
    pub async fn judge(self, response: &mut Value) {
        let Some(fields) = response.as_object_mut() else { return };
        let is_wanted = fields.remove("awaits_judgment") == Some(Value::Bool(true));
        let id = fields.get("id").and_then(Value::as_str).map(str::to_owned);
        let Some(id) = id.filter(|_| is_wanted) else { return };
        match self.judgment(id.clone()).await {
            Ok(Some(JudgmentResponse { reason: Some(reason), .. })) => {
                fields.insert("outcome".into(), json!("proposed"));
                fields.insert("message".into(), json!(format!("proposed {id}")));
                fields.insert("reason".into(), json!(reason));
            }
            Ok(_) => {}
            Err(error) => log(&id, &error),
        }
    }

    /// Returns the judgment; `None` if it does not arrive in time.
    async fn judgment(self, id: String) -> Result<Option<JudgmentResponse>, Error> {
        let open = OPEN.try_acquire().map_err(|_| Error::TooMany)?;
        let question = self.send(CoreCall::get(path(&id), Vec::new())).await?;
        let question: JudgmentQuestion = read(question)?;
        let wait = Duration::from_millis(question.wait_ms);
        // Polled in this task first: over HTTP, the question goes out with the response to the
        // request of this task.
        let mut judged = Box::pin(async move {
            let _open = open;
            self.ask_and_judge(&id, question).await.inspect_err(|error| log(&id, error))
        });
        if let Ok(judged) = tokio::time::timeout(wait, &mut judged).await {
            return Ok(judged.ok());
        }
        tokio::spawn(judged);
        Ok(None)
    }

    async fn ask_and_judge(
        &self,
        id: &str,
        question: JudgmentQuestion,
    ) -> Result<JudgmentResponse, Error> {
        let limits = ClientModelLimits {
            timeout_seconds: question.timeout_seconds,
            max_completion_bytes: question.max_completion_bytes,
            max_completion_tokens: question.max_completion_tokens,
        };
        let provider = SamplingProvider {
            model: question.model.clone(),
            hint: question.model_hint.clone(),
            max_tokens: question.max_completion_tokens,
            peer: self.peer.clone(),
        };
        let model = ClientModel::new(&question.model, &question.model_hint, limits);
        let model = model.of_session(Arc::new(provider));
        let schema = JsonAnswer::new("judgment", question.answer_schema);
        let schema = Arc::new(schema.map_err(|_| Error::UnknownForm)?);
        let (instructions, data) =
            (mask(&question.instructions).text, mask(&question.question).text);
        let request = ChatRequest::new(instructions, data).greedy().with_json(schema);
        let completion = model.complete(&request).await;
        let Content::Json(answer) = completion.map_err(|failure| failure.error)?.content else {
            return Err(Error::UnknownForm);
        };
        let body = json!(JudgmentAnswer { known: question.known, answer });
        read(self.send(CoreCall::post(path(id), body)).await?)
    }

    async fn send(&self, call: CoreCall) -> Result<Value, CoreError> {
        let (authorization, session) = (self.authorization.as_ref(), self.session.as_ref());
        self.core.send(call, Forwarded { authorization, session }).await
    }
}

fn path(id: &str) -> String {
    format!("/records/{id}/judgment")
}

fn read<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, Error> {
    serde_json::from_value(answer).map_err(|_| Error::UnknownForm)
}

fn log(id: &str, error: &Error) {
    tracing::debug!(record.id = id, %error, "the client's model did not judge the record");
}

/// The client of a session as a provider of completions.
struct SamplingProvider {
    /// Name in the service's configuration.
    model: String,
    /// Name of the preferred model; empty if any will do.
    hint: String,
    max_tokens: u32,
    peer: Peer<RoleServer>,
}

impl fmt::Debug for SamplingProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingProvider").field("model", &self.model).finish_non_exhaustive()
    }
}

impl ChatProvider for SamplingProvider {
    fn request<'a>(
        &'a self,
        request: &'a ChatRequest,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Answer, ChatError>> {
        Box::pin(async move {
            let result = self.sample(self.params(request)).await;
            let result = result.map_err(|error| self.translated(&error))?;
            let blocks = result.message.content.iter();
            let texts = blocks.filter_map(|block| block.as_text());
            let text: String = texts.map(|block| block.text.as_str()).collect();
            progress.receive(&text)?;
            let is_cut = result.stop_reason.as_deref()
                == Some(CreateMessageResult::STOP_REASON_END_MAX_TOKEN);
            let end = if is_cut { AnswerEnd::TokenLimit } else { AnswerEnd::Complete };
            // Clients do not report tokens.
            Ok(Answer { text, end, usage: None })
        })
    }
}

impl SamplingProvider {
    /// Returns the request as the protocol has it: the schema of the answer is in the prompt.
    fn params(&self, request: &ChatRequest) -> CreateMessageRequestParams {
        let mut instructions = Vec::new();
        let mut messages = Vec::new();
        for message in &request.messages {
            let text = message.text.as_str();
            match message.role {
                Role::System => instructions.push(text.to_owned()),
                Role::User => messages.push(SamplingMessage::user_text(text)),
                Role::Assistant => messages.push(SamplingMessage::assistant_text(text)),
            }
        }
        if let AnswerFormat::Json(answer) = &request.format {
            instructions.push(answer.instruction());
        }
        let mut params = CreateMessageRequestParams::new(messages, self.max_tokens)
            .with_system_prompt(instructions.join("\n\n"));
        if let Some(temperature) = request.temperature {
            #[expect(clippy::cast_possible_truncation, reason = "from 0 to 2")]
            let temperature = temperature as f32;
            params = params.with_temperature(temperature);
        }
        if !self.hint.is_empty() {
            let hints = vec![ModelHint::new(self.hint.as_str())];
            params = params.with_model_preferences(ModelPreferences::new().with_hints(hints));
        }
        params
    }

    async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ServiceError> {
        let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let handle = self.peer.send_cancellable_request(request, options).await?;
        let mut open = OpenRequest { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let result = handle.await_response().await;
        open.id = None;
        match result? {
            ClientResult::CreateMessageResult(result) => Ok(*result),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    /// Returns our error for one of the client, without anything that it quotes. None is worth a
    /// second question: the client may have asked its user.
    fn translated(&self, error: &ServiceError) -> ChatError {
        let model = self.model.clone();
        match error {
            ServiceError::McpError(error) if error.code.0 == REJECTED_BY_USER => {
                ChatError::Declined { model }
            }
            ServiceError::McpError(error) => {
                let defect = format!("an error of the client (code {})", error.code.0);
                ChatError::BadAnswer { model, defect }
            }
            _ => ChatError::BadAnswer { model, defect: "nothing: the session ended".to_owned() },
        }
    }
}

/// A question to the client, which is told when nobody waits for the answer any longer.
struct OpenRequest {
    peer: Peer<RoleServer>,
    /// `None` once it is answered.
    id: Option<RequestId>,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        let reason = Some("nobody waits for the answer any longer".to_owned());
        tokio::spawn(async move {
            let cancelled = CancelledNotificationParam::new(Some(id), reason);
            if let Err(error) = peer.notify_cancelled(cancelled).await {
                tracing::debug!(%error, "notifying the client of a cancelled question failed");
            }
        });
    }
}

#[cfg(test)]
mod tests;
