//! Issuance of access tokens.

use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, Header};
use mc_domain::{Scopes, SessionId, TokenId, UserId};
use secrecy::SecretString;
use serde::Serialize;

use super::{LIFETIME, TYP, TokenAudience};
use crate::client::ClientId;
use crate::keys::{self, SigningKey};

/// The contents of a token to issue. The caller has authorized them.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Id of the user, the claim `sub`.
    pub user: UserId,
    /// The program that receives the token.
    pub client: ClientId,
    /// Id of the session that the token ends with.
    pub session: SessionId,
    /// The scopes; a subset of the session's.
    pub scopes: Scopes,
    /// The end of the session, which limits the token's lifetime.
    pub session_ends_at: Option<DateTime<Utc>>,
}

/// An issued token.
#[derive(Debug)]
pub struct Issued {
    /// The token's text.
    pub token: SecretString,
    /// Its `jti`, for the audit.
    pub id: TokenId,
    /// The expiry, in whole seconds.
    pub expires_at: DateTime<Utc>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: UserId,
    client_id: &'a ClientId,
    sid: SessionId,
    scope: Scopes,
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: TokenId,
}

/// Issues an access token at `now`, already expired if the session has ended.
pub fn issue(
    audience: &TokenAudience,
    key: &SigningKey,
    grant: &Grant,
    now: DateTime<Utc>,
) -> Result<Issued, keys::Error> {
    let id = TokenId::generate();
    let full = now + LIFETIME;
    let exp = grant.session_ends_at.map_or(full, |end| end.min(full)).timestamp();
    let claims = Claims {
        iss: &audience.issuer,
        aud: &audience.audience,
        sub: grant.user,
        client_id: &grant.client,
        sid: grant.session,
        scope: grant.scopes,
        iat: now.timestamp(),
        nbf: now.timestamp(),
        exp,
        jti: id,
    };
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some(TYP.to_owned());
    header.kid = Some(key.id().to_owned());
    let token = jsonwebtoken::encode(&header, &claims, key.private());
    let token = token.map_err(|_| keys::Error::Library)?.into();
    let expires_at = DateTime::from_timestamp(exp, 0).ok_or(keys::Error::Library)?;
    Ok(Issued { token, id, expires_at })
}
