//! Cache of query vectors outside this process.

use std::fmt;

use futures::future::BoxFuture;

/// Query vectors shared by several processes.
pub trait QueryCache: fmt::Debug + Send + Sync {
    /// Returns the value of the key; `None` if it is unknown or not available at once, as embedding
    /// is faster than a slow look-up.
    fn get(&self, key: [u8; 32]) -> BoxFuture<'_, Option<Vec<u8>>>;

    /// Stores the value for a while, in the background; a failure is ignored.
    fn put(&self, key: [u8; 32], value: Vec<u8>);
}
