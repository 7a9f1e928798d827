#![doc = include_str!("../README.md")]

mod client;
mod error;
mod query_vectors;
mod rate_limits;

pub use client::{RedisClient, Settings, version};
pub use error::Error;
pub use query_vectors::QueryVectorStore;
pub use rate_limits::{SharedRateLimits, TokenBuckets};
/// A connection that reconnects by itself; cheap to clone.
pub use redis::aio::ConnectionManager as Connection;
