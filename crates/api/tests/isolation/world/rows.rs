//! Statements that add rows.

use std::fmt::Write as _;

use uuid::Uuid;

use super::Thing;

/// `insert` statements, one after the other.
#[derive(Default)]
pub struct Rows(pub String);

impl Rows {
    /// A row for each thing; `row` writes its values.
    pub fn each(
        &mut self,
        into: &str,
        things: &[Thing],
        mut row: impl FnMut(usize, &Thing) -> Vec<String>,
    ) {
        let rows: Vec<_> = things.iter().enumerate().map(|(n, thing)| row(n, thing)).collect();
        self.add(into, &rows);
    }

    pub fn add(&mut self, into: &str, rows: &[Vec<String>]) {
        let rows: Vec<_> = rows.iter().map(|row| format!("({})", row.join(", "))).collect();
        write!(self.0, "insert into {into} values {};", rows.join(", ")).expect("text");
    }
}

/// Values as SQL has them. The texts of the world have no quotes.
macro_rules! row {
    ($($value:expr),+ $(,)?) => { vec![$($crate::world::rows::Value::sql(&$value)),+] };
}
pub(super) use row;

pub trait Value {
    fn sql(&self) -> String;
}

/// As it stands: a number, an expression.
pub struct Plain<T>(pub T);

impl<T: std::fmt::Display> Value for Plain<T> {
    fn sql(&self) -> String {
        self.0.to_string()
    }
}

impl Value for Uuid {
    fn sql(&self) -> String {
        format!("'{self}'")
    }
}

impl Value for Option<Uuid> {
    fn sql(&self) -> String {
        self.map_or_else(|| "null".to_owned(), |id| id.sql())
    }
}

impl Value for &str {
    fn sql(&self) -> String {
        assert!(!self.contains('\''), "{self}");
        format!("'{self}'")
    }
}

impl Value for String {
    fn sql(&self) -> String {
        self.as_str().sql()
    }
}

impl Value for serde_json::Value {
    fn sql(&self) -> String {
        self.to_string().sql()
    }
}

impl Value for Vec<String> {
    fn sql(&self) -> String {
        let texts: Vec<_> = self.iter().map(Value::sql).collect();
        format!("array[{}]::text[]", texts.join(", "))
    }
}

/// The hash of a text.
pub struct Hash<'a>(pub &'a str);

impl Value for Hash<'_> {
    fn sql(&self) -> String {
        format!("sha256({})", self.0.sql())
    }
}
