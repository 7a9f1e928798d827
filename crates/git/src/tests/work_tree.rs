//! Work trees of clones and of checkouts.

use std::os::unix::fs::symlink;

use super::clone::workspace;
use super::*;

/// A clone with two commits, and a checkout with the same content.
struct Fixture {
    directory: tempfile::TempDir,
    cancel: CancellationToken,
    clone: WorkTree,
}

const AUTHOR: fn() -> Identity =
    || Identity { name: "Ann <x>\n".into(), email: "ann@example.org".into() };

impl Fixture {
    async fn new() -> Self {
        let source = tempfile::tempdir().expect("directory");
        repository(source.path());
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
        Self { directory, cancel, clone: cloned.work_tree }
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
        text_of(self.clone.status(10_000, &self.cancel).await)
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
    let log = text_of(tree.log(log, 10_000, cancel).await);
    assert!(log.contains("Author: Ann x <ann@example.org>\n"), "{log}");
    assert!(log.contains("Add b") && log.contains("lib/é b.txt"), "{log}");
    let shown = text_of(tree.show(&commit, None, 10_000, cancel).await);
    assert!(shown.contains("+three"), "{shown}");
    let old = text_of(tree.show(&before, Some("lib/a.txt"), 10_000, cancel).await);
    assert_eq!(old, "two");
    let blame = Blame { path: "lib/a.txt", revision: None, lines: Some((1, 1)) };
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
    tree.stash("work\nmore", &AUTHOR(), cancel).await.expect("stashed");
    assert_eq!(fixture.read("lib/a.txt"), "two");
    let stashes = text_of(tree.stashes(1_000, cancel).await);
    assert!(stashes.contains("stash@{0}: On") && stashes.contains("work"), "{stashes}");
    let shown = text_of(tree.show("stash@{0}", None, 10_000, cancel).await);
    assert!(shown.contains("+three"), "{shown}");
    tree.unstash(&AUTHOR(), cancel).await.expect("applied");
    assert_eq!(
        (fixture.read("lib/a.txt"), fixture.read("new.txt")),
        ("three\n".into(), "new\n".into())
    );
    tree.unstash(&AUTHOR(), cancel).await.expect_err("no entry");

    assert_eq!(tree.restore(None, &["lib"], cancel).await.expect("restored"), 1);
    assert_eq!(fixture.read("lib/a.txt"), "two");
    tree.restore(Some("HEAD~1"), &["lib/a.txt"], cancel).await.expect("restored");
    assert_eq!(fixture.read("lib/a.txt"), "one");
    let none = tree.restore(None, &["no/such"], cancel).await.expect_err("no file");
    assert!(none.to_string().contains("there is no file at no/such"), "{none}");
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
        tree.show("HEAD", Some(path), 100, cancel).await.expect_err(path);
        tree.blame(Blame { path, revision: None, lines: None }, 100, cancel).await.expect_err(path);
        tree.diff(Diff { paths: &[path], ..Diff::default() }, 100, cancel).await.expect_err(path);
    }
    let written = tree.path().join("written");
    let option = format!("--output={}", written.display());
    for revision in [option.as_str(), "-p", "--no-index", "HEAD:lib", "@{u}", "a..b"] {
        tree.show(revision, None, 100, cancel).await.expect_err(revision);
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
    let unknown = tree.show("no-such-branch", None, 100, cancel).await.expect_err("unknown");
    assert!(matches!(unknown, Error::Rejected(_)), "{unknown}");
}

#[tokio::test]
async fn output_is_cut_at_its_limit_and_its_length_is_told() {
    let fixture = Fixture::new().await;
    fixture.write("lib/a.txt", &"line\n".repeat(100_000));
    let diff = fixture.clone.diff(Diff::default(), 1_000, &fixture.cancel).await.expect("a diff");
    assert_eq!(diff.bytes.len(), 1_000);
    assert!(diff.total_bytes > 500_000, "{}", diff.total_bytes);
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
    fs::write(path.join(".gitattributes"), "* filter=x diff=x\n").expect("file");
    for hook in ["pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
        let hook = path.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().expect("hooks")).expect("directory");
        fs::write(&hook, format!("#!/bin/sh\n{touch} < /dev/null\n")).expect("file");
        fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
    fs::write(path.join("lib/a.txt"), "three\n").expect("file");
    if mc_testkit::runs_as_root("only root can give a directory to another user") {
        for entry in [path.to_owned()].into_iter().chain(below(path)) {
            std::os::unix::fs::lchown(entry, Some(NOBODY.uid), Some(NOBODY.gid)).expect("an owner");
        }
    }
    let cancel = CancellationToken::new();
    let tree = WorkTree::in_place(path, &cancel).await.expect("a checkout");
    let status = text_of(tree.status(10_000, &cancel).await);
    assert!(status.contains(" M lib/a.txt"), "{status}");
    assert!(text_of(tree.diff(Diff::default(), 10_000, &cancel).await).contains("+three"));
    let log = Log { max_count: 3, ..Log::default() };
    text_of(tree.log(log, 10_000, &cancel).await);
    text_of(tree.show("HEAD", None, 10_000, &cancel).await);
    let blame = Blame { path: "lib/a.txt", revision: None, lines: None };
    text_of(tree.blame(blame, 10_000, &cancel).await);
    tree.add(&[], &cancel).await.expect("staged");
    tree.commit("three", &AUTHOR(), &cancel).await.expect("a commit");
    fs::write(path.join("lib/a.txt"), "four\n").expect("file");
    tree.stash("four", &AUTHOR(), &cancel).await.expect("stashed");
    tree.unstash(&AUTHOR(), &cancel).await.expect("applied");
    tree.restore(None, &["lib"], &cancel).await.expect("restored");
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
    let fixture = Fixture::new().await;
    let (tree, cancel) = (&fixture.clone, &fixture.cancel);
    let bare = tempfile::tempdir().expect("directory");
    git(bare.path(), &["init", "--quiet", "--bare"]);
    if let Some(user) = tree.user() {
        for path in [bare.path().to_owned()].into_iter().chain(below(bare.path())) {
            std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)).expect("an owner");
        }
    }
    let url = Url::from_file_path(bare.path()).expect("a URL");
    let first = tree.head(cancel).await.expect("a head").expect("a commit");
    let push = |commit: String, expected: Option<String>| {
        let url = url.clone();
        async move {
            let push =
                Push { url: &url, commit: &commit, branch: "topic", expected: expected.as_deref() };
            tree.push(push, NetworkAccess::Anywhere, None, cancel).await
        }
    };
    push(first.clone(), None).await.expect("a new branch");
    fixture.write("b.txt", "b\n");
    tree.add(&[], cancel).await.expect("staged");
    let second = tree.commit("b", &AUTHOR(), cancel).await.expect("a commit");
    let stale = push(second.clone(), None).await.expect_err("the branch exists");
    assert!(matches!(stale, Error::Rejected(_)), "{stale}");
    push(second.clone(), Some(first.clone())).await.expect("moved");
    push(second.clone(), Some(first.clone())).await.expect("a repeated request");
    let stale = push(first.clone(), Some(first)).await.expect_err("moved meanwhile");
    assert!(matches!(stale, Error::Rejected(_)), "{stale}");
    let pushed = Command::new("git")
        .arg("-C")
        .arg(bare.path())
        .args(["-c", "safe.directory=*"])
        .args(["rev-parse", "refs/heads/topic"])
        .output()
        .expect("git");
    assert_eq!(String::from_utf8_lossy(&pushed.stdout).trim(), second);
    assert!(fixture.directory.path().exists());
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
