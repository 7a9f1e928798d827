//! The clients against servers that answer as the systems' documentation has it, and as they should not.

#[path = "../../../tests/cache.rs"]
mod cache;
mod confluence;
mod faults;
mod github;
mod gitlab;
mod jira;
mod paging;
mod redmine;
mod support;
mod vendors;
mod youtrack;
