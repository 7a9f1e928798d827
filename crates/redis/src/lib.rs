#![doc = include_str!("../README.md")]

mod error;
mod link;
mod rates;
mod vectors;

pub use error::Error;
pub use link::{Settings, Shared, version};
pub use rates::{Buckets, Rates};
/// A connection that makes itself anew when it is lost; cheap to clone.
pub use redis::aio::ConnectionManager as Connection;
pub use vectors::Vectors;
