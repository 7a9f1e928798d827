//! Search: passages and their vectors, the commit history, and the feed that indexes follow.

pub mod change_feed;
pub mod history;
pub mod neighbors;
pub mod passages;
pub mod searchable;
pub mod vectors;
