//! Lines of a file.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema};

use crate::number::LineNumber;
use crate::{Violation, schema};

/// The end of a range that stands for the last line.
const TO_THE_END: i64 = -1;
/// Doc comment of the schema.
const ABOUT: &str = "First and last line, from 1 and inclusive; the last one may be -1 for the end \
    of the file. Such as `[1, 40]` or `[41, -1]`.";

/// First and last line, from 1 and inclusive; the last one may be -1 for the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LineRange([i64; 2]);

impl LineRange {
    /// Accepts the range of two lines.
    pub fn new(first: i64, last: i64) -> Result<Self, Violation> {
        let is_line = |line: i64| LineNumber::RANGE.contains(&line);
        if is_line(first) && (last == TO_THE_END || (is_line(last) && first <= last)) {
            return Ok(Self([first, last]));
        }
        Err(Violation::new(format!(
            "must be two line numbers such as [1, 40] or [41, -1], from 1 and in order, not \
             [{first}, {last}]"
        )))
    }

    /// Returns the first line, and the last one; -1 for the end of the file.
    pub fn get(self) -> (i64, i64) {
        (self.0[0], self.0[1])
    }

    /// Returns the first line, and the last one unless it is the end of the file.
    pub fn lines(self) -> (u32, Option<u32>) {
        // Both are in the range of a line.
        let line = |line: i64| u32::try_from(line).ok();
        (line(self.0[0]).unwrap_or(1), line(self.0[1]))
    }
}

impl<'de> Deserialize<'de> for LineRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [first, last] = <[i64; 2]>::deserialize(deserializer)?;
        Self::new(first, last).map_err(D::Error::custom)
    }
}

impl utoipa::PartialSchema for LineRange {
    fn schema() -> RefOr<Schema> {
        let line = schema::number(&(TO_THE_END..=*LineNumber::RANGE.end()));
        let range = ArrayBuilder::new().items(line).min_items(Some(2)).max_items(Some(2));
        RefOr::T(schema::described(range, &[ABOUT]))
    }
}

impl utoipa::ToSchema for LineRange {}
