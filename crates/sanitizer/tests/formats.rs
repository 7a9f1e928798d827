//! A planted secret of each format vanishes, in whatever stands around it; benign text stays.

use mc_sanitizer::mask;

/// Text of `length` characters that looks drawn from `alphabet`. Keys are made here, so that none
/// stands in the sources for other scanners to find.
fn drawn(alphabet: &str, length: usize) -> String {
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

/// Category and secret.
fn planted() -> Vec<(&'static str, String)> {
    let an = |n| drawn(ALNUM, n);
    let hex = |n| drawn(HEX, n);
    let marked =
        |category: &'static str, prefix: &str, tail: String| (category, format!("{prefix}{tail}"));
    vec![
        marked("aws-access-key", "AKIA", drawn(UPPER, 16)),
        marked("aws-access-key", "ASIA", drawn(UPPER, 16)),
        marked("google-api-key", "AIza", an(35)),
        marked("google-oauth-secret", "GOCSPX-", an(28)),
        marked("google-oauth-token", "ya29.", an(60)),
        marked("digitalocean-token", "dop_v1_", hex(64)),
        marked("memory-copilot-token", "mcp_", an(49)),
        marked("memory-copilot-token", "mcr_", an(49)),
        marked("memory-copilot-token", "mcd_", an(49)),
        marked("memory-copilot-token", "mcs_", an(49)),
        marked("github-token", "ghp_", an(36)),
        marked("github-token", "gho_", an(36)),
        marked("github-token", "ghu_", an(36)),
        marked("github-token", "ghs_", an(36)),
        marked("github-token", "ghr_", an(36)),
        marked("github-token", "github_pat_", format!("{}_{}", an(22), an(59))),
        marked("gitlab-token", "glpat-", an(20)),
        marked("atlassian-token", "ATATT3", an(186)),
        marked("npm-token", "npm_", an(36)),
        marked("pypi-token", "pypi-AgEIcHlwaS5vcmc", an(120)),
        marked("rubygems-token", "rubygems_", hex(48)),
        marked("docker-token", "dckr_pat_", an(27)),
        marked("databricks-token", "dapi", hex(32)),
        marked("vault-token", "hvs.", an(90)),
        marked("doppler-token", "dp.pt.", an(43)),
        marked("anthropic-key", "sk-ant-api03-", an(95)),
        marked("openrouter-key", "sk-or-v1-", hex(64)),
        marked("openai-key", "sk-proj-", an(120)),
        marked("openai-key", "sk-", an(48)),
        marked("huggingface-token", "hf_", an(34)),
        marked("replicate-token", "r8_", an(37)),
        marked("groq-key", "gsk_", an(52)),
        marked(
            "slack-token",
            "xoxb-",
            format!("{}-{}-{}", drawn("0123456789", 12), drawn("0123456789", 12), an(24)),
        ),
        marked("slack-token", "xoxp-", an(40)),
        marked("discord-token", "MTk4NjIyNDgzNDcxOTI1MjQ4", format!(".{}.{}", an(6), an(38))),
        marked("telegram-token", "110201543:AA", an(33)),
        marked("sendgrid-key", "SG.", format!("{}.{}", an(22), an(43))),
        marked("mailgun-key", "key-", hex(32)),
        marked("twilio-key", "SK", hex(32)),
        marked("stripe-key", "sk_live_", an(24)),
        marked("stripe-key", "sk_test_", an(24)),
        marked("stripe-key", "rk_live_", an(24)),
        marked("stripe-webhook-secret", "whsec_", an(32)),
        marked("shopify-token", "shpat_", hex(32)),
        marked("figma-token", "figd_", an(40)),
        marked("linear-key", "lin_api_", an(40)),
        marked("notion-token", "ntn_", an(46)),
        marked("grafana-token", "glsa_", format!("{}_{}", an(32), hex(8))),
        marked("sentry-token", "sntryu_", hex(64)),
        marked("postman-key", "PMAK-", format!("{}-{}", hex(24), hex(34))),
        // {"alg":"HS256","typ":"JWT"} and {"sub":"1234567890"}
        marked("jwt", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", an(43)),
    ]
}

/// The discord rule asks for its name nearby; the others need nothing around them.
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
fn every_planted_format_vanishes_wherever_it_stands() {
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

/// Text, the part that must go, the category. The rest of the text must stay.
#[track_caller]
fn check(text: &str, secret: &str, category: &str) {
    let masked = mask(text);
    assert_eq!(
        masked.text.as_str(),
        text.replace(secret, &format!("[secret:{category}]")),
        "{text}"
    );
    assert!(masked.finds.iter().all(|find| find.category == category), "{:?}", masked.finds);
}

#[test]
fn of_a_connection_string_only_the_password_goes() {
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
    let secret = drawn(&format!("{ALNUM}/+"), 40);
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
fn named_values_that_look_generated_go() {
    let text = "api_key = \"9f86d081884c7d659a2feaa0c55ad015\"";
    check(text, "9f86d081884c7d659a2feaa0c55ad015", "secret-value");
    check("db_password: 'Tr0ub4dor&3'", "Tr0ub4dor&3", "password");
    check("SESSION_TOKEN=q8Zr2Lm0Tx5vB7nKc3\nPORT=80", "q8Zr2Lm0Tx5vB7nKc3", "secret-value");
}

#[test]
fn a_secret_goes_from_every_place_once_one_gives_it_away() {
    let text = "token = 'q8Zr2Lm0Tx5vB7nKc3'; later: curl /?q8Zr2Lm0Tx5vB7nKc3";
    check(text, "q8Zr2Lm0Tx5vB7nKc3", "secret-value");
}

#[test]
fn a_private_key_goes_and_its_lines_stay() {
    let line = drawn(ALNUM, 64);
    let text = format!(
        "a\n-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----\nb\n"
    );
    assert_eq!(
        mask(&text).text.as_str(),
        "a\n-----BEGIN RSA PRIVATE KEY-----[secret:private-key]\n\n\n-----END RSA PRIVATE KEY-----\nb\n"
    );
    let escaped =
        format!("\"-----BEGIN PRIVATE KEY-----\\n{line}\\n-----END PRIVATE KEY-----\\n\"");
    assert!(!mask(&escaped).text.as_str().contains(&line));
    let cut_off = format!("-----BEGIN EC PRIVATE KEY-----\n{line}\n{line}");
    assert!(!mask(&cut_off).text.as_str().contains(&line));
}

#[test]
fn benign_text_stays_as_it_is() {
    for text in [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 by octocat",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "token = request.headers.get('X-Token')",
        "let secret_key = env::var(\"SECRET_KEY\")?;",
        "password: \"${DB_PASSWORD}\"",
        "API_KEY=<your-api-key>",
        "postgres://app:${PASSWORD}@db/shop",
        "fn access_token_expires_at(&self) -> DateTime<Utc> {",
        "\"integrity\": \"sha512-9c0BMnG5tHsDWJ2qJl3xVkOWSo9BsLJBzqJ1n5kYyZ0Uo1D7r0N2bqJvWm8cRk1Hw==\"",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n",
        "sk-learn, sk_live_ keys and the ghp_ prefix",
        "Passwords must have 12 characters; the token expires after 30 minutes.",
        "Authorization: Bearer $TOKEN",
    ] {
        let masked = mask(text);
        assert_eq!(masked.text.as_str(), text, "{:?}", masked.finds);
    }
}
