//! The model of a client, asked by MCP sampling: it judges the notes that the client saves, if the
//! service is configured for that. A record is stored before, so a client that asks its user first,
//! or never answers, loses nothing.

#![expect(deprecated, reason = "sampling leaves the protocol in 2027, and clients have it now")]

use std::time::Duration;

use http::HeaderValue;
use mc_contract::operations::judgment::{
    JudgmentAnswer, JudgmentAnswerEnd, JudgmentOutcome, JudgmentQuestion, JudgmentResponse,
};
use rmcp::model::{
    ClientResult, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ModelHint,
    ModelPreferences, SamplingMessage, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer, ServiceError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::core::{CoreCall, CoreClient, CoreError, Forwarded};

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
}

impl Sampler {
    /// Returns the client of a request, if it offers sampling. Only a session has the capabilities
    /// of its client, and the revision of the protocol without sessions has no requests to clients.
    pub fn of(
        context: &RequestContext<RoleServer>,
        core: &CoreClient,
        headers: Forwarded<'_>,
    ) -> Option<Self> {
        context.peer.peer_info()?.capabilities.sampling.as_ref()?;
        Some(Self {
            peer: context.peer.clone(),
            core: core.clone(),
            authorization: headers.authorization.cloned(),
            session: headers.session.cloned(),
        })
    }

    /// Asks the client's model about the record of a save, if the Core's `response` requests that,
    /// and adds the result to the response. A judgment that takes longer than the save may wait is
    /// completed in the background.
    pub async fn judge(self, response: &mut Value) {
        let wait = response["judgment_wait_ms"].as_u64().map(Duration::from_millis);
        let id = response["id"].as_str().map(str::to_owned);
        let (Some(wait), Some(id)) = (wait, id) else { return };
        // Polled in this task first: over HTTP, the question goes out with the response to the
        // request of this task.
        let mut judgment = Box::pin(self.judgment(id));
        match timeout(wait, &mut judgment).await {
            Ok(Some(judged)) if judged.outcome == JudgmentOutcome::Proposed => {
                response["outcome"] = json!("proposed");
                response["message"] = json!(judged.message);
                response["reason"] = json!(judged.reason);
                // No search finds a proposal.
                response["vector_pending_reason"] = Value::Null;
            }
            Ok(_) => {}
            Err(_) => drop(tokio::spawn(judgment)),
        }
    }

    async fn judgment(self, id: String) -> Option<JudgmentResponse> {
        let judged = self.ask_and_judge(&id).await;
        judged
            .inspect_err(|error| tracing::debug!(record.id = id, %error, "record not judged"))
            .ok()
    }

    async fn ask_and_judge(&self, id: &str) -> Result<JudgmentResponse, Error> {
        let path = format!("/records/{id}/judgment-questions");
        let question: JudgmentQuestion = self.send(CoreCall::post(path, Value::Null)).await?;
        let (text, end) = self.answer(&question).await;
        let JudgmentQuestion { question_id, version, known, .. } = question;
        let answer = JudgmentAnswer { question_id, version, known, text, end };
        self.send(CoreCall::post(format!("/records/{id}/judgment"), json!(answer))).await
    }

    async fn send<T: DeserializeOwned>(&self, call: CoreCall) -> Result<T, Error> {
        let (authorization, session) = (self.authorization.as_ref(), self.session.as_ref());
        let answer = self.core.send(call, Forwarded { authorization, session }).await?;
        serde_json::from_value(answer).map_err(|_| Error::UnknownForm)
    }

    /// Returns the answer of the client's model.
    async fn answer(&self, question: &JudgmentQuestion) -> (String, JudgmentAnswerEnd) {
        let without_text = |end| (String::new(), end);
        let result = match self.sample(question).await {
            Ok(result) => result,
            Err(ServiceError::McpError(error)) if error.code.0 == REJECTED_BY_USER => {
                return without_text(JudgmentAnswerEnd::Declined);
            }
            Err(error) => {
                tracing::debug!(%error, "the client did not answer");
                return without_text(JudgmentAnswerEnd::Failed);
            }
        };
        let blocks = result.message.content.iter();
        let texts = blocks.filter_map(|block| block.as_text());
        let text: String = texts.map(|block| block.text.as_str()).collect();
        if text.len() > question.max_completion_bytes {
            return without_text(JudgmentAnswerEnd::Failed);
        }
        let is_cut =
            result.stop_reason.as_deref() == Some(CreateMessageResult::STOP_REASON_END_MAX_TOKEN);
        let end = if is_cut { JudgmentAnswerEnd::TokenLimit } else { JudgmentAnswerEnd::Complete };
        (text, end)
    }

    /// Requests a completion. After the time limit, the client gets a notification of the
    /// cancellation.
    async fn sample(
        &self,
        question: &JudgmentQuestion,
    ) -> Result<CreateMessageResult, ServiceError> {
        let messages = vec![SamplingMessage::user_text(&question.question)];
        let mut params = CreateMessageRequestParams::new(messages, question.max_completion_tokens)
            .with_system_prompt(&question.instructions)
            .with_temperature(0.0);
        if !question.model_hint.is_empty() {
            let hints = vec![ModelHint::new(&question.model_hint)];
            params = params.with_model_preferences(ModelPreferences::new().with_hints(hints));
        }
        let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
        let limit = Duration::from_secs(question.timeout_seconds);
        let options = PeerRequestOptions::with_timeout(limit);
        let handle = self.peer.send_cancellable_request(request, options).await?;
        match handle.await_response().await? {
            ClientResult::CreateMessageResult(result) => Ok(*result),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }
}

#[cfg(test)]
mod tests;
