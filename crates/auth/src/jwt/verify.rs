//! Verification of access tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, DecodingKey};
use mc_domain::Scopes;
use serde_json::Value;
use uuid::Uuid;

use super::error::{InvalidAccessToken, Part, Reason, shortened};
use super::json_object::Members;
use super::{Access, LEEWAY, LIFETIME, MAX_BYTES, TYP, TokenAudience};
use crate::client::ClientId;
use crate::keys::{KeySet, VerifyingKey};

const HEADERS: [&str; 3] = ["alg", "typ", "kid"];
const CLAIMS: [&str; 10] =
    ["iss", "aud", "sub", "client_id", "sid", "scope", "iat", "nbf", "exp", "jti"];

/// The last second of the year 9999, the last that RFC 3339 can express.
const LAST_SECOND: i64 = 253_402_300_799;

/// Verifies a token at `now`: form, header, key, signature, and only then the claims.
pub fn verify(
    audience: &TokenAudience,
    keys: &KeySet,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Access, InvalidAccessToken> {
    if token.len() > MAX_BYTES {
        return Err(Reason::TooLarge.into());
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(Reason::Parts)?;
    let (header, claims) = signed.split_once('.').ok_or(Reason::Parts)?;
    if claims.contains('.') {
        return Err(Reason::Parts.into());
    }
    let key = key(members(Part::Header, header)?, keys, now)?;
    check_signature(key, signed, signature)?;
    Ok(read_claims(members(Part::Claims, claims)?, audience, now)?)
}

fn members(part: Part, text: &str) -> Result<Members, Reason> {
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| Reason::Encoding(part))?;
    Members::parse(part, &json)
}

fn key(mut header: Members, keys: &KeySet, now: DateTime<Utc>) -> Result<&VerifyingKey, Reason> {
    if let Some(name) = header.unexpected(&HEADERS) {
        return Err(Reason::UnexpectedHeader(shortened(name)));
    }
    if header.take("alg").as_ref().and_then(Value::as_str) != Some("EdDSA") {
        return Err(Reason::Algorithm);
    }
    if header.take("typ").as_ref().and_then(Value::as_str) != Some(TYP) {
        return Err(Reason::Type);
    }
    let Some(Value::String(id)) = header.take("kid") else { return Err(Reason::KeyId) };
    keys.find(&id, now)
}

fn check_signature(key: &VerifyingKey, signed: &str, signature: &str) -> Result<(), Reason> {
    let public = DecodingKey::from_ed_der(key.public());
    let verified =
        jsonwebtoken::crypto::verify(signature, signed.as_bytes(), &public, Algorithm::EdDSA);
    // An error means that the signature is not base64url.
    if verified.unwrap_or(false) { Ok(()) } else { Err(Reason::Signature) }
}

fn read_claims(
    mut claims: Members,
    audience: &TokenAudience,
    now: DateTime<Utc>,
) -> Result<Access, Reason> {
    if let Some(name) = claims.unexpected(&CLAIMS) {
        return Err(Reason::UnexpectedClaim(shortened(name)));
    }
    if text(&mut claims, "iss")? != audience.issuer {
        return Err(Reason::Issuer);
    }
    if text(&mut claims, "aud")? != audience.audience {
        return Err(Reason::Audience);
    }
    let expires_at = check_times(&mut claims, now)?;
    Ok(Access {
        user: id(&mut claims, "sub")?.into(),
        client: ClientId::parse(&text(&mut claims, "client_id")?)
            .map_err(|_| Reason::ClaimValue("client_id"))?,
        session: id(&mut claims, "sid")?.into(),
        token: id(&mut claims, "jti")?.into(),
        scopes: scopes(&mut claims)?,
        expires_at,
    })
}

fn check_times(claims: &mut Members, now: DateTime<Utc>) -> Result<DateTime<Utc>, Reason> {
    let issued_at = time(claims, "iat")?;
    let valid_from = time(claims, "nbf")?;
    let expires_at = time(claims, "exp")?;
    if now >= expires_at + LEEWAY {
        return Err(Reason::Expired);
    }
    if issued_at > now + LEEWAY {
        return Err(Reason::IssuedInFuture);
    }
    if valid_from > now + LEEWAY {
        return Err(Reason::NotYetValid);
    }
    let in_order = issued_at <= valid_from && valid_from < expires_at;
    if !in_order || expires_at - issued_at > LIFETIME {
        return Err(Reason::Lifetime);
    }
    Ok(expires_at)
}

/// Parses scopes in their canonical form: known ones, each once, in order.
fn scopes(claims: &mut Members) -> Result<Scopes, Reason> {
    let text = text(claims, "scope")?;
    let scopes = Scopes::parse(&text).ok().filter(|scopes| scopes.to_string() == text);
    scopes.ok_or(Reason::ClaimValue("scope"))
}

/// Parses a UUID in its canonical form; the parser would also accept braces, URNs and capitals.
fn id(claims: &mut Members, name: &'static str) -> Result<Uuid, Reason> {
    let text = text(claims, name)?;
    let id = text.parse::<Uuid>().ok().filter(|id| id.hyphenated().to_string() == text);
    id.ok_or(Reason::ClaimValue(name))
}

/// Parses whole seconds since 1970. RFC 7519 allows fractions, but the service issues none.
fn time(claims: &mut Members, name: &'static str) -> Result<DateTime<Utc>, Reason> {
    let value = claims.take(name).ok_or(Reason::MissingClaim(name))?;
    let seconds = value.as_i64().filter(|seconds| (0..=LAST_SECOND).contains(seconds));
    let time = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.ok_or(Reason::ClaimType(name))
}

fn text(claims: &mut Members, name: &'static str) -> Result<String, Reason> {
    match claims.take(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Reason::ClaimType(name)),
        None => Err(Reason::MissingClaim(name)),
    }
}
