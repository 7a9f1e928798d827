//! Effects of pushes: index runs of repositories and their wikis, and syncs of wikis.

use mc_connectors::{Push, WikiPush, contains_repository};
use mc_domain::{DeliveryState, ProjectId};
use mc_store::repositories::{self, Repository};
use mc_store::{Error, Tx, integrations, pull_requests};

use super::event::{Outcome, completed, ignored};
use crate::reindex;

/// Enqueues an index run of each repository whose indexed ref was pushed.
pub(super) async fn enqueue_reindex(
    tx: &mut Tx,
    project: ProjectId,
    push: &Push,
) -> Result<Outcome, Error> {
    let commits = match &push.after {
        Some(head) => {
            pull_requests::insert_pushed_commits(tx, project, head, &push.commits).await?
        }
        None => 0,
    };
    let repositories = find_repositories(tx, project, &push.path, &push.urls).await?;
    if repositories.is_empty() {
        return Ok(push_outcome(commits, "the project has not indexed that repository"));
    }
    if push.after.is_none() {
        return Ok(ignored(
            "the branch was deleted; its index stays until another branch is indexed",
        ));
    }
    let enqueued = reindex::enqueue_runs(tx, &repositories, |name| push.updates_ref(name)).await?;
    if enqueued.is_empty() {
        return Ok(push_outcome(commits, "the push is not to the indexed branch"));
    }
    Ok(enqueued_outcome(&enqueued))
}

/// Enqueues an index run of a wiki's repository, if it is indexed.
pub(super) async fn enqueue_wiki_reindex(
    tx: &mut Tx,
    project: ProjectId,
    wiki: &WikiPush,
) -> Result<Outcome, Error> {
    let repositories = find_repositories(tx, project, &wiki.path, &wiki.urls).await?;
    if repositories.is_empty() {
        let address = wiki.urls.first().unwrap_or(&wiki.path);
        let reason = format!(
            "the project has not indexed the wiki, which is a separate repository; index it by its \
             address (memory-copilot ingest {address})"
        );
        return Ok((DeliveryState::Ignored, reason));
    }
    Ok(enqueued_outcome(&reindex::enqueue_runs(tx, &repositories, |_| true).await?))
}

/// Enqueues a sync of each wiki integration of the project: the event of a page names no space.
pub(super) async fn enqueue_wiki_syncs(tx: &mut Tx, project: ProjectId) -> Result<Outcome, Error> {
    Ok(match integrations::request_wiki_syncs(tx, project).await? {
        0 => ignored("the project has no active wiki integration"),
        1 => completed("enqueued a sync of the wiki integration"),
        count => completed(&format!("enqueued syncs of {count} wiki integrations")),
    })
}

/// Returns the project's repositories with this path, or with one of these addresses.
async fn find_repositories(
    tx: &mut Tx,
    project: ProjectId,
    path: &str,
    urls: &[String],
) -> Result<Vec<Repository>, Error> {
    let mut repositories = repositories::list_in(tx, project).await?;
    repositories.retain(|repository| {
        let Repository { location, owner, name, .. } = repository;
        contains_repository(urls, location) || path == format!("{owner}/{name}")
    });
    Ok(repositories)
}

fn enqueued_outcome(repositories: &[&Repository]) -> Outcome {
    let namespaces: Vec<_> = repositories.iter().map(|found| found.namespace.as_str()).collect();
    completed(&format!("enqueued an index run of {}", namespaces.join(", ")))
}

/// Returns the outcome of a push that starts no run; its commits may have been stored.
fn push_outcome(commits: u64, reason: &str) -> Outcome {
    if commits == 0 {
        return ignored(reason);
    }
    completed(&format!("stored its commits; {reason}"))
}
