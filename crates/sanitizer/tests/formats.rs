//! A planted secret of each format is masked in any context; benign text stays.

use mc_sanitizer::{Policy, Sanitizer, mask};

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
const HEX: &str = "0123456789abcdef";

/// The length of a format, as its issuer documents it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    Exact,
    /// A minimum or a range.
    Varied,
}
use Length::{Exact, Varied};

/// Formats by category. A percent sign, a letter for an alphabet, and a number are random
/// characters.
#[rustfmt::skip]
const FORMATS: &[(&str, Length, &str)] = &[
    ("adobe-secret", Exact, "p8e-%a32"),
    ("age-key", Exact, "AGE-SECRET-KEY-1%B58"),
    ("aws-access-key", Exact, "AKIA%A16"),
    ("aws-access-key", Exact, "ASIA%A16"),
    ("aws-bedrock-key", Varied, "ABSK%s128"),
    ("google-api-key", Exact, "AIza%u35"),
    ("google-oauth-secret", Exact, "GOCSPX-%u28"),
    ("google-oauth-token", Varied, "ya29.%a60"),
    ("google-oauth-token", Varied, "ya29.c.%a60"),
    ("azure-client-secret", Varied, "aB38Q~%a34"),
    ("digitalocean-token", Exact, "dop_v1_%h64"),
    ("yandex-api-key", Varied, "AQVN%u36"),
    ("cloudflare-origin-key", Exact, "v1.0-%h24-%h146"),
    ("heroku-token", Exact, "HRKU-%h8-%h4-%h4-%h4-%h12"),
    ("heroku-token", Exact, "HRKU-AA%u58"),
    ("netlify-token", Exact, "nfp_%a36"),
    ("scalingo-token", Exact, "tk-us-%u48"),
    ("openshift-token", Exact, "sha256~%u43"),
    ("memory-copilot-token", Exact, "mcp_%a49"),
    ("memory-copilot-token", Exact, "mcr_%a49"),
    ("memory-copilot-token", Exact, "mcd_%a49"),
    ("memory-copilot-token", Exact, "mcs_%a49"),
    ("github-token", Exact, "ghp_%a36"),
    ("github-token", Exact, "gho_%a36"),
    ("github-token", Exact, "ghu_%a36"),
    ("github-token", Exact, "ghs_%a36"),
    ("github-token", Exact, "ghr_%a36"),
    ("github-token", Exact, "ghr_%a76"),
    ("github-token", Varied, "ghs_123456_eyJ%a60.%a300.%u86"),
    ("github-token", Exact, "github_pat_%a22_%a59"),
    ("gitlab-token", Exact, "glpat-%u20"),
    ("gitlab-token", Varied, "glpat-%u40.01.%l9"),
    ("gitlab-token", Varied, "glrt-t1_%u27.%l9"),
    ("gitlab-token", Exact, "glrt-t1_%u20"),
    ("gitlab-token", Exact, "glcbt-64_%u20"),
    ("gitlab-token", Exact, "glptt-%h40"),
    ("gitlab-token", Exact, "glagent-%u50"),
    ("gitlab-token", Exact, "gloas-%h64"),
    ("bitbucket-token", Exact, "ATBB%a32"),
    ("atlassian-token", Varied, "ATATT3%u170=%H8"),
    ("npm-token", Exact, "npm_%a36"),
    ("pypi-token", Varied, "pypi-AgEIcHlwaS5vcmc%a120"),
    ("rubygems-token", Exact, "rubygems_%h48"),
    ("crates-token", Exact, "cio%a32"),
    ("clojars-token", Exact, "CLOJARS_%l60"),
    ("nuget-key", Exact, "oy2%l43"),
    ("docker-token", Exact, "dckr_pat_%u27"),
    ("artifactory-token", Exact, "AKCp%a69"),
    ("terraform-token", Varied, "%a14.atlasv1.%a67"),
    ("pulumi-token", Exact, "pul-%h40"),
    ("buildkite-token", Exact, "bkua_%h40"),
    ("databricks-token", Exact, "dapi%h32"),
    ("postman-key", Exact, "PMAK-%h24-%h34"),
    ("readme-key", Exact, "rdme_%l70"),
    ("vault-token", Varied, "hvs.%a90"),
    ("doppler-token", Varied, "dp.pt.%a43"),
    ("anthropic-key", Exact, "sk-ant-api03-%u95"),
    ("anthropic-key", Varied, "sk-ant-oat01-%u95"),
    ("openrouter-key", Exact, "sk-or-v1-%h64"),
    ("openai-key", Varied, "sk-proj-%u120"),
    ("openai-key", Exact, "sk-%a48"),
    ("deepseek-key", Exact, "sk-%h32"),
    ("huggingface-token", Exact, "hf_%a34"),
    ("replicate-token", Exact, "r8_%a37"),
    ("groq-key", Exact, "gsk_%a52"),
    ("xai-key", Exact, "xai-%a80"),
    ("perplexity-key", Exact, "pplx-%a48"),
    ("nvidia-key", Exact, "nvapi-%u64"),
    ("langsmith-key", Exact, "lsv2_pt_%h32_%h10"),
    ("pinecone-key", Exact, "pcsk_%a6_%a63"),
    ("slack-token", Varied, "xoxb-%n12-%n12-%a24"),
    ("slack-token", Varied, "xoxp-%n12-%n12-%h32"),
    ("slack-token", Varied, "xapp-1-A%A10-%n13-%h64"),
    ("discord-token", Exact, "MTk4NjIyNDgzNDcxOTI1MjQ4.%a6.%a38"),
    ("telegram-token", Exact, "110201543:AA%a33"),
    ("sendgrid-key", Exact, "SG.%u22.%u43"),
    ("brevo-key", Exact, "xkeysib-%h64-%a16"),
    ("mailgun-key", Exact, "key-%h32"),
    ("mailchimp-key", Varied, "%h32-us1"),
    ("twilio-key", Exact, "SK%h32"),
    ("stripe-key", Varied, "sk_live_%a24"),
    ("stripe-key", Varied, "sk_test_%a99"),
    ("stripe-key", Varied, "rk_live_%a24"),
    ("stripe-webhook-secret", Varied, "whsec_%a32"),
    ("shopify-token", Exact, "shpat_%h32"),
    ("square-token", Exact, "sq0csp-%u43"),
    ("shippo-token", Exact, "shippo_live_%h40"),
    ("easypost-key", Exact, "EZAK%a54"),
    ("flutterwave-key", Exact, "FLWSECK_TEST-%a32-X"),
    ("dropbox-token", Varied, "sl.u.%u300"),
    ("figma-token", Exact, "figd_%u40"),
    ("airtable-token", Exact, "pat%a14.%h64"),
    ("linear-key", Exact, "lin_api_%a40"),
    ("notion-token", Exact, "ntn_%a46"),
    ("contentful-token", Exact, "CFPAT-%u43"),
    ("supabase-key", Exact, "sb_secret_%u22_%u8"),
    ("grafana-token", Exact, "glsa_%a32_%h8"),
    ("sentry-token", Exact, "sntryu_%h64"),
    ("sentry-token", Exact, "sntrys_eyJ%a120=_%s43"),
    ("newrelic-key", Exact, "NRAK-%A27"),
    ("newrelic-key", Exact, "eu01xx%h26FFFFNRAL"),
    ("posthog-key", Varied, "phx_%a43"),
    ("settlemint-token", Exact, "sm_pat_%a16"),
    ("cloudflare-token", Exact, "cfut_%a40%h8"),
    ("alibaba-key", Varied, "LTAI%a20"),
    ("tencent-key", Exact, "AKID%a32"),
    ("razorpay-key", Exact, "rzp_live_%a14"),
    ("plaid-token", Exact, "access-sandbox-%h8-%h4-%h4-%h4-%h12"),
    ("duffel-token", Exact, "duffel_test_%u43"),
    ("hubspot-token", Exact, "pat-eu1-%h8-%h4-%h4-%h4-%h12"),
    ("frameio-token", Exact, "fio-u-%u64"),
    ("apify-token", Exact, "apify_api_%a36"),
    ("flexport-token", Exact, "shltm_%u40"),
    ("pagarme-key", Exact, "ak_live_%a30"),
    // {"alg":"HS256","typ":"JWT"} and {"sub":"1234567890"}
    ("jwt", Varied, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.%a43"),
];

/// Returns a token of a format.
fn token(format: &str) -> String {
    let mut parts = format.split('%');
    let mut token = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (letter, rest) = part.split_at(1);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().expect("a length");
        // A sign at the end would be a part of the text around it.
        token += &match letter {
            "a" => random(ALNUM, length),
            "A" => random("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length),
            "B" => random("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", length),
            "h" => random(HEX, length),
            "H" => random("0123456789ABCDEF", length),
            "l" => random("abcdefghijklmnopqrstuvwxyz0123456789", length),
            "n" => random("0123456789", length),
            "s" => random(&format!("{ALNUM}+/"), length - 1) + "x",
            "u" => random(&format!("{ALNUM}_-"), length - 1) + "x",
            other => panic!("no alphabet: {other}"),
        };
        token += &rest[digits..];
    }
    token
}

/// Returns a token of each format.
fn planted() -> impl Iterator<Item = (&'static str, Length, String)> {
    FORMATS.iter().map(|(category, length, format)| (*category, *length, token(format)))
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
    ("{\"log\": \"first\\n", "\\nlast\"}"),
    ("{\\\"log\\\": \\\"first\\\\n", "\\\\nlast\\\"}"),
    ("[1, \"", "\", 2]"),
    ("<a b=\"", "\"/>"),
    ("see copy_", "&b. Then"),
    ("(", "\\"),
    ("https://a.example/?x=", "&y=1"),
    ("a%3D", "%0Ab"),
    ("two of them: {\"a\": \"", "\"}"),
];

#[test]
fn every_format_is_masked_in_any_context() {
    for (category, _, secret) in planted() {
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

/// Whether a finding has the category.
fn is_found(text: &str, category: &str) -> bool {
    mask(text).findings.iter().any(|finding| finding.category == category)
}

#[test]
fn format_is_not_found_inside_a_word() {
    for (category, _, secret) in planted() {
        for text in [format!("discord x{secret}"), format!("discord, Z9x{secret} end")] {
            assert!(!is_found(&text, category), "{category}: {text}");
        }
    }
}

#[test]
fn token_of_another_length_has_no_format() {
    for (category, _, secret) in planted().filter(|(_, length, _)| *length == Exact) {
        for tail in ["a", "7", "Z9"] {
            assert!(!is_found(&format!("discord {secret}{tail}"), category), "{category}: {tail}");
        }
        let shorter = &secret[..secret.len() - 1];
        assert!(!is_found(&format!("discord {shorter}"), category), "{category}: {shorter}");
    }
}

#[test]
fn sign_of_the_alphabet_after_a_token_makes_it_longer() {
    let key = token("AIza%a35");
    for sign in ["_", "-"] {
        assert!(!is_found(&format!("see {key}{sign} end"), "google-api-key"));
        // The alphabet of GitHub's tokens has no signs.
        assert!(is_found(&format!("see {}{sign}b end", token("ghp_%a36")), "github-token"));
    }
    assert!(!is_found(&token("see my-key-%h32"), "mailgun-key"));
}

#[test]
fn tokens_next_to_each_other_are_all_masked() {
    let tokens: Vec<String> =
        (0..3).map(|at| format!("ghp_{}", random(ALNUM, 36 + at).split_off(at))).collect();
    for separator in [" ", ",", "\n", "\\n", ":"] {
        let masked = mask(&tokens.join(separator)).text.into_string();
        assert_eq!(masked, ["[secret:github-token]"; 3].join(separator));
    }
}

#[test]
fn half_of_the_keys_are_found_without_their_format() {
    let categories: Vec<&str> = planted().map(|(category, ..)| category).collect();
    let sanitizer = Sanitizer::without(&categories);
    let (mut found, mut count) = (0, 0);
    for (_, _, secret) in planted() {
        for (before, after) in SURROUNDINGS {
            let masked = sanitizer.mask(&format!("{before}{secret}{after}"), &Policy::default());
            found += usize::from(!masked.text.as_str().contains(&secret));
            count += 1;
        }
    }
    assert!(found * 2 >= count, "{found} of {count}");
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
        "https://app:s3cr3t-Pa55@db.acme.io?mail=a@b.example",
    ] {
        check(text, "s3cr3t-Pa55", "connection-password");
    }
    check("postgres://svc_password:Kd9@Vx72@db.acme.io/shop", "Kd9@Vx72", "connection-password");
    let token = format!("ghs_{}", random(ALNUM, 36));
    let masked = mask(&format!("git clone https://x-access-token:{token}@github.com/acme/shop"));
    let text = masked.text.as_str();
    assert!(text.ends_with("@github.com/acme/shop") && !text.contains(&token), "{text}");
}

#[test]
fn placeholder_of_a_connection_string_stays() {
    for text in [
        "postgres://USER:PASSWORD@HOST:5432/DB",
        "amqp://admin:ADMIN_PASS@mq.acme.io",
        "mongodb://root:MONGO_ROOT_PASSWORD@mongo/admin",
        "https://x-access-token:TOKEN@github.com/acme/shop",
    ] {
        assert_eq!(mask(text).text.as_str(), text);
    }
}

#[test]
fn commands_lose_their_password() {
    for text in [
        "curl -u admin:s3cr3t-Pa55 https://acme.io",
        "sshpass -p 's3cr3t-Pa55' ssh root@host",
        "mysqldump -u root -ps3cr3t-Pa55 shop",
        "redis-cli -h cache -a s3cr3t-Pa55 ping",
        "redis-cli --pass s3cr3t-Pa55 ping",
        "redis-cli -a  s3cr3t-Pa55; echo",
        "smbclient //files/team -U vera%s3cr3t-Pa55",
        "smbclient //files/team -U 'CORP/vera%s3cr3t-Pa55'",
        "mysql \"-ps3cr3t-Pa55\" shop",
    ] {
        check(text, "s3cr3t-Pa55", "command-password");
    }
    check("redis-cli -a 's3cr3tPa$$55word' ping", "s3cr3tPa$$55word", "command-password");
    for text in
        ["redis-cli -a $REDIS_PASSWORD2 ping", "mysql --protocol=tcp2 --port=3306 shop < shop.sql"]
    {
        assert_eq!(mask(text).findings, [], "{text}");
    }
}

#[test]
fn pairs_of_user_and_password_lose_the_password() {
    for text in [
        "req.SetBasicAuth(\"ci\", \"s3cr3t-Pa55\")",
        "requests.get(url, auth=('ci', 's3cr3t-Pa55'))",
        "HTTPBasicAuth('ci', 's3cr3t-Pa55')",
        "client.get(url).basic_auth(\"ci\", Some(\"s3cr3t-Pa55\"))",
        "http.basic_auth(\n            \"ci\",\n            b\"s3cr3t-Pa55\",\n)",
        "request.basic_auth 'ci', 's3cr3t-Pa55'",
    ] {
        check(text, "s3cr3t-Pa55", "call-password");
    }
    for text in [
        "db.internal:5432:shop:app:s3cr3t-Pa55\n",
        "# the file ~/.pgpass\nlocalhost:*:*:app:s3cr3t-Pa55\n",
        "*:*:*:*:s3cr3t-Pa55",
        "localhost:*:shop.v2:app:s3cr3t-Pa55",
        "echo \"localhost:5432:shop:app:s3cr3t-Pa55\" > ~/.pgpass",
    ] {
        check(text, "s3cr3t-Pa55", "pgpass-password");
    }
    for text in [
        "req.SetBasicAuth(\"ci\", \"password\")",
        "auth = (\"scope\", \"read:user+email\")",
        "ports: 10.0.0.1:5432:5432:tcp",
        "auth=('ci', os.environ['CI_PASSWORD2'])",
    ] {
        assert_eq!(mask(text).findings, [], "{text}");
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
