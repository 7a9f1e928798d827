#![doc = include_str!("../README.md")]

mod edit;
mod error;
mod file_text;
pub mod json;
mod limits;
mod line;
mod mapped_text;
mod view;

pub use edit::{
    CheckedEdit, Edited, RangeEdit, create, insert, replace_ranges, str_replace, write,
};
pub use error::{Closest, EditError, NotText};
pub use file_text::{Encoding, FileText};
pub use limits::{
    Limits, MAX_DIFF_BYTES, MAX_FILE_BYTES, MAX_JSON_DEPTH, MAX_JSON_MATCHES, MAX_JSON_VALUES,
    MAX_PATH_BYTES,
};
pub use line::LineEnding;
pub use view::{Listing, Mapped, SpanKind, View};
