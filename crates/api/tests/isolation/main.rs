//! Isolation: whoever asks, with whatever credential, for whatever id, sees nothing of what is not theirs.
//!
//! [`run`] makes attempts: a random person, credential, operation and things, against a world of three
//! tenants, each judged by a small oracle. [`probes`] look below and above what answers can show: at
//! PostgreSQL without the code's filters, at the code's filters without PostgreSQL's policies, and at
//! whether others' writes change what is answered. [`mutants`] take the checks of the database away, one
//! by one; each must be noticed. docs/security.md says how to run more of it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod attempt;
mod marks;
mod mutants;
mod operations;
mod oracle;
mod probes;
mod run;
mod world;
