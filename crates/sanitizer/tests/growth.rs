//! Masking takes linear time, for any text.

use std::hint::black_box;

#[path = "../../../tests/growth.rs"]
mod growth;

use growth::assert_linear;
use growth::families::texts;
use mc_sanitizer::{identifier, mask};

#[test]
fn text_is_masked_in_linear_time() {
    assert_linear("mask", 8 * 1024, &texts(), |text| {
        black_box(mask(text));
    });
    assert_linear("identifier", 8 * 1024, &texts(), |text| {
        black_box(identifier(text));
    });
}
