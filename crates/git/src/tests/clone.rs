//! Clones in directories of their own, over smart HTTP and from this disk.

use std::fs::Permissions;
use std::sync::{Arc, Mutex};

use secrecy::SecretString;

use super::privileges::{respond_by_git, served_repository};
use super::*;
use crate::clone::clone_url;

/// Base64 of `x-access-token:it's a "secret"`.
const AUTHORIZATION: &str = "Basic eC1hY2Nlc3MtdG9rZW46aXQncyBhICJzZWNyZXQi";
const SECRET: &str = "it's a \"secret\"";

/// Creates the directory of a workspace, which git's user may pass through.
pub(super) fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("directory");
    fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).expect("permissions");
    directory
}

fn request<'a>(origin: &'a Origin, protected: &'a ProtectedDirectories) -> CloneRequest<'a> {
    CloneRequest {
        origin,
        requested_ref: "",
        depth: Depth::Shallow,
        access: NetworkAccess::Anywhere,
        protected,
        credential: None,
        limits: Limits::default(),
        time: TIMEOUT,
    }
}

/// Clones a URL of a local host.
async fn clone_served(
    directory: &Path,
    url: &Url,
    change: impl FnOnce(&mut CloneRequest<'_>),
) -> Result<Cloned, Error> {
    let origin = parse(url.as_str())?;
    let protected = ProtectedDirectories::default();
    let mut request = request(&origin, &protected);
    change(&mut request);
    clone_url(directory, url, local_settings(), request, &CancellationToken::new()).await
}

#[tokio::test]
async fn clone_over_smart_http_has_a_tree_without_git() {
    let served = tempfile::tempdir().expect("directory");
    let (path, url) = served_repository(served.path()).await;
    let [one, two] = ["one", "two"].map(|tag| git(&path, &["rev-parse", tag]));
    let directory = workspace();
    let cancel = CancellationToken::new();
    let cloned = clone_served(directory.path(), &url, |_| {}).await.expect("a clone");
    assert_eq!((cloned.commit.as_str(), cloned.git_ref.as_str()), (two.as_str(), "main"));
    let root = cloned.work_tree.root().expect("a tree");
    assert_eq!(root.read("lib/a.txt", 100).expect("a file"), b"two");
    let names = root.list("").expect("a listing").entries;
    assert_eq!(names.len(), 1, "no .git: {names:?}");
    let log = |max_count| Log { max_count, ..Log::default() };
    let shallow = cloned.work_tree.log(log(9), 1_000, &cancel).await.expect("a log");
    assert_eq!(String::from_utf8_lossy(&shallow.bytes).matches("commit ").count(), 1);

    let again = clone_served(directory.path(), &url, |_| {}).await;
    assert!(matches!(again, Err(Error::Rejected(_))), "it may have been changed: {again:?}");
    let directory = workspace();
    let full = |request: &mut CloneRequest<'_>| {
        request.requested_ref = "one";
        request.depth = Depth::Full;
    };
    let cloned = clone_served(directory.path(), &url, full).await.expect("a clone");
    assert_eq!((cloned.commit, cloned.git_ref), (one.clone(), "one".to_owned()));
    let opened = WorkTree::of_clone(directory.path()).expect("a work tree");
    assert_eq!(opened.user(), cloned.work_tree.user());
    assert_eq!(opened.head(&cancel).await.expect("a head"), Some(one));
}

#[tokio::test]
async fn a_credential_reaches_the_host_and_no_argument_or_file() {
    let served = tempfile::tempdir().expect("directory");
    let commands: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&commands);
    let on_request = move || seen.lock().expect("a list").extend(processes());
    let url = private_repository(served.path(), on_request).await;
    let directory = workspace();
    let refused = clone_served(directory.path(), &url, |_| {}).await;
    assert!(matches!(refused, Err(Error::RepositoryNotFound(_))), "{refused:?}");
    let wrong = |request: &mut CloneRequest<'_>| request.credential = Some(credential("wrong"));
    let refused = clone_served(directory.path(), &url, wrong).await;
    assert!(matches!(refused, Err(Error::RepositoryNotFound(_))), "{refused:?}");
    let right = |request: &mut CloneRequest<'_>| request.credential = Some(credential(SECRET));
    let cloned = clone_served(directory.path(), &url, right).await.expect("a clone");
    assert_eq!(cloned.git_ref, "main");
    let commands = std::mem::take(&mut *commands.lock().expect("a list"));
    assert!(commands.iter().any(|command| command.contains("remote-https")), "{commands:?}");
    assert!(!commands.iter().any(|command| command.contains(SECRET)), "{commands:?}");
    for (file, content) in files(directory.path()) {
        let has_secret = content.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!has_secret, "{}", file.display());
    }
    let two_lines = |request: &mut CloneRequest<'_>| request.credential = Some(credential("a\nb"));
    let refused = clone_served(workspace().path(), &url, two_lines).await;
    assert!(matches!(refused, Err(Error::Credential(_))), "{refused:?}");
}

#[tokio::test]
async fn a_credential_opens_a_copy_and_its_history() {
    let (served, cache) = (tempfile::tempdir().expect("directory"), workspace());
    let url = private_repository(served.path(), || {}).await;
    let cancel = CancellationToken::new();
    let update = async |credential: Option<&Credential>| {
        let source = cache::Source { settings: local_settings(), ..cache::Source::new(&url) };
        let source = cache::Source { credential, ..source };
        cache::checkout(source, "", in_directory(cache.path()), &cancel).await
    };
    let refused = update(None).await.expect_err("a private repository");
    assert!(matches!(refused, Error::RepositoryNotFound(_)), "{refused}");
    let credential = credential(SECRET);
    let copy = update(Some(&credential)).await.expect("a copy");
    assert_eq!(copy.root.read("lib/a.txt", 100).expect("a file"), b"two");

    let history = |credential: Option<Credential>| HistoryOrigin::Remote {
        url: url.clone(),
        requested_ref: String::new(),
        settings: local_settings(),
        credential,
        copy: cache::copy(&url, cache.path()).with_extension("history"),
    };
    let limits = HistoryLimits::default();
    let sha = copy.source_ref.as_str();
    let refused = Commits::open(&history(None), sha, limits, &cancel).await;
    assert!(refused.is_err(), "the history is private, too");
    let commits = Commits::open(&history(Some(credential)), sha, limits, &cancel).await;
    let mut fields = 0;
    let read = commits.expect("a history").log(sha, limits, &cancel, |_| fields += 1).await;
    read.expect("a log");
    assert!(fields > 0);
}

fn credential(secret: &str) -> Credential {
    let secret = SecretString::from(secret.to_owned());
    Credential { user: "x-access-token".into(), secret }
}

/// Serves a repository to those who send the credential with [`SECRET`].
async fn private_repository(
    directory: &Path,
    on_request: impl Fn() + Send + Sync + 'static,
) -> Url {
    let path = directory.join("a/b");
    fs::create_dir_all(&path).expect("directory");
    repository(&path);
    let repositories = directory.to_owned();
    serve(move |request| {
        let (head, _) = split_head(request).expect("a request");
        on_request();
        match header(&head, "authorization") {
            AUTHORIZATION => respond_by_git(&repositories, request),
            _ => b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n"
                .to_vec(),
        }
    })
    .await
}

/// Returns the command lines and the readable environments of all processes but this one.
fn processes() -> Vec<String> {
    let listed = fs::read_dir("/proc").expect("a listing").flatten();
    let own = std::process::id().to_string();
    let others = listed.filter(|entry| entry.file_name().to_str() != Some(&own));
    let read = |entry: fs::DirEntry| {
        let read = |name| fs::read(entry.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&[read("cmdline"), read("environ")].concat()).into_owned()
    };
    others.map(read).collect()
}

/// Returns the files below a directory.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path(), fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found
}

/// The host is asked once, for the clone.
#[tokio::test]
async fn copy_is_updated_from_a_clone() {
    let served = tempfile::tempdir().expect("directory");
    let (path, url) = served_repository(served.path()).await;
    let [one, two] = ["one", "two"].map(|tag| git(&path, &["rev-parse", tag]));
    let full = |request: &mut CloneRequest<'_>| request.depth = Depth::Full;
    let directory = workspace();
    let cloned = clone_served(directory.path(), &url, full).await.expect("a clone");
    fs::remove_dir_all(&path).expect("no more repository");
    // What somebody changes in the tree is not read.
    let root = cloned.work_tree.root().expect("a tree");
    root.replace_content("lib/a.txt", b"two", b"edited").expect("a change");

    let (origin, cancel) = (parse(url.as_str()).expect("a location"), CancellationToken::new());
    let cache = workspace();
    let update = async |commit: &str| {
        let url = Url::from_file_path(directory.path().join("git")).expect("a URL");
        let Location::Url(of_copy) = &origin.location else { panic!("a URL") };
        let source = cache::Source { clone: Some(&url), ..cache::Source::new(of_copy) };
        let source = cache::Source { requested_ref: commit, ..source };
        cache::checkout(source, "", in_directory(cache.path()), &cancel).await
    };
    for (commit, content) in [(&one, "one"), (&two, "two")] {
        let checkout = update(commit).await.expect("a tree");
        assert_eq!(&checkout.source_ref, commit);
        assert_eq!(checkout.root.read("lib/a.txt", 100).expect("a file"), content.as_bytes());
    }
    let gone = update("0000000000000000000000000000000000000001").await;
    assert!(matches!(gone, Err(Error::UnknownRef(_))), "{gone:?}");
}

#[tokio::test]
async fn clone_beyond_its_limits_leaves_no_objects() {
    let served = tempfile::tempdir().expect("directory");
    let (path, url) = served_repository(served.path()).await;
    for number in 0..3 {
        fs::write(path.join(format!("{number}.txt")), "text").expect("file");
    }
    git(&path, &["add", "."]);
    git(&path, &["commit", "--quiet", "-m", "files"]);
    let directory = workspace();
    let few = |request: &mut CloneRequest<'_>| request.limits.files = 3;
    let refused = clone_served(directory.path(), &url, few).await;
    assert!(matches!(refused, Err(Error::RepositoryTooLarge { .. })), "{refused:?}");
    let small = |request: &mut CloneRequest<'_>| request.limits.bytes = 1;
    let refused = clone_served(directory.path(), &url, small).await;
    assert!(matches!(refused, Err(Error::RepositoryTooLarge { .. })), "{refused:?}");
    let left: Vec<_> = files(directory.path()).into_iter().map(|(path, _)| path).collect();
    let is_of_objects = |path: &&PathBuf| path.iter().any(|part| part == "objects");
    assert_eq!(left.iter().find(is_of_objects), None, "{left:?}");
    let unknown = |request: &mut CloneRequest<'_>| request.requested_ref = "no-such-branch";
    let refused = clone_served(directory.path(), &url, unknown).await;
    assert!(matches!(refused, Err(Error::UnknownRef(_))), "{refused:?}");
}

#[tokio::test]
async fn clone_of_a_directory_is_a_repository_at_its_top() {
    let source = tempfile::tempdir().expect("directory");
    let [_, two] = repository(source.path());
    let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
    let directory = workspace();
    let origin = parse(source.path().to_str().expect("UTF-8")).expect("a location");
    let cloned = clone(directory.path(), request(&origin, &protected), &cancel).await;
    let cloned = cloned.expect("a clone");
    assert_eq!((cloned.commit, cloned.git_ref.as_str()), (two, "main"));
    let below = source.path().join("lib");
    let origin = parse(below.to_str().expect("UTF-8")).expect("a location");
    let refused = clone(workspace().path(), request(&origin, &protected), &cancel).await;
    assert!(matches!(refused, Err(Error::InvalidLocation(_))), "{refused:?}");
    let public = NetworkAccess::Public(&[]);
    let public = CloneRequest { access: public, ..request(&origin, &protected) };
    let refused = clone(workspace().path(), public, &cancel).await;
    assert!(matches!(refused, Err(Error::InvalidLocation(_))), "{refused:?}");
}

#[tokio::test]
async fn submodules_and_large_files_are_not_fetched() {
    let source = tempfile::tempdir().expect("directory");
    repository(source.path());
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    fs::write(source.path().join("big.bin"), pointer).expect("file");
    fs::write(source.path().join(".gitattributes"), "*.bin filter=lfs\n").expect("file");
    let marker = source.path().join("marker");
    let hostile =
        format!("[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% {}\n", marker.display());
    fs::write(source.path().join(".gitmodules"), hostile).expect("file");
    git(source.path(), &["add", "."]);
    let head = git(source.path(), &["rev-parse", "HEAD"]);
    let submodule = format!("160000,{head},x");
    git(source.path(), &["update-index", "--add", "--cacheinfo", &submodule]);
    git(source.path(), &["commit", "--quiet", "-m", "links"]);
    let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
    let directory = workspace();
    let origin = parse(source.path().to_str().expect("UTF-8")).expect("a location");
    let cloned = clone(directory.path(), request(&origin, &protected), &cancel).await;
    let root = cloned.expect("a clone").work_tree.root().expect("a tree");
    assert_eq!(root.read("big.bin", 100).expect("a file"), pointer.as_bytes());
    assert!(root.list("x").expect("an empty directory").entries.is_empty());
    assert!(!marker.exists(), "the URL of the submodule was used");
}
