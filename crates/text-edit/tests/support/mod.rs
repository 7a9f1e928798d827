//! Generators of texts.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Returns the configuration of property tests: the same inputs in each run.
pub fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_129),
        ..ProptestConfig::default()
    }
}

/// Returns a part of a text that is masked, neutralized or a line ending.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("\n".to_owned()),
        3 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        3 => "[a-c ]{1,6}",
        1 => "[\u{b}\u{c}\u{85}\u{2028}\u{2029}]",
        2 => "[\u{200b}\u{200d}\u{202e}\u{2066}\u{fe0f}\u{e0041}\u{ad}\u{feff}\u{fffd}\u{1}]{1,3}",
        1 => Just(["\u{1b}[31m", "red"].concat()),
        1 => Just(["\u{1b}]0;ti\rtle", "\u{7}"].concat()),
        1 => Just(["<|im_", "start|>"].concat()),
        1 => Just(["<thi\u{200b}", "nk>"].concat()),
        1 => Just(["[IN", "ST]"].concat()),
        1 => Just("‹think› ⟦INST⟧".to_owned()),
        1 => "[<>\\[\\]‹›⟦⟧|/]{1,4}",
        1 => Just("👩\u{200d}💻 日本 é".to_owned()),
        1 => Just(["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()),
        1 => Just(["pass", "word = \"hunter2\""].concat()),
        1 => Just("[secret:x] [personal:email]".to_owned()),
    ]
}

/// Returns a text that does not begin with a byte order mark.
pub fn text() -> impl Strategy<Value = String> {
    let text = prop::collection::vec(fragment(), 0..14).prop_map(|parts| parts.concat());
    text.prop_map(|text| text.trim_start_matches('\u{feff}').to_owned())
}
