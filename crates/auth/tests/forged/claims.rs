//! Claims that are missing, of another type, of another party or unexpected. Every token is signed
//! with the active key.

use mc_auth::jwt::Reason;
use serde_json::{Value, json};

use crate::forge::{Case, Forge};

pub fn cases(forge: &Forge) -> Vec<Case> {
    [missing(forge), parties(forge), texts(forge), unexpected(forge)].concat()
}

fn missing(forge: &Forge) -> Vec<Case> {
    let names = [
        ("no iss", "iss"),
        ("no aud", "aud"),
        ("no sub", "sub"),
        ("no client_id", "client_id"),
        ("no sid", "sid"),
        ("no scope", "scope"),
        ("no iat", "iat"),
        ("no nbf", "nbf"),
        ("no exp", "exp"),
        ("no jti", "jti"),
    ];
    let mut cases: Vec<Case> = names
        .into_iter()
        .map(|(name, claim)| {
            Case::new(name, forge.without_claim(claim), Reason::MissingClaim(claim))
        })
        .collect();
    let empty = forge.signed(forge.header().to_string().as_bytes(), b"{}");
    cases.push(Case::new("no claims at all", empty, Reason::MissingClaim("iss")));
    cases
}

fn parties(forge: &Forge) -> Vec<Case> {
    let audience = forge.party.audience.clone();
    let issuer = forge.party.issuer.clone();
    let wrong_type = Reason::ClaimType;
    let values = [
        ("aud an array of the right one", "aud", json!([audience]), wrong_type("aud")),
        ("aud an array of two", "aud", json!([audience, "https://other"]), wrong_type("aud")),
        ("aud an empty array", "aud", json!([]), wrong_type("aud")),
        ("aud null", "aud", Value::Null, wrong_type("aud")),
        ("aud an object", "aud", json!({"aud": audience}), wrong_type("aud")),
        ("aud empty", "aud", json!(""), Reason::Audience),
        ("aud of another service", "aud", json!("https://other.example"), Reason::Audience),
        ("aud with a slash more", "aud", json!(format!("{audience}/")), Reason::Audience),
        ("aud of another case", "aud", json!(audience.to_uppercase()), Reason::Audience),
        ("aud that begins like ours", "aud", json!(format!("{audience}.x")), Reason::Audience),
        ("aud the beginning of ours", "aud", json!(issuer), Reason::Audience),
        ("aud a star", "aud", json!("*"), Reason::Audience),
        ("iss of another", "iss", json!("https://attacker.example"), Reason::Issuer),
        ("iss with a slash more", "iss", json!(format!("{issuer}/")), Reason::Issuer),
        ("iss without TLS", "iss", json!("http://memory.example.com"), Reason::Issuer),
        ("iss with a port", "iss", json!(format!("{issuer}:443")), Reason::Issuer),
        ("iss an array", "iss", json!([issuer]), wrong_type("iss")),
        ("iss null", "iss", Value::Null, wrong_type("iss")),
    ];
    replaced(forge, values)
}

fn texts(forge: &Forge) -> Vec<Case> {
    let user = "019a9d3c-2f6e-7c1a-8a51-0d8a7f3f9b11";
    let wrong_type = Reason::ClaimType;
    let impossible = Reason::ClaimValue;
    let values = [
        ("sub empty", "sub", json!(""), impossible("sub")),
        ("sub a name", "sub", json!("admin"), impossible("sub")),
        ("sub a number", "sub", json!(1), wrong_type("sub")),
        ("sub in capitals", "sub", json!(user.to_uppercase()), impossible("sub")),
        ("sub in braces", "sub", json!(format!("{{{user}}}")), impossible("sub")),
        ("sub a URN", "sub", json!(format!("urn:uuid:{user}")), impossible("sub")),
        ("sub with NUL", "sub", json!(format!("{user}\0")), impossible("sub")),
        ("sub SQL", "sub", json!(format!("{user}' or '1'='1")), impossible("sub")),
        ("sid a number", "sid", json!(7), wrong_type("sid")),
        ("sid a name", "sid", json!("session"), impossible("sid")),
        ("jti empty", "jti", json!(""), impossible("jti")),
        ("jti an array", "jti", json!([user]), wrong_type("jti")),
        ("client_id with markup", "client_id", json!("<script>"), impossible("client_id")),
        ("client_id too long", "client_id", json!("c".repeat(65)), impossible("client_id")),
        ("scope an array", "scope", json!(["admin"]), wrong_type("scope")),
        ("scope a number", "scope", json!(63), wrong_type("scope")),
        ("scope unknown", "scope", json!("memory:read root"), impossible("scope")),
        ("scope a star", "scope", json!("*"), impossible("scope")),
        ("scope with commas", "scope", json!("memory:read,admin"), impossible("scope")),
        ("scope of another case", "scope", json!("ADMIN"), impossible("scope")),
        ("scope twice in the list", "scope", json!("admin admin"), impossible("scope")),
        ("scope with a tab", "scope", json!("memory:read\tadmin"), impossible("scope")),
    ];
    replaced(forge, values)
}

fn unexpected(forge: &Forge) -> Vec<Case> {
    let names = [
        ("a role", "role", json!("admin")),
        ("scopes besides scope", "scopes", json!(["admin"])),
        ("a claim of another case", "Sub", json!("019a9d3c-2f6e-7c1a-8a51-0d8a7f3f9b44")),
        ("an ID token's nonce", "nonce", json!("n")),
        ("an authorised party", "azp", json!("memory-copilot-cli")),
        ("a proof key", "cnf", json!({"jkt": "x"})),
        ("somebody who acts", "act", json!({"sub": "x"})),
        ("a nameless claim", "", json!(true)),
    ];
    names
        .into_iter()
        .map(|(name, claim, value)| {
            let reason = Reason::UnexpectedClaim(claim.to_owned());
            Case::new(name, forge.with_claim(claim, value), reason)
        })
        .collect()
}

fn replaced<const N: usize>(
    forge: &Forge,
    values: [(&'static str, &str, Value, Reason); N],
) -> Vec<Case> {
    values
        .into_iter()
        .map(|(name, claim, value, reason)| Case::new(name, forge.with_claim(claim, value), reason))
        .collect()
}
