//! Reading of new commits of a checkout, within the limits.

use std::collections::HashMap;

use mc_git::{Checkout, Commits, HistoryLimits, HistoryOrigin};
use mc_store::files::KnownFile;
use mc_store::history::Position;
use mc_store::repositories::Repository;
use tokio_util::sync::CancellationToken;

use super::log::{Log, MemoryBudget, Reader};
use super::marker::{HistoryRange, Marker};
use super::{Changes, Rules, Stored, Update};
use crate::Error;
use crate::index::Context;

/// Input for reading the history in a run.
pub(crate) struct Run<'a> {
    pub ctx: &'a Context,
    pub repository: &'a Repository,
    pub checkout: &'a Checkout,
    pub rules: &'a Rules,
    /// Stored history.
    pub stored: &'a Stored,
    /// Files that were stored before the run, by path.
    pub known: &'a HashMap<String, KnownFile>,
    /// Paths of code files that are new in this run.
    pub added: &'a [String],
    pub stop: &'a CancellationToken,
}

/// Reads the new commits of the checkout.
///
/// If the history cannot be read, the error is logged, the run continues, and the next run tries
/// again. A history that exceeds the limits is tried again after a day.
pub(crate) async fn read(run: Run<'_>) -> Result<Update, Error> {
    match run.update().await {
        Ok(update) => Ok(update),
        Err(error @ (Error::Cancelled | Error::Store(_))) => Err(error),
        Err(error) => {
            tracing::warn!(
                run.repository.namespace,
                %error,
                "reading the repository history failed; search continues with the stored history"
            );
            Ok(Update::ReadAgain)
        }
    }
}

impl Run<'_> {
    async fn update(&self) -> Result<Update, Error> {
        let (limits, sha) = (self.ctx.history, self.sha());
        let origin = self.checkout.history.as_ref();
        let Some(origin) = origin.filter(|_| limits.commits > 0 && !sha.is_empty()) else {
            return Ok(Update::Clear);
        };
        let is_current = self.stored.position.sha == sha && !self.is_masking_outdated();
        if is_current && self.added.is_empty() {
            return Ok(Update::Keep);
        }
        let marker = Marker::new(origin, &self.ctx.cache, limits);
        match marker.read() {
            Some(HistoryRange::Nothing) => {
                tracing::info!(
                    self.repository.namespace,
                    "repository history exceeded the limits; reading is retried after a day"
                );
                Ok(Update::ReadAgain)
            }
            Some(HistoryRange::Smaller) => self.read_newest(origin, &marker).await,
            None => self.read_full(origin, &marker).await,
        }
    }

    /// Reads the history, or only its newest part if the history exceeds the limits.
    async fn read_full(&self, origin: &HistoryOrigin, marker: &Marker) -> Result<Update, Error> {
        // The marker means that at most a part is stored, so appending is not enough.
        let from_start = marker.exists();
        match self.read_within(origin, self.ctx.history, from_start).await {
            Err(error) if exceeds_limits(&error) => {
                tracing::warn!(
                    self.repository.namespace,
                    %error,
                    "the repository history exceeds the limits; reading only its newest part"
                );
                self.read_newest(origin, marker).await
            }
            read => {
                if read.is_ok() && from_start {
                    marker.delete();
                }
                read
            }
        }
    }

    /// Reads the newest part, and writes the result to the marker.
    async fn read_newest(&self, origin: &HistoryOrigin, marker: &Marker) -> Result<Update, Error> {
        let read = self.read_within(origin, self.ctx.history.newest_part(), false).await;
        match &read {
            // A valid marker is not renewed: it has to expire a day after the full read failed.
            Ok(_) if marker.read() == Some(HistoryRange::Smaller) => {}
            Ok(_) => marker.write(HistoryRange::Smaller, self.sha()),
            Err(error) if exceeds_limits(error) => {
                marker.write(HistoryRange::Nothing, self.sha());
            }
            Err(_) => {}
        }
        read
    }

    async fn read_within(
        &self,
        origin: &HistoryOrigin,
        limits: HistoryLimits,
        from_start: bool,
    ) -> Result<Update, Error> {
        let (sha, stored) = (self.sha(), self.stored.position.sha.as_str());
        let commits = Commits::open(origin, sha, limits, self.stop).await?;
        let can_append = !stored.is_empty()
            && !from_start
            && !self.is_masking_outdated()
            && commits.is_ancestor(stored, sha, self.stop).await?;
        if can_append {
            let log = self.log(&commits, &format!("{stored}..{sha}"), limits).await?;
            let old_names = self.old_names(&log.renames);
            if !commits.has_touched(stored, &old_names, limits, self.stop).await? {
                let is_current = stored == sha;
                return Ok(if is_current {
                    Update::Keep
                } else {
                    Update::Append(self.changes(log).await?)
                });
            }
            tracing::info!(
                self.repository.namespace,
                "older commits touched newly indexed files; reading the full history"
            );
        }
        let log = self.log(&commits, sha, limits).await?;
        Ok(Update::Replace(self.changes(log).await?))
    }

    async fn log(
        &self,
        commits: &Commits,
        range: &str,
        limits: HistoryLimits,
    ) -> Result<Log, Error> {
        let mut reader = Reader::new(commits.is_shallow(), MemoryBudget::default());
        commits.log(range, limits, self.stop, |field| reader.read_field(field)).await?;
        let log = reader.finish();
        if log.omitted_commits > 0 || log.omitted_renames > 0 {
            tracing::warn!(
                self.repository.namespace,
                commits.omitted = log.omitted_commits,
                renames.omitted = log.omitted_renames,
                "the repository history exceeds the memory limit; its oldest part is omitted"
            );
        }
        Ok(log)
    }

    /// Returns the names of the new files, and their names before they were renamed. Old names of
    /// stored files are excluded, because their history is moved to the new name.
    fn old_names(&self, renames: &HashMap<String, String>) -> Vec<String> {
        let added: std::collections::HashSet<&String> = self.added.iter().collect();
        let is_unknown =
            |from: &String, to: &String| added.contains(to) && !self.known.contains_key(from);
        let old = renames.iter().filter(|(from, to)| is_unknown(from, to)).map(|(from, _)| from);
        let mut names: Vec<String> = old.chain(self.added).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    async fn changes(&self, log: Log) -> Result<Changes, Error> {
        Ok(Changes {
            commits: self.rules.commits(log.entries, self.stop).await?,
            renames: log.renames,
            position: Position {
                sha: self.sha().to_owned(),
                masking_fingerprint: self.rules.masking_fingerprint,
            },
            is_masking_outdated: self.is_masking_outdated(),
            max_commits: self.ctx.history.commits,
        })
    }

    fn sha(&self) -> &str {
        &self.checkout.source_ref
    }

    fn is_masking_outdated(&self) -> bool {
        self.stored.position.masking_fingerprint != self.rules.masking_fingerprint
    }
}

/// Returns whether a smaller part of the history may succeed after this error.
fn exceeds_limits(error: &Error) -> bool {
    matches!(error, Error::Git(mc_git::Error::HistoryTooLarge(_) | mc_git::Error::Timeout(_)))
}
