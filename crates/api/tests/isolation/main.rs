//! Isolation tests: no caller sees anything of others, with any credential and any id.
//!
//! [`run`] makes attempts: a random person, credential, operation and resource, in a fixture of
//! three tenants. A small oracle judges each response. [`probes`] test what responses can't show:
//! PostgreSQL without the filters of the code, the filters without PostgreSQL's policies, and
//! whether writes of others change results. [`mutants`] remove the checks of the database one by
//! one; each removal must be noticed. docs/security.md describes longer runs.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod attempt;
#[path = "../shared/document.rs"]
mod document;
mod marks;
mod mutants;
mod operations;
mod oracle;
mod probes;
mod run;
mod walk;
mod world;
