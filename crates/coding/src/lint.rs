//! What is wrong with changed lines, and what commands report about lines of a workspace.

use mc_contract::operations::patch::LintWarning;
use mc_files::{FileKind, Root};
use mc_indexer::syntax;
use mc_patch::{Operation, PlannedFile};
use mc_workspaces::path::ROOT;

use crate::masking::masked;

/// Most warnings of a preview.
const MAX_WARNINGS: usize = 200;
/// Longest message of a warning, in characters.
const MESSAGE_CHARS: usize = 300;
/// Starts of the lines that git writes into a file with a conflict.
const CONFLICT_MARKERS: [&[u8]; 3] = [b"<<<<<<< ", b"=======\n", b">>>>>>> "];
/// Start of a line in which rustc names the place of the message before.
const ARROW: &str = "--> ";
/// End of the start of a line in which a Rust program names the place of the message after.
const PANIC: &str = " panicked at ";

/// Syntax errors that a file has after a patch, and not before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewSyntaxErrors {
    /// Whether it had none before.
    pub were_none: bool,
    /// Line of the first one, from 1.
    pub line: usize,
}

/// Compares the syntax errors of a file before and after a patch.
pub(crate) fn new_syntax_errors<E>(file: &PlannedFile<E>) -> Option<NewSyntaxErrors> {
    let after = file.outcome.as_ref().ok()?.content.as_deref()?;
    let path = file.patch.path.as_str();
    let errors = |content: &[u8]| syntax::errors(path, std::str::from_utf8(content).ok()?);
    let now = errors(after)?;
    let before = file.before.as_deref().and_then(errors).map_or(0, |errors| errors.count);
    let is_worse = now.count > before;
    is_worse.then_some(NewSyntaxErrors { were_none: before == 0, line: now.first_line })
}

/// Warnings in the order in which they are found.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<LintWarning>);

impl Warnings {
    /// Adds what is wrong with the lines that a patch adds to a file.
    pub fn add_changes<E>(&mut self, file: &PlannedFile<E>) {
        let path = &file.patch.path;
        if let Some(NewSyntaxErrors { were_none, line }) = new_syntax_errors(file) {
            let message = if were_none { "syntax error" } else { "more syntax errors than before" };
            self.add(path, Some(line), message);
        }
        let Ok(applied) = &file.outcome else { return };
        if file.patch.operation == Operation::Delete {
            return;
        }
        let mut is_shifted_by = 0_isize;
        for change in &applied.replacements {
            let first = change.range.start.saturating_add_signed(is_shifted_by) + 1;
            for (line, text) in (first..).zip(&change.lines) {
                if let Some(message) = problem_of_line(text) {
                    self.add(path, Some(line), message);
                }
            }
            is_shifted_by += change.lines.len().cast_signed() - change.range.len().cast_signed();
        }
    }

    /// Adds what a command reports about files of a tree. The output is masked.
    pub fn add_output(&mut self, root: &Root, output: &str) {
        let mut before = "";
        let mut lines = output.lines().map(str::trim).peekable();
        while let Some(line) = lines.next() {
            if let Some((path, number, message)) = place_of(line) {
                let message = match message {
                    "" if line.starts_with(ARROW) => before,
                    "" => lines.peek().copied().unwrap_or_default(),
                    message => message,
                };
                let exists = || root.metadata(path).is_ok_and(|found| found.kind == FileKind::File);
                if !message.is_empty() && exists() {
                    self.add(path, Some(number), message);
                }
            }
            before = if line.is_empty() { before } else { line };
        }
    }

    /// Returns the warnings.
    pub fn into_list(self) -> Vec<LintWarning> {
        self.0
    }

    fn add(&mut self, path: &str, line: Option<usize>, message: &str) {
        let message = masked(message).chars().take(MESSAGE_CHARS).collect();
        let line = line.and_then(|line| u32::try_from(line).ok());
        let warning = LintWarning { file: masked(path), line, message };
        if self.0.len() < MAX_WARNINGS && !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }
}

fn problem_of_line(line: &[u8]) -> Option<&'static str> {
    if CONFLICT_MARKERS.iter().any(|marker| line.starts_with(marker)) {
        return Some("marker of a merge conflict");
    }
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    text.last().filter(|last| matches!(last, b' ' | b'\t')).map(|_| "blanks at the end of the line")
}

/// Returns the place that a line of output names, with its message: `path:line: message`, with or
/// without a column, as most compilers and linters write it.
fn place_of(line: &str) -> Option<(&str, usize, &str)> {
    let line = line.strip_prefix(ARROW).map_or(line, str::trim);
    let line = line.split_once(PANIC).map_or(line, |(_, place)| place);
    let line = line.strip_prefix(ROOT).and_then(|below| below.strip_prefix('/')).unwrap_or(line);
    let line = line.strip_prefix("./").unwrap_or(line);
    let (path, rest) = line.split_once(':')?;
    let is_path = !path.is_empty() && !path.starts_with('/') && !path.contains(' ');
    let (number, message) = rest.split_once([':', ' ']).unwrap_or((rest, ""));
    let number = number.parse().ok().filter(|number| is_path && *number > 0)?;
    // A column.
    let message = message.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    Some((path, number, message.trim()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use mc_patch::{FilePatch, Patch, Tolerance, parse, plan};

    use super::*;

    fn planned(before: &str, diff: &str) -> PlannedFile<std::convert::Infallible> {
        let Patch { files } = parse(diff.as_bytes()).expect("a diff");
        let files: Vec<FilePatch> = files;
        let content = before.as_bytes().to_vec();
        let mut planned = plan(Patch { files }, Tolerance::Exact, |_| Ok(Some(content.clone())));
        planned.remove(0)
    }

    fn listed(warnings: Warnings) -> Vec<(String, u32, String)> {
        let list = warnings.into_list().into_iter();
        list.map(|found| (found.file, found.line.unwrap_or(0), found.message)).collect()
    }

    #[test]
    fn only_added_lines_are_examined() {
        let before = "kept \na\nb\nc\nd\ne\nf\n";
        let diff = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,4 @@\n kept \n-a\n+a \n+new\n b\n\
                    @@ -4,4 +5,4 @@\n c\n d\n-e\n+<<<<<<< ours\n f\n";
        let mut warnings = Warnings::default();
        warnings.add_changes(&planned(before, diff));
        let found = listed(warnings);
        let expected = [
            ("notes.txt".to_owned(), 2, "blanks at the end of the line".to_owned()),
            ("notes.txt".to_owned(), 7, "marker of a merge conflict".to_owned()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn outputs_of_tools_name_files_of_the_tree() {
        let tree = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(tree.path().join("src")).expect("a directory");
        for file in ["src/lib.rs", "src/cart.ts", "test_cart.py", "main.go"] {
            fs::write(tree.path().join(file), "").expect("a file");
        }
        let root = Root::open_owned(tree.path(), None).expect("a root");
        let output = "error[E0308]: mismatched types\n  --> src/lib.rs:3:5\n   |\n\
                      test_cart.py:12: AssertionError\n\
                      thread 'sums' (50) panicked at src/lib.rs:9:5:\nleft is not right\n\
                      ./main.go:7:2: undefined: x\n\
                      /workspace/src/cart.ts:4:1 error Unexpected console statement\n\
                      /etc/passwd:1: root\n../out.py:1: x\nnone.py:3: x\nat 12:30:01 it ended\n\
                      test_cart.py:0: no line\ntest_cart.py:12: AssertionError\n";
        let mut warnings = Warnings::default();
        warnings.add_output(&root, output);
        let found = listed(warnings);
        let found: Vec<_> =
            found.iter().map(|(file, line, text)| (file.as_str(), *line, text.as_str())).collect();
        assert_eq!(
            found,
            [
                ("src/lib.rs", 3, "error[E0308]: mismatched types"),
                ("test_cart.py", 12, "AssertionError"),
                ("src/lib.rs", 9, "left is not right"),
                ("main.go", 7, "undefined: x"),
                ("src/cart.ts", 4, "error Unexpected console statement"),
            ]
        );
    }

    #[test]
    fn warnings_are_limited() {
        let tree = tempfile::tempdir().expect("a directory");
        fs::write(tree.path().join("a"), "").expect("a file");
        let root = Root::open_owned(tree.path(), None).expect("a root");
        let output: String =
            (1..1_000).map(|line| format!("a:{line}: {}\n", "x".repeat(1_000))).collect();
        let mut warnings = Warnings::default();
        warnings.add_output(&root, &output);
        let list = warnings.into_list();
        assert_eq!((list.len(), list[0].message.len()), (MAX_WARNINGS, MESSAGE_CHARS));
    }
}
