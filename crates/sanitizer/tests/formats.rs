//! A planted secret of each format is masked in any context; benign text stays.

use mc_sanitizer::mask;

/// Returns pseudorandom text. Keys are assembled here, so that other scanners find none in the
/// sources.
fn random(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state: usize = 0x9E37_79B9;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[(state >> 33) % letters.len()]
    };
    (0..length).map(|_| next()).collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// Returns pairs of a category and a secret.
fn planted() -> Vec<(&'static str, String)> {
    let an = |n| random(ALNUM, n);
    let hex = |n| random(HEX, n);
    let prefixed =
        |category: &'static str, prefix: &str, tail: String| (category, format!("{prefix}{tail}"));
    vec![
        prefixed("aws-access-key", "AKIA", random(UPPER, 16)),
        prefixed("aws-access-key", "ASIA", random(UPPER, 16)),
        prefixed("google-api-key", "AIza", an(35)),
        prefixed("google-oauth-secret", "GOCSPX-", an(28)),
        prefixed("google-oauth-token", "ya29.", an(60)),
        prefixed("digitalocean-token", "dop_v1_", hex(64)),
        prefixed("memory-copilot-token", "mcp_", an(49)),
        prefixed("memory-copilot-token", "mcr_", an(49)),
        prefixed("memory-copilot-token", "mcd_", an(49)),
        prefixed("memory-copilot-token", "mcs_", an(49)),
        prefixed("github-token", "ghp_", an(36)),
        prefixed("github-token", "gho_", an(36)),
        prefixed("github-token", "ghu_", an(36)),
        prefixed("github-token", "ghs_", an(36)),
        prefixed("github-token", "ghr_", an(36)),
        prefixed("github-token", "github_pat_", format!("{}_{}", an(22), an(59))),
        prefixed("gitlab-token", "glpat-", an(20)),
        prefixed("atlassian-token", "ATATT3", an(186)),
        prefixed("npm-token", "npm_", an(36)),
        prefixed("pypi-token", "pypi-AgEIcHlwaS5vcmc", an(120)),
        prefixed("rubygems-token", "rubygems_", hex(48)),
        prefixed("docker-token", "dckr_pat_", an(27)),
        prefixed("databricks-token", "dapi", hex(32)),
        prefixed("vault-token", "hvs.", an(90)),
        prefixed("doppler-token", "dp.pt.", an(43)),
        prefixed("anthropic-key", "sk-ant-api03-", an(95)),
        prefixed("openrouter-key", "sk-or-v1-", hex(64)),
        prefixed("openai-key", "sk-proj-", an(120)),
        prefixed("openai-key", "sk-", an(48)),
        prefixed("huggingface-token", "hf_", an(34)),
        prefixed("replicate-token", "r8_", an(37)),
        prefixed("groq-key", "gsk_", an(52)),
        prefixed(
            "slack-token",
            "xoxb-",
            format!("{}-{}-{}", random("0123456789", 12), random("0123456789", 12), an(24)),
        ),
        prefixed("slack-token", "xoxp-", an(40)),
        prefixed("discord-token", "MTk4NjIyNDgzNDcxOTI1MjQ4", format!(".{}.{}", an(6), an(38))),
        prefixed("telegram-token", "110201543:AA", an(33)),
        prefixed("sendgrid-key", "SG.", format!("{}.{}", an(22), an(43))),
        prefixed("mailgun-key", "key-", hex(32)),
        prefixed("twilio-key", "SK", hex(32)),
        prefixed("stripe-key", "sk_live_", an(24)),
        prefixed("stripe-key", "sk_test_", an(24)),
        prefixed("stripe-key", "rk_live_", an(24)),
        prefixed("stripe-webhook-secret", "whsec_", an(32)),
        prefixed("shopify-token", "shpat_", hex(32)),
        prefixed("figma-token", "figd_", an(40)),
        prefixed("linear-key", "lin_api_", an(40)),
        prefixed("notion-token", "ntn_", an(46)),
        prefixed("grafana-token", "glsa_", format!("{}_{}", an(32), hex(8))),
        prefixed("sentry-token", "sntryu_", hex(64)),
        prefixed("postman-key", "PMAK-", format!("{}-{}", hex(24), hex(34))),
        // {"alg":"HS256","typ":"JWT"} and {"sub":"1234567890"}
        prefixed(
            "jwt",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
            an(43),
        ),
    ]
}

/// Text around a secret. Only the Discord rule needs a word nearby.
const SURROUNDINGS: &[(&str, &str)] = &[
    ("", ""),
    ("discord bot: ", ""),
    ("the key is ", ", keep it"),
    ("cd dir && ./run ", "\necho done"),
    ("{\"value\": \"", "\"}"),
    ("Ключ — «", "», не терять"),
    ("<b>", "</b>"),
    ("x = '", "'  # prod\r\n"),
];

#[test]
fn every_format_is_masked_in_any_context() {
    for (category, secret) in planted() {
        for (before, after) in SURROUNDINGS {
            if category == "discord-token" && !before.contains("discord") {
                continue;
            }
            let masked = mask(&format!("{before}{secret}{after}"));
            assert_eq!(
                masked.text.as_str(),
                format!("{before}[secret:{category}]{after}"),
                "{category}: {secret}"
            );
        }
    }
}

/// Checks that only `secret` is masked, under `category`.
#[track_caller]
fn check(text: &str, secret: &str, category: &str) {
    let masked = mask(text);
    assert_eq!(
        masked.text.as_str(),
        text.replace(secret, &format!("[secret:{category}]")),
        "{text}"
    );
    assert!(
        masked.findings.iter().all(|finding| finding.category == category),
        "{:?}",
        masked.findings
    );
}

#[test]
fn connection_string_loses_only_its_password() {
    for text in [
        "postgres://app:s3cr3t-Pa55@db.internal:5432/shop?sslmode=require",
        "redis://:s3cr3t-Pa55@cache:6379/0",
        "amqp://guest:s3cr3t-Pa55@mq/vhost, then https://a.b/c",
        "Server=db;Database=shop;User Id=sa;Password=s3cr3t-Pa55;Encrypt=true",
        "jdbc:mysql://db/shop?user=app&password=s3cr3t-Pa55&ssl=true",
    ] {
        check(text, "s3cr3t-Pa55", "connection-password");
    }
}

#[test]
fn commands_lose_their_password() {
    for text in [
        "curl -u admin:s3cr3t-Pa55 https://acme.io",
        "sshpass -p 's3cr3t-Pa55' ssh root@host",
        "mysqldump -u root -ps3cr3t-Pa55 shop",
    ] {
        check(text, "s3cr3t-Pa55", "command-password");
    }
}

#[test]
fn aws_secret_keys_are_found_by_their_name() {
    let secret = random(&format!("{ALNUM}/+"), 40);
    for text in [
        format!("aws_secret_access_key = {secret}"),
        format!("AWS_SECRET_ACCESS_KEY={secret}\n"),
        format!("{{\"SecretAccessKey\": \"{secret}\"}}"),
    ] {
        check(&text, &secret, "aws-secret-key");
    }
}

#[test]
fn authorization_headers_lose_their_credential() {
    check("Authorization: Bearer 8f14e45fceea167a5a36", "8f14e45fceea167a5a36", "authorization");
    check("'Authorization': 'Basic YWxhZGRpbjpvcGVu'", "YWxhZGRpbjpvcGVu", "authorization");
}

#[test]
fn random_looking_named_values_are_masked() {
    let text = "api_key = \"9f86d081884c7d659a2feaa0c55ad015\"";
    check(text, "9f86d081884c7d659a2feaa0c55ad015", "secret-value");
    check("db_password: 'Tr0ub4dor&3'", "Tr0ub4dor&3", "password");
    check("SESSION_TOKEN=q8Zr2Lm0Tx5vB7nKc3\nPORT=80", "q8Zr2Lm0Tx5vB7nKc3", "secret-value");
}

#[test]
fn secret_named_once_is_masked_everywhere() {
    let text = "token = 'q8Zr2Lm0Tx5vB7nKc3'; later: curl /?q8Zr2Lm0Tx5vB7nKc3";
    check(text, "q8Zr2Lm0Tx5vB7nKc3", "secret-value");
}

#[test]
fn private_key_is_masked_and_its_line_count_stays() {
    let line = random(ALNUM, 64);
    let text = format!(
        "a\n-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----\nb\n"
    );
    assert_eq!(
        mask(&text).text.as_str(),
        "a\n-----BEGIN RSA PRIVATE KEY-----[secret:private-key]\n\n\n\
         -----END RSA PRIVATE KEY-----\nb\n"
    );
    let escaped =
        format!("\"-----BEGIN PRIVATE KEY-----\\n{line}\\n-----END PRIVATE KEY-----\\n\"");
    assert!(!mask(&escaped).text.as_str().contains(&line));
    let cut_off = format!("-----BEGIN EC PRIVATE KEY-----\n{line}\n{line}");
    assert!(!mask(&cut_off).text.as_str().contains(&line));
}

#[test]
fn benign_text_stays_unchanged() {
    for text in [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 by octocat",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "token = request.headers.get('X-Token')",
        "let secret_key = env::var(\"SECRET_KEY\")?;",
        "password: \"${DB_PASSWORD}\"",
        "API_KEY=<your-api-key>",
        "postgres://app:${PASSWORD}@db/shop",
        "fn access_token_expires_at(&self) -> DateTime<Utc> {",
        "\"integrity\": \
         \"sha512-9c0BMnG5tHsDWJ2qJl3xVkOWSo9BsLJBzqJ1n5kYyZ0Uo1D7r0N2bqJvWm8cRk1Hw==\"",
        "-----BEGIN CERTIFICATE-----\n\
         MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n",
        "sk-learn, sk_live_ keys and the ghp_ prefix",
        "Passwords must have 12 characters; the token expires after 30 minutes.",
        "Authorization: Bearer $TOKEN",
    ] {
        let masked = mask(text);
        assert_eq!(masked.text.as_str(), text, "{:?}", masked.findings);
    }
}
