//! Tests of the API over a real database and the real local model.

#![allow(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod audit;
#[path = "../../../../tests/cache.rs"]
mod cache;
mod client;
mod device_logins;
#[path = "../shared/document.rs"]
mod document;
mod documents;
mod handles;
mod hostile;
mod hygiene;
mod ingest;
mod ingest_local;
mod ingress;
mod injection;
mod integrations;
mod jobs;
mod memory;
mod metrics;
mod openapi;
mod people;
mod poisoning;
mod policy;
mod projects;
mod prompts;
mod proposals;
mod pull_requests;
mod quarantine;
mod rag;
mod records;
mod remote_models;
mod repositories;
mod search;
mod service;
mod sgr;
mod task_comment;
mod tasks;
mod usage;
mod webhooks;
