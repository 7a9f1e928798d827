//! The lines that a commit changed, as lines of an earlier commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Span;

/// Changed lines by file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedLines(BTreeMap<String, BTreeSet<i64>>);

/// Lines that a diff replaces: first line and number, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hunk {
    old: (i64, i64),
    new: (i64, i64),
}

impl ChangedLines {
    /// Reads the lines that a commit changed in these files, and finds them at `base`. Lines that
    /// were written between both are left out; an insertion counts as the line before it.
    pub fn of(
        repository: &Path,
        base: &str,
        commit: &str,
        files: &BTreeSet<String>,
    ) -> Result<Self> {
        let mut changed = Self::default();
        if commit.is_empty() {
            return Ok(changed);
        }
        let parent = format!("{commit}^");
        for file in files {
            let since = hunks(repository, base, &parent, file)?;
            let lines = hunks(repository, &parent, commit, file)?.into_iter().flat_map(|hunk| {
                let (first, count) = hunk.old;
                first..first + count.max(1)
            });
            let lines: BTreeSet<i64> = lines.filter_map(|line| before(&since, line)).collect();
            if !lines.is_empty() {
                changed.0.insert(file.clone(), lines);
            }
        }
        Ok(changed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the share of the lines in these spans.
    pub fn share_in(&self, spans: &[Span]) -> f64 {
        let is_shown = |file: &str, line: i64| {
            spans.iter().any(|(path, first, last)| {
                path == file && (i64::from(*first)..=i64::from(*last)).contains(&line)
            })
        };
        let lines =
            || self.0.iter().flat_map(|(file, lines)| lines.iter().map(move |l| (file, *l)));
        let shown = lines().filter(|(file, line)| is_shown(file, *line)).count();
        shown as f64 / lines().count() as f64
    }
}

/// Returns where a line was before these changes; `None` if they have written it.
fn before(hunks: &[Hunk], line: i64) -> Option<i64> {
    let mut shift = 0;
    for hunk in hunks {
        let (first, count) = hunk.new;
        // A deletion is after the line that it names.
        let start = if count == 0 { first + 1 } else { first };
        if line < start {
            break;
        }
        if line < start + count {
            return None;
        }
        shift += hunk.old.1 - count;
    }
    (line + shift > 0).then_some(line + shift)
}

fn hunks(repository: &Path, from: &str, to: &str, file: &str) -> Result<Vec<Hunk>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames"])
        .args([from, to, "--", file])
        .output()
        .context("git can't be run")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{from}..{to} can't be read: {complaint}");
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(hunk).collect())
}

/// Parses `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<Hunk> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some(Hunk { old: range(old)?, new: range(new)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_where_they_were_before() {
        let hunks: Vec<_> = ["@@ -3,2 +3,1 @@ fn", "@@ -10,0 +10,2 @@", "@@ -20 +20,0 @@"]
            .into_iter()
            .filter_map(hunk)
            .collect();
        assert_eq!(hunks.len(), 3);
        let lines = [1, 3, 4, 9, 10, 11, 12, 20, 21].map(|line| before(&hunks, line));
        assert_eq!(
            lines,
            [Some(1), None, Some(5), Some(10), None, None, Some(11), Some(19), Some(21)]
        );
    }

    #[test]
    fn share_counts_lines_in_spans_of_their_file() {
        let changed = ChangedLines([("a.rs".to_owned(), BTreeSet::from([1, 2, 9]))].into());
        let spans = [("a.rs".to_owned(), 2, 9), ("b.rs".to_owned(), 1, 1)];
        assert!((changed.share_in(&spans) - 2.0 / 3.0).abs() < 1e-9);
    }
}
