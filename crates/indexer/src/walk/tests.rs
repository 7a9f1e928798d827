use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use mc_privileges::UnprivilegedUser;

use super::*;

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("below the root")).expect("directory");
    fs::write(path, content).expect("file");
}

fn walk_unprotected(
    root: &Path,
    limits: Limits,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Tree, Error> {
    walk(&Root::open(root)?, limits, &ProtectedDirectories::default(), is_cancelled)
}

fn walk_paths(root: &Path) -> (Vec<String>, Skipped) {
    let tree = walk_unprotected(root, Limits::default(), &|| false).expect("a tree");
    (tree.candidates.into_iter().map(|candidate| candidate.path).collect(), tree.skipped)
}

#[test]
fn ignore_files_apply_without_a_repository() {
    let root = tempfile::tempdir().expect("directory");
    for path in [
        "src/main.rs",
        "src/deep/a.rb",
        "target/x.rs",
        "secret.txt",
        "docs/draft/a.md",
        "docs/a.md",
        ".git/config",
        ".github/workflows/ci.yml",
        "web/node_modules/x/index.js",
        "dist/a.js",
        "build/a.c",
        ".gitlab-ci.yml",
        "tools/build.rs",
    ] {
        write(root.path(), path, "text\n");
    }
    write(root.path(), ".gitignore", "/target\nsecret.txt\n");
    write(root.path(), ".mcpignore", "docs/draft/\n");
    let (paths, skipped) = walk_paths(root.path());
    assert_eq!(
        paths,
        [
            ".gitignore",
            ".gitlab-ci.yml",
            ".mcpignore",
            "docs/a.md",
            "src/deep/a.rb",
            "src/main.rs",
            "tools/build.rs"
        ]
    );
    assert!(skipped.is_empty());
}

/// The library that reads patterns would overflow the stack, which ends the service.
#[test]
fn deeply_nested_pattern_is_skipped() {
    let root = tempfile::tempdir().expect("directory");
    let nested = format!("{}a{}", "{".repeat(60_000), "}".repeat(60_000));
    write(root.path(), ".gitignore", format!("{nested}\n/target\n"));
    write(root.path(), ".gitattributes", format!("{nested} linguist-generated\n"));
    write(root.path(), "target/x.rs", "text\n");
    write(root.path(), "main.rs", "text\n");
    let (paths, _) = walk_paths(root.path());
    assert!(paths.contains(&"main.rs".to_owned()), "{paths:?}");
    assert!(!paths.contains(&"target/x.rs".to_owned()), "{paths:?}");
}

#[test]
fn mcpignore_and_inner_ignore_files_take_precedence() {
    let root = tempfile::tempdir().expect("directory");
    for path in ["a.log", "keep.log", "sub/a.log", "sub/b.log", "sub/deep/c.log", "sub/vendor/d.rb"]
    {
        write(root.path(), path, "text\n");
    }
    write(root.path(), "sub/private.txt", "text\n");
    write(root.path(), "sub/local.txt", "text\n");
    write(root.path(), ".gitignore", "\u{feff}*.log\n!keep.log\n/vendor\n[\n");
    write(root.path(), "sub/.gitignore", "!b.log\n/vendor\n!private.txt\ndeep/\n");
    write(root.path(), "sub/.mcpignore", "!deep/\n!deep/*.log\n");
    write(root.path(), ".mcpignore", "private.txt\n.gitignore\n.mcpignore\n");
    write(root.path(), ".git/info/exclude", "local.txt\nb.log\n");
    let (paths, skipped) = walk_paths(root.path());
    assert_eq!(paths, ["keep.log", "sub/b.log", "sub/deep/c.log"]);
    assert!(skipped.is_empty());
}

#[test]
fn worktree_honors_the_exclude_file_of_its_clone() {
    let clone = tempfile::tempdir().expect("directory");
    write(clone.path(), ".git/info/exclude", "local.txt\n");
    write(clone.path(), ".git/worktrees/w/commondir", "../..\n");
    let root = tempfile::tempdir().expect("directory");
    let git = clone.path().join(".git/worktrees/w");
    write(root.path(), ".git", format!("gitdir: {}\n", git.display()));
    write(root.path(), "local.txt", "text\n");
    write(root.path(), "a.txt", "text\n");
    assert_eq!(walk_paths(root.path()).0, ["a.txt"]);
}

/// A git that was taken over can link files of other users, and write a `.git` file.
#[test]
fn copy_of_the_user_of_git_leads_to_nothing_else() {
    if !mc_testkit::runs_as_root("only root runs git as another user") {
        return;
    }
    let clone = tempfile::tempdir().expect("directory");
    write(clone.path(), "commondir", ".\n");
    write(clone.path(), "info/exclude", "a.txt\n");
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), ".git", format!("gitdir: {}\n", clone.path().display()));
    write(root.path(), "a.txt", "a");
    write(root.path(), "b.txt", "b");
    let permissions = Permissions::from_mode(0o644);
    fs::set_permissions(root.path().join("b.txt"), permissions).expect("permissions");
    let git = UnprivilegedUser::GIT;
    for path in ["", ".git", "a.txt"].map(|path| root.path().join(path)) {
        chown(path, Some(git.uid), Some(git.gid)).expect("another owner");
    }
    let directory = fs::File::open(root.path()).expect("directory").into();
    let copy = Root::owned(directory, root.path().to_owned(), Some(git));
    let protected = ProtectedDirectories::default();
    let tree = walk(&copy, Limits::default(), &protected, &|| false).expect("a tree");
    let paths: Vec<_> = tree.candidates.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "b.txt"], "the file of the clone has no effect");
    assert_eq!(copy.read("a.txt", 1_000), Ok(b"a".to_vec()));
    assert_eq!(copy.read("b.txt", 1_000), Err(FileError::OtherOwner));
}

#[test]
fn root_reads_a_directory_with_the_rights_of_its_owner() {
    if !mc_testkit::runs_as_root("only root can read files as another user") {
        return;
    }
    let root = tempfile::tempdir().expect("directory");
    for (name, mode) in [("open.txt", 0o644), ("private.txt", 0o600), ("closed/a.txt", 0o600)] {
        write(root.path(), name, "a");
        let permissions = Permissions::from_mode(mode);
        fs::set_permissions(root.path().join(name), permissions).expect("permissions");
    }
    let closed = root.path().join("closed");
    fs::set_permissions(closed, Permissions::from_mode(0o700)).expect("permissions");
    let read = || {
        let opened = Root::open(root.path()).expect("a directory");
        ["open.txt", "private.txt", "closed/a.txt"].map(|path| opened.read(path, 100).is_ok())
    };
    assert_eq!(read(), [true; 3], "the owner is root");
    chown(root.path(), Some(54_321), Some(54_321)).expect("another owner");
    assert_eq!(read(), [true, false, false]);
    let (paths, skipped) = walk_paths(root.path());
    assert_eq!(paths, ["open.txt", "private.txt"]);
    assert_eq!(skipped, Skipped::from([(SkipReason::Unreadable, 1)]));

    let ignored = root.path().join(".mcpignore");
    fs::write(&ignored, "private.txt\n").expect("file");
    fs::set_permissions(&ignored, Permissions::from_mode(0o600)).expect("permissions");
    assert_eq!(walk_paths(root.path()).0, [""; 0], "it may exclude private files");
    fs::set_permissions(&ignored, Permissions::from_mode(0o644)).expect("permissions");
    assert_eq!(walk_paths(root.path()).0, [".mcpignore", "open.txt"]);
}

/// A file `.git` of a directory may name another directory, whose owner did not write it.
#[test]
fn root_follows_a_git_file_with_the_rights_of_its_owner() {
    if !mc_testkit::runs_as_root("only root can read files as another user") {
        return;
    }
    let (root, clone) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    write(clone.path(), "commondir", ".\n");
    write(clone.path(), "info/exclude", "a.txt\n");
    fs::set_permissions(clone.path(), Permissions::from_mode(0o700)).expect("permissions");
    write(root.path(), "a.txt", "a");
    write(root.path(), ".git", format!("gitdir: {}\n", clone.path().display()));
    assert_eq!(walk_paths(root.path()).0, [""; 0], "the owner is root");
    chown(root.path(), Some(54_321), Some(54_321)).expect("another owner");
    assert_eq!(walk_paths(root.path()).0, ["a.txt"], "the clone is closed to that user");
}

#[test]
fn ignore_file_that_is_a_link_or_pipe_has_no_effect() {
    let outside = tempfile::tempdir().expect("directory");
    write(outside.path(), "rules", "*\n");
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), "a/a.txt", "a");
    write(root.path(), "b/b.txt", "b");
    write(root.path(), "c/c.txt", "c");
    write(root.path(), "d/d.txt", "d");
    fs::create_dir_all(root.path().join("d/.git/info")).expect("directory");
    symlink("/dev/zero", root.path().join(".gitignore")).expect("link");
    symlink("/dev/zero", root.path().join(".mcpignore")).expect("link");
    symlink(outside.path().join("rules"), root.path().join("a/.gitignore")).expect("link");
    pipe(&root.path().join("b/.gitignore"));
    pipe(&root.path().join("b/.mcpignore"));
    pipe(&root.path().join("c/.git"));
    pipe(&root.path().join("d/.git/info/exclude"));
    write(root.path(), "c/.gitignore", vec![b'*'; 1 << 20]);
    let (paths, skipped) = walk_paths(root.path());
    assert_eq!(paths, ["a/a.txt", "b/b.txt", "c/.gitignore", "c/c.txt", "d/d.txt"]);
    assert_eq!(skipped, Skipped::from([(SkipReason::NotAFile, 2), (SkipReason::Symlink, 3)]));
}

fn pipe(path: &Path) {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).expect("pipe");
}

#[test]
fn links_pipes_large_files_and_odd_names_are_skipped() {
    let outside = tempfile::tempdir().expect("directory");
    write(outside.path(), "secret.txt", "secret");
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), "a.txt", "a");
    write(root.path(), "large.txt", vec![b'a'; (1 << 20) + 1]);
    symlink(outside.path().join("secret.txt"), root.path().join("link.txt")).expect("link");
    symlink(outside.path(), root.path().join("directory")).expect("link");
    symlink(root.path(), root.path().join("loop")).expect("link");
    symlink("nowhere", root.path().join("dangling")).expect("link");
    let odd = std::ffi::OsStr::from_bytes(b"caf\xE9.txt");
    fs::write(root.path().join(odd), "x").expect("file");
    fs::write(root.path().join("new\nline.txt"), "x").expect("file");
    pipe(&root.path().join("pipe"));
    let (paths, skipped) = walk_paths(root.path());
    assert_eq!(paths, ["a.txt"]);
    let expected = [
        (SkipReason::BadName, 2),
        (SkipReason::NotAFile, 1),
        (SkipReason::Symlink, 4),
        (SkipReason::TooLarge, 1),
    ];
    assert_eq!(skipped, Skipped::from(expected));
}

#[test]
fn files_above_the_repository_limit_are_skipped() {
    let root = tempfile::tempdir().expect("directory");
    for n in 0..10 {
        write(root.path(), &format!("{n}.txt"), [b'a'; 100]);
    }
    let limits = Limits { repository_bytes: 350, ..Limits::default() };
    let tree = walk_unprotected(root.path(), limits, &|| false).expect("a tree");
    assert_eq!(tree.candidates.len(), 3);
    assert_eq!(tree.skipped, Skipped::from([(SkipReason::RepositoryTooLarge, 7)]));
}

#[test]
fn cancelled_walk_stops() {
    let root = tempfile::tempdir().expect("directory");
    let cancelled = walk_unprotected(root.path(), Limits::default(), &|| true);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

fn read_one(root: &Path, path: &str) -> Result<Source, SkipReason> {
    let tree = walk_unprotected(root, Limits::default(), &|| false).expect("a tree");
    let bytes = Root::open(root).expect("root").read(path, Limits::default().file_bytes)?;
    tree.decode(path, &bytes)
}

#[test]
fn unindexed_file_has_a_skip_reason() {
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), "logo.png", b"\x89PNG\0\0");
    write(root.path(), "empty.rs", "\n \n");
    write(root.path(), "go.sum", "x v1 h1:y\n");
    write(root.path(), "latin.c", b"/* caf\xE9 */\r\nint a;\r\n");
    assert_eq!(read_one(root.path(), "logo.png"), Err(SkipReason::Binary));
    assert_eq!(read_one(root.path(), "empty.rs"), Err(SkipReason::Empty));
    assert_eq!(read_one(root.path(), "go.sum"), Err(SkipReason::Generated));
    assert_eq!(read_one(root.path(), "gone.rs"), Err(SkipReason::Unreadable));
    let latin = read_one(root.path(), "latin.c").expect("text");
    assert_eq!(latin.text, "/* caf\u{e9} */\nint a;\n");
    assert_eq!(latin.language, "c");
}

#[test]
fn link_created_after_the_walk_is_not_followed() {
    let outside = tempfile::tempdir().expect("directory");
    write(outside.path(), "a.rs", "secret");
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), "src/a.rs", "fn a() {}");
    write(root.path(), "b.rs", "fn b() {}");
    let handle = Root::open(root.path()).expect("root");
    fs::remove_dir_all(root.path().join("src")).expect("removed");
    symlink(outside.path(), root.path().join("src")).expect("link");
    fs::remove_file(root.path().join("b.rs")).expect("removed");
    symlink(outside.path().join("a.rs"), root.path().join("b.rs")).expect("link");
    for path in ["src/a.rs", "b.rs"] {
        assert_eq!(handle.read(path, 1000), Err(FileError::Link), "{path}");
    }
    assert_eq!(handle.read("../x", 1000), Err(FileError::BadName));
}

#[test]
fn gitattributes_override_the_detection_of_generated_files() {
    let root = tempfile::tempdir().expect("directory");
    write(
        root.path(),
        ".gitattributes",
        "*.gen.rs linguist-generated\napi/** linguist-generated=true\n",
    );
    write(root.path(), "api/.gitattributes", "mine.rs -linguist-generated\n");
    write(root.path(), "a.gen.rs", "fn a() {}");
    write(root.path(), "api/deep/b.rs", "fn b() {}");
    write(root.path(), "api/mine.rs", "// @generated\nfn c() {}");
    write(root.path(), "d.rs", "fn d() {}");
    assert_eq!(read_one(root.path(), "a.gen.rs"), Err(SkipReason::Generated));
    assert_eq!(read_one(root.path(), "api/deep/b.rs"), Err(SkipReason::Generated));
    assert!(read_one(root.path(), "api/mine.rs").is_ok());
    assert!(read_one(root.path(), "d.rs").is_ok());
}

#[test]
fn files_below_an_unreadable_directory_are_unreadable() {
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), "open/a.txt", "a");
    write(root.path(), "shut/deep/b.txt", "b");
    fs::set_permissions(root.path().join("shut"), Permissions::from_mode(0o0)).expect("a mode");
    let tree = walk_unprotected(root.path(), Limits::default(), &|| false).expect("a tree");
    fs::set_permissions(root.path().join("shut"), Permissions::from_mode(0o700)).expect("a mode");
    assert_eq!(tree.skipped, Skipped::from([(SkipReason::Unreadable, 1)]));
    for path in ["shut/deep/b.txt", "shut/c.txt"] {
        assert!(tree.is_unreadable(path), "{path}");
    }
    for path in ["open/a.txt", "open/gone.txt", "shutter/d.txt", "shut.txt"] {
        assert!(!tree.is_unreadable(path), "{path}");
    }
}

/// A directory with read but without execute permission reveals only names.
#[test]
fn file_that_cannot_be_inspected_is_unreadable() {
    let root = tempfile::tempdir().expect("directory");
    write(root.path(), "listed/a.txt", "a");
    let directory = root.path().join("listed");
    fs::set_permissions(&directory, Permissions::from_mode(0o400)).expect("a mode");
    let tree = walk_unprotected(root.path(), Limits::default(), &|| false).expect("a tree");
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).expect("a mode");
    assert!(tree.candidates.is_empty());
    assert!(tree.is_unreadable("listed/a.txt"));
}

#[test]
fn walk_leaves_the_data_directory_out() {
    let root = tempfile::tempdir().expect("directory");
    let data = root.path().join("deep/data");
    for path in ["a.txt", "deep/b.txt", "deep/data/token", "deep/data/index/c.txt"] {
        write(root.path(), path, "text\n");
    }
    let protected = ProtectedDirectories::with_data_dir(&data);
    let walked = |directory: &Path| {
        let root = Root::open(directory).expect("a directory");
        walk(&root, Limits::default(), &protected, &|| false)
    };
    let tree = walked(root.path()).expect("a tree");
    let paths: Vec<_> = tree.candidates.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "deep/b.txt"]);
    let error = walked(&data).expect_err("protected");
    assert!(error.to_string().contains("never reads it"), "{error}");
}
