//! Position in the change feed, which takes into account transactions that commit late.

use std::collections::HashSet;

use mc_domain::PassageId;
use mc_store::change_feed::{FeedCursor, FeedEntry};

/// Maximum number of changes of all projects that a search looks through for those of its own
/// project. If there are more, it waits until they are applied.
pub(super) const CHANGES_MAX: usize = 4_000;

/// Position in the feed. All entries up to the cursor are applied and final. Entries after it may
/// be applied as well, but have to be read again, because an older transaction that is still
/// running may add entries between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Position {
    cursor: FeedCursor,
    /// Applied entries after the cursor.
    applied: HashSet<FeedCursor>,
}

impl Position {
    pub(super) fn new(cursor: FeedCursor) -> Self {
        Self { cursor, applied: HashSet::new() }
    }

    /// Returns the position from which to continue, which a commit of the index stores.
    pub(super) fn cursor(&self) -> FeedCursor {
        self.cursor
    }

    /// Returns a copy for searches. One with too many applied entries has none of them.
    pub(super) fn published(&self) -> Self {
        let is_large = self.applied.len() > CHANGES_MAX;
        let applied = if is_large { HashSet::new() } else { self.applied.clone() };
        Self { cursor: self.cursor, applied }
    }

    /// Returns whether these entries after the cursor are applied.
    pub(super) fn has_applied(&self, entries: &[FeedCursor]) -> bool {
        entries.iter().all(|entry| self.applied.contains(entry))
    }

    /// Returns the passages of the entries that have not been applied, each once.
    pub(super) fn unapplied(&self, entries: &[FeedEntry]) -> Vec<PassageId> {
        let mut seen = HashSet::new();
        let unapplied = entries.iter().filter(|entry| !self.applied.contains(&cursor_of(entry)));
        unapplied.map(|entry| entry.passage).filter(|passage| seen.insert(*passage)).collect()
    }

    /// Marks `entries`, in feed order, as applied. `horizon` is that of the first page of the pass,
    /// because later pages may include transactions that were not visible to the first one.
    pub(super) fn mark_applied(&mut self, entries: &[FeedEntry], horizon: u64) {
        for entry in entries {
            let cursor = cursor_of(entry);
            if entry.txid < horizon {
                self.cursor = self.cursor.max(cursor);
                self.applied.remove(&cursor);
            } else {
                self.applied.insert(cursor);
            }
        }
    }
}

/// Returns the position of an entry.
pub(super) fn cursor_of(entry: &FeedEntry) -> FeedCursor {
    FeedCursor { txid: entry.txid, seq: entry.seq }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(txid: u64, seq: i64) -> FeedEntry {
        FeedEntry { txid, seq, passage: PassageId::generate() }
    }

    #[test]
    fn cursor_stops_at_the_oldest_running_transaction() {
        let mut position = Position::default();
        let early = [entry(5, 1), entry(8, 3)];
        assert_eq!(position.unapplied(&early).len(), 2);
        position.mark_applied(&early, 7);
        assert_eq!(position.cursor(), FeedCursor { txid: 5, seq: 1 });

        // Transaction 7 commits; its entry is before the applied entry of transaction 8.
        let late = [entry(7, 2), early[1]];
        assert_eq!(position.unapplied(&late), [late[0].passage], "8 was applied before");
        position.mark_applied(&late, 9);
        assert_eq!(position.cursor(), FeedCursor { txid: 8, seq: 3 });
        assert!(position.applied.is_empty());
    }

    #[test]
    fn passage_that_changed_twice_is_read_once() {
        let first = entry(5, 1);
        let second = FeedEntry { seq: 2, ..first };
        assert_eq!(Position::default().unapplied(&[first, second]), [first.passage]);
    }
}
