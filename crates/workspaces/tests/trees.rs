//! Trees of workspaces: inspected, searched and counted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use mc_files::{FileKind, Root};
use mc_sanitizer::{Policy, Sanitizer};
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::{Error, find, grep, inspect, list};
use tempfile::TempDir;

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, content).expect("a file");
}

/// A repository with two projects, dependencies, and a link to the outside.
fn tree() -> (TempDir, TempDir) {
    let [tree, outside] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    write(outside.path(), "secret.rs", "canary");
    for (path, content) in [
        ("README.md", "# Shop\nTotal price\n"),
        (".git/config", "canary"),
        ("server/Cargo.toml", "[package]\n"),
        ("server/src/main.rs", "fn main() {\r\n    total();\r\n}\r\n"),
        ("server/src/cart.rs", "fn total() -> u64 {\n    7\n}\n"),
        ("web/package.json", "{}\n"),
        ("web/index.ts", "total()\n"),
        ("web/node_modules/left/index.js", "function total() { return 1 }\n"),
        ("web/node_modules/left/package.json", "{}\n"),
        ("web/logo.png", "\u{0}total"),
    ] {
        write(tree.path(), path, content);
    }
    symlink(outside.path(), tree.path().join("out")).expect("a link");
    (tree, outside)
}

fn root(tree: &TempDir) -> Root {
    Root::open(tree.path()).expect("a directory")
}

fn grep(tree: &TempDir, query: grep::Query<'_>) -> Result<grep::Matches, Error> {
    let (root, sanitizer, policy) = (root(tree), Sanitizer::default(), Policy::strict());
    let tree = MaskedTree { root: &root, sanitizer: &sanitizer, policy: &policy };
    grep::grep(tree, query)
}

#[test]
fn an_inspection_has_sizes_languages_and_the_project() {
    let (tree, _outside) = tree();
    let inspection = inspect::inspect(&root(&tree), inspect::Options::default()).expect("a tree");
    let entries: Vec<_> = inspection
        .entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.kind, entry.files))
        .collect();
    assert_eq!(
        entries,
        [
            ("README.md", FileKind::File, 1),
            ("out", FileKind::Link, 0),
            ("server", FileKind::Directory, 3),
            ("server/Cargo.toml", FileKind::File, 1),
            ("server/src", FileKind::Directory, 2),
            ("web", FileKind::Directory, 5),
            ("web/index.ts", FileKind::File, 1),
            ("web/logo.png", FileKind::File, 1),
            ("web/node_modules", FileKind::Directory, 2),
            ("web/package.json", FileKind::File, 1),
        ]
    );
    assert_eq!(
        (inspection.files, inspection.omitted_entries, inspection.is_partial),
        (9, 0, false)
    );
    let languages: Vec<_> =
        inspection.languages.iter().map(|share| (share.language, share.files)).collect();
    assert!(languages.contains(&("rust", 2)) && languages.contains(&("typescript", 1)));
    assert!(!languages.iter().any(|(language, _)| *language == "javascript"), "a dependency");
    let build_files: Vec<_> =
        inspection.build_files.iter().map(|file| (file.path.as_str(), file.tool)).collect();
    assert_eq!(build_files, [("server/Cargo.toml", "cargo"), ("web/package.json", "npm")]);
    assert_eq!(inspection.project_path.as_deref(), Some("server"), "it has more code");

    let few = inspect::Options { max_entries: 3, ..inspect::Options::default() };
    let inspection = inspect::inspect(&root(&tree), few).expect("a tree");
    assert_eq!((inspection.entries.len(), inspection.omitted_entries), (3, 7));
    assert_eq!(inspection.files, 9);
    let below = inspect::Options { path: "web", ..inspect::Options::default() };
    let inspection = inspect::inspect(&root(&tree), below).expect("a tree");
    assert_eq!(inspection.project_path.as_deref(), Some("web"));
    let missing = inspect::Options { path: "none", ..inspect::Options::default() };
    let error = inspect::inspect(&root(&tree), missing).expect_err("no directory");
    assert!(error.to_string().starts_with("/workspace/none does not exist"), "{error}");
    let link = inspect::Options { path: "out", ..inspect::Options::default() };
    assert!(inspect::inspect(&root(&tree), link).is_err(), "no link is followed");
}

#[test]
fn a_directory_is_listed_by_name() {
    let (tree, _outside) = tree();
    let list = |path: &str, max| list::list(&root(&tree), path, max).expect(path);
    let listing = list("", 10);
    let entries: Vec<_> = listing
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind, entry.bytes))
        .collect();
    assert_eq!(
        entries,
        [
            ("README.md", FileKind::File, 19),
            ("out", FileKind::Link, 0),
            ("server", FileKind::Directory, 0),
            ("web", FileKind::Directory, 0),
        ]
    );
    let few = list("web", 2);
    assert_eq!((few.entries.len(), few.omitted_entries, few.is_partial), (2, 2, false));
    let file = list("server/src/main.rs", 10);
    assert_eq!(file.entries.len(), 1);
    assert_eq!((file.entries[0].name.as_str(), file.entries[0].kind), ("main.rs", FileKind::File));
    let below_link = list::list(&root(&tree), "out/x", 10).expect_err("no link is followed");
    assert!(below_link.to_string().starts_with("/workspace/out/x is a symbolic link"));
    assert!(list::list(&root(&tree), "none", 10).is_err());
}

#[test]
fn files_are_found_by_a_glob() {
    let (tree, _outside) = tree();
    let find = |directory: &str, pattern: &str, max| {
        find::find(&root(&tree), directory, pattern, max).expect(pattern)
    };
    assert_eq!(find("", "*.rs", 10).paths, ["server/src/cart.rs", "server/src/main.rs"]);
    assert_eq!(find("", "server/*", 10).paths, ["server/Cargo.toml", "server/src/"]);
    assert_eq!(find("server", "src/*.rs", 10).paths.len(), 2, "relative to the directory");
    assert_eq!(find("", "config", 10).paths, [""; 0], "git's directory is left out");
    let partial = find("", "**", 3);
    assert!(partial.is_partial && partial.paths.len() == 3);
    let error = find::find(&root(&tree), "", "[", 10).expect_err("no glob");
    assert!(matches!(error, Error::Glob(_)), "{error}");
}

#[test]
fn lines_are_found_in_text_files_only() {
    let (tree, _outside) = tree();
    let query = grep::Query {
        path: "",
        pattern: r"total\(",
        is_literal: false,
        ignores_case: false,
        glob: None,
        max_matches: 100,
    };
    let found = grep(&tree, query).expect("matches");
    let lines: Vec<_> = found.lines.iter().map(|line| (line.path.as_str(), line.line)).collect();
    assert_eq!(
        lines,
        [
            ("server/src/cart.rs", 1),
            ("server/src/main.rs", 2),
            ("web/index.ts", 1),
            ("web/node_modules/left/index.js", 1),
        ]
    );
    assert_eq!(found.lines[1].text, "    total();", "without the line end");
    assert_eq!((found.skipped, found.is_partial), (1, false), "a binary file");
    let count = |query| grep(&tree, query).expect("matches").lines.len();
    assert_eq!(count(grep::Query { glob: Some("*.ts"), ..query }), 1);
    assert_eq!(count(grep::Query { path: "server/src/main.rs", ..query }), 1);
    assert_eq!(count(grep::Query { pattern: "TOTAL", ignores_case: true, ..query }), 5);
    assert_eq!(count(grep::Query { pattern: "total(", is_literal: true, ..query }), 4);
    let partial = grep(&tree, grep::Query { max_matches: 2, ..query });
    assert!(partial.is_ok_and(|found| found.is_partial && found.lines.len() == 2));
    for invalid in ["(", r"\w{1000}{1000}{1000}"] {
        let error = grep(&tree, grep::Query { pattern: invalid, ..query });
        assert!(matches!(error, Err(Error::Pattern(_))), "{invalid}");
    }
    let link = grep(&tree, grep::Query { path: "out/secret.rs", ..query });
    assert!(link.is_err(), "no link is followed");
}

#[test]
fn masked_text_is_not_found() {
    let (tree, _outside) = tree();
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
    let body = |line: usize| -> String {
        (0..64).map(|at| letters[(at * at * 7 + at * 13 + line * 31) % letters.len()]).collect()
    };
    let (first, second) = (body(1), body(2));
    let key = format!("-----BEGIN {KEY}-----\n{first}\n{second}\n-----END {KEY}-----\n");
    let password = concat!("name = 1\npass", "word = \"hunter2\"\n");
    write(tree.path(), "server/conf.toml", &format!("{password}{key}"));
    let found = |pattern: &str| {
        let query = grep::Query {
            path: "server",
            pattern,
            is_literal: false,
            ignores_case: false,
            glob: Some("*.toml"),
            max_matches: 10,
        };
        grep(&tree, query).expect("matches").lines
    };
    // Whether a line is found says nothing about its value.
    for guess in ["hunter2", "= \"h", &first[..9], &second[..9], "password = \"[a-z]"] {
        assert_eq!(found(guess), [], "{guess}");
    }
    let lines = found("^password = ");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].line == 2 && !lines[0].text.contains("hunter2"), "{lines:?}");
    assert_eq!(found("END").first().map(|line| line.line), Some(6));
}

/// Kind of a key that is masked, apart from its frame.
const KEY: &str = concat!("RSA PRIV", "ATE KEY");
