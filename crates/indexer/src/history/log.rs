//! Reads the output of `git log`: which commit touched which files, by the names that they have
//! now.

use std::collections::{BTreeSet, HashMap};

use crate::language;

/// A commit of more files of code says nothing of any of them: a new formatter, a move, a licence.
pub(super) const MAX_FILES: usize = 30;

/// Object name, parents, time and message, each ended by a NUL as `-z` ends the whole and each
/// field of the status.
pub(crate) const FORMAT: &str = "--format=tformat:%H%x00%P%x00%ct%x00%B";

/// How much of a history is held at a time, in bytes: whoever wrote it may have wanted it to be
/// more than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// For messages and paths of commits.
    pub commits: usize,
    /// For names of renamed files.
    pub renames: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { commits: 128 << 20, renames: 64 << 20 }
    }
}

/// What a commit, a path or a rename takes beside its text, roughly.
const OVERHEAD: usize = 100;

/// A commit that touched files of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Full object name, in hex.
    pub sha: String,
    /// Seconds since 1970.
    pub committed_at: i64,
    /// As it was written.
    pub message: String,
    /// The files of code that it touched, by their names now.
    pub paths: BTreeSet<String>,
}

/// What was read, newest commit first.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Commits with at least one file of code and at most [`MAX_FILES`].
    pub entries: Vec<Entry>,
    /// Names that files had before, and those that they have now.
    pub renames: HashMap<String, String>,
    /// Commits that were left out, the oldest ones: there was no room for them.
    pub left_out: usize,
    /// Renames that were not followed for the same reason.
    pub unfollowed: usize,
}

/// Reads field by field. Newest first, so that a rename is known before the older commits by the
/// older name.
#[derive(Debug)]
pub(super) struct Reader {
    log: Log,
    /// What is left of it.
    room: Room,
    /// Whether a commit without parents may have some that are not here.
    is_shallow: bool,
    state: State,
    current: Option<Entry>,
    /// The current commit's renames, which hold for older ones: a name may be used again in the
    /// same commit.
    renamed: Vec<(String, String)>,
    has_parents: bool,
}

#[derive(Debug)]
enum State {
    /// The object name of a commit, or the status of the current one's next file.
    Next,
    Parents,
    Time,
    Message,
    /// The path of a file that was added, changed or deleted.
    Path,
    /// The old path of a renamed file.
    From,
    /// Its new path.
    To {
        from: String,
    },
}

impl Reader {
    pub fn new(is_shallow: bool, room: Room) -> Self {
        Self {
            log: Log::default(),
            room,
            is_shallow,
            state: State::Next,
            current: None,
            renamed: Vec::new(),
            has_parents: false,
        }
    }

    /// Takes the next field.
    pub fn take(&mut self, field: &[u8]) {
        let field = String::from_utf8_lossy(field);
        let state = std::mem::replace(&mut self.state, State::Next);
        self.state = match state {
            State::Next => self.next(field.trim_start_matches('\n')),
            State::Parents => {
                self.has_parents = !field.is_empty();
                State::Time
            }
            State::Time => {
                if let Some(entry) = &mut self.current {
                    entry.committed_at = field.parse().unwrap_or_default();
                }
                State::Message
            }
            State::Message => {
                if let Some(entry) = &mut self.current {
                    entry.message = field.into_owned();
                }
                State::Next
            }
            State::Path => {
                self.touch(field.into_owned());
                State::Next
            }
            State::From => State::To { from: field.into_owned() },
            State::To { from } => {
                let now = self.touch(field.into_owned());
                self.rename(from, now);
                State::Next
            }
        };
    }

    /// What was read, when there is no more.
    pub fn finish(mut self) -> Log {
        self.end_entry();
        self.log
    }

    fn next(&mut self, field: &str) -> State {
        if is_object_name(field) {
            self.end_entry();
            self.current = Some(Entry {
                sha: field.to_owned(),
                committed_at: 0,
                message: String::new(),
                paths: BTreeSet::new(),
            });
            return State::Parents;
        }
        match field.as_bytes().first() {
            None => State::Next,
            Some(b'R' | b'C') => State::From,
            Some(_) => State::Path,
        }
    }

    /// Notes a file, and returns its name now.
    fn touch(&mut self, path: String) -> String {
        let now = self.log.renames.get(&path).cloned().unwrap_or(path);
        if let Some(entry) = &mut self.current
            && entry.paths.len() <= MAX_FILES
            && language::is_code(&now)
        {
            entry.paths.insert(now.clone());
        }
        now
    }

    /// Notes what a file was called before, if there is room: else older commits are known by the
    /// older name alone, and say nothing of the file.
    fn rename(&mut self, from: String, now: String) {
        if take(&mut self.room.renames, from.len() + now.len() + OVERHEAD) {
            self.renamed.push((from, now));
        } else {
            self.log.unfollowed += 1;
        }
    }

    fn end_entry(&mut self) {
        self.log.renames.extend(self.renamed.drain(..));
        let Some(entry) = self.current.take() else { return };
        // Of a history that is cut off, the oldest commits seem to add every file.
        let is_cut_off = self.is_shallow && !self.has_parents;
        if is_cut_off || !(1..=MAX_FILES).contains(&entry.paths.len()) {
            return;
        }
        // Of the oldest none but those that fit: a gap would be worse than an end.
        if self.log.left_out == 0 && take(&mut self.room.commits, entry.size()) {
            self.log.entries.push(entry);
        } else {
            self.log.left_out += 1;
        }
    }
}

impl Entry {
    /// Bytes that it takes, roughly.
    fn size(&self) -> usize {
        let paths: usize = self.paths.iter().map(|path| path.len() + OVERHEAD).sum();
        self.message.len() + paths + OVERHEAD
    }
}

/// Takes `bytes` from `room` where there are so many.
fn take(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// Of SHA-1 or SHA-256. A status is a letter with at most three digits.
fn is_object_name(field: &str) -> bool {
    matches!(field.len(), 40 | 64) && field.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn read(fields: &[&str], is_shallow: bool) -> Log {
        read_into(Room::default(), fields, is_shallow)
    }

    fn read_into(room: Room, fields: &[&str], is_shallow: bool) -> Log {
        let mut reader = Reader::new(is_shallow, room);
        for field in fields {
            reader.take(field.as_bytes());
        }
        reader.finish()
    }

    fn paths(entry: &Entry) -> Vec<&str> {
        entry.paths.iter().map(String::as_str).collect()
    }

    #[test]
    fn older_commits_touch_files_by_their_names_now() {
        let log = read(
            &[
                B,
                A,
                "20",
                "Move\n",
                "\nR100",
                "a.rb",
                "b.rb",
                "A",
                "a.rb", //
                A,
                "",
                "10",
                "Add\n\nbody\n",
                "\nA",
                "a.rb",
                "M",
                "README.md",
            ],
            false,
        );
        assert_eq!(paths(&log.entries[0]), ["a.rb", "b.rb"], "a name that is used again");
        assert_eq!(paths(&log.entries[1]), ["b.rb"], "and no prose");
        assert_eq!(
            (log.entries[1].committed_at, log.entries[1].message.as_str()),
            (10, "Add\n\nbody\n")
        );
        assert_eq!(log.renames["a.rb"], "b.rb");
    }

    #[test]
    fn two_renames_lead_to_the_last_name() {
        let log = read(
            &[
                B, A, "20", "x", "\nR100", "b.rb", "c.rb", A, "", "10", "y", "\nR090", "a.rb",
                "b.rb",
            ],
            false,
        );
        assert_eq!(log.renames["a.rb"], "c.rb");
    }

    #[test]
    fn a_commit_of_many_files_says_nothing_but_its_renames_count() {
        let files: Vec<String> = (0..=MAX_FILES).map(|n| format!("{n}.rb")).collect();
        let mut fields = vec![B, A, "20", "format", "\nR100", "old.rb", "new.rb"];
        fields.extend(files.iter().flat_map(|file| ["M", file.as_str()]));
        fields.extend([A, "", "10", "x", "\nM", "old.rb"]);
        let log = read(&fields, false);
        assert_eq!(log.entries.len(), 1);
        assert_eq!(paths(&log.entries[0]), ["new.rb"]);
    }

    #[test]
    fn renames_are_followed_as_far_as_there_is_room_for_them() {
        let room = Room { renames: 3 * (OVERHEAD + 8), ..Room::default() };
        let names: Vec<_> = (0..9).map(|n| (format!("{n}.rb"), format!("{n}{n}.rb"))).collect();
        let mut fields = vec![B, A, "20", "Move all"];
        fields.extend(names.iter().flat_map(|(from, to)| ["R100", from, to]));
        fields.extend([A, "", "10", "x", "\nM", "1.rb", "M", "8.rb"]);
        let log = read_into(room, &fields, false);
        assert_eq!((log.renames.len(), log.unfollowed), (2, 7));
        assert_eq!(paths(&log.entries[1]), ["11.rb", "8.rb"]);
    }

    #[test]
    fn the_oldest_commits_are_left_out_above_the_memory_limit() {
        let long = "x".repeat(1_000);
        let fields: Vec<&str> = ["short", &long, &long, "older"]
            .into_iter()
            .flat_map(|message| [A, B, "20", message, "\nM", "a.rb"])
            .collect();
        let read = read_into(Room { commits: 2_000, ..Room::default() }, &fields, false);
        let kept: Vec<_> = read.entries.iter().map(|entry| entry.message.len()).collect();
        assert_eq!((kept, read.left_out), (vec![5, 1_000], 2));
    }

    #[test]
    fn commits_without_a_diff_and_without_a_message_are_read_over() {
        let log = read(&[B, A, "20", "", A, "", "10", "x", "\nM", "a.rb"], false);
        assert_eq!(log.entries.len(), 1);
        assert_eq!(log.entries[0].sha, A);
    }

    #[test]
    fn a_truncated_history_does_not_start_at_its_oldest_commit() {
        let fields = [B, A, "20", "x", "\nM", "a.rb", A, "", "10", "y", "\nA", "a.rb"];
        assert_eq!(read(&fields, true).entries.len(), 1);
        assert_eq!(read(&fields, false).entries.len(), 2);
    }
}
