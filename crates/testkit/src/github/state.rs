//! Records of the server beside the repository.

use super::GitHubRequest;
use super::faults::GitHubFault;

/// A token and its user.
#[derive(Debug, Clone)]
pub struct GitHubCredential {
    /// The token.
    pub token: String,
    /// The login of its user.
    pub login: String,
    /// Whether the user may push. Every user may read.
    pub can_push: bool,
    /// The scopes of a classic token, such as `repo, read:org`; `None` for a fine-grained one.
    pub scopes: Option<String>,
}

impl GitHubCredential {
    /// A fine-grained token, by default of a user who may push.
    pub fn new(token: &str, login: &str) -> Self {
        Self { token: token.to_owned(), login: login.to_owned(), can_push: true, scopes: None }
    }
}

/// Everything but commits and branches.
pub(super) struct State {
    pub(super) credentials: Vec<GitHubCredential>,
    pub(super) pulls: Vec<Pull>,
    pub(super) statuses: Vec<Status>,
    pub(super) check_runs: Vec<CheckRun>,
    pub(super) required: Vec<RequiredCheck>,
    pub(super) merge_methods: Vec<String>,
    /// Method, end of the path, and what happens to the next such request.
    pub(super) faults: Vec<(String, String, GitHubFault)>,
    pub(super) requests: Vec<GitHubRequest>,
    last_id: u64,
}

pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: String,
    pub(super) is_draft: bool,
    pub(super) head: String,
    pub(super) base: String,
    pub(super) reviewers: Vec<String>,
    pub(super) reviews: Vec<Review>,
    pub(super) merge: Option<Merge>,
}

/// The commits of a merged pull request. The head branch may move later.
pub(super) struct Merge {
    pub(super) sha: String,
    pub(super) head: String,
    pub(super) base: String,
}

#[derive(Clone)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) login: String,
    pub(super) commit: String,
    pub(super) body: String,
}

#[derive(Clone)]
pub(super) struct Status {
    pub(super) id: u64,
    pub(super) sha: String,
    pub(super) state: String,
    pub(super) context: String,
    pub(super) description: String,
    pub(super) target_url: Option<String>,
}

#[derive(Clone)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) sha: String,
    pub(super) name: String,
    pub(super) app_id: u64,
    pub(super) conclusion: Option<String>,
}

/// A check that pull requests into a branch need.
#[derive(Clone)]
pub(super) struct RequiredCheck {
    pub(super) branch: String,
    pub(super) context: String,
    pub(super) app_id: Option<u64>,
    /// By a ruleset, or by the protection of the branch.
    pub(super) by_rule: bool,
}

/// How far a commit is with a check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Missing,
    Pending,
    Failed,
    Passed,
}

impl Default for State {
    fn default() -> Self {
        Self {
            credentials: Vec::new(),
            pulls: Vec::new(),
            statuses: Vec::new(),
            check_runs: Vec::new(),
            required: Vec::new(),
            merge_methods: ["squash", "rebase", "merge"].map(str::to_owned).to_vec(),
            faults: Vec::new(),
            requests: Vec::new(),
            last_id: 0,
        }
    }
}

impl State {
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn credential(&self, token: &str) -> Option<&GitHubCredential> {
        self.credentials.iter().find(|credential| credential.token == token)
    }

    pub(super) fn pull(&mut self, number: &str) -> Option<&mut Pull> {
        let number: u64 = number.parse().ok()?;
        self.pulls.iter_mut().find(|pull| pull.number == number)
    }

    pub(super) fn required_of(&self, branch: &str, by_rule: bool) -> Vec<RequiredCheck> {
        let required = self.required.iter();
        let is_meant = |check: &&RequiredCheck| check.branch == branch && check.by_rule == by_rule;
        required.filter(is_meant).cloned().collect()
    }

    /// Returns the latest status of each context of a commit.
    pub(super) fn latest_statuses(&self, sha: &str) -> Vec<Status> {
        let mut latest: Vec<Status> = Vec::new();
        for status in self.statuses.iter().filter(|status| status.sha == sha) {
            latest.retain(|earlier| earlier.context != status.context);
            latest.push(status.clone());
        }
        latest
    }

    /// Returns how far a commit is with a required check, by its latest status and check run.
    pub(super) fn progress(&self, required: &RequiredCheck, sha: &str) -> Progress {
        let is_run = |run: &&CheckRun| {
            let is_app = required.app_id.is_none_or(|app| app == run.app_id);
            run.sha == sha && run.name == required.context && is_app
        };
        if let Some(run) = self.check_runs.iter().rfind(is_run) {
            return match run.conclusion.as_deref() {
                None => Progress::Pending,
                Some("success" | "neutral" | "skipped") => Progress::Passed,
                Some(_) => Progress::Failed,
            };
        }
        let is_status = |status: &&Status| status.sha == sha && status.context == required.context;
        match self.statuses.iter().rfind(is_status).map(|status| status.state.as_str()) {
            _ if required.app_id.is_some() => Progress::Missing,
            None => Progress::Missing,
            Some("success") => Progress::Passed,
            Some("pending") => Progress::Pending,
            Some(_) => Progress::Failed,
        }
    }
}
