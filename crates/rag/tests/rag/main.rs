//! Tests of the pipeline with a real database, a repository that the indexer has indexed, and a
//! scripted model server.

#![allow(clippy::unwrap_used, reason = "tests")]

mod cross_encoder;
mod fallbacks;
mod fixture;
#[path = "../../../../tests/identifiers.rs"]
mod identifiers;
mod models;
mod repositories;
mod searching;
mod symbols;
mod words;
