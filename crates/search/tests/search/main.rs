//! Searches over a real PostgreSQL; run with `scripts/with-postgres`.

mod following;
mod mending;
mod ranking;
mod rebuilding;
mod retrievers;
mod russian;
mod support;
