//! Validators: checks of a value that a regex cannot express.

mod crc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::assignment::Names;
use crate::randomness;

/// The check that a rule's match must pass to be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Validator {
    /// The format has a prefix: anything but filler is a secret.
    #[default]
    Prefixed,
    /// The value is assigned where a secret belongs, unless it is a placeholder: `<your token>`.
    Assigned,
    /// The value must look random.
    Random,
    /// A password chosen by a person: a word with digits or signs.
    HumanChosen,
    /// The first part decodes to the header of a JSON Web Token.
    Jwt,
    /// As many words as a mnemonic phrase has, and no sentence.
    Mnemonic,
    /// The body of a PEM block: contains a line's length of base64.
    Pem,
    /// Ends in the checksum of the characters before it.
    Crc,
}

/// Minimum evidence of a random value; see [`randomness::evidence`].
const MIN_EVIDENCE: f32 = 5.0;

/// Factor on the confidence in a value with a wrong checksum.
const WRONG_CHECKSUM: f32 = 0.6;

impl Validator {
    /// Returns the default confidence of rules with this validator.
    pub(crate) fn confidence(self) -> f32 {
        match self {
            Self::Pem | Self::Crc => 1.0,
            Self::Prefixed | Self::Jwt => 0.95,
            Self::Random | Self::Mnemonic => 0.85,
            Self::Assigned => 0.7,
            Self::HumanChosen => 0.5,
        }
    }

    /// Returns the factor on the rule's confidence if `value` passes the check.
    pub(crate) fn accepts(self, value: &str, names: &Names) -> Option<f32> {
        let is_stand_in = || {
            let filled = randomness::is_template(value) || randomness::is_filler(value);
            filled || names.is_stand_in(value)
        };
        let accepted = match self {
            Self::Prefixed | Self::Crc => !randomness::is_filler(value),
            Self::Assigned => !is_stand_in(),
            Self::Random => randomness::evidence(value) >= MIN_EVIDENCE && !is_stand_in(),
            Self::HumanChosen => randomness::is_human_chosen(value) && !is_stand_in(),
            Self::Jwt => has_jwt_header(value),
            Self::Mnemonic => is_mnemonic(value),
            Self::Pem => has_base64_run(value, 24),
        };
        let is_wrong = self == Self::Crc && !crc::is_valid(value);
        accepted.then_some(if is_wrong { WRONG_CHECKSUM } else { 1.0 })
    }
}

/// Whether the token has the header of a JWT. The header is searched as bytes, so that a token with
/// one damaged character is still found.
fn has_jwt_header(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default().trim_end_matches('=');
    // Base64 has no remainder of one character.
    let whole = header.len() - usize::from(header.len() % 4 == 1);
    let Ok(json) = URL_SAFE_NO_PAD.decode(&header[..whole]) else {
        return false;
    };
    let has = |key: &[u8]| json.windows(key.len()).any(|part| part == key);
    json.starts_with(b"{") && (has(b"\"alg\"") || has(b"\"typ\""))
}

/// Whether the value has the number of words of a mnemonic phrase, and none of the words that most
/// sentences have and the list of BIP 39 has not.
fn is_mnemonic(value: &str) -> bool {
    #[rustfmt::skip]
    const OF_SENTENCES: [&str; 16] = [
        "the", "and", "for", "from", "are", "which", "your", "into", "must", "its", "was", "not",
        "with", "should", "these", "words",
    ];
    let words: Vec<&str> =
        value.split(|c: char| !c.is_ascii_lowercase()).filter(|word| !word.is_empty()).collect();
    (12..=24).contains(&words.len()) && !words.iter().any(|word| OF_SENTENCES.contains(word))
}

fn has_base64_run(body: &str, length: usize) -> bool {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    body.as_bytes().split(|&b| !is_base64(b)).any(|run| run.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jwt_is_recognized_by_its_header() {
        let names = Names::default();
        // {"alg":"HS256"}, the same with a damaged byte, and {"iss":"a"}.
        assert!(Validator::Jwt.accepts("eyJhbGciOiJIUzI1NiJ9.e30.c2ln", &names).is_some());
        assert!(Validator::Jwt.accepts("eyJhbGciOie_UzI1NiJ9.e30.c2ln", &names).is_some());
        assert!(Validator::Jwt.accepts("eyJpc3MiOiJhIn0.e30.c2ln", &names).is_none());
    }

    #[test]
    fn placeholders_are_not_passwords() {
        let names = &crate::rules::Rules::standard().names;
        for stand_in in ["changeme1", "your-password1", "<password>", "********", "$DB_PASS1"] {
            assert!(Validator::HumanChosen.accepts(stand_in, names).is_none(), "{stand_in}");
        }
        assert!(Validator::HumanChosen.accepts("hunter2!", names).is_some());
    }
}
