//! Writes to GitHub: on a server that carries them out, and their requests one by one.

mod branches;
mod checks;
mod faults;
mod git;
mod hostile;
mod merges;
mod pulls;
mod requests;
mod reviews;

use std::sync::Arc;

use mc_connectors::client::{Connector, ConnectorConfig, Provider};
use mc_connectors::traits::{
    MergeMethod, MergeRequest, NewPullRequest, NewStatus, PullRequest, PullRequestHost, StatusState,
};
use mc_testkit::{GitHub, GitHubCredential};

use crate::support::{TOKEN, config};

/// The tokens of a second user who may push, and of one who may only read.
const REVIEWER: &str = "r3viewer-t0ken";
const READER: &str = "r3ader-t0ken";

/// A server with the users `bot` (of [`TOKEN`]), `vera` and `eve`.
async fn start() -> GitHub {
    let github = GitHub::start().await;
    github.add_credential(GitHubCredential::new(TOKEN, "bot"));
    github.add_credential(GitHubCredential::new(REVIEWER, "vera"));
    let reader = GitHubCredential { can_push: false, ..GitHubCredential::new(READER, "eve") };
    github.add_credential(reader);
    github
}

fn host(github: &GitHub, token: &str) -> Arc<dyn PullRequestHost> {
    let config =
        ConnectorConfig { token: Some(token.into()), ..config(Provider::Github, &github.url()) };
    let connector = Connector::new(config).expect("a valid config");
    connector.pull_request_host(github.resource()).expect("a host")
}

fn new_pull_request(head: &str) -> NewPullRequest {
    NewPullRequest {
        head: head.to_owned(),
        base: "main".to_owned(),
        title: "Add a guide".to_owned(),
        body: "It explains the start.".to_owned(),
        draft: false,
    }
}

/// Opens a pull request of `bot` from a new branch with one commit.
async fn open(github: &GitHub, head: &str) -> PullRequest {
    github.commit(head, &format!("{head}.md"), "A guide.\n");
    host(github, TOKEN).open_pull_request(&new_pull_request(head)).await.expect("opened")
}

fn merge_of(pull: &PullRequest, method: MergeMethod) -> MergeRequest {
    MergeRequest {
        method,
        head_sha: pull.head.sha.clone(),
        title: "Add a guide (#1)".to_owned(),
        message: "It explains the start.".to_owned(),
    }
}

fn status(context: &str, state: StatusState) -> NewStatus {
    let description = "Done".to_owned();
    NewStatus { state, context: context.to_owned(), description, target_url: None }
}

/// Returns the number of writes whose path ends so.
fn count_writes(github: &GitHub, path_end: &str) -> usize {
    github.writes().iter().filter(|request| request.path.ends_with(path_end)).count()
}
