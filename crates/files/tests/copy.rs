//! Copying a tree whose content somebody else chose.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::fs::{self, FileTimes, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mc_files::{Copied, CopyError, CopyLimits, FileError, Root};
use mc_privileges::is_root;
use tempfile::{TempDir, tempdir};

const LIMITS: CopyLimits =
    CopyLimits { entries: 1_000, bytes: 1 << 20, time: Duration::from_mins(1) };

fn root(directory: &Path) -> Root {
    Root::open_owned(directory, None).unwrap()
}

fn copied(from: &Path, limits: CopyLimits) -> (TempDir, Result<Copied, CopyError>) {
    let to = tempdir().unwrap();
    let result = root(from).copy_to(&root(to.path()), limits, |name| name == ".git", || false);
    (to, result)
}

#[test]
fn copy_has_files_links_permissions_and_times() {
    let from = tempdir().unwrap();
    let at = |path: &str| from.path().join(path);
    fs::create_dir_all(at("src/deep/er")).unwrap();
    fs::create_dir_all(at(".git/objects")).unwrap();
    fs::create_dir_all(at("src/.git")).unwrap();
    fs::write(at("src/deep/er/file"), "content").unwrap();
    fs::write(at("run"), "#!/bin/sh\n").unwrap();
    fs::write(at("empty"), "").unwrap();
    let changed = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
    let run = fs::File::options().write(true).open(at("run")).unwrap();
    run.set_times(FileTimes::new().set_modified(changed)).unwrap();
    fs::set_permissions(at("run"), Permissions::from_mode(0o4755)).unwrap();
    // The user of the tree may not change this directory, but the copy has its files.
    fs::set_permissions(at("src/deep/er"), Permissions::from_mode(0o550)).unwrap();
    symlink("/etc", at("src/link")).unwrap();
    symlink("run", at("other")).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();

    let (to, result) = copied(from.path(), LIMITS);
    assert_eq!(result, Ok(Copied { entries: 9, bytes: 17 }));
    let at = |path: &str| to.path().join(path);
    assert_eq!(fs::read_to_string(at("src/deep/er/file")).unwrap(), "content");
    assert_eq!(fs::read_to_string(at("empty")).unwrap(), "");
    let run = fs::metadata(at("run")).unwrap();
    assert_eq!(run.modified().unwrap(), changed);
    assert_eq!(run.mode() & 0o7777, 0o755, "set-user-ID is not copied");
    assert_eq!(fs::metadata(at("src/deep/er")).unwrap().mode() & 0o777, 0o750);
    assert_eq!(fs::read_link(at("src/link")).unwrap(), Path::new("/etc"));
    assert_eq!(fs::read_link(at("other")).unwrap(), Path::new("run"));
    for left_out in ["socket", ".git", "src/.git"] {
        assert!(at(left_out).symlink_metadata().is_err(), "{left_out}");
    }
    // Nothing of the copy is a name of a file of the tree.
    fs::write(at("run"), "changed").unwrap();
    assert_eq!(fs::read_to_string(from.path().join("run")).unwrap(), "#!/bin/sh\n");
}

#[test]
fn copy_ends_at_its_limits() {
    let from = tempdir().unwrap();
    for number in 0..10 {
        fs::write(from.path().join(number.to_string()), [0; 1000]).unwrap();
    }
    let exact = CopyLimits { entries: 10, bytes: 10_000, ..LIMITS };
    assert_eq!(copied(from.path(), exact).1, Ok(Copied { entries: 10, bytes: 10_000 }));
    let (to, result) = copied(from.path(), CopyLimits { bytes: 9_999, ..LIMITS });
    assert_eq!(result, Err(CopyError::Bytes(9_999)));
    let sizes = fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
    assert_eq!(sizes.map(|found| found.len()).sum::<u64>(), 10_000, "one byte more is read");
    let result = copied(from.path(), CopyLimits { entries: 9, ..LIMITS }).1;
    assert_eq!(result, Err(CopyError::Entries(9)));
    let result = copied(from.path(), CopyLimits { time: Duration::ZERO, ..LIMITS }).1;
    assert_eq!(result, Err(CopyError::Time(Duration::ZERO)));

    let to = tempdir().unwrap();
    let result = root(from.path()).copy_to(&root(to.path()), LIMITS, |_| false, || true);
    assert_eq!(result, Err(CopyError::Cancelled));
    let mut deep = from.path().to_owned();
    deep.extend(std::iter::repeat_n("d", 128));
    fs::create_dir_all(&deep).unwrap();
    assert_eq!(copied(from.path(), LIMITS).1, Err(CopyError::Depth));
}

#[test]
fn file_that_cannot_be_copied_is_named() {
    let from = tempdir().unwrap();
    fs::create_dir(from.path().join("src")).unwrap();
    let to = tempdir().unwrap();
    fs::create_dir(to.path().join("src")).unwrap();
    let result = root(from.path()).copy_to(&root(to.path()), LIMITS, |_| false, || false);
    let error = result.unwrap_err();
    assert_eq!(error, CopyError::File { path: "src".into(), cause: FileError::Exists });
    assert!(error.to_string().starts_with("has the file src, which exists already"), "{error}");
}

/// A command may link a file of another user into its tree.
#[test]
fn file_of_another_user_is_not_copied() {
    if !is_root() {
        return;
    }
    let user = mc_privileges::UnprivilegedUser::GIT;
    let [from, to] = [(); 2].map(|()| {
        let directory = tempdir().unwrap();
        std::os::unix::fs::chown(directory.path(), Some(user.uid), Some(user.gid)).unwrap();
        directory
    });
    fs::write(from.path().join("file"), "of root").unwrap();
    let open = |directory: &TempDir| Root::open_owned(directory.path(), Some(user)).unwrap();
    let result = open(&from).copy_to(&open(&to), LIMITS, |_| false, || false);
    let expected = CopyError::File { path: "file".into(), cause: FileError::OtherOwner };
    assert_eq!(result, Err(expected));
}
