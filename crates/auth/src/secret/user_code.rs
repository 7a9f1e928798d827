//! User codes, which a person types from a terminal into a browser (RFC 8628, section 6.1).

use std::fmt;

use mc_domain::{Classified, ErrorKind};

use super::{SecretHash, fill};

/// Consonants without `Y`: they form no words and do not look like digits.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Letters of a code. 20^8 codes are 34 bits, enough for some minutes with a limit on guesses.
const LEN: usize = 8;

/// A user code: eight letters, written `XXXX-XXXX`. The caller must limit guesses.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode([u8; LEN]);

/// The error of a text that is not a [`UserCode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the code has eight letters without vowels, like BCDF-GHJK; type it as the terminal shows it"
)]
pub struct MalformedUserCode;

impl Classified for MalformedUserCode {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

impl UserCode {
    /// Generates a code of uniformly distributed letters.
    pub fn generate() -> Self {
        Self([(); LEN].map(|()| letter()))
    }

    /// Parses a typed code; case, spaces and dashes do not matter.
    pub fn parse(typed: &str) -> Result<Self, MalformedUserCode> {
        let mut letters = typed.chars().filter(|c| !c.is_whitespace() && !is_dash(*c));
        let mut code = [0; LEN];
        for place in &mut code {
            *place = letters.next().and_then(known).ok_or(MalformedUserCode)?;
        }
        letters.next().map_or(Ok(Self(code)), |_| Err(MalformedUserCode))
    }

    /// Returns the hash, which is stored and used for look-ups. All codes can be tried against it,
    /// so it hides nothing. A code only allows to approve another person's login, for some minutes.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }
}

impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = [&self.0[..LEN / 2], &self.0[LEN / 2..]].map(String::from_utf8_lossy);
        write!(f, "{first}-{second}")
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(hidden)")
    }
}

fn letter() -> u8 {
    loop {
        let mut byte = [0];
        fill(&mut byte);
        // 240 is the largest multiple of 20 in a byte; taking more would prefer the first letters.
        if byte[0] < 240 {
            return LETTERS[usize::from(byte[0] % 20)];
        }
    }
}

fn known(c: char) -> Option<u8> {
    let letter = u8::try_from(c.to_ascii_uppercase()).ok()?;
    LETTERS.contains(&letter).then_some(letter)
}

/// Hyphens, minus and the dashes that telephones put in their place.
fn is_dash(c: char) -> bool {
    matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_code_is_parsed_in_any_typed_form() {
        let code = UserCode::parse("BCDF-GHJK").expect("a code");
        for typed in ["bcdfghjk", " bcdf ghjk ", "BCDF–GHJK", "b c d f-g h j k", "BCDF_GHJK\n"] {
            assert_eq!(UserCode::parse(typed), Ok(code.clone()), "{typed:?}");
        }
        assert_eq!(code.to_string(), "BCDF-GHJK");
    }

    #[test]
    fn invalid_code_is_rejected() {
        for typed in ["", "BCDF", "BCDF-GHJ", "BCDF-GHJKL", "ABCD-EFGH", "BCDF-GHJ0", "ВСDF-GHJK"]
        {
            assert_eq!(UserCode::parse(typed), Err(MalformedUserCode), "{typed:?}");
        }
    }

    #[test]
    fn new_codes_use_every_letter_and_read_back() {
        let mut seen = std::collections::BTreeSet::new();
        // A letter is missing from 8,000 with a chance of 20 * 0.95^8000, which is below 10^-170.
        for _ in 0..1000 {
            let code = UserCode::generate();
            assert_eq!(UserCode::parse(&code.to_string()), Ok(code.clone()));
            seen.extend(code.0);
        }
        assert!(seen.iter().eq(LETTERS));
    }
}
