//! A builder of valid and forged tokens with the service's keys.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::jwt::{self, Access, InvalidAccessToken, LIFETIME, Reason, TokenAudience};
use mc_auth::keys::{KeySet, KeyState, SigningKey, VerifyingKey};
use serde_json::{Value, json};

/// A token that must be rejected.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub token: String,
    pub reason: Reason,
    /// The time at which it is presented.
    pub at: DateTime<Utc>,
}

impl Case {
    /// Creates a case that is presented at [`now`].
    pub fn new(name: &'static str, token: impl Into<String>, reason: Reason) -> Self {
        Self { name, token: token.into(), reason, at: now() }
    }
}

/// The service's audience and keys, with their private halves.
pub struct Forge {
    pub party: TokenAudience,
    pub active: Ed25519KeyPair,
    pub retiring: Ed25519KeyPair,
    pub retired: Ed25519KeyPair,
    /// A retired key.
    pub outlived: Ed25519KeyPair,
    /// A key that the service never had.
    pub foreign: Ed25519KeyPair,
    /// The service's own signing key.
    pub service_key: SigningKey,
    keys: KeySet,
}

/// The default time at which tokens are presented.
pub fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time")
}

pub fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub fn public(pair: &Ed25519KeyPair) -> [u8; 32] {
    pair.public_key().as_ref().try_into().expect("32 bytes")
}

impl Forge {
    pub fn new() -> Self {
        let [active, retiring, retired, outlived, foreign] =
            [(); 5].map(|()| Ed25519KeyPair::generate().expect("a key"));
        let service_key = SigningKey::generate().expect("a key");
        let since = now() - TimeDelta::days(1);
        let keys = KeySet::new(vec![
            VerifyingKey::new(public(&active), KeyState::Active { since }),
            VerifyingKey::new(*service_key.public(), KeyState::Active { since }),
            VerifyingKey::new(public(&retiring), KeyState::Retiring { until: now() + LIFETIME }),
            VerifyingKey::new(public(&retired), KeyState::Retired),
            VerifyingKey::new(public(&outlived), KeyState::Retiring { until: now() }),
        ]);
        let party = TokenAudience {
            issuer: "https://memory.example.com".to_owned(),
            audience: "https://memory.example.com/api".to_owned(),
        };
        Self { party, active, retiring, retired, outlived, foreign, service_key, keys }
    }

    pub fn verify(&self, token: &str, at: DateTime<Utc>) -> Result<Access, InvalidAccessToken> {
        jwt::verify(&self.party, &self.keys, token, at)
    }

    /// The active key's id.
    pub fn kid(&self) -> String {
        kid(&self.active)
    }

    pub fn header(&self) -> Value {
        json!({"alg": "EdDSA", "typ": "at+jwt", "kid": self.kid()})
    }

    pub fn claims(&self) -> Value {
        json!({
            "iss": self.party.issuer,
            "aud": self.party.audience,
            "sub": "019a9d3c-2f6e-7c1a-8a51-0d8a7f3f9b11",
            "client_id": "memory-copilot-cli",
            "sid": "019a9d3c-2f6e-7c1a-8a51-0d8a7f3f9b22",
            "scope": "memory:read memory:write",
            "iat": now().timestamp(),
            "nbf": now().timestamp(),
            "exp": (now() + LIFETIME).timestamp(),
            "jti": "019a9d3c-2f6e-7c1a-8a51-0d8a7f3f9b33",
        })
    }

    /// Builds a valid token.
    pub fn good(&self) -> String {
        self.signed(self.header().to_string().as_bytes(), self.claims().to_string().as_bytes())
    }

    /// Signs any bytes with the active key.
    pub fn signed(&self, header: &[u8], claims: &[u8]) -> String {
        sign(&self.active, header, claims)
    }

    /// Builds the valid token with another header, signed.
    pub fn with_header(&self, header: &Value) -> String {
        self.signed(header.to_string().as_bytes(), self.claims().to_string().as_bytes())
    }

    /// Builds the valid token with a header parameter added or replaced, signed.
    pub fn with_parameter(&self, name: &str, value: Value) -> String {
        let mut header = self.header();
        header[name] = value;
        self.with_header(&header)
    }

    /// Builds the valid token with a claim added or replaced, signed.
    pub fn with_claim(&self, name: &str, value: Value) -> String {
        let mut claims = self.claims();
        claims[name] = value;
        self.signed(self.header().to_string().as_bytes(), claims.to_string().as_bytes())
    }

    /// Builds the valid token without a claim, signed.
    pub fn without_claim(&self, name: &str) -> String {
        let mut claims = self.claims();
        claims.as_object_mut().expect("an object").remove(name).expect("a claim");
        self.signed(self.header().to_string().as_bytes(), claims.to_string().as_bytes())
    }

    /// Builds the valid token with the JSON text of a claim replaced, signed.
    pub fn with_raw_claim(&self, name: &str, text: &str) -> String {
        let good = self.claims();
        let mut claims = good.clone();
        claims[name] = json!("<here>");
        let claims = claims.to_string().replace("\"<here>\"", text);
        self.signed(self.header().to_string().as_bytes(), claims.as_bytes())
    }

    /// Builds the valid token with text added before the claims' closing brace, signed.
    pub fn with_more_claims(&self, more: &str) -> String {
        let claims = self.claims().to_string();
        let claims = format!("{},{more}}}", claims.trim_end_matches('}'));
        self.signed(self.header().to_string().as_bytes(), claims.as_bytes())
    }
}

pub fn kid(pair: &Ed25519KeyPair) -> String {
    let state = KeyState::Active { since: now() };
    VerifyingKey::new(public(pair), state).id().to_string()
}

/// Builds a token of these claims, signed with `pair` under its key id.
pub fn signed_by(pair: &Ed25519KeyPair, claims: &Value) -> String {
    let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": kid(pair)});
    sign(pair, header.to_string().as_bytes(), claims.to_string().as_bytes())
}

/// Builds a token of any header and claims, signed with `pair`.
pub fn sign(pair: &Ed25519KeyPair, header: &[u8], claims: &[u8]) -> String {
    let signed = format!("{}.{}", base64url(header), base64url(claims));
    let signature = pair.sign(signed.as_bytes());
    format!("{signed}.{}", base64url(signature))
}
