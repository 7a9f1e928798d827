//! Attempts to get a secret past the sanitizer, or to make it slow.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use mc_sanitizer::{Policy, mask, mask_with};

/// Assembled here, so that other scanners find no token in the sources.
fn token() -> String {
    ["ghp", "_q8Zr2Lm0Tx5vB7nKc3Wd", "9Yh4Jf6Gs1Pa0QeR"].concat()
}

/// A value without a format of its own.
const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";

#[track_caller]
fn assert_masked(text: &str, secret: &str) {
    let masked = mask(text);
    assert!(!masked.text.as_str().contains(secret), "{text}\n{}", masked.text);
    assert!(!masked.findings.is_empty(), "{text}");
    assert_eq!(mask(masked.text.as_str()).text, masked.text, "masking again");
    assert_eq!(masked.text.as_str().matches('\n').count(), text.matches('\n').count());
}

#[test]
fn secrets_split_over_lines_are_masked() {
    let token = token();
    let (head, tail) = token.split_at(20);
    for text in [
        format!("t = \"{head}\" + \"{tail}\""),
        format!("t = \"{head}\" +\n    \"{tail}\";"),
        format!("t = ('{head}'\n     '{tail}')"),
        format!("t = \"{head}\" \\\n    \"{tail}\""),
        format!("t = '{head}' . '{tail}';"),
        format!("curl -H \"X: {head}\\\n{tail}\""),
        format!("the key is {head}\n{tail} I think"),
        format!("the key is {head}\r\n    {tail}\r\n"),
    ] {
        assert_masked(&text, tail);
        assert_masked(&text, head);
    }
    assert_masked("token = \"q8Zr2Lm0Tx5v\" +\n \"B7nKc3Wd9Yh4\"", "B7nKc3Wd9Yh4");
}

#[test]
fn wrapped_token_ends_with_its_length() {
    let token = token();
    let (head, tail) = token.split_at(20);
    let text = format!("the key is {head}\n{tail}\nwhich\nis new\n");
    assert_eq!(mask(&text).text.as_str(), "the key is [secret:github-token]\n\nwhich\nis new\n");
    let (first, rest) = head.split_at(12);
    let text = format!("the key is {first}\n{rest}\n{tail}\nwhich\n");
    assert_eq!(mask(&text).text.as_str(), "the key is [secret:github-token]\n\n\nwhich\n");
}

#[test]
fn complete_token_does_not_extend_to_the_next_line() {
    let text = format!("TOKEN={}\nPORT=80\n", token());
    assert_eq!(mask(&text).text.as_str(), "TOKEN=[secret:github-token]\nPORT=80\n");
}

#[test]
fn secrets_in_json_yaml_env_ruby_and_urls_are_masked() {
    for text in [
        "{\"auth\": {\"client_secret\": \"@\"}}",
        "{\\\"clientSecret\\\": \\\"@\\\"}",
        "\"{\\\\\\\"token\\\\\\\": \\\\\\\"@\\\\\\\"}\"",
        "service:\n  token: @\n  port: 80",
        "secrets:\n  - name: API_KEY\n    value: \"@\"",
        "token: >-\n  @\n",
        "API_KEY=@",
        "export API_KEY='@'",
        "config.api_key = '@'",
        "{ :api_key => \"@\", :port => 80 }",
        "api_key: '@', port: 80",
        "https://api.acme.io/v1/items?api_key=@&page=2",
        "curl -H 'Authorization: Bearer @' https://acme.io",
        "<setting name=\"ApiKey\" value=\"@\" />",
        "| API key | @ |",
    ] {
        assert_masked(&text.replace('@', VALUE), VALUE);
    }
    assert_masked(&format!("https://user:{VALUE}@git.acme.io/repo.git"), VALUE);
}

#[test]
fn secrets_in_base64_and_percent_encoding_are_masked() {
    let token = token();
    let plain = format!("export API_KEY={VALUE} # {token}");
    for encode in
        [STANDARD.encode(&plain), STANDARD_NO_PAD.encode(&plain), URL_SAFE_NO_PAD.encode(&plain)]
    {
        let text = format!("data: {encode}, see there");
        let masked = mask(&text);
        assert!(masked.text.as_str().starts_with("data: [secret:"), "{}", masked.text);
        assert!(masked.text.as_str().ends_with("], see there"), "{}", masked.text);
        let twice = STANDARD.encode(&encode);
        assert_masked(&format!("blob {twice}"), &twice);
    }
    let percent: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    assert_masked(&format!("https://acme.io/?x={percent}&y=1"), &percent);
    assert_masked("https://acme.io/login?next=%2Fa%3Ftoken%3Dq8Zr2Lm0Tx5vB7nKc3Wd9Yh4%26b", VALUE);
    let harmless = STANDARD.encode("There is nothing to hide in this sentence, is there?");
    assert_eq!(mask(&harmless).text.as_str(), harmless);
}

#[test]
fn secrets_in_tags_titles_and_file_names_are_masked() {
    let token = token();
    for frame in
        ["@", "#@", "[@]", "v1-@", "backup_@.tar.gz", "dir/@/file.txt", "Rotate @ soon", "«@»"]
    {
        assert_masked(&frame.replace('@', &token), &token);
    }
    let key = ["AKIA", "Q8ZR2LM5TX7VB3NK"].concat();
    for frame in ["@", "old_@_key.csv", "keys/@.pem", "Ключ @"] {
        assert_masked(&frame.replace('@', &key), &key);
    }
}

#[test]
fn line_of_ten_megabytes_is_masked_to_its_end() {
    let noise =
        ["let token = next(&mut self); ", "key: value, ", "https://a.b/c?d=e ", "0123456789 ab "];
    let text = format!("{}api_key = '{VALUE}'", noise.map(|unit| unit.repeat(150_000)).concat());
    assert!(text.len() > 10_000_000);
    let masked = mask(&text);
    assert!(masked.text.as_str().ends_with("api_key = '[secret:secret-value]'"));
}

/// Needs no clock: a step that rescans the text for each match would take hours.
#[test]
fn bait_for_backtracking_is_scanned_in_linear_time() {
    let baits = [
        "key=",
        "token: ",
        "token \"",
        "password='",
        "<secret>",
        "eyJ.",
        "-eyJ",
        "-eyJhbGciOi",
        "ghp_",
        "glpat-",
        "aglpat-",
        "://a:",
        "a://",
        "%41",
        "%",
        "\" +\n",
        "'\n",
        "\\\n",
        "key key key ",
        "sk-",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "ghp_\n",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        "a@",
        "a.",
        "+1 ",
        "1 2",
        "0.0.0.0:",
        "memory-copilot:allow ",
        "[secret:a]",
        "[secret:",
        "c2VjcmV0IGtleQ",
        "webhook/",
        "https://hooks.a/",
        "\\n",
        "\\u003d",
        "\\e]",
        "\u{1b}[1m",
        "\u{1b}]a",
        "[31m",
        "a\u{200b}",
        "ｇ",
        "g\0",
        "&#61;",
        "=3D",
        "=41=41=41\\n%41&#61;",
        "0123456789012345678901234567890123456789012345678901234567890123456789=\n",
        "67 68 70 5f ",
        "00000000: 6768 705f 3136 4337 6534 3246\n",
        "6768705f",
        "6768705f6768705f6768705f6768705f6768705f\n",
        "ORXWWZLO",
        "ORXWWZLOORXWWZLOORXWWZLOORXWWZLO\n",
        "0000000 6867 5f70 3631 3743 3465 4632 3932 6332\n",
        "0000000 064147 057560 033061 033503 032145 043062 034462 061462\n",
        "zoo ",
        "legal winner thank year wave sausage worth useful legal winner thank yellow ",
        "a,token\n",
        "token,a\nb\n",
        "cat <<EOF > .env\n",
        "<<EOF > .env ",
        "mnemonic: word ",
        "cookie: sid=",
        "пароль для ",
    ];
    for bait in baits {
        let text = bait.repeat(300_000 / bait.len());
        let masked = mask_with(&text, &Policy::strict());
        assert!(masked.text.as_str().len() <= 40 * text.len(), "{bait}");
    }
}
