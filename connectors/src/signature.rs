//! Verification of deliveries with the secrets of their webhook.

use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, HeaderValue};
use mc_domain::Provider;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::provider::adapter;

const BEARER: &[u8] = b"Bearer ";

/// Why a delivery is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The header with the signature or the token is missing: this one, or one of these.
    #[error("the header {0} is missing; set the webhook's secret at the provider")]
    Unsigned(&'static str),
    /// The signature was made with another secret, or of another body.
    #[error(
        "the signature is not made with a secret of this webhook; \
         set the webhook's secret at the provider"
    )]
    Forged,
    /// The signature is right and too old or too new.
    #[error(
        "the delivery was signed more than five minutes from now; \
         check the clocks and send it again"
    )]
    Stale,
}

/// Verifies a delivery with each secret of its webhook. There are two during a rotation.
pub fn verify(
    provider: Provider,
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[&[u8]],
    now: DateTime<Utc>,
) -> Result<(), SignatureError> {
    // Anyone can sign with an empty key.
    let secrets = secrets.iter().copied().filter(|secret| !secret.is_empty()).collect();
    (adapter(provider).verify)(&SignedRequest { headers, body, secrets, now })
}

/// A delivery, with the secrets that may have signed it.
pub(crate) struct SignedRequest<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) secrets: Vec<&'a [u8]>,
    pub(crate) now: DateTime<Utc>,
}

impl<'a> SignedRequest<'a> {
    /// Returns a header. A repeated one is rejected: another program may read the other value.
    pub(crate) fn header(&self, name: &'static str) -> Result<Option<&'a [u8]>, SignatureError> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next();
        if values.next().is_some() {
            return Err(SignatureError::Forged);
        }
        Ok(first.map(HeaderValue::as_bytes))
    }

    /// Verifies a header with `sha256=` and the hexadecimal digest of the body, if it is there.
    pub(crate) fn hmac_header(&self, name: &'static str) -> Result<Option<bool>, SignatureError> {
        let signature = self.header(name)?;
        Ok(signature.map(|signature| {
            let digits = signature.strip_prefix(b"sha256=");
            let digest = digits.and_then(|digits| hex::decode(digits).ok());
            digest.is_some_and(|digest| {
                let mut keys = self.secrets.iter();
                keys.any(|key| hmac(key, &[self.body]).verify_slice(&digest).is_ok())
            })
        }))
    }

    /// Verifies a header that holds a secret itself. Returns `None` if the header is missing.
    pub(crate) fn token_header(&self, name: &'static str) -> Result<Option<bool>, SignatureError> {
        Ok(self.header(name)?.map(|token| self.is_secret(token)))
    }

    /// Verifies a bearer token, if there is one. Rules and scripts send it that cannot sign.
    pub(crate) fn bearer(&self) -> Result<Option<bool>, SignatureError> {
        let token = self.header("Authorization")?.and_then(|value| {
            let (scheme, token) = value.split_at_checked(BEARER.len())?;
            scheme.eq_ignore_ascii_case(BEARER).then_some(token)
        });
        Ok(token.map(|token| self.is_secret(token)))
    }

    fn is_secret(&self, token: &[u8]) -> bool {
        self.secrets.iter().any(|secret| bool::from(token.ct_eq(secret)))
    }
}

/// Turns the result of a check into that of the delivery; `None` is a missing header.
pub(crate) fn accept(is_valid: Option<bool>, expected: &'static str) -> Result<(), SignatureError> {
    match is_valid {
        Some(true) => Ok(()),
        Some(false) => Err(SignatureError::Forged),
        None => Err(SignatureError::Unsigned(expected)),
    }
}

/// Verifies a delivery of an Atlassian product.
pub(crate) fn verify_atlassian(request: &SignedRequest<'_>) -> Result<(), SignatureError> {
    accept_hmac_or_bearer(request, "X-Hub-Signature", "X-Hub-Signature or Authorization")
}

/// Accepts the signature in a header or, if that header is missing, a bearer token.
pub(crate) fn accept_hmac_or_bearer(
    request: &SignedRequest<'_>,
    header: &'static str,
    expected: &'static str,
) -> Result<(), SignatureError> {
    match request.hmac_header(header)? {
        Some(is_valid) => accept(Some(is_valid), expected),
        None => accept(request.bearer()?, expected),
    }
}

/// Computes the HMAC-SHA-256 of several parts.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}
