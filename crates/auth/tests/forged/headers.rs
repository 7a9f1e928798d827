//! Headers with unknown parameters or wrong values. Every token is signed with the active key.

use mc_auth::jwt::Reason;
use serde_json::{Value, json};

use crate::forge::{Case, Forge, base64url, public};

pub fn cases(forge: &Forge) -> Vec<Case> {
    [algorithms(forge), types(forge), key_ids(forge), parameters(forge)].concat()
}

fn algorithms(forge: &Forge) -> Vec<Case> {
    let values = [
        ("alg: none", json!("none")),
        ("alg: None", json!("None")),
        ("alg: NONE", json!("NONE")),
        ("alg: nOnE", json!("nOnE")),
        ("alg of another case", json!("eddsa")),
        ("alg with a space", json!("EdDSA ")),
        ("alg by its new name", json!("Ed25519")),
        ("alg of another curve", json!("Ed448")),
        ("alg HS256", json!("HS256")),
        ("alg RS256", json!("RS256")),
        ("alg ES256", json!("ES256")),
        ("alg null", Value::Null),
        ("alg a number", json!(0)),
        ("alg an array", json!(["EdDSA"])),
        ("alg empty", json!("")),
    ];
    let mut cases: Vec<Case> = values
        .into_iter()
        .map(|(name, value)| Case::new(name, forge.with_parameter("alg", value), Reason::Algorithm))
        .collect();
    let without = json!({"typ": "at+jwt", "kid": forge.kid()});
    cases.push(Case::new("no alg", forge.with_header(&without), Reason::Algorithm));
    cases
}

fn types(forge: &Forge) -> Vec<Case> {
    let values = [
        ("typ JWT", json!("JWT")),
        ("typ of another case", json!("AT+JWT")),
        ("typ as a media type", json!("application/at+jwt")),
        ("typ of a logout token", json!("logout+jwt")),
        ("typ of a refresh token", json!("rt+jwt")),
        ("typ null", Value::Null),
        ("typ an array", json!(["at+jwt"])),
    ];
    let mut cases: Vec<Case> = values
        .into_iter()
        .map(|(name, value)| Case::new(name, forge.with_parameter("typ", value), Reason::Type))
        .collect();
    let without = json!({"alg": "EdDSA", "kid": forge.kid()});
    cases.push(Case::new("no typ", forge.with_header(&without), Reason::Type));
    cases
}

fn key_ids(forge: &Forge) -> Vec<Case> {
    let kid = forge.kid();
    let no_text = [
        ("kid a number", json!(1)),
        ("kid null", Value::Null),
        ("kid true", json!(true)),
        ("kid an array", json!([kid])),
        ("kid an object", json!({"kid": kid})),
    ];
    let unknown = [
        ("kid empty", String::new()),
        ("kid a path", "../../../../dev/null".to_owned()),
        ("kid a file", "file:///etc/passwd".to_owned()),
        ("kid SQL", "' union select 'key' --".to_owned()),
        ("kid a command", "key|/bin/true".to_owned()),
        ("kid with NUL", format!("{kid}\0")),
        ("kid with a space", format!("{kid} ")),
        ("kid cut short", kid[..42].to_owned()),
        ("kid of another case", kid.to_uppercase()),
        ("kid the public key itself", base64url(public(&forge.active))),
        ("kid very long", "k".repeat(4000)),
    ];
    let no_text = no_text.map(|(name, value)| (name, value, Reason::KeyId));
    let unknown = unknown.map(|(name, text)| (name, json!(text), Reason::UnknownKey));
    let mut cases: Vec<Case> = no_text
        .into_iter()
        .chain(unknown)
        .map(|(name, value, reason)| Case::new(name, forge.with_parameter("kid", value), reason))
        .collect();
    let without = json!({"alg": "EdDSA", "typ": "at+jwt"});
    cases.push(Case::new("no kid", forge.with_header(&without), Reason::KeyId));
    cases
}

/// Parameters of RFC 7515, 7516 and 7797, and unknown ones: none is ignored.
fn parameters(forge: &Forge) -> Vec<Case> {
    let own_key = json!({"kty": "OKP", "crv": "Ed25519", "x": base64url(public(&forge.foreign))});
    let values = [
        ("crit", "crit", json!(["exp"])),
        ("crit, empty", "crit", json!([])),
        ("jku", "jku", json!("https://attacker.example/jwks.json")),
        ("jku of the issuer itself", "jku", json!("https://memory.example.com/jwks.json")),
        ("jwk", "jwk", own_key),
        ("x5u", "x5u", json!("https://attacker.example/cert.pem")),
        ("x5c", "x5c", json!(["MIIB"])),
        ("x5t", "x5t", json!("dGh1bWI")),
        ("x5t#S256", "x5t#S256", json!("dGh1bWI")),
        ("cty", "cty", json!("JWT")),
        ("zip", "zip", json!("DEF")),
        ("enc", "enc", json!("A256GCM")),
        ("b64", "b64", json!(false)),
        ("exp in the header", "exp", json!(9_999_999_999_u64)),
        ("alg of another case beside alg", "ALG", json!("none")),
        ("a made-up parameter", "x", json!(1)),
    ];
    values
        .into_iter()
        .map(|(name, parameter, value)| {
            let token = forge.with_parameter(parameter, value);
            Case::new(name, token, Reason::UnexpectedHeader(parameter.to_owned()))
        })
        .collect()
}
