//! From a commit as it was written to one that may be stored.

use std::sync::Arc;

use chrono::DateTime;
use mc_domain::Trust;
use mc_prompt_guard::Detection;
use mc_sanitizer::{Policy, mask_with};
use mc_store::history::NewCommit;
use tokio_util::sync::CancellationToken;

use super::log::Entry;
use super::{Commit, message};
use crate::Error;

/// How texts of the repository are masked.
#[derive(Clone)]
pub(crate) struct Rules {
    /// By the project's policy.
    pub sanitizing: Arc<Policy>,
    /// That policy's fingerprint.
    pub masking_fingerprint: i64,
    /// Whether nobody vouches for text that addresses a model.
    pub is_guarded: bool,
}

impl Rules {
    /// The commits as they are stored. Masking many takes its time, on a thread of its own: the run
    /// goes on telling that it lives.
    pub(super) async fn commits(
        &self,
        entries: Vec<Entry>,
        stop: &CancellationToken,
    ) -> Result<Vec<Commit>, Error> {
        let (rules, stop) = (self.clone(), stop.clone());
        let masking = tokio::task::spawn_blocking(move || {
            let mut commits = Vec::new();
            for entry in entries {
                if stop.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                commits.extend(rules.commit(entry));
            }
            Ok(commits)
        });
        match masking.await {
            Ok(commits) => commits,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Err(_) => Err(Error::Cancelled),
        }
    }

    /// The commit as it is stored; `None` where its message says nothing.
    fn commit(&self, entry: Entry) -> Option<Commit> {
        let message = message::cleaned(&entry.message);
        // Masked as a whole, then cut: half of a secret would not be known as one.
        let masked = mask_with(&message, &self.sanitizing).text;
        // Masking again changes nothing that was masked.
        let part = |text: &str| mask_with(text, &self.sanitizing).text;
        let message = part(message::stored(masked.as_str()));
        let subject = part(message::subject(message.as_str()));
        if subject.as_str().is_empty() {
            return None;
        }
        let new = NewCommit {
            sha: entry.sha,
            trust: self.trust(message.as_str()),
            subject,
            message,
            committed_at: DateTime::from_timestamp(entry.committed_at, 0)?,
            files: Vec::new(),
        };
        Some(Commit { new, paths: entry.paths.into_iter().collect() })
    }

    fn trust(&self, text: &str) -> Trust {
        let is_order = mc_prompt_guard::inspect(text).iter().any(Detection::quarantines);
        if self.is_guarded && is_order { Trust::Untrusted } else { Trust::Imported }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn rules() -> Rules {
        Rules { sanitizing: Arc::new(Policy::default()), masking_fingerprint: 0, is_guarded: true }
    }

    fn entries(count: usize) -> Vec<Entry> {
        let message = format!("Round the total\n\n{}", "It was off by a cent. ".repeat(200));
        let entry = Entry {
            sha: "a".repeat(40),
            committed_at: 1,
            message,
            paths: BTreeSet::from(["a.rb".to_owned()]),
        };
        vec![entry; count]
    }

    #[tokio::test]
    async fn while_commits_are_masked_others_have_their_turn() {
        let (rules, stop) = (rules(), CancellationToken::new());
        let masking = rules.commits(entries(200), &stop);
        tokio::pin!(masking);
        tokio::select! {
            biased;
            _ = &mut masking => panic!("all were masked before anybody else had a turn"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(masking.await.expect("commits").len(), 200);
    }

    #[tokio::test]
    async fn masking_ends_with_the_run() {
        let stop = CancellationToken::new();
        stop.cancel();
        let masked = rules().commits(entries(2), &stop).await;
        assert!(matches!(masked, Err(Error::Cancelled)));
    }
}
