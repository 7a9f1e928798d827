//! Texts that are not tokens, or not in canonical form.

use mc_auth::jwt::{MAX_BYTES, Part, Reason};
use serde_json::json;

use crate::forge::{Case, Forge, base64url};

pub fn cases(forge: &Forge) -> Vec<Case> {
    [parts(forge), encodings(forge), json_texts(forge)].concat()
}

fn parts(forge: &Forge) -> Vec<Case> {
    let good = forge.good();
    let [header, claims, signature] = split(&good);
    let huge = forge.with_claim("scope", json!("x".repeat(MAX_BYTES)));
    vec![
        Case::new("nothing", "", Reason::Parts),
        Case::new("one part", header.clone(), Reason::Parts),
        Case::new("two parts", format!("{header}.{claims}"), Reason::Parts),
        Case::new("four parts", format!("{good}.{signature}"), Reason::Parts),
        Case::new("a dot at the end", format!("{good}."), Reason::Parts),
        Case::new("five parts, as if encrypted", format!("{good}.{claims}.x"), Reason::Parts),
        Case::new("JSON serialisation", general_json(&good), Reason::Parts),
        Case::new("too large, though signed", huge, Reason::TooLarge),
        Case::new("too large, of dots", ".".repeat(MAX_BYTES + 1), Reason::TooLarge),
        Case::new("dots alone", "..", Reason::Json(Part::Header)),
        Case::new("no header", format!(".{claims}.{signature}"), Reason::Json(Part::Header)),
        Case::new(
            "no claims",
            forge.signed(header_json(forge).as_bytes(), b""),
            Reason::Json(Part::Claims),
        ),
    ]
}

fn encodings(forge: &Forge) -> Vec<Case> {
    let good = forge.good();
    let [header, claims, signature] = split(&good);
    let encoding = Reason::Encoding;
    let sloppy_signature = with_unused_bits(&signature);
    vec![
        Case::new("a space before", format!(" {good}"), encoding(Part::Header)),
        Case::new("a line break in the header", format!("\n{good}"), encoding(Part::Header)),
        Case::new(
            "a padded header",
            format!("{header}==.{claims}.{signature}"),
            encoding(Part::Header),
        ),
        Case::new(
            "a header in plain base64",
            format!("+/+/.{claims}.{signature}"),
            encoding(Part::Header),
        ),
        Case::new(
            "a header in plain JSON",
            format!("{{}}.{claims}.{signature}"),
            encoding(Part::Header),
        ),
        Case::new(
            "NUL in the header",
            format!("{header}\0.{claims}.{signature}"),
            encoding(Part::Header),
        ),
        Case::new("letters beyond ASCII", format!("é{good}"), encoding(Part::Header)),
        Case::new(
            "padded claims, signed so",
            signed_as_is(forge, &format!("{claims}=")),
            encoding(Part::Claims),
        ),
        Case::new(
            "claims in plain JSON, signed so",
            signed_as_is(forge, "{}"),
            encoding(Part::Claims),
        ),
        Case::new(
            "claims of an impossible length, signed so",
            signed_as_is(forge, "A"),
            encoding(Part::Claims),
        ),
        Case::new(
            "claims with unused bits, signed so",
            signed_as_is(forge, "e31"),
            encoding(Part::Claims),
        ),
        Case::new("a padded signature", format!("{good}=="), Reason::Signature),
        Case::new("a space after", format!("{good} "), Reason::Signature),
        Case::new(
            "a signature with unused bits",
            format!("{header}.{claims}.{sloppy_signature}"),
            Reason::Signature,
        ),
    ]
}

fn json_texts(forge: &Forge) -> Vec<Case> {
    let header = header_json(forge);
    let claims = forge.claims().to_string();
    let doubled_kid = header.replace("\"kid\"", "\"kid\":\"x\",\"kid\"");
    let doubled_alg = header.replace("\"alg\"", "\"alg\":\"none\",\"alg\"");
    let disguised_alg = header.replace("\"alg\"", "\"\\u0061lg\":\"none\",\"alg\"");
    let twice = |part, name: &str| Reason::Duplicate(part, name.to_owned());
    let with_header = |text: &str| forge.signed(text.as_bytes(), claims.as_bytes());
    let with_claims = |text: &[u8]| forge.signed(header.as_bytes(), text);
    let json = Reason::Json;
    vec![
        Case::new("kid twice", with_header(&doubled_kid), twice(Part::Header, "kid")),
        Case::new("alg twice", with_header(&doubled_alg), twice(Part::Header, "alg")),
        Case::new(
            "alg twice, once in escapes",
            with_header(&disguised_alg),
            twice(Part::Header, "alg"),
        ),
        Case::new("an array for a header", with_header("[]"), json(Part::Header)),
        Case::new("null for a header", with_header("null"), json(Part::Header)),
        Case::new("text after the header", with_header(&format!("{header}x")), json(Part::Header)),
        Case::new("two headers", with_header(&format!("{header}{header}")), json(Part::Header)),
        Case::new(
            "a byte order mark",
            with_header(&format!("\u{feff}{header}")),
            json(Part::Header),
        ),
        Case::new(
            "exp twice",
            forge.with_more_claims(r#""exp":9999999999"#),
            twice(Part::Claims, "exp"),
        ),
        Case::new(
            "sub twice",
            forge.with_more_claims(r#""sub":"someone""#),
            twice(Part::Claims, "sub"),
        ),
        Case::new(
            "scope twice, the same",
            forge.with_more_claims(r#""scope":"memory:read memory:write""#),
            twice(Part::Claims, "scope"),
        ),
        Case::new(
            "aud twice, once in escapes",
            forge.with_more_claims(r#""\u0061ud":"x""#),
            twice(Part::Claims, "aud"),
        ),
        Case::new("an array for claims", with_claims(b"[]"), json(Part::Claims)),
        Case::new("a text for claims", with_claims(b"\"claims\""), json(Part::Claims)),
        Case::new(
            "claims cut short",
            with_claims(&claims.as_bytes()[..claims.len() - 1]),
            json(Part::Claims),
        ),
        Case::new(
            "claims that are no UTF-8",
            with_claims(b"{\"iss\":\"\xff\"}"),
            json(Part::Claims),
        ),
        Case::new(
            "claims too deep",
            forge.with_raw_claim("scope", &"[".repeat(1000)),
            json(Part::Claims),
        ),
        Case::new("not a number", forge.with_raw_claim("exp", "NaN"), json(Part::Claims)),
        Case::new(
            "a number with a zero before",
            forge.with_raw_claim("exp", "01800000900"),
            json(Part::Claims),
        ),
        Case::new(
            "a number in hexadecimal",
            forge.with_raw_claim("exp", "0x6B49D584"),
            json(Part::Claims),
        ),
    ]
}

fn split(token: &str) -> [String; 3] {
    let parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    parts.try_into().expect("three parts")
}

fn header_json(forge: &Forge) -> String {
    forge.header().to_string()
}

/// RFC 7515, section 7.2.2.
fn general_json(token: &str) -> String {
    let [header, claims, signature] = split(token);
    json!({"payload": claims, "protected": header, "signature": signature}).to_string()
}

/// Signs the claims part exactly as given.
fn signed_as_is(forge: &Forge, claims: &str) -> String {
    let signed = format!("{}.{claims}", base64url(header_json(forge)));
    let signature = forge.active.sign(signed.as_bytes());
    format!("{signed}.{}", base64url(signature))
}

/// Changes the unused bits of the last of 86 characters: another spelling of the same 64 bytes.
fn with_unused_bits(signature: &str) -> String {
    let (rest, last) = signature.split_at(signature.len() - 1);
    let other = match last {
        "A" => "B",
        "Q" => "R",
        "g" => "h",
        "w" => "x",
        _ => panic!("{last} ends no 64 bytes"),
    };
    format!("{rest}{other}")
}
