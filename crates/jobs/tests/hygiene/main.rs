//! Hygiene tasks as jobs.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod consistency;
mod documents;
mod duplicates;
mod embedding;
mod expiry;
mod exports;
mod fixture;
mod indexing;
mod prompts;
mod quality;
mod retention;
mod runs;
