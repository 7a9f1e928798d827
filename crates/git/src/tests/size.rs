//! Limits of copies, with repositories on this disk.

use super::*;
use crate::size::Objects;

/// Returns bytes that git can't compress.
fn random(count: usize, seed: u64) -> Vec<u8> {
    let step = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some((*state >> 56) as u8)
    };
    std::iter::repeat_n((), count).scan(seed, |state, ()| step(state)).collect()
}

fn commit(directory: &Path) {
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "-m", "change"]);
}

/// Creates a directory that has ten times the same directory, and returns its id.
fn tenfold(repository: &Path, tree: &str) -> String {
    let entries = repository.join(".git/entries");
    let lines: Vec<_> = (0..10).map(|name| format!("040000 tree {tree}\t{name}\n")).collect();
    fs::write(&entries, lines.concat()).expect("file");
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).arg("mktree");
    let output = command.stdin(fs::File::open(entries).expect("file")).output().expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// Checks out the default branch of a repository on this disk through a copy.
async fn copy(directory: &Path, cache: &Path, limits: Limits) -> Result<Checkout, Error> {
    let url = Url::from_file_path(directory).expect("a URL").to_string();
    let cache = Cache { directory: cache, limits };
    let (origin, cancel) = (parse(&url).expect("a location"), CancellationToken::new());
    let protected = ProtectedDirectories::default();
    let request = CheckoutRequest {
        origin: &origin,
        requested_ref: "",
        access: NetworkAccess::Anywhere,
        credential: None,
        cache,
    };
    checkout(request, &protected, &cancel).await
}

#[tokio::test]
async fn commit_with_too_many_files_is_not_written() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    for name in ["b.txt", "c.txt"] {
        fs::write(directory.path().join(name), "x").expect("file");
    }
    commit(directory.path());
    let limits = Limits { files: 3, ..Limits::default() };
    let tree = copy(directory.path(), cache.path(), limits).await.expect("three files");
    let root = tree.root.path().to_owned();
    drop(tree);

    fs::write(directory.path().join("d.txt"), "x").expect("file");
    commit(directory.path());
    let error = copy(directory.path(), cache.path(), limits).await.expect_err("four files");
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    let said = error.to_string();
    assert!(said.contains("3 files") && said.contains("ingest.repository.max_files"), "{said}");
    assert!(!root.join("d.txt").exists(), "nothing of the commit is written");
}

#[tokio::test]
async fn small_pack_with_large_files_is_not_written() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    fs::write(directory.path().join("zeros"), vec![0; 3 << 20]).expect("file");
    commit(directory.path());
    let limits = Limits { bytes: 2 << 20, ..Limits::default() };
    let error = copy(directory.path(), cache.path(), limits).await.expect_err("3 MiB");
    assert!(matches!(error, Error::RepositoryTooLarge { megabytes: 2, .. }), "{error}");
}

#[tokio::test]
async fn files_are_written_as_they_are_stored() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    let attributes = "*.txt working-tree-encoding=UTF-32LE ident\n";
    fs::write(directory.path().join(".gitattributes"), attributes).expect("file");
    git(directory.path(), &["add", ".gitattributes"]);
    git(directory.path(), &["commit", "--quiet", "-m", "attributes"]);
    let tree = copy(directory.path(), cache.path(), Limits::default()).await.expect("a tree");
    assert_eq!(text(tree.root.read("lib/a.txt", 1_000).expect("file")), "two");
}

#[tokio::test]
async fn single_objects_count_like_packs() {
    let directory = tempfile::tempdir().expect("directory");
    repository(directory.path());
    let git_directory = directory.path().join(".git");
    let (git, cancel) = (Git::in_directory(directory.path()), CancellationToken::new());
    let objects = Objects::of(&git_directory);
    let version = &["version"];
    let limit = Duration::from_mins(1);
    let within = objects.fetch(&git, version, 1 << 20, limit, &cancel).await.expect("git");
    assert!(within.is_some());
    let beyond = objects.fetch(&git, version, 10, limit, &cancel).await.expect("git");
    assert!(beyond.is_none(), "a repository of a few commits has no pack");
}

/// Git fails if a pack reaches the limit of a file. That is no failure of the network.
#[tokio::test]
async fn failed_fetch_beyond_the_limit_is_too_large() {
    let directory = tempfile::tempdir().expect("directory");
    repository(directory.path());
    let (git, cancel) = (Git::in_directory(directory.path()), CancellationToken::new());
    let objects = Objects::of(&directory.path().join(".git"));
    let limit = Duration::from_mins(1);
    let error = objects.fetch(&git, &["no-such-command"], 1 << 20, limit, &cancel).await;
    assert!(matches!(error, Err(Error::Unreachable(_))), "{error:?}");
    let too_large = objects.fetch(&git, &["no-such-command"], 10, limit, &cancel).await;
    assert!(matches!(too_large, Ok(None)), "{too_large:?}");
    let url = Url::parse("file:///no/such/server").expect("a URL");
    let git = git.with_remote(&url, Vec::new());
    if let Some(user) = git.user() {
        change_owner(directory.path(), user);
    }
    let fetch = ["fetch", "--quiet", git.remote()];
    let missing = objects.fetch(&git, &fetch, 10, limit, &cancel).await;
    assert!(matches!(missing, Err(Error::RepositoryNotFound(_))), "{missing:?}");
}

#[tokio::test]
async fn directory_that_a_commit_lists_many_times_ends_at_the_limit() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    git(directory.path(), &["init", "--quiet", "--initial-branch=main"]);
    fs::write(directory.path().join("f"), "x").expect("file");
    commit(directory.path());
    // Ten entries at each of nine levels: a billion files in ten objects.
    let mut tree = git(directory.path(), &["rev-parse", "HEAD^{tree}"]);
    for _ in 0..9 {
        tree = tenfold(directory.path(), &tree);
    }
    let bomb = git(directory.path(), &["commit-tree", &tree, "-m", "bomb"]);
    git(directory.path(), &["update-ref", "refs/heads/main", &bomb]);
    let error = copy(directory.path(), cache.path(), Limits::default()).await.expect_err("a bomb");
    assert!(matches!(error, Error::RepositoryTooLarge { .. }), "{error}");
}

#[tokio::test]
async fn packs_of_earlier_fetches_make_room() {
    let (directory, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(directory.path());
    let limits = Limits { bytes: 100 << 10, ..Limits::default() };
    for seed in 1..=3 {
        fs::write(directory.path().join("data"), random(60 << 10, seed)).expect("file");
        commit(directory.path());
        let tree = copy(directory.path(), cache.path(), limits).await.expect("60 KiB");
        assert_eq!(tree.root.read("data", 1 << 20).expect("file"), random(60 << 10, seed));
    }
    fs::write(directory.path().join("data"), random(200 << 10, 4)).expect("file");
    commit(directory.path());
    let error = copy(directory.path(), cache.path(), limits).await.expect_err("200 KiB");
    assert!(matches!(error, Error::RepositoryTooLarge { .. }), "{error}");
    let left = fs::read_dir(cache.path()).expect("cache").flatten().filter(|e| e.path().is_dir());
    assert_eq!(left.count(), 0, "the copy is deleted");
}
