//! The opinion of a chat model about a note: requested before the transaction of its save, and for
//! a limited time.

use mc_chat::ModelRole;

use super::model_wait::{ModelWait, end_in_background, may_pass, model_for};
use super::write::{Save, find_candidates};
use crate::chat::ProjectChat;
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

/// Asks the model with the role `judge` about a save, if it may be asked ([`model_for`]) and time
/// is left.
pub(super) async fn ask(ctx: &MemoryContext, save: &Save, wait: &mut ModelWait<'_>) -> Opinion {
    let Save { request, prepared, .. } = save;
    let (trust, status) = (prepared.trust, prepared.review_status);
    let Some(chat) = model_for(ctx, ModelRole::Judge, request, trust, status) else {
        return Opinion::NotAsked;
    };
    match wait.limit(Box::pin(of_save(chat, save))).await {
        Some(Ok(opinion)) => opinion,
        Some(Err(error)) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the rules judge a save alone"
            );
            if may_pass(&error) { Opinion::Later } else { Opinion::NotAsked }
        }
        None => Opinion::Later,
    }
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
    let verdict = end_in_background(async move {
        let question = Question { kind, title: title.as_str(), content: content.as_str() };
        verdict(&chat, &question, known).await
    });
    Ok(Opinion::Given(verdict.await?))
}

/// Requests the verdict about a note and its nearest known records.
pub(crate) async fn verdict(
    chat: &ProjectChat,
    question: &Question<'_>,
    mut known: Vec<Known>,
) -> Result<Verdict, Error> {
    let model = chat.model(ModelRole::Judge)?;
    let request = model::request(question, &mut known, model.max_prompt_bytes());
    let ids: Vec<_> = known.iter().map(|known| known.id).collect();
    let read = |answer: &_| model::verdict(answer, &ids);
    Ok(chat.complete_json(ModelRole::Judge, &request, read).await?)
}
