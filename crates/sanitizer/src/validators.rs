//! What a pattern can't say of a value.

mod crc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::assignment::Names;
use crate::randomness;

/// The test that a rule's match must pass to be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Check {
    /// The format has a mark of its own: anything but filler is a secret.
    #[default]
    Marked,
    /// The value stands where a secret would, and could be a stand-in: `<your token>`.
    Given,
    /// The value must look drawn.
    Generated,
    /// A password a person thought up: a word with digits or signs in it.
    Chosen,
    /// The first part decodes to the header of a JSON web token.
    Jwt,
    /// The body of a PEM block: holds a line's worth of base64.
    Pem,
    /// Ends in the checksum of what stands before it.
    Crc,
}

/// Evidence, as [`shape::evidence`] measures it, from which a value counts as drawn.
const DRAWN: f32 = 5.0;

/// Factor on the confidence in a value whose checksum is wrong.
const WRONG_CHECKSUM: f32 = 0.6;

impl Check {
    /// The confidence in a find of a rule that names none.
    pub(crate) fn confidence(self) -> f32 {
        match self {
            Self::Pem | Self::Crc => 1.0,
            Self::Marked | Self::Jwt => 0.95,
            Self::Generated => 0.85,
            Self::Given => 0.7,
            Self::Chosen => 0.5,
        }
    }

    /// Nothing where `value` is no secret, else the factor on the rule's confidence.
    pub(crate) fn accepts(self, value: &str, names: &Names) -> Option<f32> {
        let is_stand_in = || {
            let filled = randomness::is_template(value) || randomness::is_filler(value);
            filled || names.is_stand_in(value)
        };
        let accepted = match self {
            Self::Marked | Self::Crc => !randomness::is_filler(value),
            Self::Given => !is_stand_in(),
            Self::Generated => randomness::evidence(value) >= DRAWN && !is_stand_in(),
            Self::Chosen => randomness::is_chosen(value) && !is_stand_in(),
            Self::Jwt => has_jwt_header(value),
            Self::Pem => holds_base64_run(value, 24),
        };
        let is_wrong = self == Self::Crc && !crc::holds(value);
        accepted.then_some(if is_wrong { WRONG_CHECKSUM } else { 1.0 })
    }
}

/// The header is read as bytes: a token that was damaged in one place is still a token.
fn has_jwt_header(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default().trim_end_matches('=');
    // A remainder of one character is none of base64.
    let whole = header.len() - usize::from(header.len() % 4 == 1);
    let Ok(json) = URL_SAFE_NO_PAD.decode(&header[..whole]) else {
        return false;
    };
    let holds = |key: &[u8]| json.windows(key.len()).any(|part| part == key);
    json.starts_with(b"{") && (holds(b"\"alg\"") || holds(b"\"typ\""))
}

fn holds_base64_run(body: &str, length: usize) -> bool {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    body.as_bytes().split(|&b| !is_base64(b)).any(|run| run.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_makes_a_json_web_token() {
        let names = Names::default();
        // {"alg":"HS256"}, the same with a damaged byte, and {"iss":"a"}.
        assert!(Check::Jwt.accepts("eyJhbGciOiJIUzI1NiJ9.e30.c2ln", &names).is_some());
        assert!(Check::Jwt.accepts("eyJhbGciOie_UzI1NiJ9.e30.c2ln", &names).is_some());
        assert!(Check::Jwt.accepts("eyJpc3MiOiJhIn0.e30.c2ln", &names).is_none());
    }

    #[test]
    fn stand_ins_are_no_passwords() {
        let names = &crate::rules::Rules::standard().names;
        for stand_in in ["changeme1", "your-password1", "<password>", "********", "$DB_PASS1"] {
            assert!(Check::Chosen.accepts(stand_in, names).is_none(), "{stand_in}");
        }
        assert!(Check::Chosen.accepts("hunter2!", names).is_some());
    }
}
