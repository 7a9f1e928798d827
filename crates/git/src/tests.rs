use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use mc_domain::{Classified as _, ErrorKind};

use mc_files::ProtectedDirectories;
use mc_privileges::UnprivilegedUser;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::*;
use crate::program::Git;
use crate::{cache, network_policy, program, remote_ref};

mod clone;
mod commit_file;
mod local;
mod privileges;
mod size;
mod work_tree;

/// Returns a cache in this directory.
fn in_directory(directory: &Path) -> Cache<'_> {
    Cache { directory, limits: Limits::default() }
}

fn origin(location: &str) -> (String, String) {
    let origin = parse(location).expect("a location");
    (origin.owner, origin.name)
}

#[test]
fn owner_and_name_come_from_the_url() {
    for (location, owner, name) in [
        ("https://example.org/acme/cart.git", "acme", "cart"),
        ("https://example.org/group/sub/cart/", "sub", "cart"),
        ("https://example.org/acme/cart.wiki.git", "acme", "cart.wiki"),
        ("ssh://git@example.org:2222/acme/cart.git", "acme", "cart"),
        ("git@example.org:acme/cart.git", "acme", "cart"),
        ("https://example.org/cart", "example.org", "cart"),
        ("file:///srv/git/my%20cart.git", "local", "my-20cart"),
    ] {
        assert_eq!(origin(location), (owner.to_owned(), name.to_owned()), "{location}");
    }
}

#[test]
fn owner_of_a_directory_is_local() {
    let directory = tempfile::tempdir().expect("directory");
    let cart = directory.path().join("my cart");
    fs::create_dir(&cart).expect("directory");
    assert_eq!(origin(cart.to_str().expect("UTF-8")), ("local".into(), "my-cart".into()));
}

#[test]
fn location_that_is_unsafe_for_git_is_rejected() {
    for location in [
        "",
        "relative/path",
        "/no/such/folder",
        "/etc/hostname",
        "ext::sh -c touch% /tmp/x",
        "ext://x/y",
        "http://example.org/a/b",
        "https://token@example.org/acme/cart",
        "https://user:secret@example.org/acme/cart",
        "ssh://git:secret@example.org/acme/cart",
        "ssh://-oProxyCommand=x/acme/cart",
        "ssh://%2DoProxyCommand=x/acme/cart",
        "ssh://%2DoProxyCommand=x@example.org/acme/cart",
        "ssh://$(x)@example.org/acme/cart",
        "ssh://%24%28x%29/acme/cart",
        "ssh://example.org/acme/cart%00",
        "file:///srv/git/a%0Ab",
        "https://example.org/",
        "https://example.org/a/b?token=x",
        "--upload-pack=x",
        "https://example.org/a\nb",
        "file://srv/git/cart.git",
    ] {
        let error = parse(location).expect_err(location);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn ref_that_is_an_option_or_expression_is_rejected() {
    for name in [
        "--upload-pack=x",
        "a..b",
        "a b",
        "a\u{a0}b",
        "HEAD~1",
        "a^",
        "a:b",
        "@",
        "@{1}",
        "main@{upstream}",
        "a\nb",
        "/a",
        "a/",
        "a//b",
        "x.",
        "a/.b",
        "a.lock",
        "a.lock/b",
        &"x".repeat(201),
    ] {
        assert!(matches!(check_ref(name), Err(Error::InvalidRef(_))), "{name}");
    }
    for name in [
        "",
        "main",
        "feature/x-1",
        "fix/#12+more",
        "user@host",
        "@acme/cart@1.2.3",
        "v1.2.3",
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "ветка",
    ] {
        assert!(check_ref(name).is_ok(), "{name}");
    }
}

pub(super) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// Creates a repository with two commits, and returns their ids.
fn repository(directory: &Path) -> [String; 2] {
    git(directory, &["init", "--quiet", "--initial-branch=main"]);
    ["one", "two"].map(|content| {
        fs::create_dir_all(directory.join("lib")).expect("directory");
        fs::write(directory.join("lib/a.txt"), content).expect("file");
        git(directory, &["add", "."]);
        git(directory, &["commit", "--quiet", "-m", content]);
        git(directory, &["tag", content]);
        git(directory, &["rev-parse", "HEAD"])
    })
}

async fn checkout_anywhere(
    origin: &Origin,
    requested_ref: &str,
    cache: &Path,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    let (access, protected) = (NetworkAccess::Anywhere, ProtectedDirectories::default());
    let cache = in_directory(cache);
    let request = CheckoutRequest { origin, requested_ref, access, credential: None, cache };
    checkout(request, &protected, cancel).await
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

async fn content(
    location: &str,
    requested_ref: &str,
    cache: &Path,
) -> Result<(String, String), Error> {
    let cancel = CancellationToken::new();
    let checkout = checkout_anywhere(&parse(location)?, requested_ref, cache, &cancel).await?;
    let file = ["lib/a.txt", "a.txt"].iter().find_map(|path| checkout.root.read(path, 1_000).ok());
    Ok((text(file.expect("a.txt")), checkout.source_ref))
}

#[tokio::test]
async fn directory_is_read_in_place_or_at_a_ref() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let [one, two] = repository(directory.path());
    fs::write(directory.path().join("lib/a.txt"), "changed").expect("file");
    let path = directory.path().to_str().expect("UTF-8");
    let cache = cache.path();
    assert_eq!(content(path, "", cache).await.expect("tree"), ("changed".into(), two.clone()));
    assert_eq!(content(path, "one", cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, "main", cache).await.expect("tree"), ("two".into(), two));
    git(directory.path(), &["tag", "@acme/cart@1.0", "one"]);
    assert_eq!(content(path, "@acme/cart@1.0", cache).await.expect("tree").0, "one");
    assert_eq!(content(path, &one, cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, &one[..10], cache).await.expect("tree"), ("one".into(), one));
    assert_eq!(content(&format!("{path}/lib"), "one", cache).await.expect("tree").0, "one");
    assert_eq!(fs::read_to_string(directory.path().join("lib/a.txt")).expect("file"), "changed");
    let unknown = content(path, "no-such-branch", cache).await;
    assert!(matches!(unknown, Err(Error::UnknownRef(_))), "{unknown:?}");
}

#[tokio::test]
async fn url_is_fetched_and_updated_even_after_a_kill() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    let url = Url::from_file_path(directory.path()).expect("a URL").to_string();
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "two");
    fs::write(directory.path().join("lib/a.txt"), "three").expect("file");
    git(directory.path(), &["commit", "--quiet", "-a", "-m", "three"]);
    let copy = fs::read_dir(cache.path()).expect("cache").map(|entry| entry.expect("entry").path());
    let copy = copy.into_iter().find(|path| path.is_dir()).expect("a copy");
    fs::write(copy.join(".git/index.lock"), "").expect("file");
    fs::write(copy.join("left over"), "").expect("file");
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "three");
    assert!(!copy.join("left over").exists());
}

#[tokio::test]
async fn no_code_of_the_repository_is_run() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    let marker = directory.path().join("was run");
    let script = directory.path().join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch '{}'\n", marker.display())).expect("file");
    git(directory.path(), &["config", "core.fsmonitor", &format!("sh {}", script.display())]);
    git(directory.path(), &["config", "filter.evil.smudge", &format!("sh {}", script.display())]);
    fs::write(directory.path().join(".git/info/attributes"), "* filter=evil\n").expect("file");
    fs::remove_file(&marker).ok();
    let path = directory.path().to_str().expect("UTF-8");
    content(path, "", cache.path()).await.expect("tree");
    content(path, "one", cache.path()).await.expect("tree");
    let mut copies = fs::read_dir(cache.path()).expect("directory").flatten();
    let copy = copies.find(|entry| entry.path().join(".git").is_dir()).expect("a copy");
    let hook = copy.path().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().expect("a directory")).expect("directory");
    fs::copy(&script, &hook).expect("file");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("permissions");
    content(path, "two", cache.path()).await.expect("tree");
    assert!(!marker.exists());
}

#[tokio::test]
async fn bare_repository_is_read_at_a_ref_or_at_its_head() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let (tree, cache) = (directory.path().join("tree"), cache.path());
    fs::create_dir(&tree).expect("directory");
    let [one, two] = repository(&tree);
    git(directory.path(), &["clone", "--quiet", "--bare", "tree", "cart.git"]);
    let bare = directory.path().join("cart.git");
    let path = bare.to_str().expect("UTF-8");
    assert_eq!(content(path, "one", cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, &one, cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, "", cache).await.expect("tree"), ("two".into(), two.clone()));
    let inside = content(&format!("{path}/objects"), "one", cache).await;
    assert!(matches!(inside, Err(Error::InvalidLocation(_))), "{inside:?}");

    // In the parent directory of its work trees, as `git worktree` is often used.
    let parent = directory.path().join("parent");
    fs::create_dir(&parent).expect("directory");
    fs::rename(&bare, parent.join(".bare")).expect("moved");
    fs::write(parent.join(".git"), "gitdir: ./.bare\n").expect("file");
    git(&parent, &["worktree", "add", "--quiet", "--detach", "w", "one"]);
    let path = parent.to_str().expect("UTF-8");
    assert_eq!(content(path, "main", cache).await.expect("tree"), ("two".into(), two));
    let path = parent.join("w");
    let path = path.to_str().expect("UTF-8");
    assert_eq!(content(path, "", cache).await.expect("tree"), ("one".into(), one));
}

/// Only root can change the owner of a directory, to create one that git rejects by default.
#[tokio::test]
async fn repository_of_another_user_is_read() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let [one, _] = repository(directory.path());
    if mc_testkit::runs_as_root("only root can give a directory to another user") {
        change_owner(directory.path(), NOBODY);
        let status = Command::new("git").arg("-C").arg(directory.path()).arg("status").output();
        assert!(!status.expect("git").status.success(), "git rejects it by default");
    }
    let path = directory.path().to_str().expect("UTF-8");
    let url = Url::from_file_path(directory.path()).expect("a URL").to_string();
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "two");
    assert_eq!(content(path, "", cache.path()).await.expect("tree").0, "two");
    assert_eq!(content(path, "one", cache.path()).await.expect("tree").0, "one");
    assert_eq!(content(path, &one[..10], cache.path()).await.expect("tree").0, "one");
}

/// A user of the machine who is not the service's.
const NOBODY: UnprivilegedUser = UnprivilegedUser { uid: 65_534, gid: 65_534 };

fn change_owner(path: &Path, user: UnprivilegedUser) {
    std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)).expect("a new owner");
    if path.symlink_metadata().expect("there").is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            change_owner(&entry.expect("an entry").path(), user);
        }
    }
}

#[tokio::test]
async fn link_in_a_commit_is_not_followed() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let outside = tempfile::tempdir().expect("directory");
    fs::write(outside.path().join("a.txt"), "secret").expect("file");
    repository(directory.path());
    fs::remove_dir_all(directory.path().join("lib")).expect("removed");
    std::os::unix::fs::symlink(outside.path(), directory.path().join("lib")).expect("link");
    git(directory.path(), &["add", "."]);
    git(directory.path(), &["commit", "--quiet", "-m", "link"]);
    git(directory.path(), &["tag", "link"]);
    git(directory.path(), &["checkout", "--quiet", "two"]);
    let lib = directory.path().join("lib");
    let path = lib.to_str().expect("UTF-8");
    assert_eq!(content(path, "two", cache.path()).await.expect("tree").0, "two");
    let error = content(path, "link", cache.path()).await.expect_err("a link");
    assert!(matches!(&error, Error::InvalidLocation(why) if why.contains("\"lib\"")), "{error}");
}

/// A process that git has started may replace a directory of the copy at any time.
#[tokio::test]
async fn link_that_replaces_a_directory_of_a_copy_is_not_followed() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let outside = tempfile::tempdir().expect("directory");
    for name in ["a.txt", "b.txt"] {
        fs::write(outside.path().join(name), "secret").expect("file");
    }
    repository(directory.path());
    let lib = directory.path().join("lib");
    let origin = parse(lib.to_str().expect("UTF-8")).expect("a location");
    let cancel = CancellationToken::new();
    let checkout = checkout_anywhere(&origin, "two", cache.path(), &cancel).await;
    let root = checkout.expect("a tree").root;
    fs::rename(root.path(), root.path().with_file_name("moved")).expect("moved");
    std::os::unix::fs::symlink(outside.path(), root.path()).expect("link");
    let listed = root.list("").expect("a listing").entries;
    let names: Vec<_> = listed.iter().map(|entry| entry.name.as_os_str()).collect();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(text(root.read("a.txt", 1_000).expect("file")), "two");
}

#[tokio::test]
async fn directory_outside_of_git_has_no_refs() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    fs::write(directory.path().join("a.txt"), "plain").expect("file");
    let path = directory.path().to_str().expect("UTF-8");
    assert_eq!(
        content(path, "", cache.path()).await.expect("tree"),
        ("plain".into(), String::new())
    );
    assert!(matches!(content(path, "main", cache.path()).await, Err(Error::InvalidLocation(_))));
}

#[tokio::test]
async fn missing_repository_is_reported_by_its_location() {
    let cache = tempfile::tempdir().expect("directory");
    let error =
        content("file:///no/such/repository", "", cache.path()).await.expect_err("nothing there");
    assert!(
        matches!(&error, Error::RepositoryNotFound(url) if url.contains("/no/such/repository")),
        "{error}"
    );
}

#[tokio::test]
async fn repository_without_commits_is_an_empty_tree() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    let url = Url::from_file_path(directory.path()).expect("a URL").to_string();
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "two");
    // HEAD has no commit, but other refs have.
    git(directory.path(), &["symbolic-ref", "HEAD", "refs/heads/none"]);
    let error = content(&url, "", cache.path()).await.expect_err("no commit");
    assert!(matches!(&error, Error::UnknownRef(name) if name == "HEAD"), "{error}");

    for name in ["refs/heads/main", "refs/tags/one", "refs/tags/two"] {
        git(directory.path(), &["update-ref", "-d", name]);
    }
    for requested_ref in ["", "main"] {
        let origin = parse(&url).expect("a location");
        let cancel = CancellationToken::new();
        let tree = checkout_anywhere(&origin, requested_ref, cache.path(), &cancel).await;
        let tree = tree.expect("an empty tree");
        assert_eq!(tree.source_ref, "");
        let names = fs::read_dir(tree.root.path()).expect("directory").flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, [".git"], "the files of the last checkout are deleted");
    }
}

/// Formats an HTTP response.
fn response(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Settings for a local host with a self-signed certificate, without a proxy.
fn local_settings() -> Vec<String> {
    ["http.sslVerify=false", "http.proxy="].map(str::to_owned).to_vec()
}

/// Updates the copy of a URL.
async fn update_copy(url: &Url, cache: &Path) -> Result<Checkout, Error> {
    let cache = in_directory(cache);
    let source = cache::Source { settings: local_settings(), ..cache::Source::new(url) };
    cache::checkout(source, "", cache, &CancellationToken::new()).await
}

#[tokio::test]
async fn only_a_git_server_may_report_an_empty_repository() {
    let cache = tempfile::tempdir().expect("directory");
    for broken in [
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_vec(),
        response("200 OK", "text/html", b""),
        response("200 OK", "text/plain", b"OK"),
        response("200 OK", "application/json", b"{}"),
    ] {
        let url = serve_response(broken).await;
        let error = update_copy(&url, cache.path()).await.expect_err("no git server");
        assert!(matches!(&error, Error::Unreachable(why) if why.contains("proxy")), "{error}");
    }

    let empty = tempfile::tempdir().expect("directory");
    git(empty.path(), &["init", "--quiet", "--bare"]);
    let url = serve_refs(empty.path()).await;
    let empty = update_copy(&url, cache.path()).await.expect("an empty tree");
    assert_eq!(empty.source_ref, "");
}

#[tokio::test]
async fn cancelled_fetch_stops() {
    let cache = tempfile::tempdir().expect("directory");
    let directory = tempfile::tempdir().expect("directory");
    repository(directory.path());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let origin = parse(directory.path().to_str().expect("UTF-8")).expect("a location");
    let cancelled = checkout_anywhere(&origin, "main", cache.path(), &cancel).await;
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

/// Maximum time to wait for git.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Fetches a URL with these settings.
async fn fetch(url: &Url, settings: Vec<String>) -> Result<String, Error> {
    let directory = tempfile::tempdir().expect("directory");
    git(directory.path(), &["init", "--quiet"]);
    if let Some(user) = program::user_of(url) {
        change_owner(directory.path(), user);
    }
    let git = Git::in_directory(directory.path()).with_remote(url, settings);
    git.check_version(TIMEOUT, &CancellationToken::new()).await?;
    git.fetch(&["fetch", "--quiet", git.remote()], TIMEOUT, &CancellationToken::new()).await
}

#[tokio::test]
async fn git_connects_to_the_checked_addresses_only() {
    let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = host.local_addr().expect("an address");
    let name = "git.example.invalid";
    let url = Url::parse(&format!("https://{name}:{}/a/b", address.port())).expect("a URL");
    let pinned = network_policy::pin(name, address.port(), &[address.ip()]);
    let settings = vec!["http.proxy=".to_owned(), pinned];
    let hello = async {
        let (mut stream, _) = host.accept().await.expect("a connection");
        let mut hello = vec![0; 16 * 1024];
        let length = stream.read(&mut hello).await.expect("a TLS client hello");
        hello.truncate(length);
        hello
    };
    let (hello, fetched) =
        tokio::join!(tokio::time::timeout(TIMEOUT, hello), fetch(&url, settings));
    assert!(matches!(fetched, Err(Error::Unreachable(_))), "{fetched:?}");
    let hello = hello.expect("git connects");
    assert!(hello.windows(name.len()).any(|part| part == name.as_bytes()), "the name is requested");
}

/// Serves a redirect to an address over TLS.
async fn serve_redirect(to: &str) -> Url {
    let response = format!(
        "HTTP/1.1 301 Moved Permanently\r\nLocation: {to}/info/refs?service=git-upload-pack\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n"
    );
    serve_response(response.into_bytes()).await
}

/// Serves the refs of a repository over TLS, as a git server does.
async fn serve_refs(repository: &Path) -> Url {
    let refs = Command::new("git")
        .args(["upload-pack", "--http-backend-info-refs"])
        .arg(repository)
        .output()
        .expect("git");
    assert!(refs.status.success(), "{}", String::from_utf8_lossy(&refs.stderr));
    let body = [&b"001e# service=git-upload-pack\n0000"[..], refs.stdout.as_slice()].concat();
    let content_type = "application/x-git-upload-pack-advertisement";
    serve_response(response("200 OK", content_type, &body)).await
}

/// Serves this response to every request over TLS.
async fn serve_response(response: Vec<u8>) -> Url {
    serve(move |_| response.clone()).await
}

/// Serves the responses of a function to requests over TLS.
async fn serve(respond: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> Url {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("one");
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .expect("a certificate with its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = host.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = host.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let Some(request) = read_request(&mut stream).await else { continue };
            let response = respond(&request);
            // Fails if the client has closed the connection.
            let _ = stream.write_all(&response).await;
            let _ = stream.shutdown().await;
        }
    });
    Url::parse(&format!("https://localhost:{port}/a/b")).expect("a URL")
}

/// Reads a request with its body; `None` if the client closes the connection before its end.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        let read = stream.read_buf(&mut request).await.ok()?;
        if let Some((head, body)) = split_head(&request)
            && body.len() >= header(&head, "content-length").parse::<usize>().unwrap_or(0)
        {
            return Some(request);
        }
        if read == 0 {
            return None;
        }
    }
}

/// Splits an HTTP message into the lines of its head and its body.
fn split_head(message: &[u8]) -> Option<(String, &[u8])> {
    let end = message.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    Some((String::from_utf8_lossy(&message[..end]).into_owned(), &message[end..]))
}

/// Returns the value of a header; empty without it.
fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
}

#[tokio::test]
async fn redirect_of_a_git_host_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = elsewhere.local_addr().expect("an address");
    let url = serve_redirect(&format!("https://{address}/a/b")).await;
    let host = format!("localhost:{}", url.port().expect("a port"));
    let allowed: [AllowedPrivateHost; 1] = [host.parse().expect("a host")];
    let settings =
        network_policy::settings(&url, NetworkAccess::Public(&allowed)).await.expect("allowed");
    let result = fetch(&url, [settings, local_settings()].concat()).await;
    assert!(matches!(result, Err(Error::Redirected)), "{result:?}");

    // Without the settings of the policy, git follows the redirect.
    let connection = tokio::time::timeout(TIMEOUT, async { elsewhere.accept().await.map(drop) });
    let (connection, result) = tokio::join!(connection, fetch(&url, local_settings()));
    assert!(connection.expect("git follows").is_ok() && result.is_err());
}

/// Returns the commit that a checkout would have.
async fn state_of(location: &str, requested_ref: &str) -> Result<Option<String>, Error> {
    let (origin, protected) = (parse(location)?, ProtectedDirectories::default());
    let cancel = CancellationToken::new();
    match state(&origin, requested_ref, NetworkAccess::Anywhere, &protected, &cancel).await? {
        State::Commit(commit) => Ok(commit),
        State::InPlace { .. } => panic!("{location} at \"{requested_ref}\" is read in place"),
    }
}

#[tokio::test]
async fn state_of_a_repository_is_the_commit_of_its_ref() {
    let directory = tempfile::tempdir().expect("directory");
    let [one, two] = repository(directory.path());
    git(directory.path(), &["tag", "--annotate", "-m", "noted", "noted", "one"]);
    git(directory.path(), &["branch", "other/main", "one"]);
    let url = Url::from_file_path(directory.path()).expect("a URL").to_string();
    let path = directory.path().to_str().expect("UTF-8");
    let (one, two) = (Some(one), Some(two));
    for (name, expected) in [
        ("", &two),
        ("main", &two),
        ("refs/heads/main", &two),
        ("heads/main", &two),
        ("one", &one),
        ("noted", &one),
        ("other/main", &one),
        ("no-such-branch", &None),
        (one.as_deref().expect("a commit"), &None),
    ] {
        assert_eq!(&state_of(&url, name).await.expect("an answer"), expected, "{name}");
        if !name.is_empty() {
            assert_eq!(&state_of(path, name).await.expect("an answer"), expected, "{name}");
        }
    }
    fs::write(directory.path().join("lib/a.txt"), "three").expect("file");
    git(directory.path(), &["commit", "--quiet", "-a", "-m", "three"]);
    let three = Some(git(directory.path(), &["rev-parse", "HEAD"]));
    assert_eq!(state_of(&url, "").await.expect("an answer"), three, "it moved");
    git(directory.path(), &["branch", "--quiet", "-D", "other/main"]);
    assert_eq!(
        state_of(&url, "other/main").await.expect("an answer"),
        None,
        "the branch is deleted"
    );
}

#[tokio::test]
async fn directory_without_a_ref_is_read_in_place() {
    let directory = tempfile::tempdir().expect("directory");
    let [_, two] = repository(directory.path());
    let origin = parse(directory.path().to_str().expect("UTF-8")).expect("a location");
    let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
    let found = state(&origin, "", NetworkAccess::Anywhere, &protected, &cancel).await;
    let directory = directory.path().canonicalize().expect("a directory");
    assert_eq!(found.expect("a state"), State::InPlace { directory, head: two });
}

#[tokio::test]
async fn state_of_an_inaccessible_repository_is_an_error() {
    let missing = state_of("file:///no/such/repository", "").await.expect_err("no repository");
    assert!(matches!(missing, Error::RepositoryNotFound(_)), "{missing}");
    let (cancel, protected) = (CancellationToken::new(), ProtectedDirectories::default());
    let private = parse("https://127.0.0.1/a/b").expect("a location");
    let result = state(&private, "", NetworkAccess::Public(&[]), &protected, &cancel).await;
    assert!(matches!(result, Err(Error::PrivateAddress(_))), "{result:?}");
    let disk = parse("file:///srv/a").expect("a location");
    let result = state(&disk, "", NetworkAccess::Public(&[]), &protected, &cancel).await;
    assert!(matches!(result, Err(Error::InvalidLocation(_))), "{result:?}");
}

#[tokio::test]
async fn public_access_reads_no_directory() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    let path = directory.path().to_str().expect("UTF-8").to_owned();
    let (cancel, protected) = (CancellationToken::new(), ProtectedDirectories::default());
    let public = NetworkAccess::Public(&[]);
    // Git would read from it, and fail otherwise.
    let alternates = directory.path().join(".git/objects/info/alternates");
    fs::write(&alternates, "/proc\n").expect("file");
    let url = format!("file://{path}");
    for (location, requested_ref) in [(&path, ""), (&path, "main"), (&url, ""), (&url, "main")] {
        let origin = parse(location).expect("a location");
        let read = state(&origin, requested_ref, public, &protected, &cancel).await;
        let is_rejected = |error: &Error| error.to_string().contains("https");
        assert!(read.as_ref().is_err_and(is_rejected), "{read:?}");
        let (access, origin, cache) = (public, &origin, in_directory(cache.path()));
        let request = CheckoutRequest { origin, requested_ref, access, credential: None, cache };
        let read = checkout(request, &protected, &cancel).await;
        assert!(read.as_ref().is_err_and(is_rejected), "{:?}", read.err());
    }
}

#[tokio::test]
async fn refs_of_a_host_are_listed_over_https() {
    let directory = tempfile::tempdir().expect("directory");
    let [_, two] = repository(directory.path());
    let url = serve_refs(directory.path()).await;
    let cancel = CancellationToken::new();
    let commit = remote_ref::resolve_ref(&url, "main", local_settings(), &cancel).await;
    assert_eq!(commit.expect("an answer"), Some(two));

    // The response of a proxy does not mean that the ref is deleted.
    let url = serve_response(response("200 OK", "text/plain", b"OK")).await;
    let error = remote_ref::resolve_ref(&url, "main", local_settings(), &cancel).await;
    let error = error.expect_err("no git server");
    assert!(matches!(error, Error::Unreachable(_)), "{error}");
    for (status, is_deleted) in [("404 Not Found", true), ("500 Internal Server Error", false)] {
        let response =
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let url = serve_response(response.into_bytes()).await;
        let error = remote_ref::resolve_ref(&url, "", local_settings(), &cancel).await;
        let error = error.expect_err(status);
        assert_eq!(matches!(error, Error::RepositoryNotFound(_)), is_deleted, "{error}");
    }
}

#[tokio::test]
async fn commits_within_the_limits_are_searched_for_a_path() {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    for (path, message) in [("lib/[a].rb", "first"), ("lib/b.rb", "second"), ("c.rb", "third")] {
        fs::create_dir_all(root.join("lib")).expect("directory");
        fs::write(root.join(path), message).expect("file");
        git(root, &["add", "."]);
        git(root, &["commit", "--quiet", "-m", message]);
    }
    let newest = git(root, &["rev-parse", "HEAD"]);
    let cancel = CancellationToken::new();
    // A subdirectory of the repository, and the repository with the subdirectory as a prefix.
    for repository in [root.join("lib"), root.to_owned()] {
        let origin = HistoryOrigin::Local { repository, below: "lib/".into() };
        let touched = async |paths: &[&str], commits: usize| {
            let limits = HistoryLimits { commits, ..HistoryLimits::default() };
            let commits = history::Commits::open(&origin, &newest, limits, &cancel).await;
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            let commits = commits.expect("a repository");
            commits.has_touched(&newest, &paths, limits, &cancel).await.expect("an answer")
        };
        assert!(touched(&["[a].rb"], 10).await && touched(&["new.rb", "b.rb"], 10).await);
        assert!(!touched(&["a.rb"], 10).await, "a name is not a pattern");
        assert!(!touched(&["c.rb"], 10).await, "outside of the directory");
        assert!(!touched(&["new.rb"], 10).await && !touched(&[], 10).await);
        assert!(!touched(&["[a].rb"], 2).await, "a commit beyond the limit");
        assert!(touched(&vec!["new.rb"; 501], 10).await, "too many paths for a command line");
    }
}

#[test]
fn protected_directory_is_rejected_by_path_and_url() {
    let root = tempfile::tempdir().expect("directory");
    let (data, shop) = (root.path().join("data"), root.path().join("shop"));
    fs::create_dir_all(data.join("repositories")).expect("directory");
    fs::create_dir_all(&shop).expect("directory");
    let protected = ProtectedDirectories::with_data_dir(&data);
    let is_rejected = |path: &Path| {
        let url = Url::from_file_path(path).expect("an absolute path");
        let is_rejected = Location::Url(url).check(&protected).is_err();
        // A repository that does not exist yet: git would also try `<name>.git`.
        let as_path = Location::Directory(path.to_owned()).check(&protected).is_err();
        assert_eq!(as_path, is_rejected, "{}", path.display());
        is_rejected
    };
    for path in [root.path(), &data, &data.join("repositories"), &data.join("none")] {
        assert!(is_rejected(path), "{}", path.display());
    }
    assert!(!is_rejected(&shop) && !is_rejected(&shop.join("none")));
    let remote = Url::parse("https://example.org/acme/cart.git").expect("a URL");
    assert!(Location::Url(remote).check(&protected).is_ok());
}
