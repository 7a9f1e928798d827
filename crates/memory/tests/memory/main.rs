//! The use-cases on a real database and a real keyword index.
//!
//! Every test has worker threads of its own: dropping the database blocks the test's thread, and a
//! connection that is being opened meanwhile must still be answered, or PostgreSQL waits for it
//! until its authentication times out after a minute.

#![allow(clippy::unwrap_used)]

mod dialogs;
mod duplicates;
mod edited_code;
mod freshness;
mod named_issues;
mod recalling;
mod reviewing;
mod save_reports;
mod saving;
mod support;
