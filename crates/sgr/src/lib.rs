#![doc = include_str!("../README.md")]

mod answer;
mod answer_schema;
mod built_in;
mod check;
mod diff;
mod error;
mod form;
mod instructions;
pub mod limits;
mod notes;
mod schema;
mod source;
mod suggestion;
mod template;
mod yaml;

pub use answer::{Answer, FieldValue};
pub use built_in::{BUILT_IN_FILES, built_in, built_in_sources, find_built_in_source};
pub use diff::is_unified_diff;
pub use error::{Defect, Defects, InvalidAnswer, InvalidSchema};
pub use form::FORM;
pub use instructions::{Arguments, Line, Part, Section};
pub use notes::{Note, notes, summary};
pub use schema::Schema;
pub use source::{FieldType, MEMORY_BUNDLE, SchemaSource, Step, StepSource};
pub use template::{Piece, Placeholder, Template};
