//! Commits of files to a local checkout.

use super::*;
use crate::{CommittedFile, commit_file};

const MESSAGE: &str = "Use version 8 of the system prompt of shop";

fn file(content: &str) -> CommittedFile<'_> {
    CommittedFile { directory: "system_prompts", name: "shop.yaml", content, message: MESSAGE }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"])
        .args(["-c", "safe.directory=*"])
        .args(arguments)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    give_away(directory);
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// Gives a checkout of root to another user, as root's git changes none.
fn give_away(directory: &Path) {
    if mc_privileges::is_root() {
        let owner = "65534:65534";
        let chown = Command::new("chown").args(["-R", "-h", owner]).arg(directory).status();
        assert!(chown.expect("chown runs").success());
    }
}

/// Returns a checkout with one commit.
fn checkout() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("directory");
    git(root.path(), &["init", "--quiet", "--initial-branch=main"]);
    fs::write(root.path().join("README.md"), "shop\n").expect("file");
    git(root.path(), &["add", "."]);
    git(root.path(), &["commit", "--quiet", "-m", "Add the page"]);
    root
}

async fn commit(root: &Path, content: &str) -> Result<String, Error> {
    commit_file(root, file(content), &CancellationToken::new()).await
}

#[tokio::test]
async fn file_is_committed_once_and_other_changes_stay() {
    let root = checkout();
    let root = root.path();
    fs::write(root.join("staged.txt"), "staged\n").expect("file");
    git(root, &["add", "staged.txt"]);
    fs::write(root.join("README.md"), "changed\n").expect("file");
    // A hook and a filter of the repository, which would leave a file if they ran.
    let ran = root.join(".git/ran");
    for hook in ["pre-commit", "post-commit", "reference-transaction"] {
        let path = root.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().expect("hooks")).expect("directory");
        fs::write(&path, format!("#!/bin/sh\ntouch {}\n", ran.display())).expect("file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("mode");
    }
    let filter = format!("touch {}; cat", ran.display());
    git(root, &["config", "filter.own.clean", &filter]);
    fs::write(root.join(".gitattributes"), "*.yaml filter=own\n").expect("file");

    let first = commit(root, "version: 8\n").await.expect("a commit");
    assert_eq!(git(root, &["rev-parse", "main"]), first);
    assert_eq!(git(root, &["log", "-1", "--format=%s %an"]), format!("{MESSAGE} Memory Copilot"));
    let changed = git(root, &["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(changed, "system_prompts/shop.yaml");
    assert_eq!(git(root, &["show", "HEAD:system_prompts/shop.yaml"]), "version: 8");
    assert_eq!(git(root, &["diff", "--cached", "--name-only"]), "staged.txt");
    let unstaged = git(root, &["-c", "core.attributesFile=/dev/null", "diff-files", "--name-only"]);
    assert!(unstaged.contains("README.md") && !ran.exists(), "{unstaged}");

    assert_eq!(commit(root, "version: 8\n").await.expect("the same"), first);
    assert_eq!(git(root, &["rev-list", "--count", "HEAD"]), "2");
    let second = commit(root, "version: 9\n").await.expect("another");
    assert_eq!(git(root, &["rev-parse", "main~1"]), first);
    assert_eq!(git(root, &["rev-parse", "main"]), second);
    let left = fs::read_dir(root.join(".git")).expect("directory");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("memory-copilot")), "{left:?}");
}

#[tokio::test]
async fn link_leads_to_no_other_directory() {
    let (root, outside) = (checkout(), tempfile::tempdir().expect("directory"));
    std::os::unix::fs::symlink(outside.path(), root.path().join("system_prompts")).expect("link");
    give_away(root.path());
    let error = commit(root.path(), "version: 8\n").await.expect_err("a link");
    assert!(error.to_string().contains("is a symbolic link, or is below one"), "{error}");
    assert_eq!(fs::read_dir(outside.path()).expect("directory").count(), 0);

    let root = checkout();
    let target = outside.path().join("target");
    fs::write(&target, "own\n").expect("file");
    fs::create_dir(root.path().join("system_prompts")).expect("directory");
    let link = root.path().join("system_prompts/shop.yaml");
    std::os::unix::fs::symlink(&target, &link).expect("link");
    give_away(root.path());
    commit(root.path(), "version: 8\n").await.expect("the link is replaced");
    assert_eq!(fs::read_to_string(&target).expect("file"), "own\n");
}

#[tokio::test]
async fn checkout_that_can_take_no_commit_says_why() {
    let (root, none) = (checkout(), tempfile::tempdir().expect("directory"));
    if mc_privileges::is_root() {
        let error = commit(none.path(), "version: 8\n").await.expect_err("root's");
        assert!(error.to_string().contains("chown -R"), "{error}");
        give_away(none.path());
    }
    for (directory, expected) in [
        (none.path().join("away"), "cannot be read or written"),
        (none.path().to_owned(), "git: not a git repository"),
        (root.path().join(".git"), "must be run in a work tree"),
    ] {
        let error = commit(&directory, "version: 8\n").await.expect_err("no checkout");
        assert!(
            error.to_string().contains(expected) || error.to_string().contains("top directory"),
            "{error}"
        );
    }
    fs::create_dir(root.path().join("inner")).expect("directory");
    give_away(root.path());
    let error = commit(&root.path().join("inner"), "x\n").await.expect_err("not the top");
    assert!(error.to_string().contains("not the top directory"), "{error}");
    let new = tempfile::tempdir().expect("directory");
    git(new.path(), &["init", "--quiet", "--initial-branch=main"]);
    let error = commit(new.path(), "version: 8\n").await.expect_err("no commit");
    assert!(error.to_string().contains("no commit yet"), "{error}");
    git(root.path(), &["checkout", "--quiet", "--detach"]);
    let error = commit(root.path(), "version: 8\n").await.expect_err("no branch");
    assert!(error.to_string().contains("git switch"), "{error}");
}

#[tokio::test]
async fn commits_at_once_lose_none() {
    let root = checkout();
    let root = root.path();
    let other = CommittedFile { name: "cart.yaml", ..file("version: 3\n") };
    let cancel = CancellationToken::new();
    // The loser of a race is told to try again, as the job does.
    let patient = async |file: CommittedFile<'static>| {
        for _ in 0..20 {
            if commit_file(root, file, &cancel).await.is_ok() {
                return;
            }
        }
        panic!("no attempt succeeded");
    };
    let shop = CommittedFile { content: "version: 8\n", ..file("") };
    tokio::join!(patient(shop), patient(other));
    let files = git(root, &["ls-tree", "--name-only", "HEAD", "system_prompts/"]);
    assert_eq!(files, "system_prompts/cart.yaml\nsystem_prompts/shop.yaml");
    assert_eq!(git(root, &["rev-list", "--count", "HEAD"]), "3");
}
