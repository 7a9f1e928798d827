//! Times that are past, future, of another type or out of order. Every token is signed with the
//! active key.

use chrono::{DateTime, TimeDelta, Utc};
use mc_auth::jwt::{LEEWAY, LIFETIME, Reason};
use serde_json::json;

use crate::forge::{Case, Forge, now, signed_by};

pub fn cases(forge: &Forge) -> Vec<Case> {
    [presented(forge), types(forge), orders(forge)].concat()
}

/// The valid token at another time.
fn presented(forge: &Forge) -> Vec<Case> {
    let second = TimeDelta::seconds(1);
    let at = |name, at, reason| Case { at, ..Case::new(name, forge.good(), reason) };
    vec![
        at("replayed when the leeway is over", now() + LIFETIME + LEEWAY, Reason::Expired),
        at("replayed a year later", now() + TimeDelta::days(365), Reason::Expired),
        at("presented before it was issued", now() - LEEWAY - second, Reason::IssuedInFuture),
        at("presented a year before", now() - TimeDelta::days(365), Reason::IssuedInFuture),
    ]
}

fn types(forge: &Forge) -> Vec<Case> {
    let values = [
        ("exp a text", "exp", "\"1800000900\""),
        ("exp a fraction", "exp", "1800000900.5"),
        ("exp a float of a whole number", "exp", "1800000900.0"),
        ("exp with an exponent", "exp", "18e8"),
        ("exp beyond a float", "exp", "1e308"),
        ("exp beyond 64 bits", "exp", "18446744073709551616"),
        ("exp the largest of 64 bits", "exp", "18446744073709551615"),
        ("exp the largest signed of 64 bits", "exp", "9223372036854775807"),
        ("exp in milliseconds", "exp", "1800000900000"),
        ("exp negative", "exp", "-1"),
        ("exp minus zero", "exp", "-0"),
        ("exp null", "exp", "null"),
        ("exp true", "exp", "true"),
        ("exp an array", "exp", "[1800000900]"),
        ("exp an object", "exp", "{}"),
        ("nbf a text", "nbf", "\"1800000000\""),
        ("nbf a fraction", "nbf", "1799999999.9"),
        ("nbf negative", "nbf", "-1800000000"),
        ("nbf null", "nbf", "null"),
        ("nbf beyond 64 bits", "nbf", "99999999999999999999"),
        ("iat a text", "iat", "\"1800000000\""),
        ("iat a fraction", "iat", "1800000000.25"),
        ("iat negative", "iat", "-62135596800"),
        ("iat false", "iat", "false"),
    ];
    values
        .into_iter()
        .map(|(name, claim, text)| {
            Case::new(name, forge.with_raw_claim(claim, text), Reason::ClaimType(claim))
        })
        .collect()
}

fn orders(forge: &Forge) -> Vec<Case> {
    let second = TimeDelta::seconds(1);
    let good = (now(), now(), now() + LIFETIME);
    let (iat, nbf, exp) = good;
    let values = [
        ("expired", (iat - LIFETIME * 2, nbf - LIFETIME * 2, iat - LEEWAY), Reason::Expired),
        ("expired in 1970", (iat, nbf, DateTime::UNIX_EPOCH), Reason::Expired),
        ("expired before it was issued", (iat, nbf, iat - LEEWAY), Reason::Expired),
        ("of no duration", (iat, nbf, iat), Reason::Lifetime),
        ("good for a second too long", (iat, nbf, exp + second), Reason::Lifetime),
        ("good for a year", (iat, nbf, exp + TimeDelta::days(365)), Reason::Lifetime),
        ("good until the year 9999", (iat, nbf, last_second()), Reason::Lifetime),
        ("issued long ago", (iat - TimeDelta::hours(1), nbf, exp), Reason::Lifetime),
        ("issued in 1970", (DateTime::UNIX_EPOCH, nbf, exp), Reason::Lifetime),
        ("valid before it was issued", (iat, nbf - second, exp), Reason::Lifetime),
        ("valid only when expired", (iat, iat + LEEWAY, iat + LEEWAY), Reason::Lifetime),
        ("not valid yet", (iat, nbf + LEEWAY + second, exp), Reason::NotYetValid),
        ("valid in a year", (iat, nbf + TimeDelta::days(365), exp), Reason::NotYetValid),
        ("issued ahead", (iat + LEEWAY + second, nbf, exp), Reason::IssuedInFuture),
        ("everything in a year", in_a_year(good), Reason::IssuedInFuture),
    ];
    values
        .into_iter()
        .map(|(name, (iat, nbf, exp), reason)| {
            let mut claims = forge.claims();
            claims["iat"] = json!(iat.timestamp());
            claims["nbf"] = json!(nbf.timestamp());
            claims["exp"] = json!(exp.timestamp());
            Case::new(name, signed_by(&forge.active, &claims), reason)
        })
        .collect()
}

type Times = (DateTime<Utc>, DateTime<Utc>, DateTime<Utc>);

fn in_a_year((iat, nbf, exp): Times) -> Times {
    let year = TimeDelta::days(365);
    (iat + year, nbf + year, exp + year)
}

fn last_second() -> DateTime<Utc> {
    DateTime::from_timestamp(253_402_300_799, 0).expect("a time")
}
