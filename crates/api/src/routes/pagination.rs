//! The form of lists.

pub use mc_contract::operations::page::{Page, next_cursor};

/// Returns a page of `rows` that were read with `limit`, each as `item`.
pub fn page<R, K: ToString, T>(
    rows: Vec<R>,
    limit: i64,
    cursor: impl FnOnce(&R) -> K,
    item: impl Fn(R) -> T,
) -> Page<T> {
    let next_cursor = next_cursor(&rows, limit, cursor);
    Page::new(rows.into_iter().map(item).collect(), next_cursor)
}
