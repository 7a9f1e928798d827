//! The form of lists.

pub use mc_contract::operations::page::{Page, next_cursor, page};
