//! The sanitizer and the prompt guard, through which every text passes. The families have texts in
//! each encoding that they decode.

use std::hint::black_box;

use mc_contract::limits;
use mc_prompt_guard::{inspect, neutralize};
use mc_sanitizer::{Policy, identifier, mask, mask_with, visible_text};

use super::Parser;

/// Longest name, in bytes: a URL whose characters have four bytes each.
const MAX_NAME: usize = 4 * limits::URL;

/// Returns the parsers.
pub fn parsers() -> Vec<Parser> {
    vec![
        Parser::new("mask", |text| drop(black_box(mask(text)))),
        Parser::new("mask, strict", |text| {
            drop(black_box(mask_with(text, &Policy::strict())));
        }),
        Parser::new("mask a name", |text| drop(black_box(identifier(text))))
            .with_max_bytes(MAX_NAME),
        Parser::new("visible text", |text| {
            black_box(visible_text::pieces(text).count());
        }),
        Parser::new("inspect", |text| drop(black_box(inspect(text)))),
        Parser::new("neutralize", |text| drop(black_box(neutralize(text)))),
    ]
}
