//! Where vectors of questions are kept beyond this process.

use std::fmt;

use futures::future::BoxFuture;

/// What several processes know of questions, behind the memory of each.
pub trait QueryCache: fmt::Debug + Send + Sync {
    /// What was put under this key. `None` where it is not known, or can't be had at once: a vector
    /// is made faster than most things are waited for.
    fn get(&self, key: [u8; 32]) -> BoxFuture<'_, Option<Vec<u8>>>;

    /// Keeps it for a while, if that can be done; nobody waits for it.
    fn put(&self, key: [u8; 32], value: Vec<u8>);
}
