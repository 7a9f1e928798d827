//! What a pattern can't say: whether a value was generated or written by a person as a stand-in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The test that a rule's match must pass to be a secret.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Check {
    /// The format has a marker of its own: all but `xxxx` and `****` is a secret.
    Marked,
    /// The value stands where a secret would, and could be a stand-in: `<your token>`.
    Given,
    /// Only the name beside it says "secret": a generated value of at least this entropy, in bits a
    /// character.
    Generated(f64),
    /// A password a person chose: a word with digits or signs in it.
    Chosen,
    /// The first part decodes to the header of a JSON web token.
    Jwt,
    /// The body of a PEM block: holds a line's worth of base64.
    Pem,
}

impl Check {
    pub(crate) fn accepts(self, value: &str) -> bool {
        match self {
            Self::Marked => !is_filler(value),
            Self::Given => !is_stand_in(value),
            Self::Generated(bits) => !is_stand_in(value) && is_generated(value, bits),
            Self::Chosen => !is_stand_in(value) && is_chosen(value),
            Self::Jwt => has_jwt_header(value),
            Self::Pem => holds_base64_run(value, 24),
        }
    }
}

/// Signs by which people mark a value as "put yours here". All in lower case.
const STAND_INS: &[&str] = &[
    "example",
    "sample",
    "dummy",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace",
    "your",
    "insert",
    "redacted",
    "xxxx",
    "****",
    "....",
    "${",
    "#{",
    "{{",
    "%{",
    "$(",
    "<",
    "env[",
    "env.",
    "environ",
    "getenv",
    "secrets.",
    "process.",
    "config.",
    "settings.",
    "todo",
    "fixme",
    "12345678",
    "abcdefgh",
    "foobar",
];

fn is_stand_in(value: &str) -> bool {
    let lower = value.to_lowercase();
    is_filler(value) || value.starts_with('$') || STAND_INS.iter().any(|sign| lower.contains(sign))
}

/// `xxxxxxxx`, `********`: half of it one character that people fill blanks with.
fn is_filler(value: &str) -> bool {
    let filling = value.bytes().filter(|b| matches!(b, b'x' | b'X' | b'*' | b'.' | b'_')).count();
    filling * 2 > value.len()
}

fn is_generated(value: &str, bits: f64) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    digits >= 2 && letters >= 2 && !is_prose(value) && entropy(value) >= bits
}

fn is_chosen(value: &str) -> bool {
    let has_letter = value.chars().any(char::is_alphabetic);
    let has_other = value.bytes().any(|b| b.is_ascii_digit() || b"!@#$%^&*?+=".contains(&b));
    let distinct = value.chars().collect::<std::collections::HashSet<_>>().len();
    has_letter && has_other && distinct >= 5 && !is_prose(value)
}

/// Names, paths, addresses and calls: made of words, not drawn at random.
fn is_prose(value: &str) -> bool {
    let is_address = value.contains("://") || value.starts_with(['/', '.', '~', '@', '%']);
    let is_expression =
        value.contains(['(', ')', '[', ']', '{', '}', '\\']) || value.contains("::");
    let mut words = value.split(['_', '-', '.', '/', ':', ' ']);
    let is_name = words.clone().count() > 1 && words.all(is_word);
    is_address || is_expression || is_name || is_camel_case(value)
}

/// `AtomicU32Provider`: letters of both cases in runs as long as words have; drawn at random, a run
/// is two letters long.
fn is_camel_case(value: &str) -> bool {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Lower,
        Upper,
        Other,
    }
    let classes: Vec<Class> = value
        .bytes()
        .map(|b| match b {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            _ => Class::Other,
        })
        .collect();
    let begins_run =
        |pair: &&[Class]| pair[0] != pair[1] && (pair[0], pair[1]) != (Class::Upper, Class::Lower);
    let runs = 1 + classes.windows(2).filter(begins_run).count();
    let both_cases = classes.contains(&Class::Lower) && classes.contains(&Class::Upper);
    both_cases && value.len() * 2 >= runs * 7
}

/// `users`, `Sha256`, `v2`, `2024`: letters in one case, perhaps with a number behind.
fn is_word(part: &str) -> bool {
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let rest = letters.get(1..).unwrap_or_default();
    let one_case = rest.bytes().all(|b| b.is_ascii_lowercase())
        || letters.bytes().all(|b| b.is_ascii_uppercase());
    one_case && part.len() - letters.len() <= 4
}

/// Shannon entropy of the bytes, in bits a byte.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total: f64 = counts.iter().map(|&n| f64::from(n)).sum();
    let share = |&n: &u32| f64::from(n) / total;
    counts.iter().filter(|&&n| n > 0).map(share).map(|p| -p * p.log2()).sum()
}

fn has_jwt_header(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let Ok(json) = URL_SAFE_NO_PAD.decode(header.trim_end_matches('=')) else {
        return false;
    };
    serde_json::from_slice::<serde_json::Value>(&json)
        .is_ok_and(|header| header.get("alg").is_some() || header.get("typ").is_some())
}

fn holds_base64_run(body: &str, length: usize) -> bool {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    body.as_bytes().split(|&b| !is_base64(b)).any(|run| run.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_values_are_told_from_names() {
        let check = Check::Generated(3.0);
        for secret in ["9f86d081884c7d659a2feaa0c55ad015", "q8Zr2Lm0Tx5vB7nK", "hV9-kq2_Zt7Lw4Xs"] {
            assert!(check.accepts(secret), "{secret}");
        }
        for name in [
            "AtomicU32Provider42",
            "EcPrivateKeyRfc5915Der",
            "session_token_v2",
            "path/to/key2024",
            "https://a.b/c1d2e3f4g5",
            "${TOKEN_12}",
        ] {
            assert!(!check.accepts(name), "{name}");
        }
    }

    #[test]
    fn stand_ins_are_no_passwords() {
        for stand_in in ["changeme1", "your-password1", "<password>", "********", "$DB_PASS1"] {
            assert!(!Check::Chosen.accepts(stand_in), "{stand_in}");
        }
        assert!(Check::Chosen.accepts("hunter2!"));
    }

    #[test]
    fn entropy_counts_bits_a_byte() {
        assert!((entropy("abab") - 1.0).abs() < 1e-9);
        assert!((entropy("abcdefgh") - 3.0).abs() < 1e-9);
        assert!(entropy("").abs() < 1e-9);
    }
}
