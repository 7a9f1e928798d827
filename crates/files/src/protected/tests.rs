use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use super::*;
use crate::FileKind;

/// Environment variable with the directory of [`helper_bind_mount`].
const HELPER_DIRECTORY: &str = "MC_TEST_BIND_MOUNT_DIRECTORY";
/// Environment variable. If it is `required`, as in a release, a test fails if the system forbids
/// its mount. Otherwise it is skipped.
const MOUNTS: &str = "MC_TEST_MOUNTS";

/// Returns the message with which a path is rejected; `None` if it is accepted.
fn rejection(protected: &ProtectedDirectories, path: &Path) -> Option<String> {
    protected.check(path).err().map(|error| error.to_string())
}

/// Returns the files below a directory, without those of protected directories.
fn walked(directory: &Path, protected: &ProtectedDirectories) -> Vec<String> {
    let snapshot = protected.snapshot().expect("a snapshot");
    let root = Root::open(directory).expect("a directory");
    let (mut files, mut todo) = (Vec::new(), vec![String::new()]);
    while let Some(directory) = todo.pop() {
        for entry in root.list(&directory).expect("a listing").entries {
            let name = entry.name.to_str().expect("UTF-8");
            let path =
                if directory.is_empty() { name.into() } else { format!("{directory}/{name}") };
            let found = entry.metadata.expect("metadata");
            match found.kind {
                FileKind::Directory if snapshot.contains(found.identity) => {}
                FileKind::Directory => todo.push(path),
                _ => files.push(path),
            }
        }
    }
    files.sort();
    files
}

#[test]
fn data_directory_its_content_and_its_parents_are_rejected() {
    let root = tempfile::tempdir().expect("directory");
    let outer = root.path().join("outer");
    let data = outer.join("data");
    let (copy, shop) = (data.join("repositories/copy"), outer.join("shop"));
    fs::create_dir_all(&copy).expect("directory");
    fs::create_dir_all(&shop).expect("directory");
    symlink(&data, shop.join("link")).expect("link");
    let protected = ProtectedDirectories::with_data_dir(&data);
    for path in [root.path(), &outer, &data, &copy, &shop.join("link/repositories")] {
        let message = rejection(&protected, path).expect("a rejection");
        assert!(message.contains("never reads it; give another directory"), "{message}");
    }
    assert!(rejection(&protected, Path::new("/")).is_some());
    assert_eq!(rejection(&protected, &shop), None);
    // Something that does not exist yet.
    assert!(rejection(&protected, &data.join("none")).is_some());
    assert_eq!(rejection(&protected, &shop.join("none")), None);
}

#[test]
fn directories_of_the_kernel_are_rejected() {
    let protected = ProtectedDirectories::default();
    for path in ["/proc", "/proc/self/task", "/sys", "/dev"] {
        assert!(rejection(&protected, Path::new(path)).is_some(), "{path}");
    }
}

#[test]
fn directory_of_the_data_directory_on_another_disk_is_protected() {
    let root = tempfile::tempdir().expect("directory");
    let (data, disk) = (root.path().join("data"), root.path().join("disk/repositories"));
    fs::create_dir_all(&data).expect("directory");
    fs::create_dir_all(disk.join("copy")).expect("directory");
    symlink(&disk, data.join("repositories")).expect("link");
    let protected = ProtectedDirectories::with_data_dir(&data);
    for path in [&disk, &disk.join("copy")] {
        assert!(rejection(&protected, path).is_some(), "{}", path.display());
    }
    assert!(walked(&root.path().join("disk"), &protected).is_empty());
}

#[test]
fn snapshot_checks_any_number_of_paths_with_one_listing() {
    let root = tempfile::tempdir().expect("directory");
    let (data, disk) = (root.path().join("data"), root.path().join("disk/repositories"));
    fs::create_dir_all(&data).expect("directory");
    fs::create_dir_all(disk.join("copy")).expect("directory");
    symlink(&disk, data.join("repositories")).expect("link");
    let snapshot = ProtectedDirectories::with_data_dir(&data).snapshot().expect("a data directory");
    // Another listing would not find it any more.
    fs::remove_file(data.join("repositories")).expect("link");
    fs::create_dir_all(data.join("later/copy")).expect("directory");
    for path in [&disk, &disk.join("copy"), &data.join("later/copy")] {
        snapshot.check_inside(path).expect_err("protected");
    }
    snapshot.check_inside(&root.path().join("disk")).expect("not protected");
    snapshot.check(root.path()).expect_err("contains the data directory");
}

#[test]
fn missing_data_directory_rejects_every_directory() {
    let root = tempfile::tempdir().expect("directory");
    let protected = ProtectedDirectories::with_data_dir(&root.path().join("gone"));
    assert!(matches!(protected.check(root.path()), Err(Error::Io { .. })));
}

/// Shell commands that mount the data directory and the directory of a process, and run a program.
const MOUNT_AND_RUN: &str = r#"
mount --bind "$0" "$1" && mount --bind /proc/1/task "$2" || exit 77
shift 2
exec "$@"
"#;

/// The mounts are in a namespace of their own, so they end with the process.
#[test]
fn bind_mount_of_the_data_directory_is_protected() {
    let root = tempfile::tempdir().expect("directory");
    let (data, mounted) = (root.path().join("data"), root.path().join("shop/mounted"));
    let process = root.path().join("shop/process");
    fs::create_dir_all(data.join("index")).expect("directory");
    for mounted in [&mounted, &process] {
        fs::create_dir_all(mounted).expect("directory");
    }
    fs::write(data.join("token"), "text\n").expect("file");
    fs::write(root.path().join("shop/a.txt"), "text\n").expect("file");
    let program = std::env::current_exe().expect("this program");
    let mut namespace = Command::new("unshare");
    namespace.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        namespace.arg("--map-root-user");
    }
    namespace
        .args(["sh", "-c", MOUNT_AND_RUN])
        .args([&data, &mounted, &process, &program])
        .args(["--exact", "protected::tests::helper_bind_mount", "--ignored", "--nocapture"])
        .env(HELPER_DIRECTORY, root.path());
    let Some(output) = run_in_namespace(&mut namespace) else { return };
    assert!(output.status.success(), "{output:?}");
    assert!(root.path().join("checked").exists(), "the helper ran");
}

/// Returns the output; `None` after a notice if the system forbids the namespace or the mount.
fn run_in_namespace(command: &mut Command) -> Option<Output> {
    let reason = match command.output() {
        // 1 is the status of a failed `unshare`, 77 of a failed mount. A failed test has 101.
        Ok(output) if !matches!(output.status.code(), Some(1 | 77)) => return Some(output),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("unshare: {error}"),
    };
    let notice = format!("this system allows no mount in a namespace ({reason})");
    mc_testkit::skip(MOUNTS, &notice, "as root with CAP_SYS_ADMIN");
    None
}

#[test]
fn forbidden_mount_is_reported_and_fails_a_release() {
    let without_programs = tempfile::tempdir().expect("directory");
    let program = std::env::current_exe().expect("this program");
    for (mounts, code, expected) in
        [("", 0, "skipped: this system allows no mount"), ("required", 101, "run the test as root")]
    {
        let output = Command::new(&program)
            .args(["--exact", "protected::tests::bind_mount_of_the_data_directory_is_protected"])
            .arg("--nocapture")
            .env("PATH", without_programs.path())
            .env(MOUNTS, mounts)
            .output()
            .expect("this program runs");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{printed}");
        assert!(printed.contains(expected), "{printed}");
    }
}

/// Runs where the data directory is mounted at a second path.
#[test]
#[ignore = "runs in its own process, with a mount"]
fn helper_bind_mount() {
    let root = PathBuf::from(std::env::var_os(HELPER_DIRECTORY).expect("a directory"));
    let protected = ProtectedDirectories::with_data_dir(&root.join("data"));
    let shop = root.join("shop");
    for path in ["mounted", "mounted/index", "process"].map(|name| shop.join(name)) {
        assert!(rejection(&protected, &path).is_some(), "{}", path.display());
    }
    assert_eq!(walked(&shop, &protected), ["a.txt"]);
    fs::write(root.join("checked"), "").expect("file");
}
