//! Incremental sync by the time of change, page by page, without losing concurrent changes.
//!
//! A position is a time and not the number of a page: once a page has later changes, the next
//! request lists the changes since then. Only if more items than a page holds changed at one time
//! does the sync continue there by a page marker. Concurrent changes move items to other pages, so
//! that time is read again until two passes are equal: then the first skipped nothing. Items that
//! change to that time even later changed after the sync began, and the next sync begins before
//! that. Items that come again are known by their ids and times, and are left out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::traits::Cursor;

/// The lag of a provider's lists, and of its clock behind this one. The next sync begins this much
/// before the last change, and before this sync began.
const OVERLAP: TimeDelta = TimeDelta::minutes(2);
/// How far before the requested time a list may begin: when clocks are set back, an hour repeats.
const MAX_REPEATED_TIME: TimeDelta = TimeDelta::hours(3);
/// Items whose times are remembered.
const MAX_SEEN: usize = 20_000;

/// The position of a sync.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    /// The time of the oldest changes to list; `None` for all.
    pub(crate) since: Option<DateTime<Utc>>,
    /// Where in that list the sync is; `None` at its beginning.
    pub(crate) marker: Option<PageMarker>,
    /// When this sync began, by this machine's clock.
    #[serde(default)]
    started_at: Option<DateTime<Utc>>,
    /// The checksum of the items of this time in this pass.
    #[serde(default)]
    checksum: u64,
    /// The checksum of the pass before.
    #[serde(default)]
    previous_checksum: Option<u64>,
    /// The items that were returned, with their times of change in milliseconds.
    #[serde(default)]
    seen: BTreeMap<String, i64>,
}

/// A place in a list of several pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PageMarker {
    /// After this number of items.
    Offset(u64),
    /// The provider's own token.
    Token(String),
}

impl PageMarker {
    /// Returns the next page of a provider that marks the last one only by its size.
    pub(crate) fn after_full_page(offset: u64, page_size: u64, received: usize) -> Option<Self> {
        (received as u64 >= page_size).then(|| Self::Offset(offset + page_size))
    }

    /// Returns the next page of a provider that sends the number of all items.
    pub(crate) fn before_total(offset: u64, received: usize, total: u64) -> Option<Self> {
        let end = offset + received as u64;
        (received > 0 && end < total).then_some(Self::Offset(end))
    }
}

/// One page of a list, the oldest change first.
pub(crate) struct ListPage<T> {
    pub(crate) items: Vec<T>,
    /// The next page; `None` if this is the last.
    pub(crate) more: Option<PageMarker>,
    /// The resolution of the provider's filter by time.
    pub(crate) tick: TimeDelta,
}

/// An item with a time of change.
pub(crate) trait HasUpdatedAt {
    /// Returns the item's id, and when it last changed, by the provider's clock.
    fn version(&self) -> (String, DateTime<Utc>);
}

/// The new items of a page, and the position after it.
pub(crate) struct Step<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Position,
    pub(crate) is_last: bool,
}

impl Position {
    /// Reads a cursor; the default one is the beginning.
    pub(crate) fn from_cursor(cursor: &Cursor, connector: &str) -> Result<Self, Error> {
        match &cursor.0 {
            Value::Null => Ok(Self::default()),
            value => Self::deserialize(value).map_err(|_| invalid_cursor(connector)),
        }
    }

    pub(crate) fn to_cursor(&self, connector: &str) -> Result<Cursor, Error> {
        let value = serde_json::to_value(self);
        value.map(Cursor).map_err(|_| invalid_cursor(connector))
    }

    /// Returns the number of items before the page; 0 with a token.
    pub(crate) fn offset(&self) -> u64 {
        match &self.marker {
            Some(PageMarker::Offset(offset)) => *offset,
            Some(PageMarker::Token(_)) | None => 0,
        }
    }

    /// Returns the provider's token, if the position has one.
    pub(crate) fn token(&self) -> Option<&str> {
        match &self.marker {
            Some(PageMarker::Token(token)) => Some(token),
            Some(PageMarker::Offset(_)) | None => None,
        }
    }

    /// Advances the position by a page that was requested at `now`.
    pub(crate) fn advance<T: HasUpdatedAt>(
        mut self,
        page: ListPage<T>,
        now: DateTime<Utc>,
    ) -> Step<T> {
        let tick = page.tick;
        let started_at = *self.started_at.get_or_insert(now);
        let newest = page.items.iter().map(|item| floor(item.version().1, tick)).max();
        self.add_to_checksum(&page.items, tick);
        let items: Vec<T> = page.items.into_iter().filter(|item| self.remember(item)).collect();
        let has_later_changes = newest > self.since;
        let more = page.more.filter(|marker| self.is_progress(marker));
        let is_last = match more {
            Some(marker) if !has_later_changes => {
                self.marker = Some(marker);
                false
            }
            more => {
                let is_complete = self.end_pass();
                if is_complete && more.is_some() {
                    self.since = newest;
                }
                is_complete && more.is_none()
            }
        };
        self.forget_old(tick, started_at, is_last);
        self.started_at = self.started_at.filter(|_| !is_last);
        Step { items, next: self, is_last }
    }

    /// Adds the items of the present time to the checksum, which does not depend on their order.
    fn add_to_checksum<T: HasUpdatedAt>(&mut self, items: &[T], tick: TimeDelta) {
        let is_present = |item: &&T| Some(floor(item.version().1, tick)) <= self.since;
        let sum = items.iter().filter(is_present).map(hash).fold(0, u64::wrapping_add);
        self.checksum = self.checksum.wrapping_add(sum);
    }

    /// Returns whether a marker leads on. A provider may ignore markers and repeat a page forever.
    fn is_progress(&self, marker: &PageMarker) -> bool {
        match marker {
            PageMarker::Offset(offset) => {
                self.seen.len() >= MAX_SEEN || *offset <= self.seen.len() as u64
            }
            PageMarker::Token(_) => self.marker.as_ref() != Some(marker),
        }
    }

    /// Ends a pass over the items of one time. Returns whether all have been returned.
    fn end_pass(&mut self) -> bool {
        let is_complete = self.marker.is_none() || self.previous_checksum == Some(self.checksum);
        let checksum = std::mem::take(&mut self.checksum);
        self.previous_checksum = (!is_complete).then_some(checksum);
        self.marker = None;
        is_complete
    }

    /// Returns whether the item is new or has changed.
    fn remember<T: HasUpdatedAt>(&mut self, item: &T) -> bool {
        let (id, updated_at) = item.version();
        let time = updated_at.timestamp_millis();
        self.seen.insert(id, time) != Some(time)
    }

    /// Forgets items that cannot come again. At the end, moves `since` back by the overlap.
    fn forget_old(&mut self, tick: TimeDelta, started_at: DateTime<Utc>, is_last: bool) {
        let Some(newest) = self.seen.values().max().copied() else { return };
        let Some(newest) = DateTime::from_timestamp_millis(newest) else { return };
        let overlapping = floor(newest.min(started_at) - OVERLAP, tick);
        if is_last {
            self.since = Some(overlapping);
        }
        let oldest = self.since.map_or(overlapping, |since| since.min(overlapping))
            - tick.max(MAX_REPEATED_TIME);
        self.seen.retain(|_, time| *time >= oldest.timestamp_millis());
        if self.seen.len() > MAX_SEEN {
            let mut seen: Vec<_> = std::mem::take(&mut self.seen).into_iter().collect();
            seen.sort_unstable_by_key(|(_, time)| Reverse(*time));
            seen.truncate(MAX_SEEN);
            self.seen = seen.into_iter().collect();
        }
    }
}

fn invalid_cursor(connector: &str) -> Error {
    Error::InvalidCursor(connector.to_owned())
}

/// Hashes an item's id and time to the same number on every machine.
fn hash(item: &impl HasUpdatedAt) -> u64 {
    let (id, updated_at) = item.version();
    let time = updated_at.timestamp_millis().to_be_bytes();
    let digest = Sha256::new().chain_update(time).chain_update(id).finalize();
    digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

fn floor(time: DateTime<Utc>, tick: TimeDelta) -> DateTime<Utc> {
    time.duration_trunc(tick).unwrap_or(time)
}

#[cfg(test)]
mod tests;
