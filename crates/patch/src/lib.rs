#![doc = include_str!("../README.md")]

mod align;
mod apply;
mod blocks;
mod conflict;
mod diff;
mod header;
mod lines;
mod path;
mod place;
mod plan;
mod render;
mod types;
mod whitespace;

pub use apply::{Applied, Replacement, Tolerance, apply};
pub use blocks::parse_blocks;
pub use conflict::{Conflict, Divergence, Reason};
pub use diff::{ParseError, parse_diff};
pub use place::{Grade, Placed};
pub use plan::{Failure, PlannedFile, plan};
pub use render::render;
pub use types::{FilePatch, Hunk, HunkLine, LineKind, Operation, Patch, Refusal};

/// Parses search/replace blocks if the text has any, else a unified diff.
pub fn parse(text: &[u8]) -> Result<Patch, ParseError> {
    if blocks::has_blocks(text) { parse_blocks(text) } else { parse_diff(text) }
}
