//! Marker file in the cache for a history that exceeds the limits. Without it, every run would
//! fetch the history again and discard it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mc_git::{HistoryLimits, HistoryOrigin};

use crate::hash;

/// Time after which a marker expires: the repository or the network may have changed.
const MARKER_TTL: Duration = Duration::from_hours(24);
/// Extension of the marker file.
const EXTENSION: &str = "unread";

/// Part of a history that can be read within the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryRange {
    /// The part within [`HistoryLimits::newest_part`].
    Smaller,
    /// Nothing: even that part exceeds the limits.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Marker {
    file: PathBuf,
    limits: HistoryLimits,
}

impl Marker {
    /// Returns the marker for the history of `origin`, read with these limits.
    pub fn new(origin: &HistoryOrigin, cache: &Path, limits: HistoryLimits) -> Self {
        let key = hash::of_fields(origin.key().iter().map(String::as_bytes));
        let file = cache.join(hex::encode(&key[..12])).with_extension(EXTENSION);
        Self { file, limits }
    }

    /// Returns whether the file exists, even if it is for other limits or expired.
    pub fn exists(&self) -> bool {
        self.file.exists()
    }

    /// Reads the marker, unless it is for other limits or expired.
    pub fn read(&self) -> Option<HistoryRange> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let (limits, rest) = text.split_once('\n')?;
        let mut words = rest.split_whitespace();
        let range = match words.next()? {
            "smaller" => HistoryRange::Smaller,
            "nothing" => HistoryRange::Nothing,
            _ => return None,
        };
        let then = UNIX_EPOCH + Duration::from_secs(words.next()?.parse().ok()?);
        // A clock that was set back expires it, too.
        let is_fresh = then.elapsed().is_ok_and(|age| age < MARKER_TTL);
        (is_fresh && limits == self.limits()).then_some(range)
    }

    /// Writes the marker for the history of `sha`. If that fails, the next run tries again.
    pub fn write(&self, range: HistoryRange, sha: &str) {
        let word = match range {
            HistoryRange::Smaller => "smaller",
            HistoryRange::Nothing => "nothing",
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let text = format!("{}\n{word} {now} {sha}\n", self.limits());
        // The cache directory may not exist: a directory that is indexed in place needs no copy.
        let directory = self.file.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = directory.and_then(|()| std::fs::write(&self.file, text)) {
            let file = self.file.display();
            tracing::warn!(%file, %error, "writing the marker of a too large history failed");
        }
    }

    /// Deletes the marker after the history was read.
    pub fn delete(&self) {
        // A marker that cannot be deleted expires within a day.
        let _ = std::fs::remove_file(&self.file);
    }

    fn limits(&self) -> String {
        let HistoryLimits { commits, time, bytes } = self.limits;
        format!("{commits} commits {} ms {bytes} bytes", time.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(cache: &Path, limits: HistoryLimits) -> Marker {
        let origin = HistoryOrigin::Local { repository: "/srv/shop".into(), below: String::new() };
        Marker::new(&origin, cache, limits)
    }

    #[test]
    fn marker_is_valid_for_a_day_and_for_its_limits() {
        let cache = tempfile::tempdir().expect("a directory");
        let ours = marker(&cache.path().join("new"), HistoryLimits::default());
        assert_eq!((ours.read(), ours.exists()), (None, false));
        ours.write(HistoryRange::Smaller, "aaaa");
        assert_eq!(ours.read(), Some(HistoryRange::Smaller));
        ours.write(HistoryRange::Nothing, "bbbb");
        assert_eq!(ours.read(), Some(HistoryRange::Nothing));
        let others = HistoryLimits { bytes: 1 << 30, ..HistoryLimits::default() };
        let others = marker(&cache.path().join("new"), others);
        assert_eq!((others.read(), others.exists()), (None, true));

        let text = std::fs::read_to_string(&ours.file).expect("a file");
        let time = text.split_whitespace().rev().nth(1).expect("a time").to_owned();
        for (age, is_valid) in [(MARKER_TTL.as_secs() - 60, true), (MARKER_TTL.as_secs(), false)] {
            let then = time.parse::<u64>().expect("seconds") - age;
            std::fs::write(&ours.file, text.replace(&time, &then.to_string())).expect("a file");
            assert_eq!(ours.read().is_some(), is_valid, "after {age} s");
        }
        std::fs::write(&ours.file, "garbage").expect("a file");
        assert_eq!(ours.read(), None);
        ours.delete();
        assert!(!ours.exists());
    }
}
