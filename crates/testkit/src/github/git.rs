//! The bare repository, by the program git.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The time of each commit, so that equal commits have equal ids.
const TIME: &str = "2026-01-02T03:04:05Z";

pub(super) struct Repository {
    /// The bare repository.
    pub(super) directory: PathBuf,
    root: tempfile::TempDir,
}

impl Repository {
    /// Creates an empty repository, `name.git`.
    pub(super) fn create(name: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = root.path().join(format!("{name}.git"));
        std::fs::create_dir_all(&directory).expect("a directory");
        let repository = Self { directory, root };
        repository.git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
        repository
    }

    /// The directory whose subdirectories are served.
    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        text(run(self.command(arguments), ""))
    }

    pub(super) fn head(&self, branch: &str) -> Option<String> {
        self.resolve(&format!("refs/heads/{branch}"))
    }

    /// Returns the commit that a revision names.
    pub(super) fn resolve(&self, revision: &str) -> Option<String> {
        let revision = format!("{revision}^{{commit}}");
        let output = run(self.command(&["rev-parse", "--verify", "--quiet", &revision]), "");
        output.status.success().then(|| text(output))
    }

    pub(super) fn set_head(&self, branch: &str, sha: &str) {
        self.git(&["update-ref", &format!("refs/heads/{branch}"), sha]);
    }

    /// Returns the number of commits of `head` that `base` lacks.
    pub(super) fn count_new(&self, base: &str, head: &str) -> u32 {
        let range = format!("{base}..{head}");
        self.git(&["rev-list", "--count", &range]).parse().expect("a number")
    }

    pub(super) fn commit(&self, branch: &str, path: &str, content: &str) -> String {
        let parent = self.head(branch).or_else(|| self.head("main"));
        let index = self.root.path().join("index");
        let with_index = |arguments: &[&str]| {
            let mut command = self.command(arguments);
            command.env("GIT_INDEX_FILE", &index);
            text(run(command, ""))
        };
        let blob = text(run(self.command(&["hash-object", "-w", "--stdin"]), content));
        with_index(&["read-tree", parent.as_deref().unwrap_or("--empty")]);
        let entry = format!("100644,{blob},{path}");
        with_index(&["update-index", "--add", "--cacheinfo", &entry]);
        let tree = with_index(&["write-tree"]);
        let message = format!("Change {path}");
        let sha = self.commit_tree(&tree, parent.as_slice(), &message, &[]);
        self.set_head(branch, &sha);
        sha
    }

    /// Merges `head` into the commit `base` in a new commit, by `squash`, `rebase` or `merge`.
    /// Returns it; `None` if there are conflicts.
    pub(super) fn merge(
        &self,
        method: &str,
        base: &str,
        head: &str,
        message: &str,
    ) -> Option<String> {
        if method == "rebase" {
            return self.rebase(base, head);
        }
        let tree = self.merged_tree(&["merge-tree", "--write-tree", base, head])?;
        let parents = [base.to_owned(), head.to_owned()];
        let parents = if method == "squash" { &parents[..1] } else { &parents[..] };
        Some(self.commit_tree(&tree, parents, message, &[]))
    }

    fn rebase(&self, base: &str, head: &str) -> Option<String> {
        let range = format!("{base}..{head}");
        let mut onto = base.to_owned();
        for commit in self.git(&["rev-list", "--reverse", "--no-merges", &range]).lines() {
            let parent = format!("--merge-base={commit}^");
            let tree = self.merged_tree(&["merge-tree", "--write-tree", &parent, &onto, commit])?;
            let field = |format: &str| self.git(&["log", "-1", format, commit]);
            let author = [
                ("GIT_AUTHOR_NAME", field("--format=%an")),
                ("GIT_AUTHOR_EMAIL", field("--format=%ae")),
                ("GIT_AUTHOR_DATE", field("--format=%aI")),
            ];
            onto = self.commit_tree(&tree, &[onto], &field("--format=%B"), &author);
        }
        Some(onto)
    }

    fn merged_tree(&self, arguments: &[&str]) -> Option<String> {
        let output = run(self.command(arguments), "");
        output.status.success().then(|| text(output))
    }

    fn commit_tree(
        &self,
        tree: &str,
        parents: &[String],
        message: &str,
        author: &[(&str, String)],
    ) -> String {
        let mut command = self.command(&["commit-tree", tree, "-F", "-"]);
        command.args(parents.iter().flat_map(|parent| ["-p", parent]));
        command.envs(author.iter().map(|(name, value)| (name, value)));
        text(run(command, message))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&self.directory).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Olga");
            command.env(format!("GIT_{role}_EMAIL"), "olga@example.org");
            command.env(format!("GIT_{role}_DATE"), TIME);
        }
        command
    }
}

fn run(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = command.spawn().expect("git runs");
    let mut stdin = program.stdin.take().expect("a pipe");
    // A program that reads no input may have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    program.wait_with_output().expect("git ends")
}

fn text(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git failed: {errors}");
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}
