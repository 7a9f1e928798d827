//! A workspace of a real clone, with a sandbox, and its tools by the JSON of their requests.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mc_contract::operations::workspace_tools::ToolResponse;
use mc_files::{ProtectedDirectories, Root};
use mc_git::{CloneRequest, Depth, Identity, NetworkAccess, WorkTree};
use mc_sandbox::{InitProgram, Limits, Sandbox, Settings};
use mc_sanitizer::{Policy, Sanitizer};
use mc_workspaces::Error;
use mc_workspaces::navigation::Navigation;
use mc_workspaces::tools::{self, CommandProgress, Commands, EditHistory, Workspace};
use serde_json::{Value, from_value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Environment variable. If it is `required`, as in a release, tests fail on a system that forbids
/// user namespaces. Otherwise they are skipped.
const SANDBOX: &str = "MC_TEST_SANDBOX";
/// A line whose value is masked.
pub const SECRET: &str = concat!("pass", "word = \"hunter2\"\n");

/// Files of the repository.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# Shop\n"),
    ("src/cart.rs", "fn total() -> u64 {\n    7\n}\n"),
    ("src/package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\"\n}\n"),
    ("src/conf.toml", SECRET),
    ("other/notes.txt", "notes\n"),
];

/// A workspace, and what its caller keeps.
pub struct Fixture {
    directory: TempDir,
    pub work_tree: WorkTree,
    pub root: Root,
    pub navigation: Navigation,
    pub history: EditHistory,
    pub is_editable: bool,
    sanitizer: Sanitizer,
    policy: Policy,
    sandbox: Option<Sandbox>,
    pub cancel: CancellationToken,
}

impl Fixture {
    /// Clones a repository.
    pub async fn new() -> Self {
        let source = tempfile::tempdir().expect("a directory");
        git_in(source.path(), &["init", "--quiet", "--initial-branch=main"]);
        for (path, content) in FILES {
            let path = source.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, content).expect("a file");
        }
        git_in(source.path(), &["add", "."]);
        git_in(source.path(), &["commit", "--quiet", "-m", "Start the shop"]);
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).expect("permissions");
        let origin = mc_git::parse(source.path().to_str().expect("UTF-8")).expect("a location");
        let (protected, cancel) = (ProtectedDirectories::default(), CancellationToken::new());
        let request = CloneRequest {
            origin: &origin,
            requested_ref: "main",
            depth: Depth::Full,
            access: NetworkAccess::Anywhere,
            protected: &protected,
            credential: None,
            limits: mc_git::Limits::default(),
            time: Duration::from_mins(1),
        };
        let cloned = mc_git::clone(directory.path(), request, &cancel).await.expect("a clone");
        let root = cloned.work_tree.root().expect("a tree");
        Self {
            directory,
            work_tree: cloned.work_tree,
            root,
            navigation: Navigation::default(),
            history: EditHistory::default(),
            is_editable: true,
            sanitizer: Sanitizer::default(),
            policy: Policy::strict(),
            sandbox: None,
            cancel,
        }
    }

    /// Clones a repository, and locks its directory `src`.
    pub async fn locked() -> Self {
        let mut fixture = Self::new().await;
        fixture.lock("src");
        fixture
    }

    /// Clones a repository, locks its directory `src`, and detects a sandbox; `None` if the system
    /// forbids user namespaces.
    ///
    /// # Panics
    /// If bubblewrap is not installed.
    pub async fn with_sandbox() -> Option<Self> {
        let init = Path::new(env!("CARGO_BIN_EXE_workspace-sandbox-init"));
        let settings = Settings::new(InitProgram::open(init).expect("the first process"));
        match Sandbox::detect(settings).await {
            Ok(sandbox) => Some(Self { sandbox: Some(sandbox), ..Self::locked().await }),
            Err(error) if error.to_string().contains("sysctl") => {
                let how = "on a system with unprivileged user namespaces";
                mc_testkit::skip(SANDBOX, &error.to_string(), how);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Locks a directory.
    pub fn lock(&mut self, directory: &str) {
        for request in [
            json!({"subcommand": "unlock"}),
            json!({"subcommand": "cd", "path": format!("/workspace/{directory}")}),
            json!({"subcommand": "lock_cwd"}),
        ] {
            self.navigator(request).expect("it is locked");
        }
    }

    pub fn navigator(&mut self, request: Value) -> Result<ToolResponse, Error> {
        let request = from_value(request).expect("a request");
        let Self { navigation, history, .. } = self;
        let workspace = Workspace {
            work_tree: &self.work_tree,
            root: &self.root,
            sanitizer: &self.sanitizer,
            policy: &self.policy,
            is_editable: self.is_editable,
        };
        tools::navigator(&workspace, navigation, history, &request)
    }

    pub fn edit(&mut self, request: Value) -> Result<ToolResponse, Error> {
        let request = from_value(request).expect("a request");
        let mut history = std::mem::take(&mut self.history);
        let edited = tools::edit(&self.workspace(), &self.navigation, &mut history, &request);
        self.history = history;
        edited
    }

    pub fn json_edit(&mut self, request: Value) -> Result<ToolResponse, Error> {
        let request = from_value(request).expect("a request");
        let mut history = std::mem::take(&mut self.history);
        let edited = tools::json_edit(&self.workspace(), &self.navigation, &mut history, &request);
        self.history = history;
        edited
    }

    pub async fn git(&self, request: Value) -> Result<ToolResponse, Error> {
        let request = from_value(request).expect("a request");
        let author = Identity { name: "Ann".into(), email: "ann@example.org".into() };
        let (workspace, navigation) = (self.workspace(), &self.navigation);
        send(tools::git(&workspace, navigation, &author, &request, &self.cancel)).await
    }

    pub async fn bash(&self, request: Value) -> Result<ToolResponse, Error> {
        self.bash_with(request, |_| {}).await
    }

    pub async fn bash_with(
        &self,
        request: Value,
        on_progress: impl FnMut(CommandProgress) + Send + 'static,
    ) -> Result<ToolResponse, Error> {
        let request = from_value(request).expect("a request");
        let (workspace, limits) = (self.workspace(), Limits::default());
        let sandbox = self.sandbox.as_ref().expect("a sandbox");
        let commands = Commands { sandbox, limits: &limits };
        let navigation = &self.navigation;
        let cancel = &self.cancel;
        send(tools::bash(&workspace, commands, navigation, &request, on_progress, cancel)).await
    }

    /// Runs a command that succeeds, and returns its standard output.
    pub async fn run(&self, command: &str) -> String {
        let done = self.bash(json!({"command": command})).await.expect(command);
        assert_eq!((done.error_code, done.error.as_str()), (0, ""), "{command}: {}", done.output);
        done.output
    }

    /// Reads a file of the tree.
    pub fn content(&self, path: &str) -> String {
        String::from_utf8(self.root.read(path, 1 << 20).expect(path)).expect("UTF-8")
    }

    /// Writes a file of the tree, as another tool does.
    pub fn write(&self, path: &str, content: &str) {
        self.root.replace(path, content.as_bytes(), 0o644).expect(path);
    }

    /// Returns the directory of the workspace, in which the tree and git's directory are.
    pub fn directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    fn workspace(&self) -> Workspace<'_> {
        Workspace {
            work_tree: &self.work_tree,
            root: &self.root,
            sanitizer: &self.sanitizer,
            policy: &self.policy,
            is_editable: self.is_editable,
        }
    }
}

/// Returns a future, which a caller may run on any thread.
fn send<F: Future + Send>(future: F) -> F {
    future
}

/// Runs git in a directory, to prepare a repository.
pub fn git_in(directory: &Path, arguments: &[&str]) {
    let run = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
