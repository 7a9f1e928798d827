//! Work trees of clones and of checkouts.

use std::os::unix::fs::symlink;

use super::clone::workspace;
use super::privileges::served_repository;
use super::*;
use crate::clone::clone_url;

/// A clone with two commits, and a checkout with the same content.
struct Fixture {
    _directory: tempfile::TempDir,
    cancel: CancellationToken,
    clone: WorkTree,
}

const AUTHOR: fn() -> Identity =
    || Identity { name: "Ann <x>\n".into(), email: "ann@example.org".into() };

impl Fixture {
    async fn new() -> Self {
        let source = tempfile::tempdir().expect("directory");
        repository(source.path());
        Self::of(&source).await
    }

    /// Clones a repository of this disk.
    async fn of(source: &tempfile::TempDir) -> Self {
        let directory = workspace();
        let origin = parse(source.path().to_str().expect("UTF-8")).expect("a location");
        let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
        let request = CloneRequest {
            origin: &origin,
            requested_ref: "main",
            depth: Depth::Full,
            access: NetworkAccess::Anywhere,
            protected: &protected,
            credential: None,
            limits: Limits::default(),
            time: TIMEOUT,
        };
        let cloned = crate::clone(directory.path(), request, &cancel).await.expect("a clone");
        Self { _directory: directory, cancel, clone: cloned.work_tree }
    }

    /// Writes a file as a tool would.
    fn write(&self, path: &str, content: &str) {
        let root = self.clone.root().expect("a tree");
        if let Some((directory, _)) = path.rsplit_once('/') {
            root.create_directories(directory).expect("a directory");
        }
        root.replace(path, content.as_bytes(), 0o644).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        let root = self.clone.root().expect("a tree");
        String::from_utf8(root.read(path, 10_000).expect(path)).expect("UTF-8")
    }

    async fn status(&self) -> String {
        text_of(self.clone.status(&[], 10_000, &self.cancel).await)
    }

    async fn diff(&self, diff: Diff<'_>) -> String {
        text_of(self.clone.diff(diff, 10_000, &self.cancel).await)
    }
}

fn text_of(text: Result<Text, Error>) -> String {
    String::from_utf8(text.expect("an output").bytes).expect("UTF-8")
}

#[tokio::test]
async fn changes_are_shown_staged_and_committed() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    let before = tree.head(cancel).await.expect("a head").expect("a commit");
    fixture.write("lib/a.txt", "three\n");
    fixture.write("lib/é b.txt", "new\n");
    let status = fixture.status().await;
    assert!(status.contains(" M lib/a.txt\n?? \"lib/é b.txt\""), "{status}");
    let diff = fixture.diff(Diff::default()).await;
    assert!(diff.contains("--- a/lib/a.txt") && diff.contains("+three"), "{diff}");
    assert_eq!(tree.add(&["lib"], cancel).await.expect("staged"), 2);
    assert_eq!(fixture.diff(Diff::default()).await, "");
    let staged = Diff { is_staged: true, is_summary: true, ..Diff::default() };
    assert!(fixture.diff(staged).await.contains("2 files changed"));

    let commit = tree.commit("Add b\n\nBody\n", &AUTHOR(), cancel).await.expect("a commit");
    assert_eq!(tree.head(cancel).await.expect("a head"), Some(commit.clone()));
    let empty = tree.commit("again", &AUTHOR(), cancel).await.expect_err("nothing staged");
    assert!(empty.to_string().contains("nothing is staged"), "{empty}");
    tree.commit(" \n", &AUTHOR(), cancel).await.expect_err("an empty message");
    let log = Log { max_count: 1, ..Log::default() };
    let shown = text_of(tree.log(log, 10_000, cancel).await);
    assert!(shown.contains("Author: Ann x <ann@example.org>\n"), "{shown}");
    assert!(shown.contains("Add b") && shown.contains("lib/é b.txt"), "{shown}");
    let shown = text_of(tree.show(&commit, &[], 10_000, cancel).await);
    assert!(shown.contains("+three"), "{shown}");
    let old = text_of(tree.show_file(&before, "lib/a.txt", 10_000, cancel).await);
    assert_eq!(old, "two");
    let blame = Blame { path: "lib/a.txt", revision: Some(&before), lines: None };
    assert!(text_of(tree.blame(blame, 10_000, cancel).await).contains("two"));
    // A file of the name of a revision makes no argument ambiguous.
    fixture.write("HEAD", "text\n");
    assert!(text_of(tree.log(log, 10_000, cancel).await).contains("Add b"));
    let blame = Blame { path: "lib/a.txt", revision: None, lines: Some((1, None)) };
    let blame = text_of(tree.blame(blame, 10_000, cancel).await);
    assert!(blame.contains("Ann x") && blame.contains("three"), "{blame}");
    let between = Diff { from: Some(&before), to: Some("HEAD"), ..Diff::default() };
    assert!(fixture.diff(between).await.contains("+three"));
}

#[tokio::test]
async fn changes_are_stashed_and_restored() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    fixture.write("lib/a.txt", "three\n");
    fixture.write("new.txt", "new\n");
    assert!(tree.stash("work\nmore", &[], &AUTHOR(), cancel).await.expect("stashed"));
    assert!(!tree.stash("nothing", &[], &AUTHOR(), cancel).await.expect("no changes"));
    assert_eq!(fixture.read("lib/a.txt"), "two");
    let stashes = text_of(tree.stashes(1_000, cancel).await);
    assert!(stashes.contains("stash@{0}: On") && stashes.contains("work"), "{stashes}");
    let shown = text_of(tree.show("stash@{0}", &[], 10_000, cancel).await);
    assert!(shown.contains("+three"), "{shown}");
    tree.unstash(&[], &AUTHOR(), cancel).await.expect("applied");
    assert_eq!(
        (fixture.read("lib/a.txt"), fixture.read("new.txt")),
        ("three\n".into(), "new\n".into())
    );
    tree.unstash(&[], &AUTHOR(), cancel).await.expect_err("no entry");

    assert_eq!(tree.restore(None, &["lib"], cancel).await.expect("restored"), 1);
    assert_eq!(fixture.read("lib/a.txt"), "two");
    tree.restore(Some("HEAD~1"), &["lib/a.txt"], cancel).await.expect("restored");
    assert_eq!(fixture.read("lib/a.txt"), "one");
    let none = tree.restore(None, &["no/such"], cancel).await.expect_err("no file");
    assert!(none.to_string().contains("there is no file at no/such"), "{none}");
}

#[tokio::test]
async fn paths_limit_what_is_shown_and_stashed() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    for path in ["lib/a.txt", "lib/new.txt", "library.txt"] {
        fixture.write(path, "three\n");
    }
    let status = text_of(tree.status(&["lib"], 10_000, cancel).await);
    assert!(status.contains("lib/new.txt") && !status.contains("library.txt"), "{status}");
    let shown = text_of(tree.show("HEAD", &["library.txt"], 10_000, cancel).await);
    assert!(shown.contains("Author:") && !shown.contains("lib/a.txt"), "{shown}");

    tree.add(&["library.txt"], cancel).await.expect("staged");
    let staged = tree.stash("lib", &["lib"], &AUTHOR(), cancel).await.expect_err("other files");
    assert!(staged.to_string().contains("library.txt is staged and not in lib"), "{staged}");
    tree.commit("Add a library", &AUTHOR(), cancel).await.expect("a commit");
    fixture.write("library.txt", "four\n");
    assert!(tree.stash("lib", &["lib"], &AUTHOR(), cancel).await.expect("stashed"));
    assert_eq!(fixture.read("library.txt"), "four\n");
    assert!(fixture.status().await.ends_with(" M library.txt\n"));
    let other = tree.unstash(&["library.txt"], &AUTHOR(), cancel).await.expect_err("not in it");
    assert!(other.to_string().contains("has lib/"), "{other}");
    tree.unstash(&["lib"], &AUTHOR(), cancel).await.expect("applied");
    assert_eq!(fixture.read("lib/new.txt"), "three\n");
    tree.restore(Some("HEAD"), &["lib/a.txt"], cancel).await.expect("restored");
    tree.root().expect("a tree").remove("lib/new.txt").expect("deleted");
    assert!(!tree.stash("none", &["lib"], &AUTHOR(), cancel).await.expect("no changes"));
}

#[tokio::test]
async fn a_deleted_file_and_a_link_are_staged_as_such() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    let outside = tempfile::tempdir().expect("directory");
    fs::write(outside.path().join("secret"), "canary").expect("file");
    tree.root().expect("a tree").remove("lib/a.txt").expect("deleted");
    symlink(outside.path().join("secret"), tree.path().join("link")).expect("link");
    symlink(outside.path(), tree.path().join("lib/out")).expect("link");
    if let Some(user) = tree.user() {
        for link in ["link", "lib/out"] {
            std::os::unix::fs::lchown(tree.path().join(link), Some(user.uid), Some(user.gid))
                .expect("an owner");
        }
    }
    assert_eq!(tree.add(&[], cancel).await.expect("staged"), 3);
    let staged = fixture.diff(Diff { is_staged: true, ..Diff::default() }).await;
    assert!(staged.contains("deleted file") && !staged.contains("canary"), "{staged}");
    assert_eq!(staged.matches("new file mode 120000").count(), 2, "{staged}");
    let inside = tree.add(&["lib/out/secret"], cancel).await;
    assert!(!matches!(inside, Ok(1..)), "{inside:?}");
    let leaked =
        tree.blame(Blame { path: "lib/out/secret", revision: None, lines: None }, 1_000, cancel);
    assert!(matches!(leaked.await, Err(Error::File { .. })));
    let restored = tree.restore(None, &["link"], cancel).await.expect_err("a link");
    assert!(restored.to_string().contains("symbolic link"), "{restored}");
}

#[tokio::test]
async fn arguments_are_neither_options_nor_paths_to_the_outside() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    for path in ["..", "../x", "/etc/passwd", ".git/config", "a/../../x", "a\0b", ".GIT/x", ""] {
        tree.add(&[path], cancel).await.expect_err(path);
        tree.restore(None, &[path], cancel).await.expect_err(path);
        tree.show_file("HEAD", path, 100, cancel).await.expect_err(path);
        tree.blame(Blame { path, revision: None, lines: None }, 100, cancel).await.expect_err(path);
        tree.diff(Diff { paths: &[path], ..Diff::default() }, 100, cancel).await.expect_err(path);
    }
    let written = tree.path().join("written");
    let option = format!("--output={}", written.display());
    for revision in [option.as_str(), "-p", "--no-index", "HEAD:lib", "@{u}", "a..b"] {
        tree.show(revision, &[], 100, cancel).await.expect_err(revision);
        let diff = Diff { from: Some(revision), ..Diff::default() };
        tree.diff(diff, 100, cancel).await.expect_err(revision);
        let log = Log { revision: Some(revision), max_count: 1, paths: &[] };
        tree.log(log, 100, cancel).await.expect_err(revision);
        tree.restore(Some(revision), &["lib"], cancel).await.expect_err(revision);
    }
    // A file may have the name of an option.
    fixture.write("--output=x", "text\n");
    assert_eq!(tree.add(&["--output=x"], cancel).await.expect("staged"), 1);
    assert!(!written.exists());
    let unknown = tree.show("no-such-branch", &[], 100, cancel).await.expect_err("unknown");
    assert!(matches!(unknown, Error::Rejected(_)), "{unknown}");
}

#[tokio::test]
async fn output_is_cut_at_its_limit_and_its_length_is_told() {
    let fixture = Fixture::new().await;
    fixture.write("lib/a.txt", &"line\n".repeat(100_000));
    let diff = fixture.clone.diff(Diff::default(), 1_000, &fixture.cancel).await.expect("a diff");
    assert_eq!((diff.bytes.len(), diff.is_cut), (1_000, true));
}

/// What a repository and its owner's configuration could make git run.
const HOSTILE_SETTINGS: &[&str] = &[
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "diff.external",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "diff.x.command",
    "diff.x.textconv",
    "gpg.program",
    "core.sshCommand",
    "core.gitProxy",
    "credential.helper",
    "core.alternateRefsCommand",
    "uploadpack.packObjectsHook",
    "core.askPass",
    "trailer.x.command",
    "alias.status",
    "merge.x.driver",
];

#[tokio::test]
async fn no_program_of_a_checkout_runs() {
    let source = tempfile::tempdir().expect("directory");
    let path = source.path();
    repository(path);
    let marker = tempfile::tempdir().expect("directory");
    fs::set_permissions(marker.path(), std::fs::Permissions::from_mode(0o777)).expect("mode");
    let touch = format!("touch {}/ran; cat", marker.path().display());
    for setting in HOSTILE_SETTINGS {
        git(path, &["config", setting, &touch]);
    }
    git(path, &["config", "filter.x.required", "true"]);
    for setting in ["filter.a=b.clean", "filter.a=b.smudge"] {
        git(path, &["config", setting, &touch]);
    }
    git(path, &["config", "format.pretty", "%H %G?"]);
    git(path, &["config", "extensions.worktreeConfig", "true"]);
    git(path, &["config", "--worktree", "filter.w.clean", &touch]);
    let attributes = "* filter=x diff=x merge=x\n*.b filter=a=b\n*.w filter=w\n";
    fs::write(path.join(".gitattributes"), attributes).expect("file");
    for name in ["one.b", "one.w"] {
        fs::write(path.join(name), "text\n").expect("file");
    }
    for hook in ["pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
        let hook = path.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().expect("hooks")).expect("directory");
        fs::write(&hook, format!("#!/bin/sh\n{touch} < /dev/null\n")).expect("file");
        fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
    fs::write(path.join("lib/a.txt"), "three\n").expect("file");
    give_away(path);
    let cancel = CancellationToken::new();
    let tree = in_place(path).await.expect("a checkout");
    let status = text_of(tree.status(&[], 10_000, &cancel).await);
    assert!(status.contains(" M lib/a.txt"), "{status}");
    assert!(text_of(tree.diff(Diff::default(), 10_000, &cancel).await).contains("+three"));
    let log = Log { max_count: 3, ..Log::default() };
    text_of(tree.log(log, 10_000, &cancel).await);
    text_of(tree.show("HEAD", &[], 10_000, &cancel).await);
    let blame = Blame { path: "lib/a.txt", revision: None, lines: None };
    text_of(tree.blame(blame, 10_000, &cancel).await);
    tree.add(&[], &cancel).await.expect("staged");
    tree.commit("three", &AUTHOR(), &cancel).await.expect("a commit");
    let lines = "a\nb\nc\nd\ne\nf\n";
    fs::write(path.join("lib/a.txt"), lines).expect("file");
    tree.add(&["lib"], &cancel).await.expect("staged");
    tree.commit("lines", &AUTHOR(), &cancel).await.expect("a commit");
    // The entry of the stash is merged with a commit after it.
    fs::write(path.join("lib/a.txt"), lines.replace('a', "first")).expect("file");
    tree.stash("first", &[], &AUTHOR(), &cancel).await.expect("stashed");
    fs::write(path.join("lib/a.txt"), lines.replace('f', "last")).expect("file");
    tree.add(&["lib"], &cancel).await.expect("staged");
    tree.commit("last", &AUTHOR(), &cancel).await.expect("a commit");
    tree.unstash(&[], &AUTHOR(), &cancel).await.expect("merged");
    let merged = fs::read_to_string(path.join("lib/a.txt")).expect("a file");
    assert!(merged.starts_with("first\n") && merged.ends_with("last\n"), "{merged}");
    tree.restore(Some("HEAD~2"), &["lib"], &cancel).await.expect("restored");
    assert!(!marker.path().join("ran").exists(), "a program of the repository ran");
    assert_eq!(fs::read_to_string(path.join("lib/a.txt")).expect("a file"), "three\n");
}

/// Lists everything below a directory.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            found.extend(below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

#[tokio::test]
async fn a_commit_is_pushed_to_a_branch_that_nobody_moved() {
    let served = tempfile::tempdir().expect("directory");
    let (path, url) = served_repository(served.path()).await;
    git(&path, &["config", "http.receivepack", "true"]);
    let directory = workspace();
    let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
    let origin = parse(url.as_str()).expect("a location");
    let request = CloneRequest {
        origin: &origin,
        requested_ref: "",
        depth: Depth::Full,
        access: NetworkAccess::Anywhere,
        protected: &protected,
        credential: None,
        limits: Limits::default(),
        time: TIMEOUT,
    };
    let cloned = clone_url(directory.path(), &url, local_settings(), request, &cancel).await;
    let Cloned { work_tree: tree, commit: first, .. } = cloned.expect("a clone");
    let push = async |commit: &str, expected: Option<&str>| {
        let push = Push { url: &url, commit, branch: "topic", expected };
        tree.push_to(push, local_settings(), None, &cancel).await
    };
    push(&first, None).await.expect("a new branch");
    tree.root().expect("a tree").replace("b.txt", b"b\n", 0o644).expect("a file");
    tree.add(&[], &cancel).await.expect("staged");
    let second = tree.commit("b", &AUTHOR(), &cancel).await.expect("a commit");
    let stale = push(&second, None).await.expect_err("the branch exists");
    assert!(matches!(stale, Error::Rejected(_)), "{stale}");
    push(&second, Some(&first)).await.expect("moved");
    push(&second, Some(&first)).await.expect("a repeated request");
    let stale = push(&first, Some(&first)).await.expect_err("moved meanwhile");
    assert!(matches!(stale, Error::Rejected(_)), "{stale}");
    assert_eq!(git(&path, &["rev-parse", "refs/heads/topic"]), second);
    let disk = Url::from_file_path(&path).expect("a URL");
    let push = Push { url: &disk, commit: &second, branch: "topic", expected: None };
    let refused = tree.push(push, NetworkAccess::Anywhere, None, &cancel).await;
    assert!(matches!(refused, Err(Error::InvalidLocation(_))), "{refused:?}");
}

/// A stash makes git run another git in each submodule, with the configuration there.
#[tokio::test]
async fn no_git_runs_in_a_nested_repository() {
    let source = tempfile::tempdir().expect("directory");
    repository(source.path());
    let nested = tempfile::tempdir().expect("directory");
    let [_, head] = repository(nested.path());
    let submodule = format!("160000,{head},x");
    git(source.path(), &["update-index", "--add", "--cacheinfo", &submodule]);
    git(source.path(), &["commit", "--quiet", "-m", "a submodule"]);
    let fixture = Fixture::of(&source).await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    let marker = tempfile::tempdir().expect("directory");
    fs::set_permissions(marker.path(), std::fs::Permissions::from_mode(0o777)).expect("mode");
    let touch = format!("touch {}/ran; cat", marker.path().display());
    git(nested.path(), &["config", "filter.x.clean", &touch]);
    fs::write(nested.path().join(".gitattributes"), "* filter=x\n").expect("file");
    fs::write(nested.path().join("lib/a.txt"), "changed\n").expect("file");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(format!("{}/.", nested.path().display()))
        .arg(tree.path().join("x"))
        .status()
        .expect("cp");
    assert!(copied.success());
    if let Some(user) = tree.user() {
        for path in [tree.path().join("x")].into_iter().chain(below(&tree.path().join("x"))) {
            std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)).expect("an owner");
        }
    }
    fixture.write("lib/a.txt", "three\n");
    fixture.status().await;
    fixture.diff(Diff::default()).await;
    tree.add(&[], cancel).await.expect("staged");
    let refused = tree.stash("work", &[], &AUTHOR(), cancel).await.expect_err("a submodule");
    assert!(refused.to_string().contains("submodules"), "{refused}");
    assert!(!marker.path().join("ran").exists(), "a program of the nested repository ran");
}

/// Returns whether git can be confined; if not, says so.
fn is_confined() -> bool {
    let directory = tempfile::tempdir().expect("directory");
    fs::write(directory.path().join("file"), "text").expect("file");
    let read = || fs::read(directory.path().join("file"));
    let read = mc_privileges::Confinement::default().run(false, read).expect("a thread");
    if read.is_ok() {
        mc_testkit::skip("MC_TEST_LANDLOCK", "the kernel has no Landlock", "with Linux 5.13");
    }
    read.is_err()
}

/// Opens a checkout with nothing protected.
async fn in_place(checkout: &Path) -> Result<WorkTree, Error> {
    let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
    WorkTree::in_place(checkout, &protected, &cancel).await
}

/// Gives a repository to the user as whom git may change it.
fn give_away(path: &Path) {
    if mc_testkit::runs_as_root("only root can give a directory to another user") {
        for entry in [path.to_owned()].into_iter().chain(below(path)) {
            std::os::unix::fs::lchown(entry, Some(NOBODY.uid), Some(NOBODY.gid)).expect("an owner");
        }
    }
}

/// Somebody who can change a parent of a registered checkout puts another repository in its place
/// after it was opened.
#[tokio::test]
async fn git_reads_no_repository_that_takes_the_place_of_a_checkout() {
    if !is_confined() {
        return;
    }
    let parent = tempfile::tempdir().expect("directory");
    fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(0o755)).expect("mode");
    let [path, aside, other] = ["checkout", "aside", "other"].map(|name| parent.path().join(name));
    for each in [&path, &other] {
        fs::create_dir(each).expect("directory");
        repository(each);
    }
    fs::write(other.join("lib/a.txt"), "canary\n").expect("file");
    git(&other, &["commit", "--quiet", "--all", "-m", "canary"]);
    for each in [&path, &other] {
        give_away(each);
    }
    let cancel = CancellationToken::new();
    let tree = in_place(&path).await.expect("a checkout");
    let log = Log { max_count: 3, ..Log::default() };
    assert!(text_of(tree.log(log, 10_000, &cancel).await).contains("two"));
    fs::rename(&path, &aside).expect("moved");
    for is_link in [false, true] {
        if is_link {
            fs::rename(&path, &other).expect("moved back");
            symlink(&other, &path).expect("a link");
        } else {
            fs::rename(&other, &path).expect("moved");
        }
        tree.log(log, 10_000, &cancel).await.expect_err("another repository");
        tree.status(&[], 10_000, &cancel).await.expect_err("another repository");
        tree.show_file("HEAD", "lib/a.txt", 10_000, &cancel).await.expect_err("another repository");
        let committed = tree.commit("x", &AUTHOR(), &cancel).await;
        committed.expect_err("another repository");
    }
    let by_link = in_place(&path).await.expect_err("a link");
    assert!(by_link.to_string().contains("leads to another directory by a link"), "{by_link}");
}

/// The configuration of a checkout may change after its filters were disarmed.
#[tokio::test]
async fn late_filter_of_a_checkout_changes_nothing_outside() {
    if !is_confined() {
        return;
    }
    let source = tempfile::tempdir().expect("directory");
    let path = source.path();
    repository(path);
    give_away(path);
    let outside = tempfile::tempdir().expect("directory");
    fs::set_permissions(outside.path(), std::fs::Permissions::from_mode(0o777)).expect("mode");
    fs::write(outside.path().join("canary"), "canary").expect("file");
    let cancel = CancellationToken::new();
    let tree = in_place(path).await.expect("a checkout");
    let outside = outside.path().display();
    // With commands of the shell itself: no other program runs.
    let echo = "while IFS= read -r line; do echo $line; done";
    let filter = format!("(: > {outside}/ran); : > ran; {echo} < {outside}/canary; {echo}");
    let config = path.join(".git/config");
    let before = fs::read_to_string(&config).expect("a configuration");
    let filters = format!("{before}[filter \"x\"]\n\tclean = \"{filter}\"\n");
    fs::write(&config, filters).expect("a configuration");
    fs::write(path.join(".gitattributes"), "* filter=x\n").expect("file");
    fs::write(path.join("lib/a.txt"), "three\n").expect("file");
    give_away(path);
    let diff = text_of(tree.diff(Diff::default(), 10_000, &cancel).await);
    assert!(path.join("ran").exists() && diff.contains("+three"), "the filter ran: {diff}");
    assert!(!diff.contains("canary"), "{diff}");
    assert!(!Path::new(&format!("{outside}/ran")).exists(), "the filter wrote a file outside");
}

/// The owner of a checkout lets it borrow the objects of a directory of root, in which links lead
/// to a private repository.
#[tokio::test]
async fn objects_of_root_are_not_borrowed() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let [checkout, of_root] = [(); 2].map(|()| tempfile::tempdir().expect("directory"));
    repository(checkout.path());
    let alternates = format!("{}\n", of_root.path().display());
    fs::write(checkout.path().join(".git/objects/info/alternates"), alternates).expect("file");
    give_away(checkout.path());
    let error = in_place(checkout.path()).await.expect_err("of root");
    assert!(error.to_string().contains("another user of the machine (id 0)"), "{error}");
}

#[tokio::test]
async fn configuration_outside_of_the_repository_is_named() {
    if !is_confined() {
        return;
    }
    let [checkout, outside] = [(); 2].map(|()| tempfile::tempdir().expect("directory"));
    repository(checkout.path());
    let path = outside.path().join("config");
    fs::write(&path, "[user]\n\tname = x\n").expect("file");
    git(checkout.path(), &["config", "include.path", path.to_str().expect("UTF-8")]);
    give_away(checkout.path());
    let error = in_place(checkout.path()).await.expect_err("outside");
    assert!(error.to_string().contains("git may not read a file outside"), "{error}");
    assert!(error.to_string().contains("move it into the repository"), "{error}");
}

/// The owner of a checkout can't make git read a repository that is private to the service's user.
#[tokio::test]
async fn repository_of_another_user_is_not_read() {
    if !mc_testkit::runs_as_root("only root can give a directory to another user") {
        return;
    }
    let [checkout, private] = [(); 2].map(|()| tempfile::tempdir().expect("directory"));
    repository(private.path());
    let of_others = |git: &str| format!("gitdir: {}\n", private.path().join(git).display());
    fs::write(checkout.path().join(".git"), of_others(".git")).expect("file");
    give_away(checkout.path());
    for path in [private.path().to_owned()].into_iter().chain(below(private.path())) {
        std::os::unix::fs::lchown(path, Some(1234), Some(1234)).expect("an owner");
    }
    fs::set_permissions(private.path(), std::fs::Permissions::from_mode(0o755)).expect("mode");
    let error = in_place(checkout.path()).await.expect_err("private");
    assert!(error.to_string().contains("another user of the machine (id 1234)"), "{error}");
}

#[tokio::test]
async fn linked_work_tree_and_borrowed_objects_are_read() {
    let [main, borrower, linked] = [(); 3].map(|()| tempfile::tempdir().expect("directory"));
    repository(main.path());
    let linked = linked.path().join("linked");
    let path = linked.to_str().expect("UTF-8");
    git(main.path(), &["worktree", "add", "--quiet", "-b", "side", path]);
    let of_main = main.path().to_str().expect("UTF-8");
    git(borrower.path(), &["clone", "--quiet", "--shared", of_main, "."]);
    let cancel = CancellationToken::new();
    for each in [main.path(), borrower.path(), &linked] {
        give_away(each);
    }
    for path in [&linked, borrower.path()] {
        let tree = in_place(path).await.expect("a checkout");
        fs::write(path.join("lib/a.txt"), "three\n").expect("file");
        let status = text_of(tree.status(&[], 10_000, &cancel).await);
        assert!(status.contains(" M lib/a.txt"), "{status}");
        tree.add(&[], &cancel).await.expect("staged");
        tree.commit("three", &AUTHOR(), &cancel).await.expect("a commit");
        let log = Log { max_count: 9, ..Log::default() };
        let log = text_of(tree.log(log, 10_000, &cancel).await);
        assert!(log.contains("three") && log.contains("two"), "{log}");
    }
}

/// A file `.git` in the tree, which a command may create, tells nothing about other directories.
#[tokio::test]
async fn nested_repository_does_not_tell_whether_another_one_exists() {
    if !is_confined() {
        return;
    }
    let fixture = Fixture::new().await;
    let other = Fixture::new().await;
    let mut shown = Vec::new();
    for git in [other.clone.path().with_file_name("git"), "/nonexistent".into()] {
        let of_git = fixture.clone.path().join("x/.git");
        fixture.write("x/file", "text\n");
        fs::write(&of_git, format!("gitdir: {}\n", git.display())).expect("file");
        if let Some(user) = fixture.clone.user() {
            std::os::unix::fs::lchown(&of_git, Some(user.uid), Some(user.gid)).expect("an owner");
        }
        let status = fixture.clone.status(&[], 10_000, &fixture.cancel).await;
        let status = status.map(|text| String::from_utf8(text.bytes).expect("UTF-8"));
        let name = git.display().to_string();
        shown.push(status.map_err(|error| error.to_string().replace(&name, "")));
    }
    assert_eq!(format!("{:?}", shown[0]), format!("{:?}", shown[1]));
}

#[tokio::test]
async fn conflict_of_the_stash_names_its_files() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    fixture.write("lib/a.txt", "three\n");
    tree.stash("three", &[], &AUTHOR(), cancel).await.expect("stashed");
    fixture.write("lib/a.txt", "four\n");
    tree.add(&[], cancel).await.expect("staged");
    tree.commit("four", &AUTHOR(), cancel).await.expect("a commit");
    let conflict = tree.unstash(&[], &AUTHOR(), cancel).await.expect_err("a conflict");
    assert!(conflict.to_string().contains("conflicts with lib/a.txt"), "{conflict}");
    let unmerged = tree.restore(None, &["lib"], cancel).await.expect_err("three versions");
    assert!(unmerged.to_string().contains("conflict"), "{unmerged}");
    tree.restore(Some("HEAD"), &["lib"], cancel).await.expect("restored");
    assert_eq!(fixture.read("lib/a.txt"), "four\n");
}

#[tokio::test]
async fn a_file_that_became_a_directory_or_a_link_is_staged() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    tree.root().expect("a tree").remove("lib/a.txt").expect("deleted");
    fixture.write("lib/a.txt/b", "b\n");
    assert_eq!(tree.add(&[], cancel).await.expect("staged"), 2);
    tree.commit("a directory", &AUTHOR(), cancel).await.expect("a commit");
    let root = tree.root().expect("a tree");
    root.remove("lib/a.txt/b").expect("deleted");
    for directory in ["lib/a.txt", "lib"] {
        fs::remove_dir(tree.path().join(directory)).expect("deleted");
    }
    symlink("/etc", tree.path().join("lib")).expect("link");
    if let Some(user) = tree.user() {
        std::os::unix::fs::lchown(tree.path().join("lib"), Some(user.uid), Some(user.gid))
            .expect("an owner");
    }
    assert_eq!(tree.add(&[], cancel).await.expect("staged"), 2);
    let staged = fixture.diff(Diff { is_staged: true, ..Diff::default() }).await;
    assert!(staged.contains("deleted file") && staged.contains("new file mode 120000"), "{staged}");
}

#[tokio::test]
async fn a_trial_tree_leaves_the_work_tree_as_it_is() {
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    fixture.write("lib/a.txt", "three\n");
    let before = fixture.status().await;
    let directory = workspace();
    let limits = Limits::default();
    let trial = tree.trial(directory.path(), "HEAD", limits, cancel).await.expect("a tree");
    let root = trial.root().expect("a tree");
    assert_eq!(root.read("lib/a.txt", 10).expect("a file"), b"two");
    root.replace("lib/a.txt", b"tried\n", 0o644).expect("a file");
    trial.add(&[], cancel).await.expect("staged");
    let staged = Diff { is_staged: true, ..Diff::default() };
    assert!(text_of(trial.diff(staged, 10_000, cancel).await).contains("+tried"));
    assert_eq!(fixture.status().await, before);
    assert_eq!(fixture.read("lib/a.txt"), "three\n");
    let few = Limits { files: 0, ..limits };
    let refused = tree.trial(workspace().path(), "HEAD", few, cancel).await;
    assert!(matches!(refused, Err(Error::RepositoryTooLarge { .. })), "{refused:?}");
}
