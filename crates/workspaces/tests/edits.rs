//! Files that are read and edited as a model sees them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use mc_domain::{Classified as _, ErrorKind};
use mc_files::{FileError, Root};
use mc_sanitizer::{Policy, Sanitizer};
use mc_text_edit::{EditError, Encoding, Limits, MAX_FILE_BYTES, json, str_replace};
use mc_workspaces::Error;
use mc_workspaces::edit::{AppliedEdit, MaskedTree};
use mc_workspaces::navigation::{EditPath, Navigation, Phase};
use tempfile::TempDir;

/// A line whose value is masked.
const SECRET: &str = concat!("pass", "word = \"hunter2\"\n");

struct Fixture {
    directory: TempDir,
    root: Root,
    sanitizer: Sanitizer,
    policy: Policy,
}

impl Fixture {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, content).expect("a file");
        }
        let root = Root::open(directory.path()).expect("a directory");
        Self { directory, root, sanitizer: Sanitizer::default(), policy: Policy::strict() }
    }

    fn tree(&self) -> MaskedTree<'_> {
        MaskedTree { root: &self.root, sanitizer: &self.sanitizer, policy: &self.policy }
    }

    fn content(&self, path: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(path)).expect("a file")
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<AppliedEdit, Error> {
        self.tree().edit(&path_of(path), None, |view| str_replace(view, old, new, MAX_FILE_BYTES))
    }
}

/// Returns a path below the root, which is locked.
fn path_of(path: &str) -> EditPath {
    Navigation::restore("", Phase::Edit).and_then(|root| root.path_to_edit(path)).expect("a path")
}

#[test]
fn a_file_is_read_masked_with_its_encoding() {
    let fixture = Fixture::new(&[
        ("a.toml", format!("x = 1\r\n{SECRET}").as_bytes()),
        ("utf16.txt", b"\xFF\xFEh\0i\0"),
        ("logo.png", b"\x89PNG\0"),
    ]);
    let tree = fixture.tree();
    let read = tree.read("a.toml", Some((1, -1)), Limits::default()).expect("a text");
    assert!(read.listing.text.starts_with("     1\tx = 1\n     2\t"), "{}", read.listing.text);
    assert!(!read.listing.text.contains("hunter2") && read.listing.masked_count == 1);
    assert_eq!((read.encoding, read.bytes), (Encoding::Utf8, 28));
    let read = tree.read("utf16.txt", None, Limits::default()).expect("a text");
    assert_eq!((read.encoding, read.bytes), (Encoding::Utf16Le, 6));
    assert_eq!(read.listing.text, "     1\thi\n");

    let error = tree.read("logo.png", None, Limits::default()).expect_err("no text");
    assert!(error.to_string().starts_with("/workspace/logo.png: "), "{error}");
    let error = tree.read("a.toml", Some((3, 4)), Limits::default()).expect_err("no such lines");
    assert_eq!(error.field().as_deref(), Some("view_range"));
    let error = tree.read("none", None, Limits::default()).expect_err("no file");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    fs::write(fixture.directory.path().join("large"), vec![b'a'; MAX_FILE_BYTES + 1])
        .expect("file");
    let error = tree.read("large", None, Limits::default()).expect_err("too large");
    assert!(error.to_string().contains("more than 2000000 bytes; find lines"), "{error}");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn an_edit_keeps_everything_else_and_is_undone() {
    let before = format!("\u{feff}x = 1\n{SECRET}y = 2").replace('\n', "\r\n");
    let fixture = Fixture::new(&[("conf/a.toml", before.as_bytes())]);
    let file = fixture.directory.path().join("conf/a.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).expect("permissions");
    let first = fixture.replace("conf/a.toml", "x = 1", "x = 3\nz = 4").expect("an edit");
    let after = before.replace("x = 1", "x = 3\r\nz = 4");
    assert_eq!(fixture.content("conf/a.toml"), after.as_bytes());
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o750);
    let edited = first.edit.edited();
    assert_eq!((edited.added_lines, edited.removed_lines), (2, 1));
    let shown = format!("{:?}", first.undo);
    assert_eq!(shown, r#"Undo { path: EditPath("conf/a.toml"), .. }"#, "without bytes and hashes");

    let second = fixture.replace("conf/a.toml", "y = 2", "y = 5").expect("an edit");
    let undo = |edit: &AppliedEdit| fixture.tree().undo(edit.undo.path(), &edit.undo);
    let error = undo(&first).expect_err("it was edited since");
    assert!(error.to_string().contains("so the edit can't be undone"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    undo(&second).expect("undone");
    let other = fixture.tree().undo(&path_of("conf/b.toml"), &first.undo);
    assert!(matches!(other, Err(Error::NotUndone(_))), "{other:?}");
    undo(&first).expect("undone");
    assert_eq!(fixture.content("conf/a.toml"), before.as_bytes());
    let left = fs::read_dir(file.parent().expect("a parent")).expect("a directory");
    assert_eq!(left.count(), 1, "no temporary file");
}

#[test]
fn masked_text_stays_masked_and_unchanged() {
    let fixture = Fixture::new(&[("a.toml", SECRET.as_bytes())]);
    let masked = |result: Result<AppliedEdit, Error>, expected: fn(&EditError) -> bool| {
        let error = result.expect_err("masked text");
        assert!(matches!(&error, Error::Edit { error, .. } if expected(error)), "{error}");
        assert_eq!(error.kind(), ErrorKind::Forbidden);
    };
    let unmasks = |error: &EditError| matches!(error, EditError::Unmasks { .. });
    masked(fixture.replace("a.toml", concat!("pass", "word ="), "color ="), unmasks);
    let whole = |error: &EditError| matches!(error, EditError::MaskedFile { .. });
    masked(fixture.tree().write(&path_of("a.toml"), None, "x = 1\n"), whole);
    assert_eq!(fixture.content("a.toml"), SECRET.as_bytes());
    // A value that the file does not have can't be guessed.
    let error = fixture.replace("a.toml", "hunter2", "x").expect_err("it is masked");
    assert!(matches!(error, Error::Edit { error: EditError::NotFound { .. }, .. }), "{error}");
}

#[test]
fn a_file_is_created_once_and_written() {
    let fixture = Fixture::new(&[("a.txt", b"a\n")]);
    let tree = fixture.tree();
    let created = tree.create(&path_of("src/deep/new.rs"), "fn new() {}\n").expect("a new file");
    assert_eq!(fixture.content("src/deep/new.rs"), b"fn new() {}\n");
    let error = tree.create(&path_of("src/deep/new.rs"), "other\n").expect_err("it exists");
    assert!(matches!(error, Error::File { error: FileError::Exists, .. }), "{error}");
    let error = tree.create(&path_of("a.txt/b"), "b\n").expect_err("below a file");
    assert!(error.to_string().starts_with("/workspace/a.txt/b is below a file"), "{error}");
    tree.undo(created.undo.path(), &created.undo).expect("undone");
    assert!(!fixture.directory.path().join("src/deep/new.rs").exists());
    let again = tree.undo(created.undo.path(), &created.undo);
    assert!(matches!(again, Err(Error::NotUndone(_))), "it is deleted: {again:?}");
    tree.create(&path_of("src/deep/new.rs"), "fn other() {}\n").expect("a new file");
    let changed = tree.undo(created.undo.path(), &created.undo);
    assert!(matches!(changed, Err(Error::NotUndone(_))), "it is another file: {changed:?}");
    assert_eq!(fixture.content("src/deep/new.rs"), b"fn other() {}\n");

    let read = tree.read("a.txt", None, Limits::default()).expect("a text");
    tree.write(&path_of("a.txt"), Some(read.version), "b\n").expect("written");
    assert_eq!(fixture.content("a.txt"), b"b\n");
    for path in ["a.txt", "gone.txt"] {
        let written = tree.write(&path_of(path), Some(read.version), "c\n");
        let error = written.expect_err("another version");
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().ends_with("view it again"), "{error}");
    }
    tree.write(&path_of("b.txt"), None, "new\n").expect("it is created");
    assert_eq!(fixture.content("b.txt"), b"new\n");
}

#[test]
fn a_change_during_an_edit_is_not_lost() {
    let fixture = Fixture::new(&[("a.txt", b"a\n")]);
    let path = fixture.directory.path().join("a.txt");
    for change in [|path: &Path| fs::write(path, "theirs\n"), |path: &Path| fs::remove_file(path)] {
        fs::write(&path, "a\n").expect("a file");
        let edited = fixture.tree().edit(&path_of("a.txt"), None, |view| {
            change(&path).expect("changed by somebody else");
            str_replace(view, "a", "ours", MAX_FILE_BYTES)
        });
        let error = edited.expect_err("it was changed");
        assert!(matches!(error, Error::ChangedFile(_)), "{error}");
        assert!(!path.exists() || fixture.content("a.txt") == b"theirs\n");
        let left = fs::read_dir(fixture.directory.path()).expect("a directory").count();
        assert_eq!(left, usize::from(path.exists()), "no temporary file");
    }
}

#[test]
fn json_is_viewed_and_edited() {
    let before = "{\n  // The name.\n  \"name\": \"shop\",\n  \"tags\": []\n}\n";
    let fixture = Fixture::new(&[("package.json", before.as_bytes())]);
    let tree = fixture.tree();
    let values = tree.view("package.json", |view| json::view(view, "$.name", Limits::default()));
    assert_eq!(values.expect("a value").count, 1);
    let set = |path: &str, value: &str| {
        tree.edit(&path_of("package.json"), None, |view| {
            json::set(view, path, value, json::Matches::One, MAX_FILE_BYTES)
        })
    };
    set("$.name", "\"cart\"").expect("an edit");
    assert_eq!(fixture.content("package.json"), before.replace("shop", "cart").as_bytes());
    let error = set("$.none", "1").expect_err("no match");
    assert_eq!(error.field().as_deref(), Some("json_path"));
}

#[test]
fn links_and_directories_are_not_edited() {
    let fixture = Fixture::new(&[("src/a.rs", b"a\n")]);
    let outside = Fixture::new(&[("canary", b"canary\n")]);
    let at = |path: &str| fixture.directory.path().join(path);
    symlink(outside.directory.path().join("canary"), at("file")).expect("a link");
    symlink(outside.directory.path(), at("directory")).expect("a link");
    fs::hard_link(outside.directory.path().join("canary"), at("hard")).expect("a hard link");
    let tree = fixture.tree();
    for path in ["file", "directory/canary", "src"] {
        assert!(tree.read(path, None, Limits::default()).is_err(), "{path}");
        assert!(fixture.replace(path, "canary", "x").is_err(), "{path}");
        assert!(tree.write(&path_of(path), None, "x\n").is_err(), "{path}");
        assert!(tree.create(&path_of(path), "x\n").is_err(), "{path}");
    }
    assert!(tree.create(&path_of("directory/new"), "x\n").is_err());
    // The content has two names; only the one in the tree is replaced.
    tree.write(&path_of("hard"), None, "x\n").expect("the name is replaced");
    assert_eq!(outside.content("canary"), b"canary\n");
    assert_eq!(fs::read_dir(outside.directory.path()).expect("a directory").count(), 1);
}
