//! The use-cases on a real database and a real keyword index.
//!
//! Every test has its own worker threads. Dropping the database blocks the test's thread, and
//! PostgreSQL must be answered while a connection is being opened, or it waits a minute until its
//! authentication times out.

#![allow(clippy::unwrap_used)]

mod chat_models;
mod client_judge;
mod dialogs;
mod duplicates;
mod edited_code;
mod figures;
mod freshness;
mod model_distiller;
mod model_judge;
mod named_issues;
mod paths;
mod prompts;
mod recalling;
mod reviewing;
mod save_reports;
mod saving;
mod support;
