//! The value that a name such as `token` is given, whatever the vendor and the syntax: code, JSON,
//! YAML, `.env`, URLs, XML, tables, command lines, prose.
//!
//! All steps look a bounded number of bytes far, and a value ends where the next one can begin, so
//! the work stays linear in the text.

mod cursor;
mod name;
mod operator;
mod value;

use std::ops::Range;

use crate::randomness;
use name::Name;
pub(crate) use name::{Names, Strength};

/// A value beside a name that says "secret".
#[derive(Debug, PartialEq)]
pub(crate) struct Assigned {
    pub span: Range<usize>,
    pub confidence: f32,
    /// Whether it is a password that a person thought up.
    pub chosen: bool,
}

/// The secrets that the name around `word` is given.
pub(crate) fn secrets(
    text: &str,
    word: Range<usize>,
    strength: Strength,
    names: &Names,
) -> Vec<Assigned> {
    let Some(name) = Name::around(text, word) else { return Vec::new() };
    let Some(link) = operator::after(text, name.end) else { return Vec::new() };
    let candidates = value::candidates(text, &link);
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(strength) = name.strength(strength, names) else { return Vec::new() };
    let judged = candidates.into_iter().filter_map(|candidate| {
        let need = link.need(strength, &candidate);
        let (confidence, chosen) = judge(&text[candidate.span.clone()], &need, names)?;
        Some(Assigned { span: candidate.span, confidence, chosen })
    });
    judged.collect()
}

/// What a value must show to be a secret where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Need {
    /// Of having been drawn, as [`shape::evidence`] measures it.
    evidence: f32,
    /// Bytes.
    length: usize,
    /// Whether a password that a person thought up will do.
    chosen: Option<usize>,
}

/// Entropy below which a longer value repeats itself.
const LEAST_ENTROPY: f32 = 2.8;

/// The confidence in a value, and whether a person thought it up; nothing where it is no secret.
fn judge(value: &str, need: &Need, names: &Names) -> Option<(f32, bool)> {
    if randomness::is_template(value) || randomness::is_filler(value) {
        return None;
    }
    let evidence = randomness::evidence(value);
    let drawn = evidence >= need.evidence
        && value.len() >= need.length
        && (value.len() < 16 || randomness::entropy(value) >= LEAST_ENTROPY)
        && !value.contains("://")
        && !names.claims(value)
        && !(evidence < SURE && names.is_stand_in(value));
    if drawn {
        // From 0.6 where it is just enough to 0.95 where it is beyond doubt.
        let beyond = (evidence - need.evidence) / 20.0;
        return Some((0.6 + 0.35 * beyond.clamp(0.0, 1.0), false));
    }
    let chosen = need.chosen.is_some_and(|length| value.len() >= length)
        && randomness::is_chosen(value)
        && !names.is_stand_in(value);
    chosen.then_some((0.5, true))
}

/// Evidence beyond which a word such as `fake` in a value is chance.
const SURE: f32 = 12.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    fn found(text: &str) -> Vec<&str> {
        let rules = Rules::standard();
        let mut all: Vec<Range<usize>> = (rules.read_text(text).words.into_iter())
            .flat_map(|(word, strength)| secrets(text, word, strength, &rules.names))
            .map(|assigned| assigned.span)
            .collect();
        all.sort_by_key(|span| span.start);
        all.dedup();
        all.into_iter().map(|span| &text[span]).collect()
    }

    /// Drawn for this test.
    const VALUE: &str = "q8Zr2Lm0Tx5vB7nKc3";

    #[test]
    fn a_value_is_found_in_every_syntax() {
        for syntax in [
            "token = '@'",
            "token=@",
            "export ACME_TOKEN=@",
            "TOKEN := \"@\"",
            "TOKEN ?= \"@\"",
            "$token .= \"@\"",
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
            "с паролем @",
            "X-Acme-Token: @",
            "token = \\\n  '@'",
            "SecretString(\"@\")",
            "token = Some(\"@\")",
        ] {
            let text = syntax.replace('@', VALUE);
            assert_eq!(found(&text), [VALUE], "{text}");
        }
    }

    #[test]
    fn code_that_only_speaks_of_secrets_has_none() {
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
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn thought_up_passwords_are_found_where_a_password_stands() {
        for text in ["password = \"hunter2!\"", "db_password: 'hunter2!'", "DB_PASS=hunter2!\n"] {
            assert_eq!(found(text), ["hunter2!"], "{text}");
        }
        assert_eq!(found("token = \"hunter2!\""), [""; 0]);
    }
}
