//! Tokens that must be rejected, each for its own reason. They are built by hand, and most are
//! signed with the right key, so that only the defect can be the reason.

mod claims;
mod forge;
mod form;
mod headers;
mod other_tokens;
mod signatures;
mod times;

use std::collections::BTreeSet;

use mc_auth::jwt::{self, Grant, InvalidAccessToken, LEEWAY, LIFETIME};
use mc_domain::{Classified as _, ErrorKind, SessionId, UserId};
use secrecy::ExposeSecret as _;

use crate::forge::{Case, Forge, now, signed_by};

#[test]
fn every_forged_token_is_rejected_for_its_own_reason() {
    let forge = Forge::new();
    let cases = all(&forge);
    let mut surprises = Vec::new();
    for case in &cases {
        let outcome = forge.verify(&case.token, case.at);
        let reason = outcome.as_ref().map_err(InvalidAccessToken::reason);
        if reason != Err(&case.reason) {
            surprises.push(format!("{}: {reason:?}, not {:?}", case.name, case.reason));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[test]
fn forged_tokens_are_many_and_distinct() {
    let forge = Forge::new();
    let cases = all(&forge);
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    let tokens: BTreeSet<(&str, _)> =
        cases.iter().map(|case| (case.token.as_str(), case.at)).collect();
    assert_eq!((names.len(), tokens.len()), (cases.len(), cases.len()));
    assert!(cases.len() >= 240, "{}", cases.len());
}

#[test]
fn rejections_are_the_same_to_the_bearer() {
    let forge = Forge::new();
    let messages: BTreeSet<String> = all(&forge)
        .iter()
        .filter_map(|case| forge.verify(&case.token, case.at).err())
        .map(|rejected| format!("{rejected} {:?}", rejected.kind()))
        .collect();
    let flat =
        format!("the access token is not valid; sign in again {:?}", ErrorKind::Unauthenticated);
    assert_eq!(messages, BTreeSet::from([flat]));
}

#[test]
fn valid_token_built_by_hand_is_accepted() {
    let forge = Forge::new();
    let access = forge.verify(&forge.good(), now()).expect("a good token");
    assert_eq!(access.user.to_string(), forge.claims()["sub"]);
    assert_eq!(access.session.to_string(), forge.claims()["sid"]);
    assert_eq!(access.token.to_string(), forge.claims()["jti"]);
    assert_eq!(access.client.as_str(), forge.claims()["client_id"]);
    assert_eq!(access.scopes.to_string(), forge.claims()["scope"]);
    assert_eq!(access.expires_at, now() + LIFETIME);
}

#[test]
fn token_with_one_changed_character_is_rejected() {
    let forge = Forge::new();
    let good = forge.good();
    for at in 0..good.len() {
        for other in ["A", "z", "_", ".", "="] {
            let mut changed = good.clone();
            changed.replace_range(at..=at, other);
            assert_eq!(forge.verify(&changed, now()).is_ok(), changed == good, "{at} {other}");
        }
    }
}

#[test]
fn json_order_and_escapes_do_not_matter() {
    let forge = Forge::new();
    let header =
        format!(r#" {{ "kid" : "{}", "typ":"at\u002bjwt", "alg":"EdDSA" }} "#, forge.kid());
    let token = forge.signed(header.as_bytes(), forge.claims().to_string().as_bytes());
    assert!(forge.verify(&token, now()).is_ok());
}

#[test]
fn retiring_key_verifies_its_tokens() {
    let forge = Forge::new();
    let token = signed_by(&forge.retiring, &forge.claims());
    assert!(forge.verify(&token, now()).is_ok());
}

#[test]
fn clocks_may_differ_by_the_leeway_only() {
    let forge = Forge::new();
    let second = chrono::TimeDelta::seconds(1);
    let token = forge.good();
    let end = now() + LIFETIME + LEEWAY;
    assert!(forge.verify(&token, end - second).is_ok());
    assert!(forge.verify(&token, end).is_err());
    assert!(forge.verify(&token, now() - LEEWAY).is_ok());
    assert!(forge.verify(&token, now() - LEEWAY - second).is_err());
}

#[test]
fn issued_tokens_are_accepted() {
    let forge = Forge::new();
    let grant = grant("memory:read ingest");
    let issued = jwt::issue(&forge.party, &forge.service_key, &grant, now()).expect("issues");
    assert_eq!(issued.expires_at, now() + LIFETIME);
    let access = forge.verify(issued.token.expose_secret(), now()).expect("a good token");
    assert_eq!((access.user, access.session), (grant.user, grant.session));
    assert_eq!((access.token, access.expires_at), (issued.id, issued.expires_at));
    assert_eq!((access.client, access.scopes), (grant.client, grant.scopes));
    assert!(issued.token.expose_secret().len() < 1024, "{}", issued.token.expose_secret().len());
}

#[test]
fn token_expires_with_its_session() {
    let forge = Forge::new();
    let end = now() + chrono::TimeDelta::minutes(2);
    let grant = Grant { session_ends_at: Some(end), ..grant("") };
    let issued = jwt::issue(&forge.party, &forge.service_key, &grant, now()).expect("issues");
    assert_eq!(issued.expires_at, end);
    assert!(forge.verify(issued.token.expose_secret(), end - LEEWAY).is_ok());
    assert!(forge.verify(issued.token.expose_secret(), end + LEEWAY).is_err());
}

fn all(forge: &Forge) -> Vec<Case> {
    [
        form::cases(forge),
        headers::cases(forge),
        signatures::cases(forge),
        claims::cases(forge),
        times::cases(forge),
        other_tokens::cases(forge),
    ]
    .concat()
}

fn grant(scopes: &str) -> Grant {
    Grant {
        user: UserId::generate(),
        client: "memory-copilot-cli".parse().expect("a client id"),
        session: SessionId::generate(),
        scopes: scopes.parse().expect("scopes"),
        session_ends_at: None,
    }
}
