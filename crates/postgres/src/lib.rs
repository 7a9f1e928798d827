#![doc = include_str!("../README.md")]

pub mod audit;
pub mod backup;
pub mod context_key;
pub mod db_roles;
pub mod embedded;
mod error;
pub mod server_version;

use std::time::Duration;

pub use error::{Error, is_rolled_back, is_unavailable};

/// The schema migrations, in order.
static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// Longest wait for a connection. A server that is still starting refuses connections meanwhile.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
