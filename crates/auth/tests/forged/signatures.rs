//! Signatures that are missing, of another key, or of another text.

use aws_lc_rs::hmac;
use mc_auth::jwt::Reason;
use serde_json::json;

use crate::forge::{Case, Forge, base64url, kid, public, sign, signed_by};

/// The order of the group of Ed25519, little-endian (RFC 8032, section 5.1).
const GROUP_ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

pub fn cases(forge: &Forge) -> Vec<Case> {
    [changed(forge), confused(forge), other_keys(forge)].concat()
}

fn changed(forge: &Forge) -> Vec<Case> {
    let good = forge.good();
    let (signed, text) = good.rsplit_once('.').expect("a signature");
    let (header, claims) = signed.split_once('.').expect("claims");
    let signature = forge.active.sign(signed.as_bytes());
    let bytes = signature.as_ref();
    let with = |signature: &[u8]| format!("{signed}.{}", base64url(signature));
    let mut first_bit = bytes.to_vec();
    first_bit[0] ^= 1;
    let mut last_bit = bytes.to_vec();
    last_bit[63] ^= 0x80;
    let richer = forge.claims().to_string().replace("memory:write", "admin");
    let other = forge.with_claim("scope", json!("memory:read"));
    let (_, others_signature) = other.rsplit_once('.').expect("a signature");
    let own = Reason::Signature;
    vec![
        Case::new("no signature", format!("{signed}."), own.clone()),
        Case::new("a changed first bit", with(&first_bit), own.clone()),
        Case::new("a changed last bit", with(&last_bit), own.clone()),
        Case::new("a signature of zeros", with(&[0; 64]), own.clone()),
        Case::new("a signature cut short", with(&bytes[..63]), own.clone()),
        Case::new("a signature with a byte more", with(&[bytes, &[0]].concat()), own.clone()),
        Case::new("half a signature", with(&bytes[..32]), own.clone()),
        Case::new("the same signature by another number", with(&malleable(bytes)), own.clone()),
        Case::new("a signature in hexadecimal", format!("{signed}.{}", hex(bytes)), own.clone()),
        Case::new("changed claims", format!("{header}.{}.{text}", base64url(richer)), own.clone()),
        Case::new("another token's signature", format!("{signed}.{others_signature}"), own.clone()),
        Case::new(
            "a signature of the claims alone",
            with(sign_text(forge, claims).as_ref()),
            own.clone(),
        ),
        Case::new("a header in another spelling", respelled(forge, claims, text), own),
    ]
}

/// Algorithm confusion: the public key as a MAC key.
fn confused(forge: &Forge) -> Vec<Case> {
    let public = public(&forge.active);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", spki(&public));
    let kid = forge.kid();
    let mac = |alg: &str, secret: &[u8]| {
        let header = json!({"alg": alg, "typ": "at+jwt", "kid": kid}).to_string();
        let signed = format!("{}.{}", base64url(header), base64url(forge.claims().to_string()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
        format!("{signed}.{}", base64url(tag))
    };
    let unsigned = |alg: &str| {
        let header = json!({"alg": alg, "typ": "at+jwt", "kid": kid}).to_string();
        format!("{}.{}.", base64url(header), base64url(forge.claims().to_string()))
    };
    vec![
        Case::new("HS256 with the public key", mac("HS256", &public), Reason::Algorithm),
        Case::new(
            "HS256 with the public key in base64url",
            mac("HS256", base64url(public).as_bytes()),
            Reason::Algorithm,
        ),
        Case::new(
            "HS256 with the public key in PEM",
            mac("HS256", pem.as_bytes()),
            Reason::Algorithm,
        ),
        Case::new("HS256 with an empty secret", mac("HS256", b""), Reason::Algorithm),
        Case::new("HS256 with the key id", mac("HS256", kid.as_bytes()), Reason::Algorithm),
        Case::new("a MAC that calls itself EdDSA", mac("EdDSA", &public), Reason::Signature),
        Case::new("unsigned, alg: none", unsigned("none"), Reason::Algorithm),
        Case::new("unsigned, alg: HS256", unsigned("HS256"), Reason::Algorithm),
    ]
}

fn other_keys(forge: &Forge) -> Vec<Case> {
    let claims = forge.claims();
    let header = forge.header().to_string();
    let in_anothers_name = sign(&forge.foreign, header.as_bytes(), claims.to_string().as_bytes());
    let by_retired = sign(&forge.retired, header.as_bytes(), claims.to_string().as_bytes());
    let names_retired = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": kid(&forge.retired)});
    vec![
        Case::new("a foreign key", signed_by(&forge.foreign, &claims), Reason::UnknownKey),
        Case::new("a foreign key in the active one's name", in_anothers_name, Reason::Signature),
        Case::new("a retired key", signed_by(&forge.retired, &claims), Reason::RetiredKey),
        Case::new(
            "a retiring key whose time is over",
            signed_by(&forge.outlived, &claims),
            Reason::RetiredKey,
        ),
        Case::new("a retired key in the active one's name", by_retired, Reason::Signature),
        Case::new(
            "the active key in a retired one's name",
            forge.with_header(&names_retired),
            Reason::RetiredKey,
        ),
    ]
}

/// Adds the group's order to the scalar of a signature: without a range check, it verifies as well.
fn malleable(signature: &[u8]) -> Vec<u8> {
    let mut changed = signature.to_vec();
    let mut carry = 0_u16;
    for (byte, order) in changed[32..].iter_mut().zip(GROUP_ORDER) {
        let [high, low] = (u16::from(*byte) + u16::from(order) + carry).to_be_bytes();
        *byte = low;
        carry = u16::from(high);
    }
    changed
}

/// Adds a space to the header: the same JSON, but not the signed text.
fn respelled(forge: &Forge, claims: &str, signature: &str) -> String {
    let header = forge.header().to_string().replacen(',', ", ", 1);
    format!("{}.{claims}.{signature}", base64url(header))
}

fn sign_text(forge: &Forge, text: &str) -> impl AsRef<[u8]> {
    forge.active.sign(text.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encodes the key as a `SubjectPublicKeyInfo` (RFC 8410), in base64.
fn spki(public: &[u8; 32]) -> String {
    use base64::Engine as _;
    let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    base64::engine::general_purpose::STANDARD.encode([&prefix[..], public].concat())
}
