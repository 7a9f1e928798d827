//! The operations on a project's memory, one file a resource: the requests, their rules and the
//! responses.

pub mod audit;
pub mod chat_usage;
pub mod dialog;
pub mod document;
pub mod duplicate;
pub mod export;
pub mod feedback;
pub mod forget;
pub mod hygiene;
pub mod ingest;
pub mod integration;
pub mod job;
pub mod judgment;
pub mod kpi;
pub mod member;
pub mod page;
pub mod passage;
pub mod policy;
pub mod project;
pub mod prompt;
pub mod proposal;
pub mod pull_request;
pub mod quarantine;
pub mod rag;
pub mod recall;
pub mod record;
pub mod save;
pub mod search;
pub mod sgr;
pub mod sign_in;
pub mod task;
pub mod token;
pub mod usage_report;
pub mod user;
pub mod webhook;
