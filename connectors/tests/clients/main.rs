//! The clients against servers that respond as documented, and against faulty ones.

#[path = "../../../tests/cache.rs"]
mod cache;
mod confluence;
mod faults;
mod github;
mod gitlab;
mod jira;
mod paging;
mod pull_requests;
mod redmine;
mod support;
mod vendors;
mod youtrack;
