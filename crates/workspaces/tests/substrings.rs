//! The search for a text finds the lines that the program `grep` finds.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use mc_files::Root;
use mc_sanitizer::{Policy, Sanitizer};
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::grep;

/// Texts of the sources of this crate: words, parts of words, punctuation and what an expression
/// would read as its syntax.
const TEXTS: [&str; 12] = [
    "MaskedTree",
    "askedTre",
    "fn ",
    "();",
    "[&str;",
    "?)",
    ".*",
    "|",
    "\\",
    "\"",
    "    }",
    "Ünicode",
];

#[test]
fn no_line_is_missed() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = Root::open(sources).expect("a directory");
    let (sanitizer, policy) = (Sanitizer::default(), Policy::default().with_comments(true));
    let tree = MaskedTree { root: &root, sanitizer: &sanitizer, policy: &policy };
    for text in TEXTS {
        let query = grep::Query {
            path: "src",
            pattern: text,
            is_literal: true,
            ignores_case: false,
            glob: None,
            max_matches: usize::MAX,
        };
        let found = grep::grep(tree, query).expect("a directory");
        assert!(!found.is_partial);
        let found: BTreeSet<_> =
            found.lines.into_iter().map(|line| (line.path, line.line)).collect();
        assert_eq!(found, lines_of_grep(sources, text), "{text}");
    }
}

fn lines_of_grep(directory: &Path, text: &str) -> BTreeSet<(String, usize)> {
    let output = Command::new("grep")
        .current_dir(directory)
        .args(["-rnF", "-e", text, "src"])
        .output()
        .expect("grep");
    let output = String::from_utf8(output.stdout).expect("UTF-8");
    let line = |line: &str| {
        let mut parts = line.split(':');
        let path = parts.next().expect("a path").to_owned();
        (path, parts.next().and_then(|number| number.parse().ok()).expect("a number"))
    };
    output.lines().map(line).collect()
}
