//! Secrets that the service hands out: random, known by their prefix, and kept only as a hash.
//!
//! A secret is `mc?_`, 43 characters of base62 that stand for 256 random bits, and 6 that are the
//! CRC-32 of all before them. The prefix lets scanners find a leaked one, the checksum tells a typing
//! error or a made-up token from a real one without a look-up. A plain SHA-256 is enough to keep it:
//! what is guessed at is not a person's password.

mod base62;
mod hash;
mod user_code;

use std::fmt;

use mc_domain::{Classified, ErrorKind};
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

pub use hash::{InvalidHash, SecretHash};
pub use user_code::{MalformedUserCode, UserCode};

/// Random bytes in a secret.
const RANDOM_BYTES: usize = 32;
/// Characters that a hint shows.
const HINT_LENGTH: usize = 4;
/// Bytes of the prefix.
const PREFIX_LEN: usize = 4;
/// Bytes of a secret's text.
const LEN: usize = PREFIX_LEN + base62::LEN_256 + base62::LEN_32;

/// A text that can't be the secret that was asked for. It does not say why: the text may be a secret
/// of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no {kind}; it was cut short, mistyped, or is something else")]
pub struct MalformedSecret {
    kind: &'static str,
}

impl Classified for MalformedSecret {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unauthenticated
    }
}

macro_rules! secret {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// What the text begins with.
            pub const PREFIX: &'static str = $prefix;

            /// A new one, from the operating system's random numbers.
            pub fn generate() -> Self {
                Self(generate(Self::PREFIX))
            }

            /// Takes a text that has the form of one, checksum included. Whether it was ever handed
            /// out is for the caller to look up by [`Self::hash`].
            pub fn parse(text: &str) -> Result<Self, MalformedSecret> {
                if is_well_formed(Self::PREFIX, text) {
                    Ok(Self(text.into()))
                } else {
                    Err(MalformedSecret { kind: $kind })
                }
            }

            /// The text itself, for the one answer that hands it out.
            pub fn expose(&self) -> &str {
                self.0.expose_secret()
            }

            /// What is stored, and looked up by.
            pub fn hash(&self) -> SecretHash {
                SecretHash::of(self.expose().as_bytes())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(hidden)"))
            }
        }
    };
}

secret!(
    /// A personal access token: shown to its owner once.
    PersonalAccessToken,
    "mcp_",
    "personal access token"
);
secret!(
    /// A refresh token: good for one exchange ([`crate::refresh`]).
    RefreshToken,
    "mcr_",
    "refresh token"
);
secret!(
    /// What a sender of webhooks signs its deliveries with.
    WebhookSecret,
    "mcw_",
    "webhook's secret"
);
secret!(
    /// The code by which a terminal asks whether its login was approved ([`crate::device`]).
    DeviceCode,
    "mcd_",
    "device code"
);
secret!(
    /// The `state` of one login in a browser; also what binds the login to that browser, as a cookie.
    LoginState,
    "mcs_",
    "login state"
);

/// The last characters of a token, by which a person can tell it from others.
pub fn hint(token: &str) -> &str {
    token.char_indices().rev().nth(HINT_LENGTH - 1).map_or(token, |(at, _)| &token[at..])
}

fn generate(prefix: &str) -> SecretString {
    let mut random = Zeroizing::new([0; RANDOM_BYTES]);
    fill(&mut random[..]);
    let mut text = String::with_capacity(LEN);
    text.push_str(prefix);
    base62::push_256(&mut text, &random);
    let checksum = crc32fast::hash(text.as_bytes());
    base62::push_32(&mut text, checksum);
    text.into()
}

fn is_well_formed(prefix: &str, text: &str) -> bool {
    if text.len() != LEN || !text.is_ascii() || !text.starts_with(prefix) {
        return false;
    }
    let (body, checksum) = text.split_at(LEN - base62::LEN_32);
    base62::is_256(&body[PREFIX_LEN..])
        && base62::read_32(checksum) == Some(crc32fast::hash(body.as_bytes()))
}

/// Fills `bytes` from the operating system, which has random numbers or can't run this program.
pub(crate) fn fill(bytes: &mut [u8]) {
    OsRng.try_fill_bytes(bytes).expect("the operating system gives random numbers");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_reads_back_and_no_two_are_alike() {
        let (one, other) = (PersonalAccessToken::generate(), PersonalAccessToken::generate());
        let read = PersonalAccessToken::parse(one.expose()).expect("well formed");
        assert_eq!(read.hash(), one.hash());
        assert_ne!(other.hash(), one.hash());
        assert_eq!(one.expose().len(), LEN);
    }

    #[test]
    fn a_secret_of_one_kind_is_none_of_another() {
        let token = PersonalAccessToken::generate();
        assert!(RefreshToken::parse(token.expose()).is_err());
        let renamed = token.expose().replacen("mcp_", "mcr_", 1);
        assert!(RefreshToken::parse(&renamed).is_err(), "the checksum covers the prefix");
    }

    #[test]
    fn malformed_secrets_are_refused() {
        let good = PersonalAccessToken::generate().expose().to_owned();
        let bad = [
            String::new(),
            "mcp_".to_owned(),
            good[..LEN - 1].to_owned(),
            format!("{good}0"),
            format!(" {good}"),
            good.replacen("mcp_", "MCP_", 1),
            format!("mcp_{}", "0".repeat(base62::LEN_256 + base62::LEN_32)),
            format!("mcp_{}", "z".repeat(base62::LEN_256 + base62::LEN_32)),
            format!("mcp_{}é", "0".repeat(base62::LEN_256 + base62::LEN_32 - 2)),
        ];
        for text in bad {
            assert!(PersonalAccessToken::parse(&text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn more_than_256_bits_are_refused_even_with_their_checksum() {
        let body = format!("mcp_{}", "z".repeat(base62::LEN_256));
        let mut text = body.clone();
        base62::push_32(&mut text, crc32fast::hash(body.as_bytes()));
        assert!(PersonalAccessToken::parse(&text).is_err());
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let token = DeviceCode::generate();
        assert_eq!(format!("{token:?}"), "DeviceCode(hidden)");
    }

    proptest! {
        #[test]
        fn one_changed_character_is_noticed(at in 0..LEN, to in "[0-9A-Za-z_]") {
            let good = PersonalAccessToken::generate().expose().to_owned();
            let mut bad = good.clone();
            bad.replace_range(at..=at, &to);
            prop_assert_eq!(PersonalAccessToken::parse(&bad).is_ok(), bad == good);
        }

        #[test]
        fn any_text_is_answered(text in ".{0,80}") {
            prop_assert!(PersonalAccessToken::parse(&text).is_err());
        }
    }
}
