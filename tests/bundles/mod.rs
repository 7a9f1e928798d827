//! Sets of notes and questions, and the scores of the service on them.
//!
//! The test `bundles` and `mc-bench bundles` share this; README.md has the form and the rules.

pub mod figures;
pub mod judge;
pub mod report;
pub mod run;
pub mod set;

#[cfg(test)]
mod tests;
