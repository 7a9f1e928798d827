use std::os::unix::fs::{lchown, symlink};

use super::*;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a path").mode() & 0o777
}

fn open_names(dir: &Path) -> Vec<String> {
    let found = list_open(dir).expect("a directory");
    let mut names: Vec<_> =
        found.iter().map(|open| open.path.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Creates a data directory of which everything is open to all users.
fn open_data_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for directory in ["repositories/copy/.git", "index", "postgresql/cluster", "cache/deep"] {
        fs::create_dir_all(dir.path().join(directory)).expect("a directory");
    }
    for file in ["token", "repositories/copy/run.sh", "postgresql/password", "cache/deep/a"] {
        fs::write(dir.path().join(file), "").expect("a file");
        set_mode(&dir.path().join(file), 0o755);
    }
    for directory in
        ["", "repositories", "repositories/copy", "index", "postgresql", "cache", "cache/deep"]
    {
        set_mode(&dir.path().join(directory), 0o755);
    }
    set_mode(&dir.path().join("repositories/copy/.git"), 0o700);
    dir
}

#[test]
fn close_removes_the_permissions_of_others() {
    let dir = open_data_dir();
    let open = ["cache", "index", "postgresql", "repositories", "repositories/copy"];
    let files = ["repositories/copy/run.sh", "token"];
    assert_eq!(open_names(dir.path()), [&[""][..], &open, &files].concat());
    assert!(close(dir.path()).expect("closed"), "with the content of the directories");
    set_mode(dir.path(), 0o700);
    assert_eq!(open_names(dir.path()), ["cache"], "a directory that the service did not create");
    assert_eq!(mode(&dir.path().join("repositories/copy")), 0o700);
    assert_eq!(mode(&dir.path().join("repositories/copy/run.sh")), 0o700);
    assert_eq!(mode(&dir.path().join("cache/deep/a")), 0o755);
    // It belongs to PostgreSQL's user, below a closed directory.
    assert_eq!(mode(&dir.path().join("postgresql/password")), 0o755);
    let is_root = fs::metadata(dir.path()).expect("a directory").uid() == 0;
    assert_eq!(mode(&dir.path().join("postgresql")), of_embedded(is_root));
}

/// If the service is root, git's user passes through the directory of the copies to its own copies.
#[test]
fn directory_of_copies_can_be_searched_in_that_of_root() {
    let dir = tempfile::tempdir().expect("a directory");
    let is_root = fs::metadata(dir.path()).expect("a directory").uid() == 0;
    let repositories = dir.path().join("repositories");
    fs::create_dir_all(repositories.join("copy")).expect("a directory");
    set_mode(dir.path(), 0o700);
    set_mode(&repositories.join("copy"), 0o711);
    for (before, is_open) in [(0o700, false), (0o711, !is_root), (0o755, true)] {
        set_mode(&repositories, before);
        let found = open_names(dir.path()).contains(&"repositories".to_owned());
        assert_eq!(found, is_open, "{before:o}");
    }
    close(dir.path()).expect("closed");
    assert_eq!(mode(&repositories), if is_root { 0o711 } else { 0o700 });
    assert_eq!(mode(&repositories.join("copy")), 0o700);
    assert!(open_names(dir.path()).is_empty());
}

#[test]
fn close_leaves_the_content_of_closed_directories_for_later() {
    let dir = open_data_dir();
    for directory in ["index", "repositories"] {
        set_mode(&dir.path().join(directory), 0o700);
    }
    assert!(!close(dir.path()).expect("closed"), "without the content of the directories");
    assert_eq!(mode(&dir.path().join("token")), 0o700);
    let files = ["repositories/copy", "repositories/copy/run.sh"].map(|path| dir.path().join(path));
    let are = |expected| files.iter().all(|file| mode(file) == expected);
    assert!(are(0o755), "not listed at the start");
    close_content(dir.path(), &|| true).expect("cancelled");
    assert!(are(0o755), "cancelled");
    close_content(dir.path(), &|| false).expect("closed");
    assert!(are(0o700));
    assert_eq!(mode(&dir.path().join("cache/deep/a")), 0o755);
}

#[test]
fn close_follows_no_symbolic_link() {
    let (dir, outside) = (open_data_dir(), tempfile::tempdir().expect("a directory"));
    let file = outside.path().join("file");
    fs::write(&file, "").expect("a file");
    set_mode(&file, 0o644);
    set_mode(outside.path(), 0o755);
    for (target, link) in [
        (outside.path(), "repositories/link"),
        (file.as_path(), "index/link"),
        (file.as_path(), "x"),
    ] {
        symlink(target, dir.path().join(link)).expect("a link");
    }
    close(dir.path()).expect("closed");
    assert_eq!((mode(&file), mode(outside.path())), (0o644, 0o755));
    let root = open_directory(dir.path()).expect("a directory");
    close_one(&root, Path::new("x")).expect("the link itself has no permissions");
    close_one(&root, Path::new("repositories/link/file")).expect_err("a link");
    assert_eq!(mode(&file), 0o644);
}

#[test]
fn data_directory_of_root_can_be_searched_and_not_listed() {
    let dir = tempfile::tempdir().expect("a directory");
    let is_root = fs::metadata(dir.path()).expect("a directory").uid() == 0;
    for (mode, is_open) in [(0o700, false), (0o711, !is_root), (0o755, true), (0o744, true)] {
        set_mode(dir.path(), mode);
        assert_eq!(!open_names(dir.path()).is_empty(), is_open, "{mode:o}");
    }
}

/// Only what the service itself creates becomes the service's.
#[test]
fn service_of_root_owns_what_it_creates() {
    if !mc_testkit::runs_as_root("only root can change the owner of a file") {
        return;
    }
    let dir = open_data_dir();
    let outside = tempfile::tempdir().expect("a directory");
    let linked = outside.path().join("linked");
    fs::write(&linked, "").expect("a file");
    symlink(&linked, dir.path().join("index/link")).expect("a link");
    fs::create_dir(dir.path().join("index/generation")).expect("a directory");
    fs::write(dir.path().join("repositories/copy.lock"), "").expect("a file");
    let given = ["index", "index/generation", "index/link", "repositories/copy.lock"];
    let kept = ["token", "postgresql", "postgresql/password", "repositories/copy", "cache"];
    let owner = |path: &Path| fs::symlink_metadata(path).expect("a path").uid();
    for earlier in [0, 54_321] {
        for path in given.iter().chain(&["", "repositories"]) {
            lchown(dir.path().join(path), Some(earlier), Some(earlier)).expect("an owner");
        }
        give_to_service(dir.path()).expect("a new owner");
        for path in given.iter().chain(&["repositories", "hub"]) {
            assert_eq!(owner(&dir.path().join(path)), UnprivilegedUser::SERVICE.uid, "{path}");
        }
    }
    for path in kept {
        assert_eq!(owner(&dir.path().join(path)), 0, "{path}");
    }
    assert_eq!(owner(&linked), 0, "a link is not followed");
}

#[test]
fn service_of_root_takes_nothing_from_another_user() {
    if !mc_testkit::runs_as_root("only root can change the owner of a file") {
        return;
    }
    let dir = open_data_dir();
    let other = tempfile::tempdir().expect("a directory");
    let file = other.path().join("file");
    fs::write(&file, "").expect("a file");
    for path in [other.path(), &file] {
        lchown(path, Some(54_321), Some(54_321)).expect("an owner");
    }
    fs::remove_dir(dir.path().join("index")).expect("a directory");
    symlink(other.path(), dir.path().join("index")).expect("a link");
    let message = give_to_service(dir.path()).expect_err("another user's directory").to_string();
    assert_eq!(message, "index: it belongs to another user (54321)");
    // Root may keep the index on another disk.
    lchown(other.path(), Some(0), Some(0)).expect("an owner");
    give_to_service(dir.path()).expect("a directory of root");
    let owner = |path: &Path| fs::metadata(path).expect("a path").uid();
    assert_eq!(owner(other.path()), UnprivilegedUser::SERVICE.uid);
    assert_eq!(owner(&file), 54_321);
}
