//! Fingerprint of the tree that a run would read.

use std::fs;
use std::process::Command;

use mc_files::ProtectedDirectories;
use mc_git::NetworkAccess;
use mc_indexer::Error;
use tokio_util::sync::CancellationToken;

async fn state_of(location: &str, requested_ref: &str) -> Result<Option<String>, Error> {
    let (origin, protected) = (mc_git::parse(location)?, ProtectedDirectories::default());
    let cancel = CancellationToken::new();
    mc_indexer::state(&origin, requested_ref, NetworkAccess::Anywhere, &protected, &cancel).await
}

#[tokio::test]
async fn fingerprint_of_a_directory_changes_with_its_files() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().to_str().expect("UTF-8");
    fs::write(directory.path().join(".gitignore"), "*.tmp\n").expect("file");
    fs::write(directory.path().join("note.md"), "plain").expect("file");
    let first = state_of(path, "").await.expect("an answer");
    assert!(first.is_some());
    fs::write(directory.path().join("draft.tmp"), "not read").expect("file");
    assert_eq!(state_of(path, "").await.expect("an answer"), first, "nothing that is read changed");
    fs::write(directory.path().join("note.md"), "plain, and more").expect("file");
    let second = state_of(path, "").await.expect("an answer");
    assert_ne!(second, first);

    // In a work tree, uncommitted changes count as well.
    for arguments in [["init", "--quiet", "."], ["commit", "--allow-empty", "--message=one"]] {
        let mut git = Command::new("git");
        git.current_dir(directory.path()).args(["-c", "user.name=ann"]);
        let committed = git.args(["-c", "user.email=ann@example.org"]).args(arguments).output();
        assert!(committed.expect("git runs").status.success());
    }
    let third = state_of(path, "").await.expect("an answer");
    assert_ne!(third, second);
    fs::remove_file(directory.path().join("note.md")).expect("removed");
    assert_ne!(state_of(path, "").await.expect("an answer"), third);
}
