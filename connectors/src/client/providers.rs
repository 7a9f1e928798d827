//! One module a system.

pub(super) mod confluence;
pub(super) mod github;
pub(super) mod gitlab;
pub(super) mod jira;
pub(super) mod redmine;
pub(super) mod youtrack;
