//! Slightly wrong versions of real changes, as models write them.

use std::fmt::Write as _;
use std::iter::Sum;
use std::path::Path;

use anyhow::{Context, Result};
use mc_coding::{Limits, check, write};
use mc_files::Root;
use mc_patch::{FilePatch, Hunk, LineKind};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::repository::git;
use super::tree::{self, Files};
use super::{Args, PROGRAMS};

/// Files above this size are left out.
const MAX_BYTES: usize = 200_000;
/// Lines that are inserted above moved code.
const INSERTED_LINES: usize = 20;

/// A real change of a file.
pub struct Case {
    /// The change.
    pub file: FilePatch,
    /// The file before.
    pub before: String,
    /// The file afterwards.
    pub after: String,
}

/// A wrong version of a change.
struct Wrong {
    /// Its hunks.
    hunks: Vec<WrongHunk>,
    /// The file that it is applied to.
    target: String,
    /// What must come out.
    expected: String,
}

/// A hunk with the numbers that its head has.
struct WrongHunk {
    old_start: usize,
    lines: Vec<(LineKind, String)>,
    /// Added to the counts of its lines.
    miscount: usize,
}

/// What became of the wrong versions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcomes {
    pub recovered: usize,
    pub refused: usize,
    /// Applied with another result.
    pub wrong: usize,
}

impl Outcomes {
    pub fn total(self) -> usize {
        self.recovered + self.refused + self.wrong
    }

    fn count(&mut self, result: Option<&str>, expected: &str) {
        match result {
            None => self.refused += 1,
            Some(result) if result == expected => self.recovered += 1,
            Some(_) => self.wrong += 1,
        }
    }
}

impl Sum for Outcomes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, each| Self {
            recovered: sum.recovered + each.recovered,
            refused: sum.refused + each.refused,
            wrong: sum.wrong + each.wrong,
        })
    }
}

/// Makes a wrong version; `None` if the change does not suit.
type Mutation = fn(&Case, &mut StdRng) -> Option<Wrong>;

const MUTATIONS: [(&str, Mutation); 5] = [
    ("line numbers", line_numbers),
    ("trimmed context", trimmed_context),
    ("whitespace", whitespace),
    ("moved code", moved_code),
    ("changed context", changed_context),
];

/// Applies wrong versions of each kind with each program.
pub fn apply(
    cases: &[Case],
    work: &Path,
    args: &Args,
) -> Result<Vec<(&'static str, [Outcomes; PROGRAMS.len()])>> {
    let mut random = StdRng::seed_from_u64(args.seed);
    let is_small = |case: &&Case| case.before.len().max(case.after.len()) <= MAX_BYTES;
    let mut suited: Vec<&Case> = cases.iter().filter(is_small).collect();
    let mut all = Vec::new();
    for (kind, mutation) in MUTATIONS {
        suited.shuffle(&mut random);
        let mut outcomes = [Outcomes::default(); PROGRAMS.len()];
        let wrong = suited.iter().filter_map(|case| Some((*case, mutation(case, &mut random)?)));
        for (number, (case, wrong)) in wrong.take(args.cases).enumerate() {
            let results = results(case, &wrong, work)?;
            if let Some(directory) = &args.failures
                && results[0].as_ref() != Some(&wrong.expected)
            {
                let name = format!("{} {number}", kind.replace(' ', "-"));
                keep(&directory.join(name), case, &wrong, results[0].as_deref(), work)?;
            }
            for (outcomes, result) in outcomes.iter_mut().zip(results) {
                outcomes.count(result.as_deref(), &wrong.expected);
            }
        }
        all.push((kind, outcomes));
    }
    Ok(all)
}

/// Returns the result of each program; `None` if it refused.
fn results(case: &Case, wrong: &Wrong, work: &Path) -> Result<[Option<String>; PROGRAMS.len()]> {
    let path = &case.file.path;
    let files = Files::from([(path.clone(), (wrong.target.clone().into_bytes(), false))]);
    let directory = work.join("wrong");
    let diff = diff(case, wrong, &directory)?;
    let read = |is_applied: bool| -> Result<Option<String>> {
        let content = std::fs::read(directory.join(path))?;
        Ok(is_applied.then(|| String::from_utf8_lossy(&content).into_owned()))
    };
    tree::create(&directory, &files)?;
    let root = Root::open(&directory)?;
    let checked = check(&root, diff.as_bytes(), Limits::default());
    let ours = read(checked.is_ok_and(|checked| write(&root, &checked).is_ok()))?;
    tree::create(&directory, &files)?;
    git(&directory, &["init", "--quiet"])?;
    std::fs::write(directory.join(".git/before"), &case.before)?;
    git(&directory, &["hash-object", "-w", "--no-filters", ".git/before"])?;
    git(&directory, &["-c", "core.autocrlf=false", "add", "--all", "--force"])?;
    let three_way = ["apply", "--3way", "--whitespace=nowarn", "-"];
    let of_git = read(tree::run(&directory, "git", &three_way, diff.as_bytes())?)?;
    tree::create(&directory, &files)?;
    let arguments = ["-p1", "-F3", "--no-backup-if-mismatch", "--silent", "--force"];
    let of_patch = read(tree::run(&directory, "patch", &arguments, diff.as_bytes())?)?;
    Ok([ours, of_git, of_patch])
}

/// Writes what is needed to see why a wrong version was not recovered.
fn keep(
    directory: &Path,
    case: &Case,
    wrong: &Wrong,
    result: Option<&str>,
    work: &Path,
) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("diff"), diff(case, wrong, &work.join("wrong"))?)?;
    std::fs::write(directory.join("file"), &wrong.target)?;
    std::fs::write(directory.join("expected"), &wrong.expected)?;
    if let Some(result) = result {
        std::fs::write(directory.join("result"), result)?;
    }
    Ok(())
}

/// Returns the text of a wrong version.
fn diff(case: &Case, wrong: &Wrong, directory: &Path) -> Result<String> {
    std::fs::create_dir_all(directory)?;
    let name = |content: &str| -> Result<String> {
        let file = directory.join("content");
        std::fs::write(&file, content)?;
        let file = file.to_str().context("a path")?;
        let name = git(directory, &["hash-object", "--no-filters", file])?;
        Ok(String::from_utf8(name)?.trim().to_owned())
    };
    let path = &case.file.path;
    let (old, new) = (name(&case.before)?, name(&case.after)?);
    let mut diff = format!("diff --git a/{path} b/{path}\nindex {old}..{new} 100644\n");
    let end = if path.contains(' ') { "\t" } else { "" };
    let _ = write!(diff, "--- a/{path}{end}\n+++ b/{path}{end}\n");
    for WrongHunk { old_start, lines, miscount } in &wrong.hunks {
        let count = |kind| lines.iter().filter(|(own, _)| *own != kind).count() + miscount;
        let (old, new) = (count(LineKind::Added), count(LineKind::Removed));
        let _ = writeln!(diff, "@@ -{old_start},{old} +{old_start},{new} @@");
        for (kind, text) in lines {
            let sign = match kind {
                LineKind::Context => ' ',
                LineKind::Removed => '-',
                LineKind::Added => '+',
            };
            let _ = write!(diff, "{sign}{text}");
            if !text.ends_with('\n') {
                diff.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    Ok(diff)
}

impl WrongHunk {
    fn of(hunk: &Hunk) -> Self {
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        Self {
            old_start: hunk.position.unwrap_or_default() + 1,
            lines: hunk.lines.iter().map(|line| (line.kind, text(&line.text))).collect(),
            miscount: 0,
        }
    }

    /// Returns the numbers of unchanged lines at the start and at the end.
    fn context(&self) -> (usize, usize) {
        let is_context = |line: &&(LineKind, String)| line.0 == LineKind::Context;
        let start = self.lines.iter().take_while(is_context).count();
        (start, self.lines.iter().rev().take_while(is_context).count())
    }

    /// Changes the text of each line.
    fn map(&mut self, change: impl Fn(LineKind, &str) -> String) {
        for (kind, text) in &mut self.lines {
            *text = change(*kind, text);
        }
    }
}

/// Returns the change itself, to make it wrong. One without old lines says nothing but its place.
fn unchanged(case: &Case) -> Option<Wrong> {
    let has_old = |hunk: &Hunk| hunk.old_lines().any(|line| line.text.trim_ascii().len() > 2);
    case.file.hunks.iter().all(has_old).then(|| Wrong {
        hunks: case.file.hunks.iter().map(WrongHunk::of).collect(),
        target: case.before.clone(),
        expected: case.after.clone(),
    })
}

fn line_numbers(case: &Case, random: &mut StdRng) -> Option<Wrong> {
    let mut wrong = unchanged(case)?;
    for hunk in &mut wrong.hunks {
        let error = random.random_range(1..200);
        let is_lower = random.random_bool(0.5) && hunk.old_start > error;
        hunk.old_start = if is_lower { hunk.old_start - error } else { hunk.old_start + error };
        hunk.miscount = random.random_range(0..3);
    }
    Some(wrong)
}

fn trimmed_context(case: &Case, random: &mut StdRng) -> Option<Wrong> {
    let mut wrong = unchanged(case)?;
    for hunk in &mut wrong.hunks {
        let (start, end) = hunk.context();
        let [first, last] = [start, end].map(|count| count.saturating_sub(1));
        hunk.lines.drain(..first);
        hunk.lines.truncate(hunk.lines.len() - last);
        hunk.old_start += first + random.random_range(0..4);
    }
    let is_readable = |hunk: &WrongHunk| {
        let old = hunk.lines.iter().filter(|(kind, _)| *kind != LineKind::Added);
        old.map(|(_, text)| text.trim().len()).sum::<usize>() > 8
    };
    wrong.hunks.iter().all(is_readable).then_some(wrong)
}

fn whitespace(case: &Case, random: &mut StdRng) -> Option<Wrong> {
    let mut wrong = unchanged(case)?;
    // Of a change of whitespace, nothing is left.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if words(&case.before) == words(&case.after) {
        return None;
    }
    let has_tabs =
        wrong.hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.1.starts_with('\t'));
    let change: fn(LineKind, &str) -> String = match random.random_range(0..3) {
        // Spaces at the end of lines that exist.
        0 => |kind, text| match kind {
            LineKind::Added => text.to_owned(),
            _ => text.replace('\n', "  \n"),
        },
        1 if has_tabs => |_, text| {
            let tabs = text.chars().take_while(|c| *c == '\t').count();
            format!("{}{}", "    ".repeat(tabs), &text[tabs..])
        },
        _ => |_, text| if text.trim().is_empty() { text.to_owned() } else { format!("  {text}") },
    };
    wrong.hunks.iter_mut().for_each(|hunk| hunk.map(change));
    Some(wrong)
}

/// Moves the lines of the only hunk to the end of the file, below new ones at its start.
fn moved_code(case: &Case, _: &mut StdRng) -> Option<Wrong> {
    let mut wrong = unchanged(case)?;
    let [hunk] = &case.file.hunks[..] else { return None };
    let start = hunk.position?;
    let end = start + hunk.old_lines().count();
    let lines: Vec<&str> = case.before.split_inclusive('\n').collect();
    if end >= lines.len() || !case.before.ends_with('\n') {
        return None;
    }
    let inserted: String = (0..INSERTED_LINES).map(|n| format!("// inserted {n}\n")).collect();
    let kept = [inserted, lines[..start].concat(), lines[end..].concat()].concat();
    let new: String =
        hunk.new_lines().map(|line| String::from_utf8_lossy(&line.text).into_owned()).collect();
    wrong.target = format!("{kept}{}", lines[start..end].concat());
    wrong.expected = format!("{kept}{new}");
    Some(wrong)
}

fn changed_context(case: &Case, random: &mut StdRng) -> Option<Wrong> {
    let mut wrong = unchanged(case)?;
    let chosen = random.random_range(0..wrong.hunks.len().max(1));
    let hunk = wrong.hunks.get_mut(chosen)?;
    let (start, end) = hunk.context();
    if start + end < 4 {
        return None;
    }
    let in_end = random.random_bool(0.5) && end > 1;
    let from = hunk.lines.len() - end;
    let index = if in_end {
        from + random.random_range(1..end)
    } else {
        random.random_range(0..start.max(1))
    };
    let (kind, text) = hunk.lines.get(index)?.clone();
    if kind != LineKind::Context || text.trim().len() < 8 {
        return None;
    }
    match random.random_range(0..3) {
        0 => {
            // A word that the model remembers in another way.
            let at = text.rfind(|c: char| c.is_alphanumeric())?;
            hunk.lines[index].1.insert_str(at, "ed");
        }
        1 => {
            // A line that the model leaves out. At the start, the numbers follow.
            hunk.lines.remove(index);
        }
        _ => {
            let is_inside = index > 0 && hunk.lines[index - 1].0 == LineKind::Context;
            if !is_inside {
                return None;
            }
            hunk.lines
                .insert(index, (LineKind::Context, "    // As discussed above.\n".to_owned()));
        }
    }
    Some(wrong)
}
