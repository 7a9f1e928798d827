//! Records as they were taken apart for the last comparisons. Saves of a project meet the same
//! neighbours again and again, and taking sixty of them apart costs more than all else that a save
//! computes by itself.

use std::sync::Arc;
use std::time::Duration;

use mc_domain::RecordId;
use moka::sync::Cache;

use super::ParsedNote;

/// Bytes of the texts that are remembered; taken apart they are some thirty times as large.
const TEXTS_MAX: u64 = 512 * 1024;
/// What was not compared for as long is not met again, what was erased included; a later save frees
/// its place.
const IDLE_MAX: Duration = Duration::from_mins(10);

/// Notes by the record that says them; cheap to clone.
#[derive(Clone)]
pub(crate) struct NoteCache(Cache<RecordId, Arc<ParsedNote>>);

impl NoteCache {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let size = |_: &RecordId, note: &Arc<ParsedNote>| {
            u32::try_from(note.text().len()).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(TEXTS_MAX).weigher(size).time_to_idle(IDLE_MAX).build())
    }

    /// What the record says, taken apart. By the record and not by the text: how long it takes must
    /// not tell of what others hold.
    pub(crate) fn read(&self, record: RecordId, content: &str) -> Arc<ParsedNote> {
        if let Some(known) = self.0.get(&record).filter(|known| known.text() == content) {
            return known;
        }
        let note = Arc::new(ParsedNote::read(content));
        self.keep(record, Arc::clone(&note));
        note
    }

    /// Remembers what a record says, where it was taken apart before it was a record.
    pub(crate) fn keep(&self, record: RecordId, note: Arc<ParsedNote>) {
        self.0.insert(record, note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_says_something_else_now_is_taken_apart_anew() {
        let (notes, record) = (NoteCache::new(), RecordId::generate());
        let first = notes.read(record, "Carts live for 40 minutes.");
        assert!(Arc::ptr_eq(&first, &notes.read(record, "Carts live for 40 minutes.")));
        let second = notes.read(record, "Carts live for 60 minutes.");
        assert!(second.marks.contains("60") && !second.marks.contains("40"));
    }
}
