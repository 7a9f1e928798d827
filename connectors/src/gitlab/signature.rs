//! GitLab's signatures: Standard Webhooks, or a token of webhooks that do not sign.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::Mac as _;
use zeroize::Zeroizing;

use crate::signature::{SignatureError, SignedRequest, accept, hmac};

/// Seconds that a signed time may be off, either way. It limits replays.
const TOLERANCE_SECONDS: u64 = 5 * 60;
/// The prefix of a secret that is a key in base64 (Standard Webhooks).
const KEY_PREFIX: &[u8] = b"whsec_";

pub(super) fn verify(request: &SignedRequest<'_>) -> Result<(), SignatureError> {
    let Some(signatures) = request.header("webhook-signature")? else {
        let token = request.token_header("X-Gitlab-Token")?;
        return accept(token, "webhook-signature or X-Gitlab-Token");
    };
    // A token does not replace a wrong signature: an attacker who saw one could send it instead.
    let required = |name: &'static str| request.header(name)?.ok_or(SignatureError::Unsigned(name));
    let id = required("webhook-id")?;
    let timestamp = required("webhook-timestamp")?;
    // The signed parts are joined by dots. An id with a dot would leave open where it ends.
    if id.contains(&b'.') {
        return Err(SignatureError::Forged);
    }
    let parts = [id, b".", timestamp, b".", request.body];
    accept(Some(is_signed(signatures, &parts, &request.secrets)), "webhook-signature")?;
    let seconds = std::str::from_utf8(timestamp).ok().and_then(|text| text.parse::<i64>().ok());
    let seconds = seconds.ok_or(SignatureError::Forged)?;
    let is_stale = request.now.timestamp().abs_diff(seconds) > TOLERANCE_SECONDS;
    if is_stale { Err(SignatureError::Stale) } else { Ok(()) }
}

/// Verifies a list of `v1,` and base64 digests. The body is hashed once for each secret.
fn is_signed(signatures: &[u8], parts: &[&[u8]], secrets: &[&[u8]]) -> bool {
    let digests: Vec<Vec<u8>> = signatures
        .split(|byte| *byte == b' ')
        .filter_map(|signature| signature.strip_prefix(b"v1,"))
        .filter_map(|digest| BASE64.decode(digest).ok())
        .collect();
    secrets.iter().copied().filter_map(signing_key).any(|key| {
        let mac = hmac(&key, parts);
        digests.iter().any(|digest| mac.clone().verify_slice(digest).is_ok())
    })
}

fn signing_key(secret: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let key = match secret.strip_prefix(KEY_PREFIX) {
        Some(encoded) => BASE64.decode(encoded).ok()?,
        None => secret.to_vec(),
    };
    (!key.is_empty()).then(|| Zeroizing::new(key))
}
