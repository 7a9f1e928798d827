//! Parser of the output of `git log`: commits with the current names of the files they touched.

use std::collections::{BTreeSet, HashMap};

use crate::language;

/// Maximum code files of a commit. Larger ones, such as reformatting, say little about a file.
pub(super) const MAX_FILES: usize = 30;

/// Maximum memory for a history, in bytes, because its authors are not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryBudget {
    /// For messages and paths of commits.
    pub commits: usize,
    /// For names of renamed files.
    pub renames: usize,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self { commits: 128 << 20, renames: 64 << 20 }
    }
}

/// Approximate memory of a commit, path or rename in addition to its text, in bytes.
const OVERHEAD: usize = 100;

/// Commit that touched code files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Full object name, in hex.
    pub sha: String,
    /// Seconds since 1970.
    pub committed_at: i64,
    /// Unchanged message.
    pub message: String,
    /// Current names of the code files that it touched.
    pub paths: BTreeSet<String>,
}

/// Parsed history, newest commit first.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Commits with at least one code file and at most [`MAX_FILES`].
    pub entries: Vec<Entry>,
    /// Current names of files, by former name.
    pub renames: HashMap<String, String>,
    /// Number of the oldest commits, which exceeded the memory budget.
    pub omitted_commits: usize,
    /// Number of renames that exceeded the memory budget.
    pub omitted_renames: usize,
}

/// Parser that reads field by field. The newest commit comes first, so that a rename is known
/// before the older commits with the former name.
#[derive(Debug, Default)]
pub(super) struct Reader {
    log: Log,
    /// Remaining memory.
    budget: MemoryBudget,
    /// Whether a commit without parents may have parents that were not fetched.
    is_shallow: bool,
    state: State,
    current: Option<Entry>,
    /// Renames of the current commit. They apply to older commits only, because the commit may
    /// create a file with the former name.
    renamed: Vec<(String, String)>,
    has_parents: bool,
}

#[derive(Debug, Default)]
enum State {
    /// The object name of a commit, or the status of the next file of the current commit.
    #[default]
    Next,
    Parents,
    Time,
    Message,
    /// The path of a file that was added, changed or deleted.
    Path,
    /// The old path of a renamed file.
    From,
    /// The new path of a renamed file.
    To {
        from: String,
    },
}

impl Reader {
    pub fn new(is_shallow: bool, budget: MemoryBudget) -> Self {
        Self { budget, is_shallow, ..Self::default() }
    }

    /// Parses the next field.
    pub fn read_field(&mut self, field: &[u8]) {
        let field = String::from_utf8_lossy(field);
        let state = std::mem::take(&mut self.state);
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
                let current = self.touch(field.into_owned());
                self.rename(from, current);
                State::Next
            }
        };
    }

    /// Returns the parsed history after the last field.
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

    /// Adds a file to the current commit, and returns its current name.
    fn touch(&mut self, path: String) -> String {
        let name = self.log.renames.get(&path).cloned().unwrap_or(path);
        if let Some(entry) = &mut self.current
            && entry.paths.len() <= MAX_FILES
            && language::is_code(&name)
        {
            entry.paths.insert(name.clone());
        }
        name
    }

    /// Stores a rename if the memory budget allows. Otherwise older commits keep the former name
    /// and are not attributed to the file.
    fn rename(&mut self, from: String, to: String) {
        if reserve(&mut self.budget.renames, from.len() + to.len() + OVERHEAD) {
            self.renamed.push((from, to));
        } else {
            self.log.omitted_renames += 1;
        }
    }

    fn end_entry(&mut self) {
        self.log.renames.extend(self.renamed.drain(..));
        let Some(entry) = self.current.take() else { return };
        // The oldest commits of a shallow history seem to add every file.
        let is_cut_off = self.is_shallow && !self.has_parents;
        if is_cut_off || !(1..=MAX_FILES).contains(&entry.paths.len()) {
            return;
        }
        // After the first commit that does not fit, all older ones are omitted, to leave no gap.
        if self.log.omitted_commits == 0 && reserve(&mut self.budget.commits, entry.size()) {
            self.log.entries.push(entry);
        } else {
            self.log.omitted_commits += 1;
        }
    }
}

impl Entry {
    /// Returns the approximate memory of the commit, in bytes.
    fn size(&self) -> usize {
        let paths: usize = self.paths.iter().map(|path| path.len() + OVERHEAD).sum();
        self.message.len() + paths + OVERHEAD
    }
}

/// Subtracts `bytes` from the budget if it suffices, and returns whether it does.
fn reserve(budget: &mut usize, bytes: usize) -> bool {
    let rest = budget.checked_sub(bytes);
    *budget = rest.unwrap_or(*budget);
    rest.is_some()
}

/// Returns whether the field is an object name, and not a status of a letter and digits.
fn is_object_name(field: &str) -> bool {
    matches!(field.len(), 40 | 64) && field.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn read(fields: &[&str], is_shallow: bool) -> Log {
        read_into(MemoryBudget::default(), fields, is_shallow)
    }

    fn read_into(budget: MemoryBudget, fields: &[&str], is_shallow: bool) -> Log {
        let mut reader = Reader::new(is_shallow, budget);
        for field in fields {
            reader.read_field(field.as_bytes());
        }
        reader.finish()
    }

    fn paths(entry: &Entry) -> Vec<&str> {
        entry.paths.iter().map(String::as_str).collect()
    }

    #[test]
    fn older_commits_have_the_current_names_of_files() {
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
    fn two_renames_result_in_the_last_name() {
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
    fn large_commit_is_omitted_but_its_renames_count() {
        let files: Vec<String> = (0..=MAX_FILES).map(|n| format!("{n}.rb")).collect();
        let mut fields = vec![B, A, "20", "format", "\nR100", "old.rb", "new.rb"];
        fields.extend(files.iter().flat_map(|file| ["M", file.as_str()]));
        fields.extend([A, "", "10", "x", "\nM", "old.rb"]);
        let log = read(&fields, false);
        assert_eq!(log.entries.len(), 1);
        assert_eq!(paths(&log.entries[0]), ["new.rb"]);
    }

    #[test]
    fn renames_are_followed_within_the_memory_budget() {
        let budget = MemoryBudget { renames: 3 * (OVERHEAD + 8), ..MemoryBudget::default() };
        let names: Vec<_> = (0..9).map(|n| (format!("{n}.rb"), format!("{n}{n}.rb"))).collect();
        let mut fields = vec![B, A, "20", "Move all"];
        fields.extend(names.iter().flat_map(|(from, to)| ["R100", from, to]));
        fields.extend([A, "", "10", "x", "\nM", "1.rb", "M", "8.rb"]);
        let log = read_into(budget, &fields, false);
        assert_eq!((log.renames.len(), log.omitted_renames), (2, 7));
        assert_eq!(paths(&log.entries[1]), ["11.rb", "8.rb"]);
    }

    #[test]
    fn oldest_commits_are_omitted_above_the_memory_budget() {
        let long = "x".repeat(1_000);
        let fields: Vec<&str> = ["short", &long, &long, "older"]
            .into_iter()
            .flat_map(|message| [A, B, "20", message, "\nM", "a.rb"])
            .collect();
        let read =
            read_into(MemoryBudget { commits: 2_000, ..MemoryBudget::default() }, &fields, false);
        let lengths: Vec<_> = read.entries.iter().map(|entry| entry.message.len()).collect();
        assert_eq!((lengths, read.omitted_commits), (vec![5, 1_000], 2));
    }

    #[test]
    fn commits_without_a_diff_or_message_are_skipped() {
        let log = read(&[B, A, "20", "", A, "", "10", "x", "\nM", "a.rb"], false);
        assert_eq!(log.entries.len(), 1);
        assert_eq!(log.entries[0].sha, A);
    }

    #[test]
    fn oldest_commit_of_a_shallow_history_is_omitted() {
        let fields = [B, A, "20", "x", "\nM", "a.rb", A, "", "10", "y", "\nA", "a.rb"];
        assert_eq!(read(&fields, true).entries.len(), 1);
        assert_eq!(read(&fields, false).entries.len(), 2);
    }
}
