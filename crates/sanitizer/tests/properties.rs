//! Properties of masking for any text.

use mc_sanitizer::{Policy, find, mask};
use proptest::prelude::*;

/// Fragments that the rules react to, concatenated in any order: tokens that touch, truncated keys,
/// names without values, our own placeholders.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("ghp_16C7e42F292c6912E7710c838347Ae178B4a".to_owned()),
        Just("AKIAIOSFODNN7EXAMPLE".to_owned()),
        Just("xoxb-123456789012-abcdefGHIJ12".to_owned()),
        Just("110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0".to_owned()),
        Just("postgres://u:p4ss-W0rd@h/d".to_owned()),
        Just("password = \"".to_owned()),
        Just("token=".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        Just("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\r\n".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl".to_owned()),
        Just("anna.berg@shop-team.io".to_owned()),
        Just("Phone: ".to_owned()),
        Just("+49 30 901820".to_owned()),
        Just("4012 8888 8888 1881".to_owned()),
        Just("ИНН 7707083893".to_owned()),
        Just("123456782\n".to_owned()),
        Just("536-90-4399".to_owned()),
        Just("api_key: 'q8Zr2Lm0Tx5vB7nKc3Wd9Yh4'".to_owned()),
        Just("acme q8Zr2Lm0Tx5vB7nKc3Wd9Yh4 ".to_owned()),
        Just("ZXhwb3J0IEFQSV9LRVk9cThacjJMbTBUeDV2QjduS2Mz".to_owned()),
        Just("%3Ftoken%3Dq8Zr2Lm0Tx5vB7nKc3".to_owned()),
        Just("\" +\n  \"".to_owned()),
        Just("\\\n".to_owned()),
        Just("парол".to_owned()),
        Just("\\n".to_owned()),
        Just("\\u003d".to_owned()),
        Just("&quot;".to_owned()),
        Just("=3D".to_owned()),
        Just("\u{1b}[31m".to_owned()),
        Just("\u{1b}]0;".to_owned()),
        Just("\u{200b}".to_owned()),
        Just("ｇｈｐ＿".to_owned()),
        Just("67 68 70 5f 31 36 43 37 65 34 32 46 32 39 32 63 36 39 31 32 45\n".to_owned()),
        Just("user,password\nann,hunter2!\n".to_owned()),
        Just("cat <<EOF > .env\n".to_owned()),
        Just("ь日本語の鍵は".to_owned()),
        Just("# memory-copilot:allow\n".to_owned()),
        Just("[personal:email]".to_owned()),
        Just("[secret:password]".to_owned()),
        Just("[secret:".to_owned()),
        "[a-zA-Z0-9+/=_.:@'\"-]{0,48}",
        "\\PC{0,12}",
        "[\\s\\PC]{0,8}",
        "[0-9 +().:-]{0,24}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(fragment(), 0..16).prop_map(|parts| parts.concat())
}

fn lines(text: &str) -> (usize, usize) {
    (text.matches('\n').count(), text.matches('\r').count())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn masking_again_changes_nothing(text in text()) {
        let once = mask(&text);
        let twice = mask(once.text.as_str());
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.findings.is_empty());
    }

    #[test]
    fn masking_keeps_the_number_of_lines(text in text()) {
        prop_assert_eq!(lines(mask(&text).text.as_str()), lines(&text));
    }

    #[test]
    fn findings_are_ordered_and_end_at_characters(text in text()) {
        let mut end = 0;
        for finding in mask(&text).findings {
            prop_assert!(finding.span.start >= end && finding.span.start < finding.span.end);
            prop_assert!(text.get(finding.span.clone()).is_some());
            end = finding.span.end;
        }
    }

    #[test]
    fn each_finding_is_replaced_by_a_placeholder_at_most(text in text()) {
        let masked = mask(&text);
        // The class, the category, and two brackets with a colon.
        let placeholders: usize =
            masked.findings.iter().map(|finding| finding.category.len() + 11).sum();
        prop_assert!(masked.text.as_str().len() <= text.len() + placeholders);
        prop_assert!(find(masked.text.as_str(), &Policy::default()).is_empty());
        for finding in &masked.findings {
            prop_assert!((0.0..=1.0).contains(&finding.confidence));
        }
    }

    #[test]
    fn name_may_be_followed_by_any_characters(after in "[ьж日鍵🔑 :=\"']{0,60}") {
        mask(&format!("парол{after}q8Zr2Lm0Tx5vB7nKc3 token{after}{after}"));
    }

    #[test]
    fn masking_never_panics(text in any::<String>()) {
        mask(&text);
    }

    #[test]
    fn planted_value_is_masked_with_its_repetitions(between in text()) {
        let value = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";
        let masked = mask(&format!("\ntoken: '{value}'\n{between}\n{value}\n"));
        prop_assert!(!masked.text.as_str().contains(&format!("\n{value}\n")), "{}", masked.text);
    }

    #[test]
    fn planted_token_is_masked_between_any_words(
        before in "[a-z \\n]{0,40}",
        after in "[a-z \\n]{0,40}",
    ) {
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let masked = mask(&format!("{before} {token} {after}"));
        prop_assert_eq!(masked.text.as_str(), format!("{before} [secret:github-token] {after}"));
    }
}
