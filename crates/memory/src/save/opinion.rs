//! The opinion of a chat model about a note: requested before the transaction of its save, and for
//! a limited time.

use std::time::Duration;

use mc_chat::{Content, ModelRole};
use mc_domain::{Classified, Trust, Visibility};
use tokio::time::timeout;

use super::write::{Save, find_candidates};
use crate::chat::ProjectChat;
use crate::content_filter::ReviewStatus;
use crate::judge::Known;
use crate::judge::model::{self, Question, Verdict};
use crate::{Error, MemoryContext};

/// The opinion of a chat model about a note.
#[derive(Debug, Clone, Default)]
pub(crate) enum Opinion {
    /// No model was asked: the rules decide alone.
    #[default]
    NotAsked,
    /// The model answered in time.
    Given(Verdict),
    /// The model did not answer in time. The rules decide, and a job asks again.
    Later,
}

impl Opinion {
    /// Returns the verdict, if there is one.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Given(verdict) => Some(verdict),
            Self::NotAsked | Self::Later => None,
        }
    }
}

/// Asks the model with the role `judge` about a save for the team, if one is configured and the
/// policy allows it. Waits at most `judge.wait_ms`.
///
/// A text that resembles a prompt injection is not sent to it. No text that a person reviews is
/// either: private notes, proposals, and what was released from quarantine.
pub(super) async fn ask(ctx: &MemoryContext, save: &Save) -> Opinion {
    let is_for_team = save.request.visibility == Visibility::Team;
    let is_unreviewed = save.prepared.review_status == ReviewStatus::Unreviewed;
    let chat = ctx.chat(save.request.project);
    let may_ask = is_for_team && is_unreviewed && save.prepared.trust > Trust::Untrusted;
    if !may_ask || chat.model(ModelRole::Judge).is_err() {
        return Opinion::NotAsked;
    }
    if ctx.judge_wait == Duration::ZERO {
        return Opinion::Later;
    }
    match timeout(ctx.judge_wait, of_save(chat, save)).await {
        Ok(Ok(opinion)) => opinion,
        Ok(Err(error)) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the rules judge a save alone"
            );
            if may_pass(&error) { Opinion::Later } else { Opinion::NotAsked }
        }
        Err(_) => Opinion::Later,
    }
}

/// Whether a later request may succeed.
fn may_pass(error: &Error) -> bool {
    let is_final = matches!(error, Error::Chat(error) if error.is_final());
    error.kind().is_transient() && !is_final
}

async fn of_save(chat: ProjectChat, save: &Save) -> Result<Opinion, Error> {
    let mut tx = save.store.begin().await?;
    let known = find_candidates(&mut tx, &[save]).await?.pop().unwrap_or_default();
    drop(tx);
    let body = &save.prepared.body;
    // The rules need no opinion about a text that the team has already.
    if known.iter().any(|known| known.content_hash == body.content_hash) {
        return Ok(Opinion::NotAsked);
    }
    let (kind, title, content) = (save.request.kind, body.title.clone(), body.content.clone());
    // A task of its own: if the save stops waiting, the request ends and its tokens are recorded.
    let asking = tokio::spawn(async move {
        let question = Question { kind, title: title.as_str(), content: content.as_str() };
        verdict(&chat, &question, known).await
    });
    let verdict = asking.await.map_err(|_| Error::Panicked)??;
    Ok(Opinion::Given(verdict))
}

/// Requests the verdict about a note and its nearest known records.
pub(crate) async fn verdict(
    chat: &ProjectChat,
    question: &Question<'_>,
    mut known: Vec<Known>,
) -> Result<Verdict, Error> {
    let nearness = |known: &Known| known.cosine.unwrap_or_default();
    known.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
    let model = chat.model(ModelRole::Judge)?;
    let request = model::request(question, &mut known, model.max_prompt_bytes());
    let completion = chat.complete(ModelRole::Judge, &request).await?;
    let bad_answer = |defect: String| {
        let model = model.name().to_owned();
        Error::Chat(mc_chat::Error::BadAnswer { model, defect }.into())
    };
    match &completion.content {
        Content::Json(answer) => model::verdict(answer, &known)
            .map_err(|error| bad_answer(format!("JSON that is no verdict ({error})"))),
        Content::Text(_) => Err(bad_answer("text in place of JSON".to_owned())),
    }
}
