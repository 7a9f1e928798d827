//! Access tokens of this service, verified by an independent library.

use std::process::{Command, Stdio};

use chrono::{DateTime, Utc};
use mc_auth::jwt::{self, Grant, TokenAudience};
use mc_auth::keys::{KeySet, KeyState, SigningKey, VerifyingKey};
use mc_domain::{SessionId, UserId};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::server::{installation, script};

struct Service {
    party: TokenAudience,
    key: SigningKey,
    keys: KeySet,
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a time")
}

impl Service {
    fn new() -> Self {
        let key = SigningKey::generate().expect("a key");
        let older = SigningKey::generate().expect("a key");
        let keys = KeySet::new(vec![
            VerifyingKey::new(*older.public(), KeyState::Retiring { until: now() + jwt::LIFETIME }),
            VerifyingKey::new(*key.public(), KeyState::Active { since: now() }),
        ]);
        let party = TokenAudience {
            issuer: "https://memory.example.com".to_owned(),
            audience: "https://memory.example.com/api".to_owned(),
        };
        Self { party, key, keys }
    }

    fn token(&self, grant: &Grant) -> String {
        let issued = jwt::issue(&self.party, &self.key, grant, now()).expect("issues");
        issued.token.expose_secret().to_owned()
    }

    /// Verifies `token` with `jose` and the service's JWKS.
    fn read_by_others(&self, token: &str) -> Result<Value, String> {
        let question = json!({
            "token": token,
            "jwks": self.keys.jwks(now()),
            "issuer": self.party.issuer,
            "audience": self.party.audience,
            "now": now().timestamp(),
        });
        let (node, folder) = installation();
        let mut process = Command::new(node)
            .arg(script("verify.mjs"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("node runs");
        let input = process.stdin.take().expect("its input");
        serde_json::to_writer(input, &question).expect("it reads");
        let output = process.wait_with_output().expect("it ends");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(serde_json::from_slice(&output.stdout).expect("JSON"))
    }
}

fn grant() -> Grant {
    Grant {
        user: UserId::generate(),
        client: "dashboard".parse().expect("an id"),
        session: SessionId::generate(),
        scopes: "memory:read ingest".parse().expect("scopes"),
        session_ends_at: None,
    }
}

#[test]
fn other_library_verifies_our_tokens_by_the_jwks() {
    let service = Service::new();
    let grant = grant();
    let read = service.read_by_others(&service.token(&grant)).expect("a good token");
    assert_eq!(read["header"]["kid"], service.key.id());
    let claims = &read["claims"];
    assert_eq!(claims["sub"], grant.user.to_string());
    assert_eq!(claims["sid"], grant.session.to_string());
    assert_eq!(claims["client_id"], "dashboard");
    assert_eq!(claims["scope"], "memory:read ingest");
    assert_eq!(claims["exp"], (now() + jwt::LIFETIME).timestamp());
}

#[test]
fn other_library_rejects_tokens_of_other_keys() {
    let (service, another) = (Service::new(), Service::new());
    let error = service.read_by_others(&another.token(&grant())).expect_err("another's token");
    assert!(error.contains("ERR_JWKS_NO_MATCHING_KEY"), "{error}");
}
