//! The contract of `mc_sanitizer::visible_text`: what the renderer for a model makes visible was
//! matched before.

#[path = "../../../tests/disguised.rs"]
mod disguised;

use mc_prompt_guard::neutralize;
use mc_sanitizer::mask;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_disguised_secret_or_token_reaches_a_model(text in disguised::text()) {
        let masked = mask(&text).text.into_string();
        let shown = neutralize(&masked).into_owned();
        prop_assert_eq!(disguised::secret_in(&shown), None, "{}", shown);
        prop_assert_eq!(disguised::token_in(&shown), None, "{}", shown);
        prop_assert_eq!(neutralize(&shown), shown.as_str());
    }
}
