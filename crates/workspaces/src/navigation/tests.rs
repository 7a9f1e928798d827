use std::fs;
use std::os::unix::fs::symlink;

use mc_domain::{Classified as _, ErrorKind};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A tree with directories, a file, and a link to a directory.
fn tree() -> (TempDir, Root) {
    let tree = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(tree.path().join("src/deep")).expect("a directory");
    fs::create_dir_all(tree.path().join("srcs")).expect("a directory");
    fs::write(tree.path().join("src/a.rs"), "fn a() {}\n").expect("a file");
    symlink("src", tree.path().join("link")).expect("a link");
    let root = Root::open(tree.path()).expect("a directory");
    (tree, root)
}

fn locked(root: &Root, cwd: &str) -> Navigation {
    let mut navigation = Navigation::default();
    navigation.cd(root, cwd).expect("a directory");
    navigation.lock_cwd(root).expect("it is locked");
    navigation
}

#[test]
fn discovery_moves_between_directories_and_changes_nothing() {
    let (_tree, root) = tree();
    let mut navigation = Navigation::default();
    for (path, cwd) in
        [("src", "src"), ("deep", "src/deep"), ("..", "src"), ("/workspace/srcs", "srcs")]
    {
        navigation.cd(&root, path).expect(path);
        assert_eq!(navigation.cwd(), cwd);
    }
    assert_eq!(navigation.path_to_read("../src/a.rs").expect("a path"), "src/a.rs");
    for action in [Action::EditFiles, Action::UseGit, Action::RunCommands] {
        let error = navigation.check(action).expect_err("discovery");
        let start = format!("Cannot {} in discovery phase.", action.verb_phrase());
        assert!(error.to_string().starts_with(&start), "{error}");
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    let error = navigation.path_to_edit("a.rs").expect_err("discovery");
    assert!(error.to_string().contains("Use navigator.lock_cwd() first"), "{error}");
}

#[test]
fn a_directory_that_can_not_be_entered_leaves_the_current_one() {
    let (_tree, root) = tree();
    let mut navigation = Navigation::default();
    navigation.cd(&root, "src").expect("a directory");
    for (path, message) in [
        ("", "Path is required for cd"),
        ("a.rs", "/workspace/src/a.rs is not a directory"),
        ("none", "/workspace/src/none does not exist"),
        ("../link", "/workspace/link is a symbolic link"),
        ("../link/deep", "/workspace/link/deep is a symbolic link, or is below one"),
        ("../..", "Path is outside the sandbox: ../.."),
        ("/etc", "Path is outside the sandbox: /etc"),
        (".git", ".git is in git's own directory"),
    ] {
        let error = navigation.cd(&root, path).expect_err(path);
        assert!(error.to_string().starts_with(message), "{path}: {error}");
        assert_eq!(navigation.cwd(), "src", "{path}");
    }
}

#[test]
fn edits_stay_below_the_locked_directory() {
    let (tree, root) = tree();
    let mut navigation = locked(&root, "src");
    assert_eq!(navigation.phase(), Phase::Edit);
    for (path, file) in [
        ("a.rs", "src/a.rs"),
        ("deep/new.rs", "src/deep/new.rs"),
        ("deep/../a.rs", "src/a.rs"),
        ("../src/a.rs", "src/a.rs"),
    ] {
        assert_eq!(navigation.path_to_edit(path).expect(path).as_str(), file);
    }
    for (path, message) in [
        ("../srcs/a.rs", "../srcs/a.rs is not below the locked directory /workspace/src;"),
        ("..", ".. is not below the locked directory"),
        (".", "/workspace/src is the locked directory itself; give the path of a file below it"),
        ("", "Path is required for an edit"),
        ("/workspace/src/a.rs", "/workspace/src/a.rs is absolute; give a path relative to"),
        ("/etc/passwd", "Path is outside the sandbox: /etc/passwd"),
        ("../../x", "Path is outside the sandbox"),
        ("deep/.git/config", "deep/.git/config is in git's own directory"),
    ] {
        let error = navigation.path_to_edit(path).expect_err(path);
        assert!(error.to_string().starts_with(message), "{path}: {error}");
    }
    assert_eq!(navigation.path_to_read("/workspace/srcs").expect("a path"), "srcs");
    let error = navigation.cd(&root, "deep").expect_err("it is locked");
    let expected = "the current directory /workspace/src is locked in the edit phase";
    assert!(error.to_string().starts_with(expected), "{error}");
    navigation.lock_cwd(&root).expect("it is locked already");

    navigation.unlock();
    assert_eq!((navigation.phase(), navigation.cwd()), (Phase::Discovery, "src"));
    fs::remove_dir_all(tree.path().join("src")).expect("deleted");
    let error = navigation.lock_cwd(&root).expect_err("it was deleted");
    assert!(error.to_string().starts_with("/workspace/src does not exist"), "{error}");
    assert_eq!(navigation.phase(), Phase::Discovery);
    navigation.cd(&root, "/workspace").expect("the root");
}

#[test]
fn the_root_can_be_locked() {
    let (_tree, root) = tree();
    let mut navigation = Navigation::default();
    navigation.lock_cwd(&root).expect("the root");
    assert_eq!(navigation.path_to_edit("src/a.rs").expect("a path").as_str(), "src/a.rs");
    let error = navigation.path_to_edit(".").expect_err("the root");
    assert!(error.to_string().starts_with("/workspace is the locked directory itself"), "{error}");
}

#[test]
fn a_stored_navigation_is_restored() {
    let (_tree, root) = tree();
    let navigation = locked(&root, "src/deep");
    let restored = Navigation::restore(navigation.cwd(), navigation.phase()).expect("valid");
    assert_eq!(restored, navigation);
    assert!(Navigation::restore("../x", Phase::Edit).is_err());
}

proptest! {
    #[test]
    fn no_edit_is_outside_of_the_locked_directory(path in "[a-z./]{0,30}") {
        let navigation = Navigation::restore("src/deep", Phase::Edit).expect("valid");
        if let Ok(file) = navigation.path_to_edit(&path) {
            prop_assert!(file.as_str().starts_with("src/deep/"), "{:?}", file);
        }
    }
}
