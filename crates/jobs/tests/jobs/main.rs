//! Jobs on a real queue: guarantees, schedules, and processes that die.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

#[path = "../shared/support.rs"]
mod support;

mod crash;
mod fixture;
mod queue;
mod schedule;
