//! Secrets that the service issues: random, with a prefix, and stored as a hash only.
//!
//! A secret is `mc?_`, 43 characters of base62 for 256 random bits, and 6 characters for the CRC-32
//! of the text before them. The prefix lets scanners find a leaked secret; the checksum detects
//! typing errors and invented tokens without a query. A plain SHA-256 suffices, since the secret
//! has 256 random bits, unlike a password.

mod base62;
mod user_code;

use std::fmt;

use rand::TryRngCore as _;
use rand::rngs::OsRng;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

pub use user_code::{MalformedUserCode, UserCode};

/// Random bytes in a secret.
const RANDOM_BYTES: usize = 32;
/// Characters of a hint.
const HINT_LENGTH: usize = 4;
/// Length of the prefix, in bytes.
const PREFIX_LEN: usize = 4;
/// Length of a secret, in bytes.
const LEN: usize = PREFIX_LEN + base62::LEN_256 + base62::LEN_32;

macro_rules! secret {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(SecretString);

        impl $name {
            /// The prefix of the text.
            pub const PREFIX: &'static str = $prefix;

            /// Generates a secret from the operating system's random numbers.
            pub fn generate() -> Self {
                Self(generate(Self::PREFIX))
            }

            /// Parses a text of the right form and checksum. The caller looks up [`Self::hash`] to
            /// find whether it was issued. Anything else is `None`: it may be another secret.
            pub fn parse(text: &str) -> Option<Self> {
                is_well_formed(Self::PREFIX, text).then(|| Self(text.into()))
            }

            /// Returns the text, for the one response that issues it.
            pub fn expose(&self) -> &str {
                self.0.expose_secret()
            }

            /// Returns the hash, which is stored and used for look-ups.
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
    "mcp_"
);
secret!(
    /// A refresh token: valid for one exchange.
    RefreshToken,
    "mcr_"
);
secret!(
    /// The code of an invitation: signs in once.
    InvitationCode,
    "mci_"
);
secret!(
    /// The secret with which a provider signs its webhook deliveries.
    WebhookSecret,
    "mcw_"
);
secret!(
    /// The code with which a terminal polls for its login (RFC 8628).
    DeviceCode,
    "mcd_"
);
secret!(
    /// The `state` of a login in a browser. As a cookie, it binds the login to that browser.
    LoginState,
    "mcs_"
);

/// The SHA-256 of a secret's text: 32 bytes, compared in constant time. Rows are found by it.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Hashes a secret's bytes.
    pub fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns the bytes, for the database.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl fmt::Debug for SecretHash {
    /// Writes the first bytes, which distinguish hashes in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretHash({}..)", hex::encode(&self.0[..4]))
    }
}

/// Returns the last characters of a token, by which a person can recognize it.
pub fn hint(token: &str) -> &str {
    token.char_indices().rev().nth(HINT_LENGTH - 1).map_or(token, |(at, _)| &token[at..])
}

fn generate(prefix: &str) -> SecretString {
    let mut random = Zeroizing::new([0; RANDOM_BYTES]);
    fill(&mut random[..]);
    let mut text = String::with_capacity(LEN);
    text.push_str(prefix);
    base62::push::<{ base62::LEN_256 }, RANDOM_BYTES>(&mut text, &random);
    let checksum = crc32fast::hash(text.as_bytes());
    base62::push::<{ base62::LEN_32 }, 4>(&mut text, &checksum.to_be_bytes());
    text.into()
}

fn is_well_formed(prefix: &str, text: &str) -> bool {
    if text.len() != LEN || !text.is_ascii() || !text.starts_with(prefix) {
        return false;
    }
    let (body, checksum) = text.split_at(LEN - base62::LEN_32);
    base62::parse::<RANDOM_BYTES>(&body[PREFIX_LEN..]).is_some()
        && base62::parse(checksum) == Some(crc32fast::hash(body.as_bytes()).to_be_bytes())
}

/// Fills `bytes` with random numbers of the operating system. Panics if it has none.
pub(crate) fn fill(bytes: &mut [u8]) {
    OsRng.try_fill_bytes(bytes).expect("the operating system gives random numbers");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_parse_back_and_differ() {
        let (one, other) = (PersonalAccessToken::generate(), PersonalAccessToken::generate());
        let read = PersonalAccessToken::parse(one.expose()).expect("well formed");
        assert_eq!(read.hash(), one.hash());
        assert_ne!(other.hash(), one.hash());
        assert_eq!(one.expose().len(), LEN);
    }

    #[test]
    fn secret_of_one_kind_is_not_of_another() {
        let token = PersonalAccessToken::generate();
        assert!(RefreshToken::parse(token.expose()).is_none());
        let renamed = token.expose().replacen("mcp_", "mcr_", 1);
        assert!(RefreshToken::parse(&renamed).is_none(), "the checksum covers the prefix");
    }

    #[test]
    fn malformed_secrets_are_rejected() {
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
            assert!(PersonalAccessToken::parse(&text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn numbers_above_256_bits_are_rejected() {
        let body = format!("mcp_{}", "z".repeat(base62::LEN_256));
        let mut text = body.clone();
        let checksum = crc32fast::hash(body.as_bytes()).to_be_bytes();
        base62::push::<{ base62::LEN_32 }, 4>(&mut text, &checksum);
        assert!(PersonalAccessToken::parse(&text).is_none());
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let token = DeviceCode::generate();
        assert_eq!(format!("{token:?}"), "DeviceCode(hidden)");
        // FIPS 180-2, appendix B.1.
        assert_eq!(format!("{:?}", SecretHash::of(b"abc")), "SecretHash(ba7816bf..)");
    }

    proptest! {
        #[test]
        fn one_changed_character_is_detected(at in 0..LEN, to in "[0-9A-Za-z_]") {
            let good = PersonalAccessToken::generate().expose().to_owned();
            let mut bad = good.clone();
            bad.replace_range(at..=at, &to);
            prop_assert_eq!(PersonalAccessToken::parse(&bad).is_some(), bad == good);
        }

        #[test]
        fn parsing_never_panics(text in ".{0,80}") {
            prop_assert!(PersonalAccessToken::parse(&text).is_none());
        }
    }
}
