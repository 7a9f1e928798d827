//! The API over a real database and the real local model, called as a client would.

#![allow(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod audit;
mod changes;
mod client;
mod connections;
mod documents;
mod door;
mod handles;
mod hooks;
mod hostile;
mod hygiene;
mod ingest;
mod injection;
mod jobs;
mod memory;
mod openapi;
mod poisoning;
mod policy;
mod projects;
mod quarantine;
mod remote_models;
mod review;
mod search;
mod service;
mod task_links;
mod tasks;
