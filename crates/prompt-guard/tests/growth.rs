//! Inspection takes linear time, for any text.

use std::hint::black_box;

#[path = "../../../tests/growth.rs"]
mod growth;

use growth::assert_linear;
use growth::families::texts;
use mc_prompt_guard::{inspect, neutralize};

#[test]
fn text_is_inspected_and_neutralized_in_linear_time() {
    assert_linear("inspect", 8 * 1024, &texts(), |text| {
        black_box(inspect(text));
    });
    assert_linear("neutralize", 8 * 1024, &texts(), |text| {
        black_box(neutralize(text));
    });
}
