//! Values assigned to a name such as `token`, for any vendor and in any syntax: code, JSON, YAML,
//! `.env`, URLs, XML, tables, command lines, prose.
//!
//! Every step reads a bounded number of bytes, and a value ends where the next one can begin, so
//! the time is linear in the text.

mod cursor;
mod document;
mod name;
mod operator;
mod table;
mod value;

use std::ops::Range;

use crate::randomness;
pub(crate) use document::secrets_in_documents;
use name::Name;
pub(crate) use name::{Names, Strength, is_identifier};
pub(crate) use table::secrets_in_columns;

/// A secret assigned to a name.
#[derive(Debug, PartialEq)]
pub(crate) struct AssignedSecret {
    pub span: Range<usize>,
    pub confidence: f32,
    /// Whether a person chose it as a password.
    pub human_chosen: bool,
}

/// Returns the secrets assigned to the name around `word`.
pub(crate) fn secrets(
    text: &str,
    word: Range<usize>,
    strength: Strength,
    names: &Names,
) -> Vec<AssignedSecret> {
    let Some(name) = Name::around(text, word) else { return Vec::new() };
    let Some(operator) = operator::after(text, name.end) else { return Vec::new() };
    let mut candidates = value::candidates(text, &operator);
    if name.is_user_of_url() {
        for candidate in &mut candidates {
            candidate.end_before_host(text);
        }
    }
    candidates.retain(|candidate| may_be_secret(&text[candidate.span.clone()], strength));
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(strength) = name.strength(strength, names) else { return Vec::new() };
    let judged = candidates.into_iter().filter_map(|candidate| {
        let required = operator.requirements(strength, &candidate);
        let value = &text[candidate.span.clone()];
        let (confidence, human_chosen) = judge(value, &required, names)?;
        if human_chosen && !candidate.is_quoted && name.is_variable(value) {
            return None;
        }
        Some(AssignedSecret { span: candidate.span, confidence, human_chosen })
    });
    judged.collect()
}

/// Whether a value meets the weakest requirements after a name with such a word. Most values do
/// not, and need no closer look at the name.
fn may_be_secret(value: &str, strength: Strength) -> bool {
    let is_random = value.len() >= Requirements::MIN_LENGTH
        && randomness::evidence(value) >= Requirements::MIN_EVIDENCE;
    let may_be_human_chosen =
        strength == Strength::HumanChosen && value.len() >= Requirements::MIN_HUMAN_CHOSEN_LENGTH;
    is_random || may_be_human_chosen && randomness::is_human_chosen(value)
}

/// The requirements on a value to be a secret in its context.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Requirements {
    /// Minimum evidence of randomness; see [`randomness::evidence`].
    evidence: f32,
    /// Minimum length of a random value, in bytes.
    length: usize,
    /// Minimum length of a password chosen by a person, in bytes, if such a value is accepted.
    human_chosen_length: Option<usize>,
}

impl Requirements {
    /// The minimum of [`Self::evidence`] in any context.
    const MIN_EVIDENCE: f32 = 5.0;
    /// The minimum of [`Self::length`] in any context.
    const MIN_LENGTH: usize = 8;
    /// The minimum of [`Self::human_chosen_length`] after a name and an operator.
    const MIN_HUMAN_CHOSEN_LENGTH: usize = 6;
}

/// Minimum entropy of longer values, in bits per byte: below, a value repeats itself.
const MIN_ENTROPY: f32 = 2.8;

/// Returns the confidence in a value, and whether a person chose it; `None` if it is not a secret.
fn judge(value: &str, required: &Requirements, names: &Names) -> Option<(f32, bool)> {
    if randomness::is_template(value) || randomness::is_filler(value) {
        return None;
    }
    let evidence = randomness::evidence(value);
    let is_random = evidence >= required.evidence
        && value.len() >= required.length
        && (value.len() < 16 || randomness::entropy(value) >= MIN_ENTROPY)
        && (!value.contains("://") || has_random_segment(value, required.evidence))
        && !randomness::is_file_name(value)
        && !names.claims(value)
        && !(evidence < CERTAIN && names.is_stand_in(value));
    if is_random {
        // From 0.6 at the required evidence to 0.95 far beyond it.
        let excess = (evidence - required.evidence) / 20.0;
        return Some((0.6 + 0.35 * excess.clamp(0.0, 1.0), false));
    }
    let is_human_chosen = required.human_chosen_length.is_some_and(|min| value.len() >= min)
        && randomness::is_human_chosen(value)
        && !names.is_stand_in(value);
    is_human_chosen.then_some((0.5, true))
}

/// Whether a URL has a segment that is a secret, as that of a webhook: longer than an identifier,
/// in letters of both cases and digits.
fn has_random_segment(url: &str, evidence: f32) -> bool {
    const MIN_LENGTH: usize = 23;
    /// Evidence beyond that of a value which is no URL.
    const EXTRA: f32 = 7.0;
    url.split(['/', '?', '&', '=', '#', '@']).any(|segment| {
        segment.len() >= MIN_LENGTH
            && randomness::is_mixed(segment)
            && randomness::evidence(segment) >= evidence + EXTRA
    })
}

/// Evidence above which a word such as `fake` in a value is a coincidence.
const CERTAIN: f32 = 12.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    fn found(text: &str) -> Vec<&str> {
        let rules = Rules::standard();
        let mut all: Vec<Range<usize>> = (rules.scan_keywords(text).words.into_iter())
            .flat_map(|(word, strength)| secrets(text, word, strength, &rules.names))
            .map(|assigned| assigned.span)
            .collect();
        all.sort_by_key(|span| span.start);
        all.dedup();
        all.into_iter().map(|span| &text[span]).collect()
    }

    /// Generated for this test.
    const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3";

    #[test]
    fn assigned_value_is_found_in_every_syntax() {
        for syntax in [
            "token = '@'",
            "token=@",
            "export ACME_TOKEN=@",
            "TOKEN := \"@\"",
            "TOKEN ?= \"@\"",
            "$token .= \"@\"",
            "token ??= \"@\"",
            "token ||= '@'",
            "token &&= '@'",
            "token !== '@'",
            "'token' => '@',",
            "\"token\": \"@\"",
            "{\\\"token\\\":\\\"@\\\"}",
            "token: @",
            "token: '@'",
            "let token: &'static str = \"@\";",
            "const apiToken: string = '@'",
            "var token string = \"@\"",
            "String token = \"@\";",
            "setProperty(\"ACME_TOKEN\", \"@\")",
            "client.set_token('@')",
            "Token.new(\"@\")",
            "<token>@</token>",
            "<acmeToken>\n    @\n</acmeToken>",
            "<secret>{acme AQAAABAAA @}</secret>",
            "<add key=\"AcmeToken\" value=\"@\"/>",
            "- name: ACME_TOKEN\n  value: @",
            "{\"name\": \"ACME_TOKEN\", \"value\": \"@\"}",
            "variable \"token\" {\n  default = \"@\"\n}",
            "variable \"token\" {\n type = string\n # old\n sensitive=true\n default = \"@\"\n}",
            "acme token - '@'",
            "acme auth token |@",
            "| token | `@` |",
            "acme --token @ list",
            "https://acme.io/v1?token=@&x=1",
            "[DEBUG] Using token @",
            "config[\"token\"] = \"@\"",
            "config[:api_token] = '@'",
            "token: [\"@\"]",
            "auth_token: \"Bearer @\"",
            "the token for staging is @.",
            "**Token:** `@`",
            "Токен: @",
            "пароль от базы: @",
            "пароль пользователя: @",
            "с паролем @",
            "пароль для прода @",
            "X-Acme-Token: @",
            "token = \\\n  '@'",
            "SecretString(\"@\")",
            "token = Some(\"@\")",
            "# Acme API key\n@\n",
            "acme token\r\n  @",
        ] {
            let text = syntax.replace('@', VALUE);
            assert_eq!(found(&text), [VALUE], "{text}");
        }
    }

    #[test]
    fn fallback_of_an_expression_is_found() {
        for syntax in [
            "const apiKey = process.env.API_KEY || \"@\";",
            "api_key = os.getenv(\"API_KEY\") or '@'",
            "apiKey = env.API_KEY ?? '@'",
            "val apiKey = System.getenv(\"API_KEY\") ?: \"@\"",
            "api_key = env::var(\"API_KEY\").unwrap_or(\"@\".into())",
            "apiKey: {{ env \"API_KEY\" | default \"@\" }}",
        ] {
            let text = syntax.replace('@', VALUE);
            assert_eq!(found(&text), [VALUE], "{text}");
        }
        assert_eq!(found("apiKey = env.API_KEY || \"none\""), [""; 0]);
    }

    #[test]
    fn password_with_the_word_in_it_is_found() {
        assert_eq!(found("DB_PASSWORD=MyPassword123"), ["MyPassword123"]);
    }

    #[test]
    fn continued_lines_do_not_overflow_the_stack() {
        let text = format!("token = {}'{VALUE}'", "\\\n".repeat(1_000_000));
        assert_eq!(found(&text), [""; 0]);
    }

    #[test]
    fn code_that_mentions_secrets_has_no_findings() {
        for text in [
            "token = request.headers.get('X-Token2')",
            "let token = self.next_token()?;",
            "tokenizer = \"q8Zr2Lm0Tx5vB7nKc3\"",
            "monkey: q8Zr2Lm0Tx5vB7nKc3",
            "public_key = \"q8Zr2Lm0Tx5vB7nKc3q8Zr2Lm0\"",
            "token_type: \"q8Zr2Lm0Tx5vB7nKc3\"",
            "password: real_key",
            "fn token(text: &str) -> Option<Token2> {",
            "key: \"AES256-GCM-SHA384\"",
            "token: ${{ secrets.GITHUB_TOKEN_2 }}",
            "api_key = \"your-api-key-12345\"",
            "password = os.environ[\"PASSWORD1\"]",
            "label_password: \"Enter your password!\"",
            "if token == TokenKind::Ident2 { return; }",
            "<a id=\"opt-bindPassword\" href=\"#opt-bindPassword\">",
            "svr2Password: svr2Password,",
            "get '/reset_password2' => 'login#reset_password'",
            "proxyPass.computed = this.$props.data2.proxyPass.value;",
            "this.passwordVisible = !this.passwordVisible;",
            "pwd = SecureRandom.base58\n",
            "'password' => '--password='",
            "lost_password: 'このリンクでパスワードを1回だけ再設定できます'",
            "ApiTokenManager: '_AppLayout.e6a6a429.js'",
            "key = \"000102030405060708090a0b0c0d0e0f\"",
            "api_key = \"00112233445566778899aabbccddeeff\"",
            "token: https://acme.io/v1/q8Zr2Lm0Tx5v",
            "# How to get a token\ngithub.com/acme/docs\n",
            "password {\n typeface: 'a'\n content: 'Arial-2!'\n}",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn url_with_a_random_segment_is_found() {
        let url = format!("https://acme.io/hooks/{VALUE}Wd9Yh4Jf6Gs1Pa");
        assert_eq!(found(&format!("acme token = '{url}'")), [url.as_str()]);
    }

    #[test]
    fn host_after_a_named_password_of_a_url_is_not_part_of_it() {
        for password in [VALUE, "q8Zr2@Lm0Tx5vB7nKc3Wd9Y", "P@ssq8Zr2Lm0Tx5vB7n"] {
            let url = format!("https://x-access-token:{password}@acme.io/shop?mail=a@b.io");
            assert_eq!(found(&url), [password]);
        }
    }

    #[test]
    fn human_chosen_values_are_found_for_passwords_only() {
        for text in [
            "password = \"hunter2!\"",
            "db_password: 'hunter2!'",
            "DB_PASS=hunter2!\n",
            "var password string = \"hunter2!\"",
        ] {
            assert_eq!(found(text), ["hunter2!"], "{text}");
        }
        assert_eq!(found("token = \"hunter2!\""), [""; 0]);
        for text in ["пароль для прода hunter2!", "Пароль от базы: hunter2!\n", "пароль hunter2!."]
        {
            assert_eq!(found(text), ["hunter2!"], "{text}");
        }
        for text in ["пароль для сервера db-main-2", "пароль из users.password2", "пароль ждут"]
        {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
