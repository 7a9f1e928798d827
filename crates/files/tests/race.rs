//! Another process that exchanges a directory for a link to the outside, all the time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use mc_files::Root;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Minimum number of operations during the exchange.
const OPERATIONS: u64 = 200_000;
/// Minimum number of operations that succeed, and of those that fail.
const SEEN: u64 = 1_000;

#[test]
fn a_directory_exchanged_for_a_link_leads_nowhere() {
    // In memory, where a written file need not wait for a disk.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let directory = || tempfile::tempdir_in(&parent).expect("a directory");
    let [inside, outside] = [directory(), directory()];
    let (directory, link) = (inside.path().join("directory"), inside.path().join("link"));
    fs::create_dir(&directory).expect("a directory");
    for (path, content) in
        [(directory.join("file"), "inside"), (outside.path().join("file"), "canary")]
    {
        fs::write(path, content).expect("a file");
    }
    symlink(outside.path(), &link).expect("a link");
    let before = digest(outside.path());
    let (stop, exchanges) = (AtomicBool::new(false), AtomicU64::new(0));
    let root = Root::open(inside.path()).expect("a directory");
    let succeeded = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE)
                    .expect("exchange");
                exchanges.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (mut number, mut succeeded) = (0, 0);
        // Until both states were met often.
        while number < OPERATIONS || succeeded < SEEN || number - succeeded < SEEN {
            succeeded += u64::from(operate(&root, number));
            number += 1;
        }
        stop.store(true, Ordering::Relaxed);
        succeeded
    });
    let exchanges = exchanges.load(Ordering::Relaxed);
    assert!(succeeded >= SEEN, "{succeeded} operations succeeded, {exchanges} exchanges");
    assert_eq!(digest(outside.path()), before);
}

/// Runs one operation below the directory, and returns whether it succeeded.
fn operate(root: &Root, number: u64) -> bool {
    match number % 10 {
        8 => root.metadata("directory/file").is_ok(),
        9 => match root.open_below("directory").and_then(|below| below.read("file", 100)) {
            Ok(content) => {
                assert_eq!(content, b"inside", "a file of the outside was read");
                true
            }
            Err(_) => false,
        },
        0 => root.replace("directory/file", b"inside", 0o644).is_ok(),
        1 => root.create(&format!("directory/{number}"), b"new", 0o644).is_ok(),
        2 => root.remove(&format!("directory/{}", number - 1)).is_ok(),
        3 => root.create_directories("directory/a/b").is_ok(),
        4 => {
            let listed = root.list("directory").map(|listing| listing.entries.len());
            listed.is_ok_and(|entries| entries > 0)
        }
        _ => match root.read("directory/file", 100) {
            Ok(content) => {
                assert_eq!(content, b"inside", "a file of the outside was read");
                true
            }
            Err(_) => false,
        },
    }
}

/// Returns the names and contents of a directory.
fn digest(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            (name, fs::read(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}
