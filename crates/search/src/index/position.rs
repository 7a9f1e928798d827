//! How far the feed has been applied, with transactions that commit late in mind.

use std::collections::HashSet;

use mc_domain::PassageId;
use mc_store::change_feed::{FeedCursor, FeedEntry};

/// A position in the feed. Entries up to the cursor are applied and final. Beyond it lie entries
/// that are applied already but have to be read past again, since an older transaction that still
/// runs may yet put its own among them.
#[derive(Debug, Default)]
pub(super) struct Position {
    cursor: FeedCursor,
    ahead: HashSet<FeedCursor>,
}

impl Position {
    pub(super) fn at(cursor: FeedCursor) -> Self {
        Self { cursor, ahead: HashSet::new() }
    }

    /// Where to read on, and what a commit of the index carries.
    pub(super) fn cursor(&self) -> FeedCursor {
        self.cursor
    }

    /// The passages of those entries that have not been applied, each once.
    pub(super) fn unseen(&self, entries: &[FeedEntry]) -> Vec<PassageId> {
        let mut once = HashSet::new();
        let unseen = entries.iter().filter(|entry| !self.ahead.contains(&place(entry)));
        unseen.map(|entry| entry.passage).filter(|passage| once.insert(*passage)).collect()
    }

    /// Takes note that `entries`, in feed order, are applied. `horizon` is that of the first page
    /// read in this pass: later ones know of transactions that the earlier pages could not see.
    pub(super) fn applied(&mut self, entries: &[FeedEntry], horizon: u64) {
        for entry in entries {
            let place = place(entry);
            if entry.txid < horizon {
                self.cursor = self.cursor.max(place);
                self.ahead.remove(&place);
            } else {
                self.ahead.insert(place);
            }
        }
    }
}

/// Where an entry stands.
pub(super) fn place(entry: &FeedEntry) -> FeedCursor {
    FeedCursor { txid: entry.txid, seq: entry.seq }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(txid: u64, seq: i64) -> FeedEntry {
        FeedEntry { txid, seq, passage: PassageId::generate() }
    }

    #[test]
    fn the_cursor_waits_for_the_oldest_running_transaction() {
        let mut position = Position::default();
        let early = [entry(5, 1), entry(8, 3)];
        assert_eq!(position.unseen(&early).len(), 2);
        position.applied(&early, 7);
        assert_eq!(position.cursor(), FeedCursor { txid: 5, seq: 1 });

        // Transaction 7 commits; it stands before what was applied of transaction 8.
        let late = [entry(7, 2), early[1]];
        assert_eq!(position.unseen(&late), [late[0].passage], "8 is applied already");
        position.applied(&late, 9);
        assert_eq!(position.cursor(), FeedCursor { txid: 8, seq: 3 });
        assert!(position.ahead.is_empty());
    }

    #[test]
    fn a_passage_that_changed_twice_is_read_once() {
        let first = entry(5, 1);
        let again = FeedEntry { seq: 2, ..first };
        assert_eq!(Position::default().unseen(&[first, again]), [first.passage]);
    }
}
