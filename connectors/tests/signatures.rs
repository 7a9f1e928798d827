//! Verification of deliveries. The digests were computed with Python's `hmac` and with openssl,
//! such as `printf 'Hello, World!' | openssl dgst -sha256 -hmac old`.

use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue};
use mc_connectors::{SignatureError, verify};
use mc_domain::Provider::{self, Confluence, Github, Gitlab, Jira, Redmine, Youtrack};

type Given<'a> = &'a [(&'static str, &'a str)];

const BODY: &[u8] = b"Hello, World!";
/// The example of GitHub's documentation.
const DOCUMENTED_SECRET: &[u8] = b"It's a Secret to Everybody";
const DOCUMENTED: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
/// Signatures of the same body with other secrets.
const WITH_OLD: &str = "sha256=ed11bca9943d125e851a8fae3c72c4353eb543d8cf963d040c2f9812cce7b3a4";
const WITH_NEW: &str = "sha256=42cb9ad9b820e211bf0e0b39255ff0f6127701cb90042192797d1f577d464482";
const WITH_NOTHING: &str =
    "sha256=2bbcfa9524f3218c7a34b30e6936f8b1a4516cb097f1a85a1c7d98b5977ec769";

/// The example of Standard Webhooks.
const SIGNED: &[u8] = br#"{"test": 2432232314}"#;
const SENT: i64 = 1_614_265_330;
const KEY: &[u8] = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: (&str, &str) = ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek");
const TIME: (&str, &str) = ("webhook-timestamp", "1614265330");
const SIGNATURE: (&str, &str) =
    ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// The signature with the secret `plain`, which is its own key.
const BY_PLAIN: &str = "v1,tgOMx2V+ymftc5zrV4Kwy5UOWZAx1XMh0yu4Sm/6/r0=";

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";

/// The providers that sign with hexadecimal digits, and their headers.
const SIGNERS: [(Provider, &str); 4] = [
    (Github, "x-hub-signature-256"),
    (Jira, "x-hub-signature"),
    (Confluence, "x-hub-signature"),
    (Redmine, "x-redmine-signature-256"),
];
const BEARERS: [Provider; 4] = [Jira, Confluence, Redmine, Youtrack];

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).expect("a time")
}

fn headers(given: Given<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        headers.append(*name, HeaderValue::from_str(value).expect("a header's value"));
    }
    headers
}

fn sent(source: Provider, given: Given<'_>, secrets: &[&[u8]]) -> Result<(), SignatureError> {
    verify(source, &headers(given), BODY, secrets, at(SENT))
}

fn signed(given: Given<'_>, secrets: &[&[u8]], now: i64) -> Result<(), SignatureError> {
    verify(Gitlab, &headers(given), SIGNED, secrets, at(now))
}

#[test]
fn body_signed_with_the_secret_is_accepted() {
    for (source, header) in SIGNERS {
        assert_eq!(sent(source, &[(header, DOCUMENTED)], &[DOCUMENTED_SECRET]), Ok(()), "{source}");
        let other = sent(source, &[(header, DOCUMENTED)], &[OLD]);
        assert_eq!(other, Err(SignatureError::Forged), "{source}");
        let given = headers(&[(header, DOCUMENTED)]);
        let changed = verify(source, &given, b"Hello, World?", &[DOCUMENTED_SECRET], at(SENT));
        assert_eq!(changed, Err(SignatureError::Forged), "{source}");
    }
}

#[test]
fn malformed_signature_is_rejected() {
    let digits = DOCUMENTED.strip_prefix("sha256=").expect("a prefix");
    let odd = [
        String::new(),
        digits.to_owned(),
        "sha256=".to_owned(),
        format!("sha1={digits}"),
        format!("SHA256={digits}"),
        format!("sha256= {digits}"),
        format!("sha256={}", &digits[..62]),
        format!("sha256={}", &digits[..63]),
        format!("sha256={digits}00"),
        format!("sha256={}", "zz".repeat(32)),
        format!("{DOCUMENTED},{DOCUMENTED}"),
    ];
    for (source, header) in SIGNERS {
        for value in &odd {
            let result = sent(source, &[(header, value)], &[DOCUMENTED_SECRET]);
            assert_eq!(result, Err(SignatureError::Forged), "{source} {value}");
        }
    }
}

#[test]
fn signature_digits_have_any_case() {
    let upper = DOCUMENTED.to_ascii_uppercase().replace("SHA256", "sha256");
    let given = [("x-hub-signature-256", upper.as_str())];
    assert_eq!(sent(Github, &given, &[DOCUMENTED_SECRET]), Ok(()));
}

#[test]
fn repeated_signature_header_is_rejected() {
    for (source, header) in SIGNERS {
        let twice = [(header, DOCUMENTED), (header, DOCUMENTED)];
        assert_eq!(
            sent(source, &twice, &[DOCUMENTED_SECRET]),
            Err(SignatureError::Forged),
            "{source}"
        );
    }
    for source in BEARERS {
        let twice = [("authorization", "Bearer new"), ("authorization", "Bearer new")];
        assert_eq!(sent(source, &twice, &[NEW]), Err(SignatureError::Forged), "{source}");
    }
    for doubled in [ID, TIME, SIGNATURE] {
        let twice = [ID, TIME, SIGNATURE, doubled];
        assert_eq!(signed(&twice, &[KEY], SENT), Err(SignatureError::Forged), "{doubled:?}");
    }
    let twice = [("x-gitlab-token", "new"), ("x-gitlab-token", "new")];
    assert_eq!(sent(Gitlab, &twice, &[NEW]), Err(SignatureError::Forged));
}

#[test]
fn both_secrets_are_valid_during_a_rotation() {
    for (source, header) in SIGNERS {
        for signature in [WITH_OLD, WITH_NEW] {
            assert_eq!(sent(source, &[(header, signature)], &[NEW, OLD]), Ok(()), "{source}");
        }
        let late = sent(source, &[(header, WITH_OLD)], &[NEW]);
        assert_eq!(late, Err(SignatureError::Forged), "{source}");
    }
    for token in ["old", "new"] {
        assert_eq!(sent(Gitlab, &[("x-gitlab-token", token)], &[NEW, OLD]), Ok(()));
        assert_eq!(sent(Youtrack, &[("x-youtrack-token", token)], &[NEW, OLD]), Ok(()));
    }
    assert_eq!(signed(&[ID, TIME, SIGNATURE], &[b"plain", KEY], SENT), Ok(()));
}

#[test]
fn webhook_without_a_secret_accepts_nothing() {
    let none: [&[&[u8]]; 2] = [&[], &[b""]];
    for secrets in none {
        for (source, header) in SIGNERS {
            let result = sent(source, &[(header, WITH_NOTHING)], secrets);
            assert_eq!(result, Err(SignatureError::Forged), "{source}");
        }
        for source in BEARERS {
            let result = sent(source, &[("authorization", "Bearer ")], secrets);
            assert_eq!(result, Err(SignatureError::Forged), "{source}");
        }
        assert_eq!(sent(Gitlab, &[("x-gitlab-token", "")], secrets), Err(SignatureError::Forged));
        let empty_key =
            [ID, TIME, ("webhook-signature", "v1,woH/1mJtZGSMCmpFTxRYbStS24eLLD/oXIYr4PYyZ7g=")];
        assert_eq!(signed(&empty_key, secrets, SENT), Err(SignatureError::Forged));
        assert_eq!(signed(&empty_key, &[b"whsec_"], SENT), Err(SignatureError::Forged));
    }
}

#[test]
fn missing_header_is_named() {
    let check = |source: Provider, given: Given<'_>, named: &str| match sent(
        source,
        given,
        &[DOCUMENTED_SECRET],
    ) {
        Err(SignatureError::Unsigned(expected)) => assert_eq!(expected, named, "{source}"),
        other => panic!("{source}: {other:?}"),
    };
    check(Github, &[], "X-Hub-Signature-256");
    check(Gitlab, &[], "webhook-signature or X-Gitlab-Token");
    check(Jira, &[], "X-Hub-Signature or Authorization");
    check(Confluence, &[], "X-Hub-Signature or Authorization");
    check(Redmine, &[], "X-Redmine-Signature-256 or Authorization");
    check(Youtrack, &[], "X-YouTrack-Token or Authorization");
    check(Gitlab, &[TIME, SIGNATURE], "webhook-id");
    check(Gitlab, &[ID, SIGNATURE], "webhook-timestamp");
    // GitHub's older header, with any digest.
    check(
        Github,
        &[("x-hub-signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59")],
        "X-Hub-Signature-256",
    );
    check(Github, &[("x-hub-signature", DOCUMENTED)], "X-Hub-Signature-256");
    // The header of a proxy.
    check(Jira, &[("authorization", "Basic bmV3")], "X-Hub-Signature or Authorization");
    check(Jira, &[("authorization", "Bear")], "X-Hub-Signature or Authorization");
}

#[test]
fn bearer_token_is_accepted_by_some_providers() {
    for source in BEARERS {
        for value in ["Bearer new", "bearer new", "BEARER new"] {
            let given = [("authorization", value)];
            assert_eq!(sent(source, &given, &[OLD, NEW]), Ok(()), "{source} {value}");
        }
        for value in ["Bearer newer", "Bearer ne", "Bearer  new", "Bearer NEW"] {
            let result = sent(source, &[("authorization", value)], &[OLD, NEW]);
            assert_eq!(result, Err(SignatureError::Forged), "{source} {value}");
        }
    }
    for source in [Github, Gitlab] {
        let result = sent(source, &[("authorization", "Bearer new")], &[NEW]);
        assert!(matches!(result, Err(SignatureError::Unsigned(_))), "{source}");
    }
}

#[test]
fn token_does_not_replace_a_wrong_signature() {
    let bearer = ("authorization", "Bearer new");
    for (source, header) in SIGNERS {
        let result = sent(source, &[(header, DOCUMENTED), bearer], &[NEW]);
        assert_eq!(result, Err(SignatureError::Forged), "{source}");
    }
    let result = sent(Youtrack, &[("x-youtrack-token", "old"), bearer], &[NEW]);
    assert_eq!(result, Err(SignatureError::Forged));

    let token = ("x-gitlab-token", "plain");
    let wrong = ("webhook-signature", "v1,AAAA");
    for given in [[ID, TIME, SIGNATURE, token], [ID, TIME, wrong, token]] {
        assert_eq!(signed(&given, &[b"plain"], SENT), Err(SignatureError::Forged), "{given:?}");
    }
    let empty = [("webhook-signature", ""), ID, TIME, token];
    assert_eq!(signed(&empty, &[b"plain"], SENT), Err(SignatureError::Forged));
    let alone = signed(&[SIGNATURE, token], &[b"plain"], SENT);
    assert!(matches!(alone, Err(SignatureError::Unsigned(_))));
}

#[test]
fn gitlab_signature_follows_standard_webhooks() {
    assert_eq!(signed(&[ID, TIME, SIGNATURE], &[KEY], SENT), Ok(()));
    let by_plain = [ID, TIME, ("webhook-signature", BY_PLAIN)];
    assert_eq!(signed(&by_plain, &[b"plain"], SENT), Ok(()));
    let many = format!("v1,AAAA v1a,{0} v1,**** {BY_PLAIN}  {0}", SIGNATURE.1);
    assert_eq!(signed(&[ID, TIME, ("webhook-signature", &many)], &[KEY], SENT), Ok(()));

    let other_version = SIGNATURE.1.replace("v1,", "v2,");
    let truncated = &SIGNATURE.1[..43];
    for value in [other_version.as_str(), truncated, &SIGNATURE.1[3..]] {
        let given = [ID, TIME, ("webhook-signature", value)];
        assert_eq!(signed(&given, &[KEY], SENT), Err(SignatureError::Forged), "{value}");
    }
    for secret in [&b"whsec_****"[..], &KEY[6..], &b"plain"[..]] {
        assert_eq!(signed(&[ID, TIME, SIGNATURE], &[secret], SENT), Err(SignatureError::Forged));
    }
    let other_id = [("webhook-id", "msg_2"), TIME, SIGNATURE];
    assert_eq!(signed(&other_id, &[KEY], SENT), Err(SignatureError::Forged));
}

#[test]
fn signature_is_valid_for_five_minutes_either_way() {
    let given = [ID, TIME, SIGNATURE];
    for now in [SENT - 300, SENT, SENT + 300] {
        assert_eq!(signed(&given, &[KEY], now), Ok(()), "{now}");
    }
    for now in [SENT - 301, SENT + 301, 0] {
        assert_eq!(signed(&given, &[KEY], now), Err(SignatureError::Stale), "{now}");
    }
    // Only a valid signature reveals the clock.
    assert_eq!(signed(&given, &[NEW], SENT + 301), Err(SignatureError::Forged));
    let later = [ID, ("webhook-timestamp", "1614265630"), SIGNATURE];
    assert_eq!(signed(&later, &[KEY], SENT + 301), Err(SignatureError::Forged));
}

#[test]
fn id_with_a_dot_is_rejected() {
    // Signed as the id `a`, the time 1 and the body `1614265330.{"test": 2432232314}`.
    let given = [
        ("webhook-id", "a.1"),
        TIME,
        ("webhook-signature", "v1,qgpuz9fqRoPddon2in+34TDJ7gxP90StwmkZ8eAM3Yk="),
    ];
    assert_eq!(signed(&given, &[b"plain"], SENT), Err(SignatureError::Forged));
    // Signed with an invalid time.
    let timeless = [
        ID,
        ("webhook-timestamp", "now"),
        ("webhook-signature", "v1,FHZRkeQeM9hm8yU/7yYnHPcTMOaHbGWS/Mwx0J05jmM="),
    ];
    assert_eq!(signed(&timeless, &[b"plain"], SENT), Err(SignatureError::Forged));
    let far = [
        ID,
        ("webhook-timestamp", "-9223372036854775808"),
        ("webhook-signature", "v1,qk758BjkGIXe3VR2DPFsXjggMA9Q0raNw/Dwb3C6b6A="),
    ];
    assert_eq!(signed(&far, &[b"plain"], SENT), Err(SignatureError::Stale));
}
