//! Commands, rights and end of the servers of a fetch.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};

use tokio_util::sync::CancellationToken;

use super::*;
use crate::tests::git;

/// Maximum time to wait for git.
const LIMIT: Duration = Duration::from_mins(1);

#[test]
fn command_of_ssh_quotes_parts_of_the_url() {
    let cases: [(&str, &[&str]); 4] = [
        ("ssh://example.org/a/b.git", &["--", "example.org", "git-upload-pack '/a/b.git'"]),
        (
            "ssh://git@[::1]:2222/%7Eme/a%20b",
            &["-p", "2222", "-l", "git", "--", "::1", "git-upload-pack '~me/a b'"],
        ),
        (
            "ssh://a%40b@example.org/a';x;'",
            &["-l", "a@b", "--", "example.org", r"git-upload-pack '/a'\'';x;'\'''"],
        ),
        ("ssh://%61/a!b", &["--", "a", r"git-upload-pack '/a'\!'b'"]),
    ];
    for (url, expected) in cases {
        let command = ssh(Service::Fetch, &Url::parse(url).expect("a URL"), LIMIT);
        let arguments: Vec<_> = command.as_std().get_args().filter_map(OsStr::to_str).collect();
        let options = ["ssh", "-oBatchMode=yes", "-oSendEnv=GIT_PROTOCOL"];
        let of_root: &[_] =
            if is_root() { &["-oStrictHostKeyChecking=yes", "-oControlMaster=no"] } else { &[] };
        let expected = [&options, of_root, expected].concat();
        assert!(arguments.ends_with(&expected), "{url}: {arguments:?}");
        let mut variables = command.as_std().get_envs();
        assert!(variables.any(|variable| variable == ("LC_ALL".as_ref(), Some("C".as_ref()))));
    }
}

/// Only root can give a repository to another user.
#[tokio::test]
async fn root_serves_a_repository_on_this_disk_as_its_owner() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).expect("permissions");
    let path = directory.path().join("shop.git");
    fs::create_dir(&path).expect("a directory");
    fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("permissions");
    chown(&path, Some(54_321), Some(54_321)).expect("a new owner");
    let cancel = CancellationToken::new();
    let list = async |path: &Path| {
        let url = Url::from_file_path(path).expect("a URL");
        let git = Git::in_directory(Path::new("/")).with_remote(&url, Vec::new());
        git.list(&["ls-remote", git.remote()], LIMIT, &cancel).await
    };
    let owner = Git::in_place(&path).expect("a directory");
    owner.run(&["init", "--quiet", "--bare"], LIMIT, &cancel).await.expect("a repository");

    let without_suffix = directory.path().join("shop");
    for path in [&path, &without_suffix] {
        assert_eq!(list(path).await.expect("an empty repository"), "");
    }
    // The owner may have linked it to a private file.
    fs::set_permissions(path.join("HEAD"), Permissions::from_mode(0o600)).expect("permissions");
    chown(path.join("HEAD"), Some(0), Some(0)).expect("a new owner");
    let error = list(&path).await.expect_err("no access to a file of root");
    assert!(matches!(error, Error::RepositoryNotFound(_)), "{error}");
}

/// A link must not lead root to a repository that another user prepared.
#[tokio::test]
async fn root_does_not_serve_a_repository_of_another_user() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let [shop, bare, open, none] =
        ["shop", "shop.git", "open", "none"].map(|name| directory.path().join(name));
    for path in [&bare, &open.join(".git")] {
        fs::create_dir_all(path).expect("a directory");
        git(path, &["init", "--quiet", "--bare"]);
        chown(path, Some(54_321), Some(54_321)).expect("a new owner");
    }
    let user = |path: &Path| upload_pack(path, LIMIT).map(|(_, user)| user.map(|user| user.uid));
    // Not a repository, so git looks for one with the suffix.
    std::os::unix::fs::symlink("/etc", &shop).expect("a link");
    for path in [&shop, &bare, &open] {
        assert_eq!(user(path).expect("a repository"), Some(54_321), "{}", path.display());
    }
    chown(&bare, Some(0), Some(0)).expect("a new owner");
    assert_eq!(user(&bare).expect("a repository"), None);
    assert!(matches!(user(&none), Err(Error::RepositoryNotFound(_))), "it may be created later");
}

#[tokio::test]
async fn server_is_killed_with_its_child_processes() {
    let mut command = Command::new("sh");
    // The stand-in for a program that ssh starts does not end with the connection.
    command.args(["-c", "sleep 600 & wait"]);
    let (server, _connection) = Server::run(command, None).expect("a server");
    let group = server.process.group().expect("a process");
    let is_running = || rustix::process::test_kill_process_group(group).is_ok();
    assert!(is_running());
    drop(server);
    let ended = async {
        while is_running() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, ended).await.expect("no process of the group is left");
}
