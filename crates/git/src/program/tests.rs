//! Messages, environment and limits of git.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};

use mc_domain::{Classified, ErrorKind};

use super::environment::NO_HOME;
use super::*;
use crate::tests::git;

/// Maximum time to wait for git.
const LIMIT: Duration = Duration::from_mins(1);

#[test]
fn missing_or_forbidden_repository_is_not_retried() {
    for (stderr, expected) in [
        (
            "remote: Repository not found.\nfatal: repository 'https://example.org/a/b/' not \
            found\n",
            "'https://example.org/a/b/'",
        ),
        (
            "ERROR: Repository not found.\nfatal: Could not read from remote repository.\n",
            "Repository not found",
        ),
        (
            "fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read \
            from remote repository.\n",
            "/srv/x",
        ),
        ("fatal: Authentication failed for 'https://example.org/a/b/'\n", "Authentication"),
        (
            "fatal: could not read Username for 'https://example.org': terminal prompts \
            disabled\n",
            "Username",
        ),
        (
            "git@example.org: Permission denied (publickey).\r\nfatal: Could not read from \
            remote repository.\n",
            "publickey",
        ),
        (
            "Host key verification failed.\nfatal: Could not read from remote repository.\n",
            "Host key",
        ),
    ] {
        let error = failure(stderr);
        assert_eq!(error.kind(), ErrorKind::NotFound, "{stderr}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains("ssh URL"), "{error}");
    }
}

#[test]
fn redirect_is_not_retried() {
    let error = failure(
        "fatal: unable to access 'https://a.example/b/': The requested URL returned error: \
        301\n",
    );
    assert!(matches!(error, Error::Redirected), "{error}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn git_server_is_recognized_by_its_first_line() {
    for (trace, expected) in [
        (
            "14:51:15.296885 pkt-line.c:86           packet:          git< # \
            service=git-upload-pack\n",
            true,
        ),
        ("14:51:15.331654 pkt-line.c:86           packet:          git< version 2\n", true),
        ("14:51:15.331765 pkt-line.c:86           packet:    ls-remote< version 2\n", true),
        ("14:51:15.331765 pkt-line.c:86           packet:    ls-remote> version 2\n", false),
        ("warning: redirecting to https://example.org/version 2/\n", false),
        ("", false),
    ] {
        assert_eq!(is_from_git_server(trace), expected, "{trace}");
    }
}

#[test]
fn git_version_is_parsed_and_compared() {
    assert!(parse_version("git version 2.36.6") < Some(MIN_PINNING_VERSION));
    assert!(parse_version("git version 2.37.0.rc1") >= Some(MIN_PINNING_VERSION));
    assert!(parse_version("git version 2.50.1 (Apple Git-155)") >= Some(MIN_PINNING_VERSION));
    assert!(parse_version("git version 3.0") >= Some(MIN_PINNING_VERSION));
    assert_eq!(parse_version("git"), None);
}

#[test]
fn git_reaches_only_allowed_hosts_and_no_user_credentials() {
    let url = Url::parse("https://example.org/a/b").expect("a URL");
    let settings = vec!["http.followRedirects=false".to_owned(), "http.proxy=".to_owned()];
    let git = Git::in_directory(Path::new("/")).with_remote(&url, settings);
    let command = git.command(&["fetch"], LIMIT);
    let arguments: Vec<_> = command.as_std().get_args().filter_map(OsStr::to_str).collect();
    let last = ["-c", "http.followRedirects=false", "-c", "http.proxy=", "fetch"];
    assert!(arguments.ends_with(&last), "{arguments:?}");
    for setting in ["credential.helper=", "http.emptyAuth=false", "transfer.bundleURI=false"] {
        assert!(arguments.windows(2).any(|pair| pair == ["-c", setting]), "{setting}");
    }
    let set = |git: &Git, name: &str| {
        let command = git.command(&[], LIMIT);
        let found = command.as_std().get_envs().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| value?.to_str().map(str::to_owned))
    };
    assert_eq!(set(&git, "HOME").as_deref(), Some(NO_HOME));
    assert_eq!(set(&git, "XDG_CONFIG_HOME").as_deref(), Some(NO_HOME));
    assert_eq!(set(&git, "GIT_CONFIG_GLOBAL").as_deref(), Some("/dev/null"));
    assert_eq!(set(&git, "GIT_TERMINAL_PROMPT").as_deref(), Some("0"));
    assert_eq!(set(&git, "GIT_ALLOW_PROTOCOL").as_deref(), Some("https"));
    let local = Git::in_directory(Path::new("/"));
    assert_eq!(set(&local, "GIT_ALLOW_PROTOCOL").as_deref(), Some(""));
    let ssh = Url::parse("ssh://git@example.org/a/b").expect("a URL");
    let over_ssh = local.with_remote(&ssh, Vec::new());
    assert_eq!(set(&over_ssh, "GIT_ALLOW_PROTOCOL").as_deref(), Some("fd"));
    assert_eq!(set(&over_ssh, "HOME").as_deref(), Some(NO_HOME));
}

/// Runs these commands of a shell as git does, and returns their output.
async fn shell(git: &Git, commands: &str) -> Result<String, Error> {
    let alias = format!("alias.run=!{commands}");
    git.run(&["-c", &alias, "run"], LIMIT, &CancellationToken::new()).await
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn git_and_its_children_are_limited() {
    let git = Git::in_directory(Path::new("/"));
    assert_eq!(shell(&git, "ulimit -v").await.expect("a shell"), "4194304");
    assert_eq!(shell(&git, "ulimit -t").await.expect("a shell"), "300");
    let git = git.with_max_file_bytes(1 << 30);
    let blocks = (1_u64 << 30) / 512 + 1;
    assert_eq!(shell(&git, "ulimit -f").await.expect("a shell"), blocks.to_string());
}

#[tokio::test]
async fn file_beyond_the_limit_is_not_written() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).expect("permissions");
    let path = directory.path().join("copy");
    let copy = CopyDirectory::create(&path, UnprivilegedUser::GIT.if_root()).expect("a copy");
    let git = Git::in_copy(&copy).with_max_file_bytes(1);
    shell(&git, "head -c 40000000 /dev/zero > large").await.expect_err("a large file");
    let written = path.join("large").metadata().expect("its start").len();
    assert_eq!(written, limits::MIN_FILE_BYTES + 512);
}

/// For the copy of a repository, git of a service that is root runs as another user, which depends
/// on who may request the repository. Git of any other service keeps its user and its environment.
#[tokio::test]
async fn git_of_root_has_a_user_and_an_environment_of_its_own() {
    for (location, own) in [
        ("https://example.org/a/b", UnprivilegedUser::GIT),
        ("ssh://git@example.org/a/b", UnprivilegedUser::PRIVATE_GIT),
        ("file:///srv/git/a", UnprivilegedUser::PRIVATE_GIT),
    ] {
        let url = Url::parse(location).expect("a URL");
        let git = Git::in_directory(Path::new("/")).with_remote(&url, Vec::new());
        let [user, groups, variables] =
            ["id -u", "id -G", "env"].map(|commands| shell(&git, commands));
        let (user, groups, variables) = tokio::try_join!(user, groups, variables).expect("a shell");
        // Set by cargo, for the service as for any program that it starts.
        let has_variable = variables.contains("CARGO_MANIFEST_DIR=");
        let Some(own) = own.if_root() else {
            assert_eq!(user, rustix::process::geteuid().as_raw().to_string());
            assert!(has_variable, "{variables}");
            continue;
        };
        assert_eq!((user, groups), (own.uid.to_string(), own.gid.to_string()), "{location}");
        assert!(!has_variable && variables.contains("PATH="), "{variables}");
        let processes = shell(&git, "ulimit -u 2>/dev/null || ulimit -p").await;
        assert_eq!(processes.expect("a shell"), "4096", "{location}");
    }
}

/// Only root can give a directory to another user.
#[tokio::test]
async fn git_of_root_reads_a_directory_in_place_as_its_owner() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let outer = tempfile::tempdir().expect("a directory");
    fs::set_permissions(outer.path(), Permissions::from_mode(0o700)).expect("permissions");
    let path = outer.path().join("shop");
    fs::create_dir(&path).expect("a directory");
    let of_root = Git::in_place(&path).expect("a directory");
    assert_eq!(shell(&of_root, "id -u").await.expect("a shell"), "0");
    let permitted = shell(&of_root, "grep ^CapPrm /proc/self/status | cut -f 2").await;
    assert_eq!(permitted.expect("a shell"), "0".repeat(16));
    chown(&path, Some(54_321), Some(54_322)).expect("a new owner");
    let git = Git::in_place(&path).expect("a directory");
    let error = shell(&git, "id -u").await.expect_err("a closed directory");
    let closed = outer.path().canonicalize().expect("a directory").display().to_string();
    let message = error.to_string();
    assert!(matches!(error, Error::ClosedDirectory { uid: 54_321, .. }), "{message}");
    assert!(message.contains(&format!("`chmod a+x {closed}`")), "{message}");

    fs::set_permissions(outer.path(), Permissions::from_mode(0o711)).expect("permissions");
    // Not the directory's group, in which the owner may not be.
    let ids = format!("54321\n{}", UnprivilegedUser::SHARED_GIT.gid);
    assert_eq!(shell(&git, "id -u; id -G").await.expect("a shell"), ids);
}

/// Git looks for a repository in the directories above, too.
#[tokio::test]
async fn git_of_root_rejects_a_repository_of_another_user_above() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let outer = tempfile::tempdir().expect("a directory");
    let (git_directory, inner) = (outer.path().join(".git"), outer.path().join("inner"));
    for path in [&git_directory, &inner] {
        fs::create_dir(path).expect("a directory");
    }
    let cancel = CancellationToken::new();
    git(outer.path(), &["init", "--quiet"]);
    let git = Git::in_place(&inner).expect("a directory");
    assert_eq!(git.user(), None);
    let find = ["rev-parse", "--absolute-git-dir"];
    git.run(&find, LIMIT, &cancel).await.expect("a repository of root");
    // As in /tmp, where anybody can create it.
    fs::set_permissions(outer.path(), Permissions::from_mode(0o1777)).expect("permissions");
    chown(&git_directory, Some(54_321), Some(54_321)).expect("a new owner");
    assert_eq!(Git::in_place(&inner).expect("a directory").user(), None);
    let error = git.run(&find, LIMIT, &cancel).await.expect_err("a repository of another user");
    assert!(error.to_string().contains("dubious ownership"), "{error}");
}

/// Runs a future of a service that is root and lacks capabilities, as in many containers.
#[cfg(target_os = "linux")]
fn block_on_without<T: Send>(
    missing: rustix::thread::CapabilitySet,
    future: impl Future<Output = T> + Send,
) -> T {
    use rustix::thread::{CapabilitySets, capabilities, set_capabilities};
    let run = || {
        let sets = capabilities(None).expect("capabilities");
        let [effective, permitted] = [sets.effective, sets.permitted].map(|set| set - missing);
        let fewer = CapabilitySets { effective, permitted, ..sets };
        set_capabilities(None, fewer).expect("fewer capabilities");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(future)
    };
    std::thread::scope(|scope| scope.spawn(run).join()).expect("no panic")
}

#[cfg(target_os = "linux")]
#[test]
fn missing_capability_to_change_the_user_is_named() {
    use rustix::thread::CapabilitySet;
    if !mc_testkit::runs_as_root("only root runs git as another user") {
        return;
    }
    let own = UnprivilegedUser::GIT;
    let url = Url::parse("https://example.org/a/b").expect("a URL");
    let git = Git::in_directory(Path::new("/")).with_remote(&url, Vec::new());
    let missing = CapabilitySet::SETUID | CapabilitySet::SETGID;
    let error = block_on_without(missing, shell(&git, "id -u")).expect_err("no other user");
    assert!(
        matches!(&error, Error::PrivilegesNotDropped { uid, .. } if *uid == own.uid),
        "{error}"
    );
    assert!(error.to_string().contains("CAP_SETUID"), "{error}");
}

/// The service does not wait for a process that it can't kill.
#[cfg(target_os = "linux")]
#[test]
fn missing_capability_to_kill_git_is_named() {
    use rustix::thread::CapabilitySet;
    if !mc_testkit::runs_as_root("only root runs git as another user") {
        return;
    }
    let own = UnprivilegedUser::GIT;
    let url = Url::parse("https://example.org/a/b").expect("a URL");
    let git = Git::in_directory(Path::new("/")).with_remote(&url, Vec::new());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let running = git.run(&["-c", "alias.run=!sleep 30", "run"], LIMIT, &cancel);
    let error = block_on_without(CapabilitySet::KILL, running).expect_err("cancelled");
    assert!(
        matches!(&error, Error::PrivilegesNotDropped { uid, .. } if *uid == own.uid),
        "{error}"
    );
    assert!(error.to_string().contains("CAP_KILL"), "{error}");
}

#[tokio::test]
async fn git_that_is_not_installed_is_named() {
    let git = Git::in_directory(Path::new("/"));
    let mut command = git.command(&["version"], LIMIT);
    // A path with the shell alone.
    let programs = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink("/bin/sh", programs.path().join("sh")).expect("a link");
    command.env("PATH", programs.path());
    let found = git.output_of(command, None, LIMIT, &CancellationToken::new()).await;
    assert!(matches!(found, Err(Error::GitNotFound(_))), "{found:?}");
}

/// Git itself only reports that the connection was closed.
#[test]
fn message_of_the_server_tells_why_the_connection_was_closed() {
    let closed = "error: read(remote input) failed: Connection reset by peer\n\
        fatal: Could not read from remote repository.\n";
    for (message, expected) in [
        ("ssh: connect to host example.org port 22: Connection refused", ""),
        ("sh: 12: exec: ssh: not found", ""),
        ("fatal: mmap failed: Cannot allocate memory", "mmap failed: Cannot allocate memory"),
        ("ssh: a banner\nfatal: couldn't find remote ref x", "couldn't find remote ref x"),
        ("", "read(remote input) failed"),
    ] {
        let error = failure(&format!("{closed}\n{message}\n"));
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{message}");
        let expected = if expected.is_empty() { message } else { expected };
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn temporary_git_error_is_retried() {
    for stderr in [
        "fatal: unable to access 'https://example.org/a/b/': Could not resolve host: \
        example.org\n",
        "fatal: unable to access 'https://example.org/a/b/': The requested URL returned \
        error: 503\n",
        "ssh: connect to host example.org port 22: Connection refused\nfatal: Could not read \
        from remote repository.\n",
        "fatal: the remote end hung up unexpectedly\n",
        "fatal: not a git repository (or any of the parent directories): .git\n",
        "",
    ] {
        assert_eq!(failure(stderr).kind(), ErrorKind::Unavailable, "{stderr}");
    }
}
