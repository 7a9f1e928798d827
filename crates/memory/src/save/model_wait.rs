//! Chat models in a save: which notes they receive, and how long the save waits for them.

use std::time::{Duration, Instant};

use mc_chat::ModelRole;
use mc_domain::{Classified, Trust, Visibility};
use tokio::time::timeout;

use super::{SaveRequest, acquire_permit_if_large};
use crate::chat::ProjectChat;
use crate::content_filter::{FairnessKey, ReviewStatus, SavePermit};
use crate::{Error, MemoryContext};

/// Returns the project's chat models, if the one with this role may receive the note: it is
/// configured, and the policy allows it.
///
/// A text that resembles a prompt injection is not sent to a model. No text that a person reviews
/// is either: private notes, proposals, and texts released from quarantine.
pub(super) fn model_for(
    ctx: &MemoryContext,
    role: ModelRole,
    request: &SaveRequest,
    trust: Trust,
    review_status: ReviewStatus,
) -> Option<ProjectChat> {
    let is_for_team = request.visibility == Visibility::Team;
    let is_unreviewed = review_status == ReviewStatus::Unreviewed;
    if !is_for_team || !is_unreviewed || trust <= Trust::Untrusted {
        return None;
    }
    let chat = ctx.chat(request.project);
    chat.model(role).is_ok().then_some(chat)
}

/// The time that a save may still wait for chat models: `judge.wait_ms` for all of them together.
pub(super) struct ModelWait<'a> {
    left: Duration,
    request: &'a SaveRequest,
    key: FairnessKey,
    permit: Option<SavePermit>,
}

impl<'a> ModelWait<'a> {
    /// Creates the wait of a save, with its permit if it is large.
    pub fn new(
        limit: Duration,
        request: &'a SaveRequest,
        key: FairnessKey,
        permit: Option<SavePermit>,
    ) -> Self {
        Self { left: limit, request, key, permit }
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Waits for an answer; `None` if it does not arrive in the time that is left. A large save
    /// gives its permit back meanwhile, so that no other one waits for the models of this one.
    pub async fn limit<T>(&mut self, answer: impl Future<Output = T>) -> Option<T> {
        if self.left.is_zero() {
            return None;
        }
        let is_large = self.permit.take().is_some();
        let answer = self.limit_time(answer).await;
        if is_large {
            self.permit = acquire_permit_if_large(self.request, self.key).await;
        }
        answer
    }

    async fn limit_time<T>(&mut self, answer: impl Future<Output = T>) -> Option<T> {
        let started = Instant::now();
        let answer = timeout(self.left, answer).await.ok();
        // Timers are rounded, so a wait that ended by its limit may seem shorter.
        self.left = match answer {
            Some(_) => self.left.saturating_sub(started.elapsed()),
            None => Duration::ZERO,
        };
        answer
    }
}

/// Runs a request in a task of its own. If the save stops waiting, the request ends, and its tokens
/// are recorded.
pub(super) async fn end_in_background<T: Send + 'static>(
    request: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    tokio::spawn(request).await.map_err(|_| Error::Panicked)?
}

/// Whether a later request may succeed.
pub(super) fn may_pass(error: &Error) -> bool {
    let is_final = matches!(error, Error::Chat(error) if error.is_final());
    error.kind().is_transient() && !is_final
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use mc_domain::{ProjectId, RecordKind};

    use super::*;

    #[tokio::test]
    async fn all_models_share_one_limit() {
        let request = SaveRequest::new(ProjectId::generate(), "ann", RecordKind::Fact, "short");
        let mut wait = ModelWait::new(Duration::from_millis(50), &request, None, None);
        assert_eq!(wait.limit(ready(1)).await, Some(1));
        assert_eq!(wait.limit(pending::<()>()).await, None);
        assert_eq!(wait.limit(ready(2)).await, None, "no time is left");
    }
}
