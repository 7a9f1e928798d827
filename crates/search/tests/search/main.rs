//! Searches over a real PostgreSQL; run with `scripts/with-postgres`.

mod following;
mod legs;
mod mending;
mod ranking;
mod rebuilding;
mod russian;
mod support;
