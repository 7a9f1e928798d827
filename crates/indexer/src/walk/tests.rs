use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("below the root")).expect("folder");
    fs::write(path, content).expect("file");
}

fn listed(root: &Path) -> (Vec<String>, Skipped) {
    let tree = walk(root, Limits::default(), &|| false).expect("a tree");
    (tree.candidates.into_iter().map(|candidate| candidate.path).collect(), tree.skipped)
}

#[test]
fn ignore_files_and_the_ignore_list_are_honoured_without_a_repository() {
    let root = tempfile::tempdir().expect("folder");
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
    let (paths, skipped) = listed(root.path());
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

#[test]
fn links_pipes_large_files_and_odd_names_are_counted_and_left_out() {
    let outside = tempfile::tempdir().expect("folder");
    write(outside.path(), "secret.txt", "secret");
    let root = tempfile::tempdir().expect("folder");
    write(root.path(), "a.txt", "a");
    write(root.path(), "large.txt", vec![b'a'; (1 << 20) + 1]);
    symlink(outside.path().join("secret.txt"), root.path().join("link.txt")).expect("link");
    symlink(outside.path(), root.path().join("folder")).expect("link");
    symlink(root.path(), root.path().join("loop")).expect("link");
    symlink("nowhere", root.path().join("dangling")).expect("link");
    let odd = std::ffi::OsStr::from_bytes(b"caf\xE9.txt");
    fs::write(root.path().join(odd), "x").expect("file");
    fs::write(root.path().join("new\nline.txt"), "x").expect("file");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("pipe");
    let (paths, skipped) = listed(root.path());
    assert_eq!(paths, ["a.txt"]);
    let expected =
        [(Skip::BadName, 2), (Skip::NotAFile, 1), (Skip::Symlink, 4), (Skip::TooLarge, 1)];
    assert_eq!(skipped, Skipped::from(expected));
}

#[test]
fn the_limit_of_the_repository_leaves_out_the_rest() {
    let root = tempfile::tempdir().expect("folder");
    for n in 0..10 {
        write(root.path(), &format!("{n}.txt"), [b'a'; 100]);
    }
    let limits = Limits { repository_bytes: 350, ..Limits::default() };
    let tree = walk(root.path(), limits, &|| false).expect("a tree");
    assert_eq!(tree.candidates.len(), 3);
    assert_eq!(tree.skipped, Skipped::from([(Skip::RepositoryTooLarge, 7)]));
}

#[test]
fn a_cancelled_walk_stops() {
    let root = tempfile::tempdir().expect("folder");
    let cancelled = walk(root.path(), Limits::default(), &|| true);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

fn read_one(root: &Path, path: &str) -> Result<Source, Skip> {
    let tree = walk(root, Limits::default(), &|| false).expect("a tree");
    let bytes = Root::open(root).expect("root").read(path, Limits::default().file_bytes)?;
    tree.understand(path, &bytes)
}

#[test]
fn reading_says_why_not() {
    let root = tempfile::tempdir().expect("folder");
    write(root.path(), "logo.png", b"\x89PNG\0\0");
    write(root.path(), "empty.rs", "\n \n");
    write(root.path(), "go.sum", "x v1 h1:y\n");
    write(root.path(), "latin.c", b"/* caf\xE9 */\r\nint a;\r\n");
    assert_eq!(read_one(root.path(), "logo.png"), Err(Skip::Binary));
    assert_eq!(read_one(root.path(), "empty.rs"), Err(Skip::Empty));
    assert_eq!(read_one(root.path(), "go.sum"), Err(Skip::Generated));
    assert_eq!(read_one(root.path(), "gone.rs"), Err(Skip::Unreadable));
    let latin = read_one(root.path(), "latin.c").expect("text");
    assert_eq!(latin.text, "/* caf\u{e9} */\nint a;\n");
    assert_eq!((latin.encoding, latin.language), (Encoding::Legacy, "c"));
}

#[test]
fn a_link_put_in_after_the_walk_leads_nowhere() {
    let outside = tempfile::tempdir().expect("folder");
    write(outside.path(), "a.rs", "secret");
    let root = tempfile::tempdir().expect("folder");
    write(root.path(), "src/a.rs", "fn a() {}");
    write(root.path(), "b.rs", "fn b() {}");
    let handle = Root::open(root.path()).expect("root");
    fs::remove_dir_all(root.path().join("src")).expect("removed");
    symlink(outside.path(), root.path().join("src")).expect("link");
    fs::remove_file(root.path().join("b.rs")).expect("removed");
    symlink(outside.path().join("a.rs"), root.path().join("b.rs")).expect("link");
    for path in ["src/a.rs", "b.rs"] {
        assert_eq!(handle.read(path, 1000), Err(Skip::Symlink), "{path}");
    }
    assert_eq!(handle.read("../x", 1000), Err(Skip::BadName));
}

#[test]
fn gitattributes_have_the_last_word_on_generated_files() {
    let root = tempfile::tempdir().expect("folder");
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
    assert_eq!(read_one(root.path(), "a.gen.rs"), Err(Skip::Generated));
    assert_eq!(read_one(root.path(), "api/deep/b.rs"), Err(Skip::Generated));
    assert!(read_one(root.path(), "api/mine.rs").is_ok());
    assert!(read_one(root.path(), "d.rs").is_ok());
}
