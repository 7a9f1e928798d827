//! The data directory: closed to other users, and never indexed.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mc_privileges::UnprivilegedUser;
use rustix::process::geteuid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::Service;
use crate::repository;

/// Maximum time to wait for the service to close a file.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Id of a user and group without account, files or memberships.
const STRANGER: u32 = 54_321;

/// The service also replaces permissions that an earlier version, or a person, left open.
#[tokio::test]
async fn data_directory_is_closed_to_other_users() {
    let (mut service, _repository) = service_with_a_clone().await;
    assert_closed(&service.data_dir);
    let check = permissions_check(&service);
    assert_eq!(check["ok"], true, "{check}");
    assert!(service.stop().success(), "{}", service.log());

    let outside = tempfile::tempdir().unwrap();
    let linked = outside.path().join("linked");
    fs::write(&linked, "").unwrap();
    fs::set_permissions(&linked, Permissions::from_mode(0o644)).unwrap();
    symlink(&linked, service.data_dir.join("repositories/link")).unwrap();
    let opened = ["index", "repositories", "token"].map(|name| service.data_dir.join(name));
    let chmod = Command::new("chmod").args(["-R", "go+rX"]).args(&opened).status().unwrap();
    assert!(chmod.success());
    let check = permissions_check(&service);
    assert_eq!(check["ok"], false, "{check}");
    let fix = check["fix"].as_str().unwrap();
    assert!(fix.starts_with("chmod -R go= ") && fix.contains("/repositories'"), "{fix}");

    if geteuid().is_root() {
        // An earlier version worked as root.
        let chown = Command::new("chown").args(["-R", "0:0"]).args(&opened).status().unwrap();
        assert!(chown.success());
    }

    service.launch().await;
    assert_closed(&service.data_dir);
    assert_eq!(fs::metadata(&linked).unwrap().mode() & 0o777, 0o644, "a link is not followed");
    let check = permissions_check(&service);
    assert_eq!(check["ok"], true, "{check}");

    // In a closed directory: the service may be ready before it is closed, too.
    assert!(service.stop().success(), "{}", service.log());
    let inside = service.data_dir.join("repositories/inside");
    fs::write(&inside, "").unwrap();
    fs::set_permissions(&inside, Permissions::from_mode(0o644)).unwrap();
    service.launch().await;
    let began = Instant::now();
    while fs::metadata(&inside).unwrap().mode() & 0o077 != 0 {
        let log = service.log();
        assert!(began.elapsed() < TIMEOUT, "{} is still open:\n{log}", inside.display());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn unprivileged_user_lists_and_reads_nothing_of_the_data_directory() {
    if !mc_testkit::runs_as_root("only root can run a program as another user") {
        return;
    }
    let (service, _repository) = service_with_a_clone().await;
    let listing = as_stranger("ls").arg(&service.data_dir).output().unwrap();
    assert!(!listing.status.success() && listing.stdout.is_empty(), "{listing:?}");

    let script = "while IFS= read -r path; do if [ -r \"$path\" ]; then echo \"$path\"; fi; done";
    let mut shell = as_stranger("sh");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut paths = shell.stdin.take().unwrap();
    for (path, _) in entries(&service.data_dir) {
        writeln!(paths, "{}", path.display()).unwrap();
    }
    // It shows that the user can read at all.
    writeln!(paths, "/etc/passwd").unwrap();
    drop(paths);
    let readable = shell.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&readable.stdout), "/etc/passwd\n");
}

#[tokio::test]
async fn written_files_are_private_except_those_of_a_project() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().unwrap();
    let export = directory.path().join("export.yaml");
    let (file, project) = (export.to_str().unwrap(), directory.path().to_str().unwrap());
    let exporting = ["export", "-p", "shop", "-o", file];
    let installing = ["client", "install", "cursor", "-p", "shop", "--dir", project];
    for args in [&exporting[..], &installing] {
        let output = service.command_without_umask(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&export), 0o600);
    assert_eq!(mode(&directory.path().join(".cursor")), 0o755);
    assert_eq!(mode(&directory.path().join(".cursor/mcp.json")), 0o644);
}

#[tokio::test]
async fn data_directory_is_indexed_for_no_administrator() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let data_dir = service.data_dir.display();
    let parent = service.data_dir.parent().unwrap().display();
    for location in [
        format!("{data_dir}"),
        format!("{data_dir}/index"),
        format!("{parent}"),
        format!("file://{data_dir}/repositories/copy"),
        "/proc/self".to_owned(),
    ] {
        let body = json!({ "project_key": "shop", "location": location });
        let (status, problem) = service.try_post("/ingest/git", &body).await.unwrap();
        assert_eq!(status, 400, "{location}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("never reads it"), "{problem}");
    }
}

/// Starts a service with an umask that closes nothing, and indexes a repository that it clones. The
/// parents of its data directory don't exist before.
async fn service_with_a_clone() -> (Service, TempDir) {
    let mut service = Service::prepared();
    let data_dir = service.data_dir.join("deep/data");
    service.set("MEMORY_COPILOT__DATA_DIR", data_dir.clone());
    service.data_dir = data_dir;
    let command = service.command_without_umask(&["serve"]);
    service.launch_by(command).await;
    let directory = tempfile::tempdir().unwrap();
    let shop = repository::cart_sessions(directory.path());
    service.project("shop").await;
    let url = format!("file://{}", shop.display());
    service.index("shop", Path::new(&url)).await;
    let is_cloned = |(path, _): &(PathBuf, u32)| path.ends_with("app/models/order.rb");
    assert!(entries(&service.data_dir.join("repositories")).iter().any(is_cloned));
    (service, directory)
}

/// Asserts that other users can use nothing below the data directory, and can't list it.
fn assert_closed(data_dir: &Path) {
    let (repositories, mut open) = (data_dir.join("repositories"), entries(data_dir));
    let embedded = data_dir.join("postgresql/");
    // The users of PostgreSQL and git pass through these directories of a service that is root.
    let passage = if geteuid().is_root() { 0o711 } else { 0o700 };
    for directory in [data_dir, &repositories] {
        assert_eq!(fs::metadata(directory).unwrap().mode() & 0o777, passage);
    }
    // The service passes through directories of PostgreSQL's user to its socket.
    let to_socket = ["", "socket"].map(|below| embedded.join(below));
    for path in &to_socket {
        let found = fs::metadata(path).unwrap();
        let is_of_service = found.gid() == UnprivilegedUser::SERVICE.gid;
        assert!(found.mode() & 0o067 == 0 && (found.mode() & 0o010 == 0 || is_of_service));
    }
    open.retain(|(path, mode)| {
        *path != repositories
            && !to_socket.contains(path)
            && path.parent() != Some(&to_socket[1])
            && mode & 0o077 != 0
    });
    assert!(open.is_empty(), "{open:?}");
}

/// Lists everything below a directory with its permission bits, except links. Files of a running
/// service may vanish meanwhile.
fn entries(directory: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            if metadata.is_dir() {
                todo.push(entry.path());
            }
            if !metadata.is_symlink() {
                found.push((entry.path(), metadata.mode() & 0o777));
            }
        }
    }
    found
}

fn as_stranger(program: &str) -> Command {
    let mut command = Command::new(program);
    command.uid(STRANGER).gid(STRANGER);
    command
}

/// Returns `doctor`'s report on the permissions of the data directory.
fn permissions_check(service: &Service) -> Value {
    let output = service.command(&["--json", "doctor"]).output().unwrap();
    let checks: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = checks.as_array().unwrap();
    checks.iter().find(|check| check["check"] == "permissions").unwrap().clone()
}
