//! Remembers, in a small file in the cache, that a history is beyond the limits: else every run
//! would fetch it again only to throw it away.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Limits;
use crate::hash;
use crate::source::history::HistoryOrigin;

/// How long what is remembered holds: the repository, or the way to it, may be another by then.
const HOLDS: Duration = Duration::from_hours(24);
/// How the file is called, behind the repository's part of it.
const EXTENSION: &str = "unread";

/// How much of a history can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryRange {
    /// [`Limits::smaller`].
    Smaller,
    /// Not even that.
    Nothing,
}

/// What is remembered of one history.
#[derive(Debug)]
pub(super) struct Mark {
    file: PathBuf,
    limits: Limits,
}

impl Mark {
    /// The mark of `origin` for reading within `limits`.
    pub fn of(origin: &HistoryOrigin, cache: &Path, limits: Limits) -> Self {
        let key = hash::of_fields(origin.key().iter().map(String::as_bytes));
        let file = cache.join(hex::encode(&key[..12])).with_extension(EXTENSION);
        Self { file, limits }
    }

    /// Whether anything is remembered, be it of other limits or long ago.
    pub fn is_there(&self) -> bool {
        self.file.exists()
    }

    /// What is remembered, as far as it still holds.
    pub fn holds(&self) -> Option<HistoryRange> {
        let said = std::fs::read_to_string(&self.file).ok()?;
        let (limits, rest) = said.split_once('\n')?;
        let mut words = rest.split_whitespace();
        let reach = match words.next()? {
            "smaller" => HistoryRange::Smaller,
            "nothing" => HistoryRange::Nothing,
            _ => return None,
        };
        let then = UNIX_EPOCH + Duration::from_secs(words.next()?.parse().ok()?);
        // A clock that was set back makes it end, too.
        let is_fresh = then.elapsed().is_ok_and(|age| age < HOLDS);
        (is_fresh && limits == self.limits()).then_some(reach)
    }

    /// Remembers it, of the history of `sha`. Where that fails, the next run tries again.
    pub fn set(&self, reach: HistoryRange, sha: &str) {
        let word = match reach {
            HistoryRange::Smaller => "smaller",
            HistoryRange::Nothing => "nothing",
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let said = format!("{}\n{word} {now} {sha}\n", self.limits());
        // A folder that is indexed as it lies has nothing else there.
        let folder = self.file.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = folder.and_then(|()| std::fs::write(&self.file, said)) {
            let file = self.file.display();
            tracing::warn!(%file, %error, "that a history is beyond the limits can't be noted");
        }
    }

    /// Forgets it: the history was read.
    pub fn clear(&self) {
        // What stays holds for a day at most.
        let _ = std::fs::remove_file(&self.file);
    }

    fn limits(&self) -> String {
        let Limits { commits, time, bytes } = self.limits;
        format!("{commits} commits {} ms {bytes} bytes", time.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(cache: &Path, limits: Limits) -> Mark {
        let origin = HistoryOrigin::Local { repository: "/srv/shop".into(), below: String::new() };
        Mark::of(&origin, cache, limits)
    }

    #[test]
    fn a_marker_is_valid_for_a_day_and_for_its_limits() {
        let cache = tempfile::tempdir().expect("a folder");
        let here = mark(&cache.path().join("new"), Limits::default());
        assert_eq!((here.holds(), here.is_there()), (None, false));
        here.set(HistoryRange::Smaller, "aaaa");
        assert_eq!(here.holds(), Some(HistoryRange::Smaller));
        here.set(HistoryRange::Nothing, "bbbb");
        assert_eq!(here.holds(), Some(HistoryRange::Nothing));
        let others = Limits { bytes: 1 << 30, ..Limits::default() };
        let others = mark(&cache.path().join("new"), others);
        assert_eq!((others.holds(), others.is_there()), (None, true));

        let said = std::fs::read_to_string(&here.file).expect("a file");
        let time = said.split_whitespace().rev().nth(1).expect("a time").to_owned();
        for (age, holds) in [(HOLDS.as_secs() - 60, true), (HOLDS.as_secs(), false)] {
            let then = time.parse::<u64>().expect("seconds") - age;
            std::fs::write(&here.file, said.replace(&time, &then.to_string())).expect("a file");
            assert_eq!(here.holds().is_some(), holds, "after {age} s");
        }
        std::fs::write(&here.file, "garbage").expect("a file");
        assert_eq!(here.holds(), None);
        here.clear();
        assert!(!here.is_there());
    }
}
