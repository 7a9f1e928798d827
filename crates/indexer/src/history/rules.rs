//! Masking of commits before they are stored.

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

/// Rules by which texts of a repository are masked and trusted.
#[derive(Clone)]
pub(crate) struct Rules {
    /// Sanitizer policy of the project.
    pub sanitizing: Arc<Policy>,
    /// Fingerprint of that policy.
    pub masking_fingerprint: i64,
    /// Whether text with a prompt injection is untrusted.
    pub is_guarded: bool,
}

impl Rules {
    /// Masks the commits on a blocking thread, so that the run keeps writing its progress.
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

    /// Masks a commit; `None` if no subject remains.
    fn commit(&self, entry: Entry) -> Option<Commit> {
        let message = message::clean(&entry.message);
        // Masked before it is shortened: half of a secret would not be detected.
        let masked = mask_with(&message, &self.sanitizing).text;
        // Masking is idempotent.
        let part = |text: &str| mask_with(text, &self.sanitizing).text;
        let message = part(message::shorten(masked.as_str()));
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

    /// Returns the trust of a text: untrusted if it contains a prompt injection.
    pub(crate) fn trust(&self, text: &str) -> Trust {
        let has_injection = || mc_prompt_guard::inspect(text).iter().any(Detection::quarantines);
        if self.is_guarded && has_injection() { Trust::Untrusted } else { Trust::Imported }
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
    async fn masking_of_commits_does_not_block_other_tasks() {
        let (rules, stop) = (rules(), CancellationToken::new());
        let masking = rules.commits(entries(200), &stop);
        tokio::pin!(masking);
        tokio::select! {
            biased;
            _ = &mut masking => panic!("masking blocked the other task"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(masking.await.expect("commits").len(), 200);
    }

    #[tokio::test]
    async fn masking_stops_when_the_run_is_cancelled() {
        let stop = CancellationToken::new();
        stop.cancel();
        let masked = rules().commits(entries(2), &stop).await;
        assert!(matches!(masked, Err(Error::Cancelled)));
    }
}
