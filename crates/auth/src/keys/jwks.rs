//! JSON Web Key Sets of public keys (RFC 7517, RFC 8037).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::VerifyingKey;

/// A JSON Web Key Set, the content of `/.well-known/jwks.json` (media type
/// `application/jwk-set+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Jwks {
    keys: Vec<Jwk>,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Jwk {
    kty: &'static str,
    crv: &'static str,
    /// The key in base64url.
    x: String,
    kid: String,
    #[serde(rename = "use")]
    usage: &'static str,
    alg: &'static str,
}

impl From<&VerifyingKey> for Jwk {
    fn from(key: &VerifyingKey) -> Self {
        Self {
            kty: "OKP",
            crv: "Ed25519",
            x: URL_SAFE_NO_PAD.encode(key.public()),
            kid: key.id().to_string(),
            usage: "sig",
            alg: "EdDSA",
        }
    }
}

impl<'a> FromIterator<&'a VerifyingKey> for Jwks {
    fn from_iter<I: IntoIterator<Item = &'a VerifyingKey>>(keys: I) -> Self {
        Self { keys: keys.into_iter().map(Jwk::from).collect() }
    }
}
