//! Access to files below a directory.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use mc_files::{FileError, FileKind, Root, disk_usage};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A directory to access, and one outside of it with a secret.
struct Fixture {
    inside: TempDir,
    outside: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let [inside, outside] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        fs::write(outside.path().join("secret"), "canary").expect("a file");
        fs::create_dir_all(inside.path().join("src/deep")).expect("a directory");
        fs::write(inside.path().join("src/a.rs"), "fn a() {}\n").expect("a file");
        Self { inside, outside }
    }

    fn root(&self) -> Root {
        Root::open(self.inside.path()).expect("a directory")
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.inside.path().join(below)
    }

    /// Asserts that the directory outside has only the unchanged secret.
    fn assert_unchanged_outside(&self) {
        let names = names(self.outside.path());
        assert_eq!(names, ["secret"]);
        let secret = fs::read_to_string(self.outside.path().join("secret")).expect("a file");
        assert_eq!(secret, "canary");
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("an entry").file_name().into_string().expect("UTF-8")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn a_path_that_leaves_the_directory_is_rejected() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let long = "a/".repeat(2_000) + "a";
    let name = "n".repeat(4_096);
    let absolute = fixture.outside.path().join("secret");
    let bad = [
        "..",
        "../secret",
        "src/../../secret",
        "/etc/passwd",
        "src//a.rs",
        "./src",
        "src/.",
        "src/a.rs/",
        "a\0b",
        &name,
        absolute.to_str().expect("UTF-8"),
    ];
    for path in bad {
        assert_eq!(root.read(path, 100), Err(FileError::BadName), "{path:?}");
        assert_eq!(root.metadata(path).err(), Some(FileError::BadName), "{path:?}");
        assert_eq!(root.create(path, b"x", 0o644), Err(FileError::BadName), "{path:?}");
        assert_eq!(root.replace(path, b"x", 0o644), Err(FileError::BadName), "{path:?}");
        assert_eq!(root.remove(path), Err(FileError::BadName), "{path:?}");
        assert_eq!(root.create_directories(path), Err(FileError::BadName), "{path:?}");
    }
    assert_eq!(root.read(&long, 100), Err(FileError::Missing));
    assert_eq!(names(fixture.inside.path()), ["src"]);
    fixture.assert_unchanged_outside();
}

#[test]
fn a_symbolic_link_leads_nowhere() {
    let fixture = Fixture::new();
    let root = fixture.root();
    symlink(fixture.outside.path(), fixture.path("out")).expect("a link");
    symlink(fixture.outside.path().join("secret"), fixture.path("secret")).expect("a link");
    symlink("/proc/self/root", fixture.path("proc")).expect("a link");
    symlink("dangling", fixture.path("dangling")).expect("a link");
    symlink("src", fixture.path("alias")).expect("a link");
    for path in ["secret", "dangling", "out/secret", "proc/etc/passwd", "alias/a.rs"] {
        assert_eq!(root.read(path, 100), Err(FileError::Link), "{path}");
    }
    for path in ["out/new", "proc/tmp/new", "alias/new"] {
        assert_eq!(root.create(path, b"x", 0o644), Err(FileError::Link), "{path}");
        assert_eq!(root.replace(path, b"x", 0o644), Err(FileError::Link), "{path}");
        assert_eq!(root.create_directories(path), Err(FileError::Link), "{path}");
    }
    assert_eq!(root.remove("out/secret"), Err(FileError::Link));
    assert_eq!(root.list("out").err(), Some(FileError::Link));
    assert_eq!(root.create("dangling", b"x", 0o644), Err(FileError::Exists));
    assert_eq!(root.metadata("out").expect("a link").kind, FileKind::Link);
    // The link itself is replaced or deleted.
    root.replace("secret", b"mine", 0o644).expect("replaced");
    assert_eq!(root.read("secret", 100).expect("a file"), b"mine");
    root.remove("out").expect("deleted");
    fixture.assert_unchanged_outside();
}

#[test]
fn pipes_sockets_and_devices_are_not_opened() {
    let fixture = Fixture::new();
    let pipe = fixture.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o644), 0).expect("a pipe");
    let _socket = UnixListener::bind(fixture.path("socket")).expect("a socket");
    let root = fixture.root();
    for path in ["pipe", "socket"] {
        assert_eq!(root.read(path, 100), Err(FileError::NotAFile), "{path}");
        assert_eq!(root.metadata(path).expect(path).kind, FileKind::Other);
    }
    assert_eq!(root.read("src", 100), Err(FileError::Directory));
    assert_eq!(root.read("src/a.rs/b", 100), Err(FileError::NotADirectory));
    assert_eq!(root.replace("src", b"x", 0o644), Err(FileError::Directory));
    assert_eq!(root.remove("src"), Err(FileError::Directory));
}

#[test]
fn a_hard_link_is_broken_before_its_content_changes() {
    let fixture = Fixture::new();
    let secret = fixture.outside.path().join("secret");
    if fs::hard_link(&secret, fixture.path("hard")).is_err() {
        // Directories for temporary files may be on several disks.
        return;
    }
    fixture.root().replace("hard", b"mine", 0o644).expect("replaced");
    assert_eq!(fs::read(fixture.path("hard")).expect("a file"), b"mine");
    fixture.assert_unchanged_outside();
}

#[test]
fn a_file_is_created_once_and_replaced_in_one_step() {
    let fixture = Fixture::new();
    let root = fixture.root();
    root.create("src/run.sh", b"one", 0o755).expect("created");
    assert_eq!(root.create("src/run.sh", b"two", 0o644), Err(FileError::Exists));
    root.replace("src/run.sh", b"three", 0o644).expect("replaced");
    let mode = fs::metadata(fixture.path("src/run.sh")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "it stays executable");
    assert_eq!(root.read("src/run.sh", 5).expect("a file"), b"three");
    assert_eq!(root.read("src/run.sh", 4), Err(FileError::TooLarge(4)));
    assert_eq!(root.create("none/a", b"x", 0o644), Err(FileError::Missing));
    root.create_directories("none/such").expect("created");
    root.create("none/such/a", b"x", 0o600).expect("created");
    assert_eq!(names(&fixture.path("src")), ["a.rs", "deep", "run.sh"], "nothing temporary stays");
}

#[test]
fn a_file_with_other_content_is_not_replaced() {
    let fixture = Fixture::new();
    let root = fixture.root();
    root.create("src/run.sh", b"one", 0o755).expect("created");
    root.replace_content("src/run.sh", b"one", b"two").expect("replaced");
    let mode = fs::metadata(fixture.path("src/run.sh")).expect("a file").permissions().mode();
    assert_eq!((root.read("src/run.sh", 9).expect("a file"), mode & 0o777), (b"two".into(), 0o755));
    for before in [&b"one"[..], b"tw", b"two!", b""] {
        assert_eq!(root.replace_content("src/run.sh", before, b"x"), Err(FileError::Changed));
    }
    symlink(fixture.outside.path().join("secret"), fixture.path("src/link")).expect("a link");
    for path in ["src/none", "src/link", "src", "src/run.sh/below"] {
        assert_eq!(root.replace_content(path, b"", b"x"), Err(FileError::Changed), "{path}");
    }
    assert_eq!(root.read("src/run.sh", 9).expect("a file"), b"two");
    assert_eq!(names(&fixture.path("src")), ["a.rs", "deep", "link", "run.sh"]);
    fixture.assert_unchanged_outside();
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let root = fixture.root();
    if mc_privileges::is_root() {
        // Root may write to a directory without permission.
        fs::create_dir(fixture.path("target")).expect("a directory");
        assert_eq!(root.replace("target", b"x", 0o644), Err(FileError::Directory));
    } else {
        let closed = Permissions::from_mode(0o500);
        fs::set_permissions(fixture.path("src"), closed).expect("permissions");
        assert!(matches!(root.replace("src/a.rs", b"x", 0o644), Err(FileError::Io(_))));
    }
    assert_eq!(names(&fixture.path("src")), ["a.rs", "deep"]);
    assert!(names(fixture.inside.path()).iter().all(|name| !name.contains(".memory-copilot-")));
}

#[test]
fn a_root_below_a_root_has_the_same_rules() {
    let fixture = Fixture::new();
    let below = fixture.root().open_below("src").expect("a directory");
    assert_eq!(below.read("a.rs", 100).expect("a file"), b"fn a() {}\n");
    assert_eq!(below.read("../src/a.rs", 100), Err(FileError::BadName));
    assert_eq!(below.path(), fixture.path("src"));
}

#[test]
fn everything_on_the_disk_counts_whatever_its_name() {
    let fixture = Fixture::new();
    symlink(fixture.outside.path(), fixture.path("out")).expect("a link");
    let before = disk_usage(fixture.inside.path()).expect("a directory");
    assert_eq!((before.files, before.is_partial), (2, false), "a file and a link");
    let large = "x".repeat(1 << 20);
    for (number, name) in [&b".git"[..], b"git~1", b"\xff", b"src/deep"].iter().enumerate() {
        let directory = fixture.inside.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("large"), &large).expect("a file");
        let after = disk_usage(fixture.inside.path()).expect("a directory");
        let added = (number as u64 + 1) << 20;
        assert!(after.bytes >= before.bytes + added, "{name:?}: {before:?} {after:?}");
    }
}
