//! The one form of every list: its items, and the cursor of the next page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Send it as `cursor` for the next page. Absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Returns a page of `items`.
    pub fn new(items: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { items, next_cursor }
    }
}

/// Returns a page of `items` that were read with `limit`.
pub fn page<T, K: ToString>(items: Vec<T>, limit: i64, cursor: impl FnOnce(&T) -> K) -> Page<T> {
    let next_cursor = next_cursor(&items, limit, cursor);
    Page::new(items, next_cursor)
}

/// Returns the cursor of the page after `rows`: the name of the last row if the page is full.
pub fn next_cursor<R, K: ToString>(
    rows: &[R],
    limit: i64,
    cursor: impl FnOnce(&R) -> K,
) -> Option<String> {
    let is_full = i64::try_from(rows.len()) == Ok(limit);
    rows.last().filter(|_| is_full).map(|row| cursor(row).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_page_has_a_next_cursor() {
        assert_eq!(next_cursor(&[1, 2], 2, |row| *row).as_deref(), Some("2"));
        assert_eq!(next_cursor(&[1, 2], 3, |row| *row), None);
        assert_eq!(next_cursor(&[] as &[i32], 2, |row| *row), None);
    }
}
