//! Owners of the copies of remote repositories. If the service is root, they belong to the user
//! that runs git. Otherwise the tests check that they belong to the service's user and are private.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Stdio;

use rustix::process::geteuid;

use super::*;

/// Id of the user to whom the copies of remote repositories belong.
fn owner_of_copies() -> u32 {
    UnprivilegedUser::GIT.if_root().map_or_else(|| geteuid().as_raw(), |user| user.uid)
}

/// Creates a repository with two commits at the path of the URL that serves it over TLS.
pub(super) async fn served_repository(directory: &Path) -> (PathBuf, Url) {
    let path = directory.join("a/b");
    fs::create_dir_all(&path).expect("directory");
    repository(&path);
    git(&path, &["config", "uploadpack.allowFilter", "true"]);
    let directory = directory.to_owned();
    (path, serve(move |request| respond_by_git(&directory, request)).await)
}

/// Returns the response of git's own server program.
pub(super) fn respond_by_git(repositories: &Path, request: &[u8]) -> Vec<u8> {
    let (head, body) = split_head(request).expect("a request");
    let mut words = head.split(' ');
    let (method, target) = (words.next().expect("a method"), words.next().expect("a target"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut server = Command::new("git")
        .arg("http-backend")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_PROJECT_ROOT", repositories)
        .env("GIT_PROTOCOL", header(&head, "git-protocol"))
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header(&head, "content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header(&head, "content-encoding"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git");
    server.stdin.take().expect("a pipe").write_all(body).expect("a reader");
    let output = server.wait_with_output().expect("git");
    let (head, body) = split_head(&output.stdout).expect("a response");
    let length = body.len();
    let status = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n");
    [status.as_bytes(), head.as_bytes(), body].concat()
}

/// Lists everything below a directory.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            found.extend(entries(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

/// Reads the history of a copy, and returns the number of its fields.
async fn read_history(url: &Url, sha: &str, cache: &Path) -> usize {
    let copy = cache::copy(url, cache).with_extension("history");
    let (settings, requested_ref) = (local_settings(), String::new());
    let (url, credential) = (url.clone(), None);
    let origin = HistoryOrigin::Remote { url, requested_ref, settings, credential, copy };
    let (limits, cancel) = (HistoryLimits::default(), CancellationToken::new());
    let commits = history::Commits::open(&origin, sha, limits, &cancel).await.expect("a history");
    let mut fields = 0;
    commits.log(sha, limits, &cancel, |_| fields += 1).await.expect("a log");
    fields
}

#[tokio::test]
async fn copies_of_remote_repositories_belong_to_the_user_of_git() {
    let (served, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    fs::set_permissions(cache.path(), Permissions::from_mode(0o700)).expect("permissions");
    let (path, url) = served_repository(served.path()).await;
    for content in ["two", "three"] {
        if content == "three" {
            fs::write(path.join("lib/a.txt"), content).expect("file");
            git(&path, &["commit", "--quiet", "--all", "-m", content]);
        }
        let tree = update_copy(&url, cache.path()).await.expect("a tree");
        assert_eq!(text(tree.root.read("lib/a.txt", 1_000).expect("file")), content);
        assert!(read_history(&url, &tree.source_ref, cache.path()).await > 0);
    }
    let mode = |path: &Path| fs::metadata(path).expect("a path").mode() & 0o777;
    let copy = cache::copy(&url, cache.path());
    let (history, lock) = (copy.with_extension("history"), copy.with_extension("lock"));
    assert_eq!((mode(&copy), mode(&history)), (0o700, 0o700));
    for path in entries(cache.path()).into_iter().filter(|path| *path != lock) {
        let owner = path.symlink_metadata().expect("a path").uid();
        assert_eq!(owner, owner_of_copies(), "{}", path.display());
    }
    for path in [cache.path(), &lock] {
        let owner = fs::metadata(path).expect("a path").uid();
        assert_eq!(owner, geteuid().as_raw(), "{}", path.display());
    }
    // Git's user passes through the directory, and can't list it.
    assert_eq!(mode(cache.path()), if geteuid().is_root() { 0o711 } else { 0o700 });
}

/// A copy of an earlier version belongs to root. A copy of the service's user is kept.
#[tokio::test]
async fn copy_of_an_earlier_version_is_fetched_again() {
    let (served, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let (_, url) = served_repository(served.path()).await;
    let copy = cache::copy(&url, cache.path());
    fs::create_dir(&copy).expect("directory");
    git(&copy, &["init", "--quiet"]);
    fs::write(copy.join(".git/earlier"), "").expect("file");
    let tree = update_copy(&url, cache.path()).await.expect("a tree");
    assert_eq!(text(tree.root.read("lib/a.txt", 1_000).expect("file")), "two");
    assert_eq!(copy.join(".git/earlier").exists(), !geteuid().is_root());
}

/// Only a service that is root runs git as another user, which may be unable to enter a directory.
#[tokio::test]
async fn closed_directory_above_the_copies_is_named() {
    if !mc_testkit::runs_as_root("only root runs git as another user") {
        return;
    }
    let outer = tempfile::tempdir().expect("directory");
    fs::set_permissions(outer.path(), Permissions::from_mode(0o700)).expect("permissions");
    let url = Url::parse("https://localhost:1/a/b").expect("a URL");
    let error = update_copy(&url, &outer.path().join("repositories")).await.expect_err("closed");
    let closed = outer.path().canonicalize().expect("a directory").display().to_string();
    assert!(
        matches!(&error, Error::ClosedDirectory { closed: found, .. } if *found == closed),
        "{error}"
    );
    assert!(error.to_string().contains("data_dir"), "{error}");
}
