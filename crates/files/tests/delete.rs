//! Deleting directories whose content somebody else chose.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mc_files::delete_tree;
use mc_privileges::UnprivilegedUser;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fchmod, mkdirat, openat, renameat_with};
use tempfile::{TempDir, tempdir};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A directory outside, with a file that must stay.
fn outside() -> TempDir {
    let outside = tempdir().unwrap();
    fs::write(outside.path().join("kept"), "kept").unwrap();
    fs::create_dir(outside.path().join("closed")).unwrap();
    fs::set_permissions(outside.path().join("closed"), Permissions::from_mode(0o500)).unwrap();
    outside
}

fn assert_untouched(outside: &Path) {
    assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    let closed = fs::metadata(outside.join("closed")).unwrap().permissions();
    assert_eq!(closed.mode() & 0o777, 0o500);
}

/// Creates directories below each other, and closes each one.
fn deep(top: &Path, depth: usize) {
    let mut directory = openat(CWD, top, DIRECTORY, Mode::empty()).unwrap();
    let mut above: Vec<OwnedFd> = Vec::new();
    for level in 0..depth {
        mkdirat(&directory, "d", Mode::RWXU).unwrap();
        let below = openat(&directory, "d", DIRECTORY, Mode::empty()).unwrap();
        // The last ones have no permissions.
        if level + 100 > depth {
            above.push(below.try_clone().unwrap());
        }
        directory = below;
    }
    for closed in above {
        fchmod(&closed, Mode::empty()).unwrap();
    }
}

#[test]
fn everything_below_is_deleted_and_nothing_elsewhere() {
    let (parent, outside) = (tempdir().unwrap(), outside());
    let top = parent.path().join("top");
    for directory in ["a/b/c", "deleted-1/x", "closed/below"] {
        fs::create_dir_all(top.join(directory)).unwrap();
    }
    fs::write(top.join("a/b/file"), "x").unwrap();
    fs::write(top.join("deleted-2"), "a file has the name of a moved directory").unwrap();
    symlink(outside.path(), top.join("a/link")).unwrap();
    symlink("nowhere", top.join("dangling")).unwrap();
    fs::hard_link(outside.path().join("kept"), top.join("a/hard")).unwrap();
    fs::set_permissions(top.join("closed"), Permissions::from_mode(0o000)).unwrap();
    delete_tree(&top).unwrap();
    assert!(!top.exists());
    assert_untouched(outside.path());
    delete_tree(&top).expect("nothing is there");
}

/// Root needs no permissions, so its thread works as another user.
#[test]
fn directories_without_permissions_are_deleted_by_their_owner() {
    let (parent, outside) = (tempdir().unwrap(), outside());
    fs::set_permissions(parent.path(), Permissions::from_mode(0o777)).unwrap();
    let user = UnprivilegedUser::GIT.if_root();
    let _access = user.map(|user| user.access_files().unwrap());
    let top = parent.path().join("top");
    fs::create_dir_all(top.join("a/b/c")).unwrap();
    fs::create_dir_all(top.join("d/e")).unwrap();
    fs::write(top.join("d/e/file"), "x").unwrap();
    symlink(outside.path(), top.join("d/link")).unwrap();
    for directory in ["a/b/c", "a/b", "a", "d/e"] {
        fs::set_permissions(top.join(directory), Permissions::from_mode(0o000)).unwrap();
    }
    fs::set_permissions(top.join("d"), Permissions::from_mode(0o500)).unwrap();
    delete_tree(&top).unwrap();
    assert!(!top.exists());
    assert_untouched(outside.path());
}

#[test]
fn a_link_in_place_of_the_directory_is_not_followed() {
    let (parent, outside) = (tempdir().unwrap(), outside());
    let top = parent.path().join("top");
    symlink(outside.path(), &top).unwrap();
    delete_tree(&top).expect_err("a link");
    assert_untouched(outside.path());
}

/// More levels than a process may open files, and than fit into a path.
#[test]
fn a_directory_of_any_depth_is_deleted() {
    let parent = tempdir().unwrap();
    let top = parent.path().join("top");
    fs::create_dir(&top).unwrap();
    deep(&top, 5_000);
    delete_tree(&top).unwrap();
    assert!(!top.exists());
}

#[test]
fn directories_that_are_exchanged_with_links_meanwhile_lead_nowhere() {
    let mut exchanged = 0_usize;
    for _ in 0..20 {
        let (parent, outside) = (tempdir().unwrap(), outside());
        let top = parent.path().join("top");
        for number in 0..50 {
            let directory = top.join(format!("a/{number}/b"));
            fs::create_dir_all(&directory).unwrap();
            fs::set_permissions(&directory, Permissions::from_mode(0o000)).unwrap();
        }
        symlink(outside.path(), top.join("a/link")).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (path, stopped) = (top.clone(), Arc::clone(&stop));
        let attacker = std::thread::spawn(move || {
            let mut exchanged = 0_usize;
            while !stopped.load(Ordering::Relaxed) {
                for number in 0..50 {
                    let (link, directory) = (path.join("a/link"), path.join(format!("a/{number}")));
                    let flags = RenameFlags::EXCHANGE;
                    exchanged +=
                        usize::from(renameat_with(CWD, &link, CWD, &directory, flags).is_ok());
                }
            }
            exchanged
        });
        let deleted = delete_tree(&top);
        stop.store(true, Ordering::Relaxed);
        exchanged += attacker.join().unwrap();
        // Entries that moved while they were deleted are left to the next attempt.
        if deleted.is_err() {
            delete_tree(&top).unwrap();
        }
        assert!(!top.exists());
        assert_untouched(outside.path());
    }
    assert!(exchanged > 0, "nothing was exchanged");
}
