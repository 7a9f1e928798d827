//! What a tracker says of an issue, as the task that the project keeps.

use chrono::{DateTime, Utc};
use mc_connectors::Issue;
use mc_domain::Policy;
use mc_memory::content_filter::{filter_field, filter_field_text};
use mc_store::tasks::{NewTask, TaskLink};

use crate::apply::pull_request;

/// The task as the project's policy has it; `heard_at` is when this service heard of it.
pub fn task_from_issue(policy: &Policy, heard_at: DateTime<Utc>, issue: Issue) -> NewTask {
    // Masked when it came, and again as the policy has it by now.
    let plain = |text: &str| filter_field_text(policy, text);
    let links = issue.links.into_iter();
    NewTask {
        title: filter_field(policy, &issue.title),
        status: issue.status.as_deref().map(plain),
        assignee: issue.assignee.as_deref().map(plain),
        labels: issue.labels.iter().map(|label| plain(label)).collect(),
        links: links
            .map(|link| TaskLink { title: plain(&link.title), url: plain(&link.url) })
            .collect(),
        is_whole: issue.is_whole,
        source_updated_at: Some(pull_request::at(issue.updated_at, heard_at)),
        external_id: issue.external_id,
    }
}
