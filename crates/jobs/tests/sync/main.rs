//! Other systems, asked over real HTTP: what becomes of what they have, and of what they don't have
//! any more.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod fixture;
mod issues;
mod pages;
mod refs;
mod task_comment;
