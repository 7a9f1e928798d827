//! Search: passages and their vectors, the commit history, and the feed that indexes follow.

pub mod change_feed;
pub mod history;
pub mod passages;
pub mod vectors;
