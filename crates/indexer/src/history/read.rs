//! Reads what is new in the history of a checkout, within the limits.

use std::collections::HashMap;

use mc_store::files::KnownFile;
use mc_store::history::Position;
use mc_store::repositories::Repository;
use tokio_util::sync::CancellationToken;

use super::log::{Log, Reader, Room};
use super::mark::{HistoryRange, Mark};
use super::{Changes, Limits, Rules, Stored, Update};
use crate::Error;
use crate::index::Context;
use crate::source::Checkout;
use crate::source::history::{Commits, HistoryOrigin};

/// What a run has to do with the history.
pub(crate) struct Run<'a> {
    pub ctx: &'a Context,
    pub repository: &'a Repository,
    pub checkout: &'a Checkout,
    pub rules: &'a Rules,
    /// What is stored of it.
    pub stored: &'a Stored,
    /// The files that were stored before the run, by their paths.
    pub known: &'a HashMap<String, KnownFile>,
    /// Paths of the files of code that are new since.
    pub added: &'a [String],
    pub stop: &'a CancellationToken,
}

/// Reads what is new in the history of the checkout. A history that can't be had stops no run: it
/// is logged, and the next run tries again, or one of the next day where the history is beyond the
/// limits.
pub(crate) async fn read(run: Run<'_>) -> Result<Update, Error> {
    match run.update().await {
        Ok(update) => Ok(update),
        Err(error @ (Error::Cancelled | Error::Store(_))) => Err(error),
        Err(error) => {
            tracing::warn!(
                run.repository.namespace,
                %error,
                "the history of the repository can't be read; search goes on with what is stored \
                of it"
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
        let is_current = self.stored.position.sha == sha && !self.is_masked_otherwise();
        if is_current && self.added.is_empty() {
            return Ok(Update::Keep);
        }
        let mark = Mark::of(origin, &self.ctx.cache, limits);
        match mark.holds() {
            Some(HistoryRange::Nothing) => {
                tracing::info!(
                    self.repository.namespace,
                    "repository history exceeded the limits; reading is retried after a day"
                );
                Ok(Update::ReadAgain)
            }
            Some(HistoryRange::Smaller) => self.smaller(origin, &mark).await,
            None => self.whole(origin, &mark).await,
        }
    }

    /// Reads within the limits, or less where that is too much.
    async fn whole(&self, origin: &HistoryOrigin, mark: &Mark) -> Result<Update, Error> {
        // Only a part was read till now, or nothing.
        let from_start = mark.is_there();
        match self.within(origin, self.ctx.history, from_start).await {
            Err(error) if is_beyond(&error) => {
                tracing::warn!(
                    self.repository.namespace,
                    %error,
                    "the history of the repository is beyond the limits; only its newest part is \
                    read"
                );
                self.smaller(origin, mark).await
            }
            read => {
                if read.is_ok() && from_start {
                    mark.clear();
                }
                read
            }
        }
    }

    /// Reads the newest part, and remembers whether that went well.
    async fn smaller(&self, origin: &HistoryOrigin, mark: &Mark) -> Result<Update, Error> {
        let read = self.within(origin, self.ctx.history.smaller(), false).await;
        match &read {
            // That it is too much holds from when it was found out.
            Ok(_) if mark.holds() == Some(HistoryRange::Smaller) => {}
            Ok(_) => mark.set(HistoryRange::Smaller, self.sha()),
            Err(error) if is_beyond(error) => mark.set(HistoryRange::Nothing, self.sha()),
            Err(_) => {}
        }
        read
    }

    async fn within(
        &self,
        origin: &HistoryOrigin,
        limits: Limits,
        from_start: bool,
    ) -> Result<Update, Error> {
        let (sha, stored) = (self.sha(), self.stored.position.sha.as_str());
        let commits = Commits::open(origin, sha, limits, self.stop).await?;
        let can_append = !stored.is_empty()
            && !from_start
            && !self.is_masked_otherwise()
            && commits.is_ancestor(stored, sha, self.stop).await?;
        if can_append {
            let log = self.log(&commits, &format!("{stored}..{sha}"), limits).await?;
            let before = self.names_before(&log.renames);
            if !commits.has_touched(stored, &before, limits, self.stop).await? {
                let is_current = stored == sha;
                return Ok(if is_current {
                    Update::Keep
                } else {
                    Update::Append(self.changes(log).await?)
                });
            }
            tracing::info!(
                self.repository.namespace,
                "older commits touched files that are indexed now and were not before; all of the \
                history is read"
            );
        }
        let log = self.log(&commits, sha, limits).await?;
        Ok(Update::Replace(self.changes(log).await?))
    }

    async fn log(&self, commits: &Commits, range: &str, limits: Limits) -> Result<Log, Error> {
        let mut reader = Reader::new(commits.is_shallow(), Room::default());
        commits.log(range, limits, self.stop, |field| reader.take(field)).await?;
        let log = reader.finish();
        if log.left_out > 0 || log.unfollowed > 0 {
            tracing::warn!(
                self.repository.namespace,
                commits.left_out = log.left_out,
                renames.unfollowed = log.unfollowed,
                "the history of the repository takes more memory than it may; its oldest part is \
                left out"
            );
        }
        Ok(log)
    }

    /// What the new files were called before the commits that renamed them so; without the names
    /// whose files are known, and followed.
    fn names_before(&self, renames: &HashMap<String, String>) -> Vec<String> {
        let added: std::collections::HashSet<&String> = self.added.iter().collect();
        let is_lost =
            |from: &String, to: &String| added.contains(to) && !self.known.contains_key(from);
        let before = renames.iter().filter(|(from, to)| is_lost(from, to)).map(|(from, _)| from);
        let mut names: Vec<String> = before.chain(self.added).cloned().collect();
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
            is_masked_otherwise: self.is_masked_otherwise(),
            most: self.ctx.history.commits,
        })
    }

    fn sha(&self) -> &str {
        &self.checkout.source_ref
    }

    fn is_masked_otherwise(&self) -> bool {
        self.stored.position.masking_fingerprint != self.rules.masking_fingerprint
    }
}

/// Whether less of the history may be had where this much can't.
fn is_beyond(error: &Error) -> bool {
    matches!(error, Error::HistoryTooLarge(_) | Error::Timeout(_))
}
