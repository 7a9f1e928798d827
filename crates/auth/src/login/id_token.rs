//! ID tokens: the checks of OpenID Connect Core, section 3.1.3.7.

use chrono::{DateTime, TimeDelta, Utc};
use oauth2::{ClientId, TokenResponse as _};
use openidconnect::core::{
    CoreIdToken, CoreIdTokenClaims, CoreIdTokenVerifier, CoreJwsSigningAlgorithm, CoreTokenResponse,
};
use openidconnect::{
    AccessToken, AccessTokenHash, Nonce, SignatureVerificationError, SigningError,
    TokenResponse as _,
};

use super::oidc::Client;

/// The allowed algorithms, all with public keys: no MAC of the client secret, no unsigned tokens.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Maximum age of an ID token, which comes straight from the provider.
const MAX_AGE: TimeDelta = TimeDelta::minutes(5);
/// Maximum time by which a provider's clock may be ahead.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::seconds(30);

/// Creates a verifier at `now`. `offered` are the algorithms in the provider's metadata.
pub(super) fn verifier<'a>(
    client: &'a Client,
    offered: &[CoreJwsSigningAlgorithm],
    now: DateTime<Utc>,
) -> CoreIdTokenVerifier<'a> {
    let allowed = ALGORITHMS.into_iter().filter(|algorithm| offered.contains(algorithm));
    client
        .id_token_verifier()
        .set_allowed_algs(allowed)
        .set_time_fn(move || now)
        .set_issue_time_verifier_fn(move |issued_at| {
            let is_recent = now - MAX_AGE <= issued_at && issued_at <= now + MAX_CLOCK_SKEW;
            if is_recent { Ok(()) } else { Err("issued at another time".to_owned()) }
        })
}

/// Returns the claims of the verified ID token, or the reason for rejecting it, for the log.
pub(super) fn claims(
    tokens: &CoreTokenResponse,
    verifier: &CoreIdTokenVerifier<'_>,
    client_id: &ClientId,
    nonce: &Nonce,
) -> Result<CoreIdTokenClaims, String> {
    let id_token = tokens.id_token().ok_or("no ID token")?;
    let claims = id_token.claims(verifier, nonce).map_err(|error| error.to_string())?;
    // The library does not check this claim.
    if claims.authorized_party().is_some_and(|party| party != client_id) {
        return Err("the authorised party is another client".to_owned());
    }
    if let Some(expected) = claims.access_token_hash()
        && *expected != access_token_hash(id_token, verifier, tokens.access_token())?
    {
        return Err("the access token is not the ID token's".to_owned());
    }
    Ok(claims.clone())
}

/// Computes the `at_hash` of `token` (section 3.1.3.6).
fn access_token_hash(
    id_token: &CoreIdToken,
    verifier: &CoreIdTokenVerifier<'_>,
    token: &AccessToken,
) -> Result<AccessTokenHash, String> {
    let message = |error: SignatureVerificationError| error.to_string();
    let algorithm = id_token.signing_alg().map_err(message)?;
    let key = id_token.signing_key(verifier).map_err(message)?;
    AccessTokenHash::from_token(token, algorithm, key)
        .map_err(|error: SigningError| error.to_string())
}
