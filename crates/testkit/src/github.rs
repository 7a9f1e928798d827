//! GitHub for tests: its REST API and git over HTTP, above a real bare repository.
//!
//! It answers as Enterprise Server does, under `/api/v3`, to the requests that change a repository:
//! branches, pull requests, reviews, merges, statuses and check runs. Merges are made by git. It
//! refuses what GitHub refuses, with the same status and message.

mod api;
mod faults;
mod git;
mod pulls;
mod server;
mod state;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use serde_json::Value;

use git::Repository;
use state::{CheckRun, RequiredCheck, State};

pub use faults::GitHubFault;
pub use state::GitHubCredential;

/// The name of the repository.
const RESOURCE: &str = "octocat/hello";

/// A running server with one private repository, `octocat/hello`, whose branch `main` has one
/// commit. It ends with the test's runtime.
#[derive(Clone)]
pub struct GitHub {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A request to the API as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct GitHubRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The decoded path below that of the API, such as `/repos/octocat/hello/pulls`.
    pub path: String,
    /// The login of the credential; `None` without a known one.
    pub login: Option<String>,
    /// The body; null if there is none.
    pub body: Value,
}

struct Shared {
    repository: Repository,
    state: Mutex<State>,
}

impl GitHub {
    /// Starts the server on a free port.
    ///
    /// # Panics
    /// If no port is free, or git does not run.
    pub async fn start() -> Self {
        let repository = Repository::create(RESOURCE);
        repository.commit("main", "README.md", "# hello\n");
        let shared = Arc::new(Shared { repository, state: Mutex::default() });
        let app = Router::new().fallback(server::respond).with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, shared }
    }

    /// Returns the address that people would open. The API is below it, under `/api/v3`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address from which git fetches and to which it pushes. It takes a token as the
    /// password of any user.
    pub fn git_url(&self) -> String {
        format!("{}/{RESOURCE}.git", self.url())
    }

    /// Returns the name of the repository.
    pub fn resource(&self) -> &'static str {
        RESOURCE
    }

    /// Returns the directory of the bare repository.
    pub fn repository(&self) -> &Path {
        &self.shared.repository.directory
    }

    /// Adds a credential.
    pub fn add_credential(&self, credential: GitHubCredential) {
        self.state().credentials.push(credential);
    }

    /// Commits a file on a branch, which begins at `main` if it is new. Returns the commit.
    ///
    /// # Panics
    /// If git fails.
    pub fn commit(&self, branch: &str, path: &str, content: &str) -> String {
        self.shared.repository.commit(branch, path, content)
    }

    /// Returns the commit of a branch.
    pub fn head(&self, branch: &str) -> Option<String> {
        self.shared.repository.head(branch)
    }

    /// Runs git in the bare repository, and returns its output without the last line break.
    ///
    /// # Panics
    /// If git fails.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.shared.repository.git(arguments)
    }

    /// Requires a check of pull requests into a branch, by the protection of the branch.
    pub fn protect(&self, branch: &str, context: &str) {
        self.require(branch, context, None, false);
    }

    /// Requires a check of pull requests into a branch, by a ruleset, and of one app if given.
    pub fn add_rule(&self, branch: &str, context: &str, app_id: Option<u64>) {
        self.require(branch, context, app_id, true);
    }

    fn require(&self, branch: &str, context: &str, app_id: Option<u64>, by_rule: bool) {
        let (branch, context) = (branch.to_owned(), context.to_owned());
        let required = RequiredCheck { branch, context, app_id, by_rule };
        self.state().required.push(required);
    }

    /// Allows these methods of merges only: `squash`, `rebase`, `merge`. All are allowed at first.
    pub fn allow_merge_methods(&self, methods: &[&str]) {
        self.state().merge_methods = methods.iter().map(|&method| method.to_owned()).collect();
    }

    /// Adds a check run of an app; it is in progress if there is no conclusion.
    pub fn add_check_run(&self, sha: &str, name: &str, app_id: u64, conclusion: Option<&str>) {
        let mut state = self.state();
        let id = state.next_id();
        let conclusion = conclusion.map(str::to_owned);
        let (sha, name) = (sha.to_owned(), name.to_owned());
        state.check_runs.push(CheckRun { id, sha, name, app_id, conclusion });
    }

    /// Lets the next request fail whose method is this one and whose path ends so.
    pub fn inject(&self, method: &str, path_end: &str, fault: GitHubFault) {
        let (method, path_end) = (method.to_owned(), path_end.to_owned());
        self.state().faults.push((method, path_end, fault));
    }

    /// Returns the requests to the API so far.
    pub fn requests(&self) -> Vec<GitHubRequest> {
        self.state().requests.clone()
    }

    /// Returns the writes to the API so far.
    pub fn writes(&self) -> Vec<GitHubRequest> {
        let requests = self.requests();
        requests.into_iter().filter(|request| request.method != "GET").collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

impl std::fmt::Debug for GitHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHub").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }
}
