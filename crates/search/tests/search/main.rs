//! Searches over a real PostgreSQL; run with `scripts/with-postgres`.

mod following;
mod ranking;
mod rebuilding;
mod repair;
mod retrievers;
mod russian;
mod support;
