//! What somebody would try, or stumble into, to get a secret past the sanitizer, or to make it slow.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use mc_sanitizer::{Policy, mask, mask_with};

/// Made here, so that none stands in the sources for other scanners to find.
fn token() -> String {
    ["ghp", "_q8Zr2Lm0Tx5vB7nKc3Wd", "9Yh4Jf6Gs1Pa0QeRu"].concat()
}

/// A value without a format of its own.
const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4";

#[track_caller]
fn gone(text: &str, secret: &str) {
    let masked = mask(text);
    assert!(!masked.text.as_str().contains(secret), "{text}\n{}", masked.text);
    assert!(!masked.finds.is_empty(), "{text}");
    assert_eq!(mask(masked.text.as_str()).text, masked.text, "masking again");
    assert_eq!(masked.text.as_str().matches('\n').count(), text.matches('\n').count());
}

#[test]
fn split_over_lines() {
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
        gone(&text, tail);
        gone(&text, head);
    }
    gone("token = \"q8Zr2Lm0Tx5v\" +\n \"B7nKc3Wd9Yh4\"", "B7nKc3Wd9Yh4");
}

#[test]
fn a_whole_token_takes_nothing_of_the_next_line() {
    let text = format!("TOKEN={}\nPORT=80\n", token());
    assert_eq!(mask(&text).text.as_str(), "TOKEN=[secret:github-token]\nPORT=80\n");
}

#[test]
fn inside_json_yaml_env_ruby_and_urls() {
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
        gone(&text.replace('@', VALUE), VALUE);
    }
    gone(&format!("https://user:{VALUE}@git.acme.io/repo.git"), VALUE);
}

#[test]
fn inside_base64_and_percent_encoding() {
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
        gone(&format!("blob {twice}"), &twice);
    }
    let percent: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    gone(&format!("https://acme.io/?x={percent}&y=1"), &percent);
    gone("https://acme.io/login?next=%2Fa%3Ftoken%3Dq8Zr2Lm0Tx5vB7nKc3Wd9Yh4%26b", VALUE);
    let harmless = STANDARD.encode("There is nothing to hide in this sentence, is there?");
    assert_eq!(mask(&harmless).text.as_str(), harmless);
}

#[test]
fn in_tags_titles_and_file_names() {
    let token = token();
    for frame in
        ["@", "#@", "[@]", "v1-@", "backup_@.tar.gz", "dir/@/file.txt", "Rotate @ soon", "«@»"]
    {
        gone(&frame.replace('@', &token), &token);
    }
    let key = ["AKIA", "Q8ZR2LM5TX7VB3NK"].concat();
    for frame in ["@", "old_@_key.csv", "keys/@.pem", "Ключ @"] {
        gone(&frame.replace('@', &key), &key);
    }
}

#[test]
fn a_line_of_ten_megabytes() {
    let noise =
        ["let token = next(&mut self); ", "key: value, ", "https://a.b/c?d=e ", "0123456789 ab "];
    let text = format!("{}api_key = '{VALUE}'", noise.map(|unit| unit.repeat(150_000)).concat());
    assert!(text.len() > 10_000_000);
    let masked = mask(&text);
    assert!(masked.text.as_str().ends_with("api_key = '[secret:secret-value]'"));
}

/// Not by a clock: a step that looks back over the text for each of its hits would take hours here.
#[test]
fn bait_for_backtracking_is_read_in_one_go() {
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
    ];
    for bait in baits {
        let text = bait.repeat(300_000 / bait.len());
        let masked = mask_with(&text, &Policy::strict());
        assert!(masked.text.as_str().len() <= 40 * text.len(), "{bait}");
    }
}
