//! Whether a delivery comes from somebody who has a secret of its hook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, HeaderValue};
use mc_domain::Provider;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Seconds that a signed time may be from now, either way: what was captured can't be sent again later.
const TOLERANCE: u64 = 5 * 60;
/// What a secret begins with that is a key in base64 (Standard Webhooks).
const KEY_PREFIX: &[u8] = b"whsec_";
const BEARER: &[u8] = b"Bearer ";

/// Why a delivery is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// It lacks the header that its sender shows the secret by.
    #[error("the header {expected} is missing; set the hook's secret at the sender")]
    Unsigned {
        /// The header, or those of which one would do.
        expected: &'static str,
    },
    /// What it shows was not made with a secret of the hook, or not of this body.
    #[error(
        "the signature is not made with a secret of this hook; set the hook's secret at the sender"
    )]
    Forged,
    /// The signature is right and of another time.
    #[error(
        "the delivery was signed more than five minutes from now; check the clocks and send it again"
    )]
    Stale,
}

/// Passes what was sent with one of the secrets. There are two while one replaces the other.
pub fn verify(
    source: Provider,
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[&[u8]],
    now: DateTime<Utc>,
) -> Result<(), SignatureError> {
    // With an empty key anybody can sign.
    let secrets: Vec<&[u8]> = secrets.iter().copied().filter(|secret| !secret.is_empty()).collect();
    match source {
        Provider::Github => match one(headers, "X-Hub-Signature-256")? {
            Some(signature) => accept(is_signed(signature, body, &secrets)),
            None => Err(SignatureError::Unsigned { expected: "X-Hub-Signature-256" }),
        },
        Provider::Gitlab => gitlab(headers, body, &secrets, now),
        Provider::Jira | Provider::Confluence => match one(headers, "X-Hub-Signature")? {
            Some(signature) => accept(is_signed(signature, body, &secrets)),
            None => bearer(headers, &secrets, "X-Hub-Signature or Authorization"),
        },
        Provider::Redmine => match one(headers, "X-Redmine-Signature-256")? {
            Some(signature) => accept(is_signed(signature, body, &secrets)),
            None => bearer(headers, &secrets, "X-Redmine-Signature-256 or Authorization"),
        },
        Provider::Youtrack => match one(headers, "X-YouTrack-Token")? {
            Some(token) => accept(is_secret(token, &secrets)),
            None => bearer(headers, &secrets, "X-YouTrack-Token or Authorization"),
        },
    }
}

/// Standard Webhooks, or the token alone of hooks that don't sign.
fn gitlab(
    headers: &HeaderMap,
    body: &[u8],
    secrets: &[&[u8]],
    now: DateTime<Utc>,
) -> Result<(), SignatureError> {
    let Some(signatures) = one(headers, "webhook-signature")? else {
        return match one(headers, "X-Gitlab-Token")? {
            Some(token) => accept(is_secret(token, secrets)),
            None => {
                Err(SignatureError::Unsigned { expected: "webhook-signature or X-Gitlab-Token" })
            }
        };
    };
    // From here on the token counts for nothing: whoever saw one could leave the signature wrong.
    let id =
        one(headers, "webhook-id")?.ok_or(SignatureError::Unsigned { expected: "webhook-id" })?;
    let timestamp = one(headers, "webhook-timestamp")?
        .ok_or(SignatureError::Unsigned { expected: "webhook-timestamp" })?;
    // What is signed is joined by dots: an id with one would leave open where it ends.
    if id.contains(&b'.') {
        return Err(SignatureError::Forged);
    }
    accept(is_one_signed(signatures, &[id, b".", timestamp, b".", body], secrets))?;
    let sent: i64 = std::str::from_utf8(timestamp)
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .ok_or(SignatureError::Forged)?;
    if now.timestamp().abs_diff(sent) > TOLERANCE { Err(SignatureError::Stale) } else { Ok(()) }
}

/// For those that can set a header and not sign: rules, scripts and apps that people write there.
fn bearer(
    headers: &HeaderMap,
    secrets: &[&[u8]],
    expected: &'static str,
) -> Result<(), SignatureError> {
    let token = one(headers, "Authorization")?.and_then(|value| {
        let (scheme, token) = value.split_at_checked(BEARER.len())?;
        scheme.eq_ignore_ascii_case(BEARER).then_some(token)
    });
    match token {
        Some(token) => accept(is_secret(token, secrets)),
        None => Err(SignatureError::Unsigned { expected }),
    }
}

/// The value of a header. One that comes twice may be read by the first here and by the last elsewhere.
fn one<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a [u8]>, SignatureError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(SignatureError::Forged);
    }
    Ok(first.map(HeaderValue::as_bytes))
}

fn accept(is_proven: bool) -> Result<(), SignatureError> {
    if is_proven { Ok(()) } else { Err(SignatureError::Forged) }
}

/// `sha256=` and the digest in hexadecimal digits.
fn is_signed(signature: &[u8], body: &[u8], secrets: &[&[u8]]) -> bool {
    let digits = signature.strip_prefix(b"sha256=");
    let Some(claimed) = digits.and_then(|digits| hex::decode(digits).ok()) else {
        return false;
    };
    secrets.iter().any(|secret| mac(secret, &[body]).verify_slice(&claimed).is_ok())
}

/// A list of `v1,` and the digest in base64, separated by spaces. However long it is, the body is gone
/// through once for each secret.
fn is_one_signed(signatures: &[u8], signed: &[&[u8]], secrets: &[&[u8]]) -> bool {
    let claimed: Vec<Vec<u8>> = signatures
        .split(|byte| *byte == b' ')
        .filter_map(|signature| signature.strip_prefix(b"v1,"))
        .filter_map(|digest| BASE64.decode(digest).ok())
        .collect();
    secrets.iter().copied().filter_map(signing_key).any(|key| {
        let mac = mac(&key, signed);
        claimed.iter().any(|claimed| mac.clone().verify_slice(claimed).is_ok())
    })
}

fn signing_key(secret: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let key = match secret.strip_prefix(KEY_PREFIX) {
        Some(encoded) => BASE64.decode(encoded).ok()?,
        None => secret.to_vec(),
    };
    (!key.is_empty()).then(|| Zeroizing::new(key))
}

fn is_secret(token: &[u8], secrets: &[&[u8]]) -> bool {
    secrets.iter().any(|secret| bool::from(token.ct_eq(secret)))
}

fn mac(key: &[u8], signed: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    for part in signed {
        mac.update(part);
    }
    mac
}
