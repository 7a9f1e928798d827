//! Conversions between rows and domain types.

use uuid::Uuid;

/// Reads rows of `sqlx::query!` as values of a type: `row => T { .. }` one row, `optional row` a
/// row if there is one, and `each row in rows` all rows. A field gets the column of its name, or
/// the value written after it.
macro_rules! read {
    (each $row:ident in $rows:expr => $($value:tt)+) => {
        $rows.into_iter().map(|$row| $crate::row::read!($row => $($value)+)).collect()
    };
    (optional $row:ident => $($value:tt)+) => {
        $row.map(|$row| $crate::row::read!($row => $($value)+)).transpose()
    };
    ($row:ident => $type:ident { $($field:ident $(: $value:expr)?),+ $(,)? }) => {
        Ok::<_, $crate::Error>($type { $($field: $crate::row::read!(@ $row $field $($value)?)),+ })
    };
    (@ $row:ident $field:ident) => {
        $row.$field
    };
    (@ $row:ident $field:ident $value:expr) => {
        $value
    };
}

pub(crate) use read;

/// Returns ids as a statement binds them.
pub(crate) fn uuids<T: Copy + Into<Uuid>>(ids: &[T]) -> Vec<Uuid> {
    ids.iter().map(|id| (*id).into()).collect()
}

/// Returns bytes in PostgreSQL's hex format, for a value of JSON.
pub(crate) fn bytea(bytes: &[u8]) -> String {
    format!("\\x{}", hex::encode(bytes))
}
