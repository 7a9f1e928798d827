//! The use-cases on a real database and a real keyword index.

#![allow(clippy::unwrap_used)]

mod dialogs;
mod freshness;
mod recalling;
mod saving;
mod support;
