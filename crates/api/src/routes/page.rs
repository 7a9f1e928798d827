//! Where the next page of a list begins.

/// What to send for the next page: how the last row is named. `None` where the page is not full, and so the last.
pub fn next<R, K>(rows: &[R], limit: i64, name: impl FnOnce(&R) -> K) -> Option<K> {
    let is_full = i64::try_from(rows.len()) == Ok(limit);
    rows.last().filter(|_| is_full).map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_behind_a_full_page_there_is_another() {
        assert_eq!(next(&[1, 2], 2, |row| *row), Some(2));
        assert_eq!(next(&[1, 2], 3, |row| *row), None);
        assert_eq!(next(&[] as &[i32], 2, |row| *row), None);
    }
}
