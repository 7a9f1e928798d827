use super::*;

const TEXT: &str = "I change two files.\n\n`src/a.rs`\n```rust\n<<<<<<< SEARCH\na\nb\nc\n=======\n\
    a\nx\nc\n>>>>>>> REPLACE\n```\n\n<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE\n\n\
    File: new file.txt\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n";

#[test]
fn blocks_become_hunks_of_their_files() {
    let patch = parse_blocks(TEXT.as_bytes()).expect("blocks");
    let files: Vec<_> = patch.files.iter().map(|file| (file.operation, &*file.path)).collect();
    assert_eq!(files, [(Operation::Modify, "src/a.rs"), (Operation::Create, "new file.txt")]);
    let kinds: Vec<_> = patch.files[0].hunks[0].lines.iter().map(|line| line.kind).collect();
    let (context, removed, added) = (LineKind::Context, LineKind::Removed, LineKind::Added);
    assert_eq!(kinds, [context, removed, added, context]);
    assert_eq!(patch.files[0].hunks.len(), 2);
    assert_eq!(patch.files[1].hunks[0].lines[0].text, b"new\n");
}

#[test]
fn bad_blocks_name_the_line() {
    for (text, expected) in [
        (
            "a.rs\n<<<<<<< SEARCH\na\n",
            "line 2 of the diff: the block has no line `>>>>>>> REPLACE`",
        ),
        ("a.rs\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "the block has no line `=======`"),
        ("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "write the path in the line above"),
        (
            "a.rs\n\nThis changes it.\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
            "write the path in the line above",
        ),
        (
            "a.rs\n<<<<<<< SEARCH\nTitle\n=======\na\n=======\nb\n>>>>>>> REPLACE\n",
            "several lines `=======`",
        ),
        (
            "a.rs\n<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n",
            "before the next one",
        ),
        ("a.rs\n>>>>>>> REPLACE\n", "line 2 of the diff: there is no `<<<<<<< SEARCH` above"),
        (
            "a.rs\n<<<<<<< SEARCH\na\n=======\na\n>>>>>>> REPLACE\n",
            "no block `<<<<<<< SEARCH` that changes something",
        ),
        ("a.rs\n", "there is no block"),
    ] {
        let error = parse_blocks(text.as_bytes()).expect_err("no blocks").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let outside = "../a.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    let patch = parse_blocks(outside.as_bytes()).expect("blocks");
    assert_eq!(patch.files[0].refusal, Some(Refusal::Path));
}

#[test]
fn paths_are_found_in_the_line_above() {
    for (line, path) in [
        ("src/a.rs", "src/a.rs"),
        ("**src/a.rs**", "src/a.rs"),
        ("### `my file.rs`:", "my file.rs"),
        ("In `src/a.rs`:", "src/a.rs"),
        ("**File:** `Makefile`", "Makefile"),
        ("File: src/b c.rs", "src/b c.rs"),
        ("- a.rs:", "a.rs"),
        ("```rust src/a.rs", "src/a.rs"),
        ("```rust:src/a.rs", "src/a.rs"),
        ("Dockerfile", "Dockerfile"),
    ] {
        let text = format!("{line}\n<<<<<<< SEARCH\r\na\r\n=======\r\nb\r\n>>>>>>> REPLACE\r\n");
        let patch = parse_blocks(text.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(patch.files[0].path, path, "{line}");
        assert_eq!(patch.files[0].hunks[0].lines[0].text, b"a\n");
    }
}
