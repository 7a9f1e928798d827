//! Nothing outside of a workspace is read or written, whatever is asked.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use mc_files::Root;
use mc_sanitizer::{Policy, Sanitizer};
use mc_text_edit::{Limits, MAX_FILE_BYTES, insert, str_replace};
use mc_workspaces::edit::{MaskedTree, Undo};
use mc_workspaces::navigation::Navigation;
use mc_workspaces::{Error, find, grep, inspect, list};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A word in all files outside, and in names there.
const CANARY: &str = "canary-of-the-outside";
/// Operations of a run. There are 256 runs, so 10,240 operations.
const OPERATIONS: usize = 40;

/// Parts of paths that lead elsewhere, or to files of the tree.
const PARTS: &[&str] = &[
    "..",
    ".",
    "",
    "src",
    "a.rs",
    "new",
    "up",
    "etc",
    "file",
    "loop",
    "hard",
    ".git",
    "workspace",
    "..%2f",
    "..\\",
    "shared",
    "passwd",
];

#[derive(Debug, Clone)]
enum Operation {
    Cd(String),
    Lock,
    Unlock,
    Read(String),
    List(String),
    Inspect(String),
    Find(String),
    Grep(String),
    Create(String),
    Write(String),
    Replace(String),
    Insert(String),
    Undo,
}

/// Paths that are often valid, so that operations succeed between the attempts.
const VALID: &[&str] =
    &[".", "src", "src/a.rs", "a.rs", "hard", "new", "src/new", "/workspace/src"];

fn path() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(PARTS), 1..6);
    let starts = prop::sample::select(vec!["", "/", "/workspace/", "/proc/self/root/"]);
    prop_oneof![
        prop::sample::select(VALID).prop_map(ToOwned::to_owned),
        (starts, parts).prop_map(|(start, parts)| format!("{start}{}", parts.join("/"))),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        2 => path().prop_map(Operation::Cd),
        2 => Just(Operation::Lock),
        1 => Just(Operation::Unlock),
        2 => path().prop_map(Operation::Read),
        1 => path().prop_map(Operation::List),
        1 => path().prop_map(Operation::Inspect),
        1 => path().prop_map(Operation::Find),
        1 => path().prop_map(Operation::Grep),
        2 => path().prop_map(Operation::Create),
        2 => path().prop_map(Operation::Write),
        2 => path().prop_map(Operation::Replace),
        1 => path().prop_map(Operation::Insert),
        1 => Just(Operation::Undo),
    ]
}

/// Creates a tree with links to the outside, and returns its path.
fn tree(outside: &Path) -> PathBuf {
    let tree = outside.join("workspace");
    fs::create_dir_all(tree.join("src")).expect("a directory");
    fs::create_dir_all(tree.join(".git")).expect("a directory");
    fs::write(tree.join("src/a.rs"), "fn a() {}\n").expect("a file");
    fs::write(tree.join(".git").join(CANARY), CANARY).expect("a file");
    fs::write(outside.join(CANARY), CANARY).expect("a file");
    fs::create_dir_all(outside.join("src")).expect("a directory");
    fs::write(outside.join("src/a.rs"), CANARY).expect("a file");
    // The content of this file is in the tree, too, but the file outside must not change.
    fs::write(outside.join("shared"), "fn shared() {}\n").expect("a file");
    fs::hard_link(outside.join("shared"), tree.join("hard")).expect("a hard link");
    for (target, link) in [
        ("..", "up"),
        ("/etc", "etc"),
        ("../canary-of-the-outside", "file"),
        ("loop", "loop"),
        ("../../canary-of-the-outside", "src/file"),
        ("../..", "src/up"),
    ] {
        symlink(target, tree.join(link)).expect("a link");
    }
    tree
}

/// Returns the files outside of the tree with their content, and the directories.
fn content(outside: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![outside.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("a kind");
            if path == outside.join("workspace") {
                todo.push(path.join(".git"));
            } else if kind.is_dir() {
                found.insert(path.clone(), Vec::new());
                todo.push(path);
            } else {
                found.insert(path.clone(), fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// Runs an operation, and returns all that it answers.
fn run(
    tree: MaskedTree<'_>,
    navigation: &mut Navigation,
    undo: &mut Vec<Undo>,
    operation: &Operation,
) -> Result<String, Error> {
    let root = tree.root;
    let text = match operation {
        Operation::Cd(path) => navigation.cd(root, path).map(|()| String::new())?,
        Operation::Lock => navigation.lock_cwd(root).map(|()| String::new())?,
        Operation::Unlock => {
            navigation.unlock();
            String::new()
        }
        Operation::Read(path) => {
            let path = navigation.path_to_read(path)?;
            format!("{:?}", tree.read(&path, None, Limits::default())?)
        }
        Operation::List(path) => {
            format!("{:?}", list::list(root, &navigation.path_to_read(path)?, 100)?)
        }
        Operation::Inspect(path) => {
            let path = navigation.path_to_read(path)?;
            let options = inspect::Options { path: &path, ..inspect::Options::default() };
            format!("{:?}", inspect::inspect(root, options)?)
        }
        Operation::Find(path) => {
            format!("{:?}", find::find(root, &navigation.path_to_read(path)?, "**", 100)?)
        }
        Operation::Grep(path) => {
            let path = navigation.path_to_read(path)?;
            let query = grep::Query {
                path: &path,
                pattern: "can|fn",
                is_literal: false,
                ignores_case: false,
                glob: None,
                max_matches: 100,
            };
            let found = grep::grep(tree, query)?;
            let lines = found.lines.iter().map(|line| line.text.as_str());
            lines.collect::<Vec<_>>().join("\n")
        }
        Operation::Create(path)
        | Operation::Write(path)
        | Operation::Replace(path)
        | Operation::Insert(path) => {
            let path = navigation.path_to_edit(path)?;
            let written = match operation {
                Operation::Create(_) => tree.create(&path, "fn new() {}\n")?,
                Operation::Write(_) => tree.write(&path, None, "fn written() {}\n")?,
                Operation::Insert(_) => {
                    tree.edit(&path, None, |view| insert(view, 0, "// in\n", MAX_FILE_BYTES))?
                }
                _ => tree
                    .edit(&path, None, |view| str_replace(view, "fn", "pub fn", MAX_FILE_BYTES))?,
            };
            let diff = written.edit.edited().diff.clone();
            undo.push(written.undo);
            diff
        }
        Operation::Undo => {
            if let Some(undo) = undo.pop() {
                tree.undo(undo.path(), &undo)?;
            }
            String::new()
        }
    };
    Ok(text)
}

#[test]
fn nothing_outside_is_read_or_written() {
    let succeeded = Cell::new(0);
    let written = Cell::new(0);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let runs = prop::collection::vec(operation(), OPERATIONS);
    let result = runner.run(&runs, |operations| {
        let directory = tempfile::tempdir().expect("a directory");
        let outside = directory.path();
        let path = tree(outside);
        let before = content(outside);
        prop_assert_eq!(before.len(), 5);
        let root = Root::open(&path).expect("a directory");
        let (sanitizer, policy) = (Sanitizer::default(), Policy::strict());
        let tree = MaskedTree { root: &root, sanitizer: &sanitizer, policy: &policy };
        let (mut navigation, mut undo) = (Navigation::default(), Vec::new());
        for operation in &operations {
            let undos = undo.len();
            let answer = match run(tree, &mut navigation, &mut undo, operation) {
                Ok(answer) => {
                    // The other operations have no answer.
                    succeeded.set(succeeded.get() + usize::from(!answer.is_empty()));
                    answer
                }
                Err(error) => format!("{error} {error:?}"),
            };
            written.set(written.get() + undo.len().saturating_sub(undos));
            let is_clean = !answer.contains(CANARY) && !answer.contains("root:x:0");
            prop_assert!(is_clean, "{:?}: {}", operation, answer);
        }
        prop_assert_eq!(content(outside), before);
        Ok(())
    });
    result.expect("nothing outside was accessed");
    let (succeeded, written) = (succeeded.get(), written.get());
    assert!(succeeded > 700 && written > 200, "{succeeded} had an answer, {written} wrote");
}
