//! Conversion of a tracker's issue to the project's task.

use chrono::{DateTime, Utc};
use mc_connectors::Issue;
use mc_domain::Policy;
use mc_memory::content_filter::{filter_field, filter_field_text};
use mc_store::tasks::{NewTask, TaskLink};

use crate::apply::source_time;

/// Returns the task of an issue, filtered by the project's policy.
pub fn task_from_issue(policy: &Policy, received_at: DateTime<Utc>, issue: Issue) -> NewTask {
    // The issue was masked on receipt; the policy may have changed since.
    let filtered = |text: &str| filter_field_text(policy, text);
    let links = issue.links.into_iter();
    NewTask {
        title: filter_field(policy, &issue.title),
        status: issue.status.as_deref().map(filtered),
        assignee: issue.assignee.as_deref().map(filtered),
        labels: issue.labels.iter().map(|label| filtered(label)).collect(),
        links: links
            .map(|link| TaskLink { title: filtered(&link.title), url: filtered(&link.url) })
            .collect(),
        is_whole: issue.is_whole,
        source_updated_at: Some(source_time(issue.updated_at, received_at)),
        external_id: issue.external_id,
    }
}
