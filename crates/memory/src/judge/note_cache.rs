//! Cache of parsed records. Saves of a project are compared with the same records again and again,
//! and parsing sixty of them costs more than all other computation of a save.

use std::sync::Arc;
use std::time::Duration;

use mc_domain::RecordId;
use moka::sync::Cache;

use super::ParsedNote;

/// Most bytes of cached texts; parsed, they are some thirty times as large.
const TEXTS_MAX: u64 = 512 * 1024;
/// Idle time after which a record, perhaps erased, is dropped; a later save frees its memory.
const IDLE_MAX: Duration = Duration::from_mins(10);

/// Parsed notes by record; cheap to clone.
#[derive(Clone)]
pub(crate) struct NoteCache(Cache<RecordId, Arc<ParsedNote>>);

impl NoteCache {
    pub(crate) fn new() -> Self {
        let size = |_: &RecordId, note: &Arc<ParsedNote>| {
            u32::try_from(note.text().len()).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(TEXTS_MAX).weigher(size).time_to_idle(IDLE_MAX).build())
    }

    /// Returns a record's parsed content. The key is the record and not the text, as response times
    /// must not reveal what others have saved.
    pub(crate) fn read(&self, record: RecordId, content: &str) -> Arc<ParsedNote> {
        if let Some(known) = self.0.get(&record).filter(|known| known.text() == content) {
            return known;
        }
        let note = Arc::new(ParsedNote::read(content));
        self.keep(record, Arc::clone(&note));
        note
    }

    /// Caches a note that was parsed before its record existed.
    pub(crate) fn keep(&self, record: RecordId, note: Arc<ParsedNote>) {
        self.0.insert(record, note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_record_is_parsed_again() {
        let (notes, record) = (NoteCache::new(), RecordId::generate());
        let first = notes.read(record, "Carts live for 40 minutes.");
        assert!(Arc::ptr_eq(&first, &notes.read(record, "Carts live for 40 minutes.")));
        let second = notes.read(record, "Carts live for 60 minutes.");
        assert!(second.marks.contains("60") && !second.marks.contains("40"));
    }
}
