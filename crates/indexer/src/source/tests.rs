use std::fs;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

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
fn a_folder_is_local() {
    let folder = tempfile::tempdir().expect("folder");
    let cart = folder.path().join("my cart");
    fs::create_dir(&cart).expect("folder");
    assert_eq!(origin(cart.to_str().expect("UTF-8")), ("local".into(), "my-cart".into()));
}

#[test]
fn a_location_unsafe_for_git_is_rejected() {
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
        "https://example.org/",
        "https://example.org/a/b?token=x",
        "--upload-pack=x",
        "https://example.org/a\nb",
    ] {
        let error = parse(location).expect_err(location);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_ref_is_a_name_and_no_option_or_expression() {
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
        assert!(matches!(check_ref(name), Err(Error::BadRef(_))), "{name}");
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

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// A repository with two commits, and the sha of each.
fn repository(folder: &Path) -> [String; 2] {
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    ["one", "two"].map(|content| {
        fs::create_dir_all(folder.join("lib")).expect("folder");
        fs::write(folder.join("lib/a.txt"), content).expect("file");
        git(folder, &["add", "."]);
        git(folder, &["commit", "--quiet", "-m", content]);
        git(folder, &["tag", content]);
        git(folder, &["rev-parse", "HEAD"])
    })
}

async fn content(location: &str, wanted: &str, cache: &Path) -> Result<(String, String), Error> {
    let cancel = CancellationToken::new();
    let checkout =
        checkout(&parse(location)?, wanted, NetworkAccess::Anywhere, cache, &cancel).await?;
    let file = ["lib/a.txt", "a.txt"]
        .iter()
        .find_map(|path| fs::read_to_string(checkout.root.join(path)).ok());
    Ok((file.expect("a.txt"), checkout.source_ref))
}

#[tokio::test]
async fn a_directory_is_read_as_is_or_at_a_ref_without_changes() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    let [one, two] = repository(folder.path());
    fs::write(folder.path().join("lib/a.txt"), "changed").expect("file");
    let path = folder.path().to_str().expect("UTF-8");
    let cache = cache.path();
    assert_eq!(content(path, "", cache).await.expect("tree"), ("changed".into(), two.clone()));
    assert_eq!(content(path, "one", cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, "main", cache).await.expect("tree"), ("two".into(), two));
    git(folder.path(), &["tag", "@acme/cart@1.0", "one"]);
    assert_eq!(content(path, "@acme/cart@1.0", cache).await.expect("tree").0, "one");
    assert_eq!(content(path, &one, cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, &one[..10], cache).await.expect("tree"), ("one".into(), one));
    assert_eq!(content(&format!("{path}/lib"), "one", cache).await.expect("tree").0, "one");
    assert_eq!(fs::read_to_string(folder.path().join("lib/a.txt")).expect("file"), "changed");
    let unknown = content(path, "no-such-branch", cache).await;
    assert!(matches!(unknown, Err(Error::UnknownRef(_))), "{unknown:?}");
}

#[tokio::test]
async fn a_url_is_fetched_and_brought_up_to_date_even_after_a_kill() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    repository(folder.path());
    let url = Url::from_file_path(folder.path()).expect("a URL").to_string();
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "two");
    fs::write(folder.path().join("lib/a.txt"), "three").expect("file");
    git(folder.path(), &["commit", "--quiet", "-a", "-m", "three"]);
    let copy = fs::read_dir(cache.path()).expect("cache").map(|entry| entry.expect("entry").path());
    let copy = copy.into_iter().find(|path| path.is_dir()).expect("a copy");
    fs::write(copy.join(".git/index.lock"), "").expect("file");
    fs::write(copy.join("left over"), "").expect("file");
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "three");
    assert!(!copy.join("left over").exists());
}

#[tokio::test]
async fn nothing_of_the_repository_is_run() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    repository(folder.path());
    let mark = folder.path().join("was run");
    let script = folder.path().join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch '{}'\n", mark.display())).expect("file");
    git(folder.path(), &["config", "core.fsmonitor", &format!("sh {}", script.display())]);
    git(folder.path(), &["config", "filter.evil.smudge", &format!("sh {}", script.display())]);
    fs::write(folder.path().join(".git/info/attributes"), "* filter=evil\n").expect("file");
    fs::remove_file(&mark).ok();
    let path = folder.path().to_str().expect("UTF-8");
    content(path, "", cache.path()).await.expect("tree");
    content(path, "one", cache.path()).await.expect("tree");
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_bare_repository_is_read_at_a_ref_or_at_its_head() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    let (tree, cache) = (folder.path().join("tree"), cache.path());
    fs::create_dir(&tree).expect("folder");
    let [one, two] = repository(&tree);
    git(folder.path(), &["clone", "--quiet", "--bare", "tree", "cart.git"]);
    let bare = folder.path().join("cart.git");
    let path = bare.to_str().expect("UTF-8");
    assert_eq!(content(path, "one", cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, &one, cache).await.expect("tree"), ("one".into(), one.clone()));
    assert_eq!(content(path, "", cache).await.expect("tree"), ("two".into(), two.clone()));
    let inside = content(&format!("{path}/objects"), "one", cache).await;
    assert!(matches!(inside, Err(Error::BadLocation(_))), "{inside:?}");

    // Beside its work trees, as `git worktree` is often used.
    let around = folder.path().join("around");
    fs::create_dir(&around).expect("folder");
    fs::rename(&bare, around.join(".bare")).expect("moved");
    fs::write(around.join(".git"), "gitdir: ./.bare\n").expect("file");
    git(&around, &["worktree", "add", "--quiet", "--detach", "w", "one"]);
    let path = around.to_str().expect("UTF-8");
    assert_eq!(content(path, "main", cache).await.expect("tree"), ("two".into(), two));
    let path = around.join("w");
    let path = path.to_str().expect("UTF-8");
    assert_eq!(content(path, "", cache).await.expect("tree"), ("one".into(), one));
}

/// Who is not root can't give a folder away, and has no folder of others that git would refuse.
#[tokio::test]
async fn a_repository_of_another_user_is_read() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    let [one, _] = repository(folder.path());
    if rustix::process::geteuid().is_root() {
        give_away(folder.path());
        let refused = Command::new("git").arg("-C").arg(folder.path()).arg("status").output();
        assert!(!refused.expect("git").status.success(), "git trusts it without being told");
    }
    let path = folder.path().to_str().expect("UTF-8");
    let url = Url::from_file_path(folder.path()).expect("a URL").to_string();
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "two");
    assert_eq!(content(path, "", cache.path()).await.expect("tree").0, "two");
    assert_eq!(content(path, "one", cache.path()).await.expect("tree").0, "one");
    assert_eq!(content(path, &one[..10], cache.path()).await.expect("tree").0, "one");
}

fn give_away(path: &Path) {
    const SOMEBODY: u32 = 65_534;
    std::os::unix::fs::lchown(path, Some(SOMEBODY), Some(SOMEBODY)).expect("a new owner");
    if path.symlink_metadata().expect("there").is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            give_away(&entry.expect("an entry").path());
        }
    }
}

#[tokio::test]
async fn a_link_in_a_commit_leads_nowhere() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    let outside = tempfile::tempdir().expect("folder");
    fs::write(outside.path().join("a.txt"), "secret").expect("file");
    repository(folder.path());
    fs::remove_dir_all(folder.path().join("lib")).expect("removed");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("lib")).expect("link");
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "-m", "link"]);
    git(folder.path(), &["tag", "link"]);
    git(folder.path(), &["checkout", "--quiet", "two"]);
    let lib = folder.path().join("lib");
    let path = lib.to_str().expect("UTF-8");
    assert_eq!(content(path, "two", cache.path()).await.expect("tree").0, "two");
    let error = content(path, "link", cache.path()).await.expect_err("a link");
    assert!(matches!(&error, Error::BadLocation(why) if why.contains("\"lib\"")), "{error}");
}

#[tokio::test]
async fn a_folder_outside_of_git_has_no_refs() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    fs::write(folder.path().join("a.txt"), "plain").expect("file");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(
        content(path, "", cache.path()).await.expect("tree"),
        ("plain".into(), String::new())
    );
    assert!(matches!(content(path, "main", cache.path()).await, Err(Error::BadLocation(_))));
}

#[tokio::test]
async fn a_repository_that_is_not_there_says_so() {
    let cache = tempfile::tempdir().expect("folder");
    let error =
        content("file:///no/such/repository", "", cache.path()).await.expect_err("nothing there");
    assert!(
        matches!(&error, Error::NoRepository(reason) if reason.contains("/no/such/repository")),
        "{error}"
    );
}

#[tokio::test]
async fn a_repository_without_commits_is_an_empty_tree() {
    let (folder, cache) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    repository(folder.path());
    let url = Url::from_file_path(folder.path()).expect("a URL").to_string();
    assert_eq!(content(&url, "", cache.path()).await.expect("tree").0, "two");
    // What is checked out there has no commit, and there are others.
    git(folder.path(), &["symbolic-ref", "HEAD", "refs/heads/none"]);
    let error = content(&url, "", cache.path()).await.expect_err("no commit");
    assert!(matches!(&error, Error::UnknownRef(name) if name == "HEAD"), "{error}");

    for name in ["refs/heads/main", "refs/tags/one", "refs/tags/two"] {
        git(folder.path(), &["update-ref", "-d", name]);
    }
    for wanted in ["", "main"] {
        let origin = parse(&url).expect("a location");
        let cancel = CancellationToken::new();
        let tree = checkout(&origin, wanted, NetworkAccess::Anywhere, cache.path(), &cancel).await;
        let tree = tree.expect("an empty tree");
        assert_eq!(tree.source_ref, "");
        let names = fs::read_dir(&tree.root).expect("folder").flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, [".git"], "what was checked out before is gone");
    }
}

/// What a web server answers with.
fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
        \r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Brings a copy of what is behind the URL up to date.
async fn copied(url: &Url, cache: &Path) -> Result<Checkout, Error> {
    // The test's certificate is nobody's, and the way to this machine leads by no proxy.
    let here = ["http.sslVerify=false", "http.proxy="].map(str::to_owned).to_vec();
    cache::checkout(url, "", "", here, cache, &CancellationToken::new()).await
}

#[tokio::test]
async fn only_a_git_server_may_report_an_empty_repository() {
    let cache = tempfile::tempdir().expect("folder");
    for broken in [
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_vec(),
        answer("200 OK", "text/html", b""),
        answer("200 OK", "text/plain", b"OK"),
        answer("200 OK", "application/json", b"{}"),
    ] {
        let url = answering(broken).await;
        let refused = copied(&url, cache.path()).await.expect_err("no git server");
        assert!(matches!(&refused, Error::Unreachable(why) if why.contains("proxy")), "{refused}");
    }

    let empty = tempfile::tempdir().expect("folder");
    git(empty.path(), &["init", "--quiet", "--bare"]);
    let refs = Command::new("git")
        .args(["upload-pack", "--http-backend-info-refs"])
        .arg(empty.path())
        .output()
        .expect("git");
    assert!(refs.status.success(), "{}", String::from_utf8_lossy(&refs.stderr));
    let served = [&b"001e# service=git-upload-pack\n0000"[..], refs.stdout.as_slice()].concat();
    let kind = "application/x-git-upload-pack-advertisement";
    let url = answering(answer("200 OK", kind, &served)).await;
    let empty = copied(&url, cache.path()).await.expect("an empty tree");
    assert_eq!(empty.source_ref, "");
}

#[tokio::test]
async fn a_cancelled_fetch_gives_up() {
    let cache = tempfile::tempdir().expect("folder");
    let folder = tempfile::tempdir().expect("folder");
    repository(folder.path());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let origin = parse(folder.path().to_str().expect("UTF-8")).expect("a location");
    let cancelled = checkout(&origin, "main", NetworkAccess::Anywhere, cache.path(), &cancel).await;
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

/// How long a test waits for git.
const LONG: Duration = Duration::from_mins(1);

/// Has git fetch from there with these settings.
async fn fetched(url: &Url, settings: Vec<String>) -> Result<String, Error> {
    let folder = tempfile::tempdir().expect("folder");
    git(folder.path(), &["init", "--quiet"]);
    let git = Git::in_folder(folder.path()).on_the_way_to(url, settings);
    git.check_version(LONG, &CancellationToken::new()).await?;
    git.run(&["fetch", "--quiet", url.as_str()], LONG, &CancellationToken::new()).await
}

#[tokio::test]
async fn git_connects_to_the_checked_addresses_only() {
    let host = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = host.local_addr().expect("an address");
    let name = "git.example.invalid";
    let url = Url::parse(&format!("https://{name}:{}/a/b", address.port())).expect("a URL");
    let pinned = network_policy::pin(name, address.port(), &[address.ip()]);
    let settings = vec!["http.proxy=".to_owned(), pinned];
    let greeted = async {
        let (mut stream, _) = host.accept().await.expect("a connection");
        let mut hello = vec![0; 16 * 1024];
        let length = stream.read(&mut hello).await.expect("what a client begins with");
        hello.truncate(length);
        hello
    };
    let (greeted, fetched) =
        tokio::join!(tokio::time::timeout(LONG, greeted), fetched(&url, settings));
    assert!(matches!(fetched, Err(Error::Unreachable(_))), "{fetched:?}");
    let hello = greeted.expect("git comes");
    assert!(hello.windows(name.len()).any(|part| part == name.as_bytes()), "it asks for another");
}

/// A host over TLS that sends everybody on to an address.
async fn sending_on(to: &str) -> Url {
    let answer = format!(
        "HTTP/1.1 301 Moved Permanently\r\nLocation: {to}/info/refs?service=git-upload-pack\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n"
    );
    answering(answer.into_bytes()).await
}

/// A host over TLS that answers everybody with this.
async fn answering(answer: Vec<u8>) -> Url {
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
            let mut request = [0; 4096];
            let Ok(1..) = stream.read(&mut request).await else { continue };
            // Whoever breaks off is not answered.
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    });
    Url::parse(&format!("https://localhost:{port}/a/b")).expect("a URL")
}

#[tokio::test]
async fn a_host_that_sends_git_on_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = elsewhere.local_addr().expect("an address");
    let url = sending_on(&format!("https://{address}/a/b")).await;
    let listed = format!("localhost:{}", url.port().expect("a port"));
    let listed: [AllowedPrivateHost; 1] = [listed.parse().expect("a host")];
    let held =
        network_policy::settings(&url, NetworkAccess::Outside(&listed)).await.expect("allowed");
    // The test's certificate is nobody's, and the way to this machine leads by no proxy.
    let here = ["http.sslVerify=false", "http.proxy="].map(str::to_owned);
    let refused = fetched(&url, [&held[..], &here[..]].concat()).await;
    assert!(matches!(refused, Err(Error::SentOn)), "{refused:?}");

    // Else it goes where it is sent.
    let came = tokio::time::timeout(LONG, async { elsewhere.accept().await.map(drop) });
    let (came, followed) = tokio::join!(came, fetched(&url, here.into()));
    assert!(came.expect("git follows").is_ok() && followed.is_err());
}

/// What a run would read from there now.
async fn state_of(location: &str, wanted: &str) -> Result<Option<String>, Error> {
    let origin = parse(location)?;
    state(&origin, wanted, NetworkAccess::Anywhere, &CancellationToken::new()).await
}

#[tokio::test]
async fn the_fingerprint_of_a_repository_is_the_commit_of_its_ref() {
    let folder = tempfile::tempdir().expect("folder");
    let [one, two] = repository(folder.path());
    git(folder.path(), &["tag", "--annotate", "-m", "noted", "noted", "one"]);
    git(folder.path(), &["branch", "other/main", "one"]);
    let url = Url::from_file_path(folder.path()).expect("a URL").to_string();
    let path = folder.path().to_str().expect("UTF-8");
    let (one, two) = (Some(one), Some(two));
    for (wanted, expected) in [
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
        assert_eq!(&state_of(&url, wanted).await.expect("an answer"), expected, "{wanted}");
        if !wanted.is_empty() {
            assert_eq!(&state_of(path, wanted).await.expect("an answer"), expected, "{wanted}");
        }
    }
    fs::write(folder.path().join("lib/a.txt"), "three").expect("file");
    git(folder.path(), &["commit", "--quiet", "-a", "-m", "three"]);
    let three = Some(git(folder.path(), &["rev-parse", "HEAD"]));
    assert_eq!(state_of(&url, "").await.expect("an answer"), three, "it moved");
    git(folder.path(), &["branch", "--quiet", "-D", "other/main"]);
    assert_eq!(state_of(&url, "other/main").await.expect("an answer"), None, "it is gone");
}

#[tokio::test]
async fn the_fingerprint_of_a_directory_changes_with_its_files() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().to_str().expect("UTF-8");
    fs::write(folder.path().join(".gitignore"), "*.tmp\n").expect("file");
    fs::write(folder.path().join("note.md"), "plain").expect("file");
    let first = state_of(path, "").await.expect("an answer");
    assert!(first.is_some());
    fs::write(folder.path().join("draft.tmp"), "not read").expect("file");
    assert_eq!(state_of(path, "").await.expect("an answer"), first, "nothing that is read changed");
    fs::write(folder.path().join("note.md"), "plain, and more").expect("file");
    let second = state_of(path, "").await.expect("an answer");
    assert_ne!(second, first);

    // Within git it is the same, whether a change is committed or not.
    repository(folder.path());
    let third = state_of(path, "").await.expect("an answer");
    assert_ne!(third, second);
    fs::remove_file(folder.path().join("note.md")).expect("removed");
    assert_ne!(state_of(path, "").await.expect("an answer"), third);
}

#[tokio::test]
async fn a_repository_that_can_not_be_asked_says_why() {
    let gone = state_of("file:///no/such/repository", "").await.expect_err("nothing there");
    assert!(matches!(gone, Error::NoRepository(_)), "{gone}");
    let cancel = CancellationToken::new();
    let inside = parse("https://127.0.0.1/a/b").expect("a location");
    let refused = state(&inside, "", NetworkAccess::Outside(&[]), &cancel).await;
    assert!(matches!(refused, Err(Error::Inside(_))), "{refused:?}");
    let disk = parse("file:///srv/a").expect("a location");
    let refused = state(&disk, "", NetworkAccess::Outside(&[]), &cancel).await;
    assert!(matches!(refused, Err(Error::BadLocation(_))), "{refused:?}");
}

#[tokio::test]
async fn a_host_is_asked_over_https_what_its_refs_point_to() {
    let folder = tempfile::tempdir().expect("folder");
    let [_, two] = repository(folder.path());
    let refs = Command::new("git")
        .args(["upload-pack", "--http-backend-info-refs"])
        .arg(folder.path())
        .output()
        .expect("git");
    assert!(refs.status.success(), "{}", String::from_utf8_lossy(&refs.stderr));
    let served = [&b"001e# service=git-upload-pack\n0000"[..], refs.stdout.as_slice()].concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        served.len()
    );
    let url = answering([head.as_bytes(), served.as_slice()].concat()).await;
    // The test's certificate is nobody's, and the way to this machine leads by no proxy.
    let here = || ["http.sslVerify=false", "http.proxy="].map(str::to_owned).to_vec();
    let cancel = CancellationToken::new();
    let told = fingerprint::ask(&url, "main", here(), &cancel).await.expect("an answer");
    assert_eq!(told, Some(two));

    // A proxy that answers for the host says of no ref that it is gone.
    let url = answering(answer("200 OK", "text/plain", b"OK")).await;
    let error =
        fingerprint::ask(&url, "main", here(), &cancel).await.expect_err("no server of git");
    assert!(matches!(error, Error::Unreachable(_)), "{error}");
    for (status, is_deleted) in [("404 Not Found", true), ("500 Internal Server Error", false)] {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let url = answering(answer.into_bytes()).await;
        let error = fingerprint::ask(&url, "", here(), &cancel).await.expect_err(status);
        assert_eq!(matches!(error, Error::NoRepository(_)), is_deleted, "{error}");
    }
}

#[tokio::test]
async fn commits_say_whether_they_touched_a_file() {
    let folder = tempfile::tempdir().expect("folder");
    let here = folder.path();
    git(here, &["init", "--quiet", "--initial-branch=main"]);
    for (path, message) in [("lib/[a].rb", "first"), ("lib/b.rb", "second"), ("c.rb", "third")] {
        fs::create_dir_all(here.join("lib")).expect("folder");
        fs::write(here.join(path), message).expect("file");
        git(here, &["add", "."]);
        git(here, &["commit", "--quiet", "-m", message]);
    }
    let newest = git(here, &["rev-parse", "HEAD"]);
    let cancel = CancellationToken::new();
    // The folder in the repository, and the repository of which only that folder is indexed.
    for repository in [here.join("lib"), here.to_owned()] {
        let origin = HistoryOrigin::Local { repository, below: "lib/".into() };
        let touched = async |paths: &[&str], commits: usize| {
            let limits = crate::history::Limits { commits, ..crate::history::Limits::default() };
            let commits = history::Commits::open(&origin, &newest, limits, &cancel).await;
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            let commits = commits.expect("a repository");
            commits.has_touched(&newest, &paths, limits, &cancel).await.expect("an answer")
        };
        assert!(touched(&["[a].rb"], 10).await && touched(&["new.rb", "b.rb"], 10).await);
        assert!(!touched(&["a.rb"], 10).await, "a name is no pattern");
        assert!(!touched(&["c.rb"], 10).await, "outside of the folder");
        assert!(!touched(&["new.rb"], 10).await && !touched(&[], 10).await);
        assert!(!touched(&["[a].rb"], 2).await, "a commit that is not read");
        assert!(touched(&vec!["new.rb"; 501], 10).await, "too many to ask of");
    }
}
