//! Actions on findings, allowlists, comments, and rules of a team.

use mc_domain::FindingAction;
use mc_sanitizer::{Class, Policy, Sanitized, Sanitizer, find, mask, mask_with};

const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";

fn line() -> String {
    format!("api_key = '{VALUE}'")
}

#[test]
fn strictest_action_of_the_findings_decides() {
    let text = format!("{}, mail anna.berg@shop-team.io", line());
    let policy = Policy::default()
        .with("secret-value", FindingAction::Quarantine)
        .with_class(Class::Personal, FindingAction::Reject);
    let findings = find(&text, &policy);
    assert_eq!(findings.len(), 2);
    assert_eq!(policy.action(&findings[0]), FindingAction::Quarantine);
    assert_eq!(policy.action(&findings[1]), FindingAction::Reject);
    assert_eq!(policy.strictest(&findings), FindingAction::Reject);
    assert_eq!(policy.strictest(&findings[..1]), FindingAction::Quarantine);
    assert_eq!(policy.strictest(&[]), FindingAction::Allow);
}

#[test]
fn allowed_findings_stay_and_are_not_reported() {
    let policy = Policy::default().with("email", FindingAction::Allow);
    let masked = mask_with("anna.berg@shop-team.io, +49 30 901820", &policy);
    assert_eq!(masked.text.as_str(), "anna.berg@shop-team.io, [personal:phone]");
    assert_eq!(masked.findings.len(), 1);
}

#[test]
fn action_of_a_category_overrides_its_class() {
    let policy = Policy::default()
        .with_class(Class::Personal, FindingAction::Allow)
        .with("card", FindingAction::Mask);
    let masked = mask_with("anna.berg@shop-team.io 4012 8888 8888 1881", &policy);
    assert_eq!(masked.text.as_str(), "anna.berg@shop-team.io [personal:card]");
}

#[test]
fn allowlisted_values_are_not_masked() {
    let by_value = Policy::default().with_allowed_value(VALUE);
    let by_regex = Policy::default().with_allowed_regex("^q8Zr".parse().expect("a regex"));
    for policy in [by_value, by_regex] {
        assert_eq!(mask_with(&line(), &policy).text.as_str(), line());
    }
}

#[test]
fn comment_allows_the_secrets_of_its_line_only() {
    for comment in [
        "memory-copilot:allow",
        "gitleaks:allow",
        "pragma: allowlist secret",
        "#nosec",
        "trufflehog:ignore",
    ] {
        let text = format!("{} # {comment}\npassword = \"hunter2!\"\n", line());
        let expected = text.replace("hunter2!", "[secret:password]");
        let trusting = Policy::default().with_comments(true);
        assert_eq!(mask_with(&text, &trusting).text.as_str(), expected);
        assert!(!mask_with(&text, &Policy::strict()).text.as_str().contains(VALUE));
        assert!(!mask(&text).text.as_str().contains(VALUE));
    }
}

#[test]
fn comment_allows_no_personal_data_and_no_key_block() {
    let trusting = Policy::default().with_comments(true);
    let mail = "anna.berg@shop-team.io # memory-copilot:allow";
    let masked = mask_with(mail, &trusting).text;
    assert_eq!(masked.as_str(), "[personal:email] # memory-copilot:allow");
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    let block =
        format!("-----BEGIN PRIVATE KEY----- {body} -----END PRIVATE KEY----- # gitleaks:allow");
    assert!(!mask_with(&block, &trusting).text.as_str().contains(body));
}

const OWN: &str = "
rules:
  - category: acme-badge
    keywords: [acme-]
    regex: 'ACME-[0-9]{6}'
    confidence: 0.9
names:
  random: [losung]
allow:
  values: [ACME-000000]
";

#[test]
fn rule_file_adds_rules_names_and_allowed_values() {
    let own = Sanitizer::with_rules(&[OWN]).expect("a rule file");
    let policy = Policy::default();
    let text = format!("badge ACME-481516, losung: {VALUE}, spare ACME-000000, {}", line());
    let masked = own.mask(&text, &policy);
    assert_eq!(
        masked.text.as_str(),
        "badge [secret:acme-badge], losung: [secret:secret-value], spare ACME-000000, \
         api_key = '[secret:secret-value]'"
    );
    assert!((masked.findings[0].confidence - 0.9).abs() < 1e-6);
    assert!(own.formats().any(|format| format == "acme-badge"));
}

#[test]
fn rule_file_error_names_rule_and_field() {
    let rule = |rest: &str| format!("rules:\n  - category: acme\n    keywords: [a]\n{rest}");
    let without_keywords = "rules:\n  - category: a\n    keywords: []\n    regex: a".to_owned();
    let bad_category = "rules:\n  - category: Acme!\n    keywords: [a]\n    regex: a".to_owned();
    for (text, message) in [
        (rule("    regex: '(a'"), "rule acme, field regex: "),
        (rule("    regex: 'a*'"), "rule acme, field regex: must not match the empty text"),
        (rule("    regex: a\n    confidence: 2"), "rule acme, field confidence: "),
        (rule("    regex: a\n    entrophy: 3"), "unknown field `entrophy`"),
        (rule("    regex: a\n    validator: luck"), "unknown variant `luck`"),
        (bad_category, "field category"),
        (without_keywords, "field keywords"),
        ("allow:\n  regexes: ['(']".to_owned(), "field regexes: "),
        ("names:\n  random: [acme, '']".to_owned(), "field random: must have no empty word"),
    ] {
        let error = Sanitizer::with_rules(&[&text]).expect_err("invalid").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn confidence_orders_valid_above_doubtful_findings() {
    let confidence = |text: &str| find(text, &Policy::default())[0].confidence;
    let valid = ["ghp", "_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat();
    let wrong = valid.replace("0mLq17", "0mLq18");
    assert!((confidence(&valid) - 1.0).abs() < 1e-6);
    assert!(confidence(&wrong) < 0.7, "its checksum is wrong");
    assert!(confidence("password = 'hunter2!'") < confidence(&line()));
}

#[test]
fn identifier_is_unchanged_unless_it_reveals_something() {
    for harmless in ["", "src/cart.rb", "Shop::Cart#total", "docs/2026-11-20-192.168.0.1.md"] {
        let accepted = mc_sanitizer::identifier(harmless).map(Sanitized::into_string);
        assert_eq!(accepted.as_deref(), Some(harmless));
    }
    let token = format!("keys/ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    for revealing in [token.as_str(), "mail/ann@example.com.md"] {
        assert_eq!(mc_sanitizer::identifier(revealing), None, "{revealing}");
    }
}
