//! Signing in: the exchange of secrets for tokens, and the pages.

use mc_auth::secret::{RefreshToken, UserCode};
use serde_json::json;

use super::Draw;
use super::draw::refused;
use crate::attempt::Attempt;
use crate::oracle::Scope;
use crate::world::{ACCESS, ALL, EXCHANGE, Post, TokenState, hash, names_of, session};

/// A login that waits at a terminal: its code, and the statement that makes it.
fn waiting() -> (UserCode, String) {
    let code = UserCode::generate();
    let user_code = hex::encode(code.hash().as_bytes());
    let device = hash(RefreshToken::generate().expose());
    let sql = format!(
        "insert into device_grants (device_code_hash, user_code_hash, client, requested_scopes, \
         expires_at, interval_seconds)
         values ({device}, '\\x{user_code}', 'cli', array['memory:read'], now() + interval '9 \
         minutes', 5)"
    );
    (code, sql)
}

pub fn decide(d: &mut Draw<'_>) -> Attempt {
    let (code, sql) = waiting();
    let body = json!({"user_code": code.to_string(), "approve": d.one_in(2)});
    let attempt = d.for_anyone(Attempt::post("/auth/device/decision", &body).expect(204));
    by_a_person(d, attempt, sql)
}

/// The login that waits, before the decision.
pub fn show(d: &mut Draw<'_>) -> Attempt {
    let (code, sql) = waiting();
    let path = format!("/auth/device/decision?user_code={code}");
    let attempt = d.for_anyone(Attempt::get(path));
    by_a_person(d, attempt, sql)
}

/// An attempt for a waiting login, which only a person who is present may see and decide.
fn by_a_person(d: &mut Draw<'_>, attempt: Attempt, sql: String) -> Attempt {
    if !attempt.is_allowed() {
        return attempt;
    }
    if !d.with.is_present {
        return refused(attempt, 403);
    }
    if d.one_in(3) { attempt.expect(404) } else { attempt.before(sql) }
}

/// Exchanges a personal access token or a refresh token, of the caller or of any person, for an
/// access token. The result belongs to the owner of the secret.
pub fn token(d: &mut Draw<'_>) -> Attempt {
    if d.one_in(2) { exchange(d) } else { refresh(d) }
}

fn exchange(d: &mut Draw<'_>) -> Attempt {
    let token = d.pick(&d.who.tokens);
    let asked = d.pick(&[1_u8, Scope::Admin.bit(), token.scopes]);
    let scope = names_of(asked).join(" ");
    let form = [
        ("grant_type", EXCHANGE),
        ("subject_token", &token.text),
        ("subject_token_type", ACCESS),
        ("scope", &scope),
    ];
    let attempt = Attempt::new(http::Method::POST, "/auth/token").form(&form);
    let is_valid = token.state == TokenState::Valid && d.who.post != Post::Disabled;
    let attempt =
        if is_valid && asked & !token.scopes == 0 { attempt } else { attempt.expect(400) };
    is_for(d, attempt, asked)
}

fn refresh(d: &mut Draw<'_>) -> Attempt {
    let (client, scopes) = (d.pick(&["memory-copilot-cli", "browser"]), d.pick(&[ALL, 1]));
    let (id, secret, mut sql) = session(d.who.id, client, scopes);
    let asked = d.pick(&[1, scopes, ALL]);
    let spoilt = d.pick(&["", "", "spent", "expired", "revoked", "over", "another client"]);
    sql.push_str(&match spoilt {
        "spent" => format!(
            "; update refresh_tokens set used_at = now() - interval '1 hour' where \
         session_id = '{id}'"
        ),
        "expired" => format!(
            "; update refresh_tokens set expires_at = now() - interval '1 hour' \
         where session_id = '{id}'"
        ),
        "revoked" => format!("; update sessions set revoked_at = now() where id = '{id}'"),
        "over" => format!(
            "; update sessions set expires_at = now() - interval '1 hour' where id = \
         '{id}'"
        ),
        _ => String::new(),
    });
    let sql = sql.replace(";;", ";");
    let from = if spoilt == "another client" { "somebody-elses" } else { "memory-copilot-cli" };
    let scope = names_of(asked).join(" ");
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", &secret),
        ("client_id", from),
        ("scope", &scope),
    ];
    let attempt = Attempt::new(http::Method::POST, "/auth/token").form(&form).before(sql);
    let is_good = spoilt.is_empty() && client == "memory-copilot-cli" && asked & !scopes == 0;
    let attempt =
        if is_good && d.who.post != Post::Disabled { attempt } else { attempt.expect(400) };
    is_for(d, attempt, asked)
}

/// Checks that a secret authenticates its owner only.
fn is_for(d: &Draw<'_>, attempt: Attempt, scopes: u8) -> Attempt {
    use base64::Engine as _;
    let (user, scope) = (d.who.id.to_string(), names_of(scopes).join(" "));
    attempt.check(move |answer| {
        if !answer.is_success() {
            return Ok(());
        }
        let token = answer.body["access_token"].as_str().ok_or("no token")?;
        let claims = token.split('.').nth(1).ok_or("no claims")?;
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(claims)
            .map_err(|e| e.to_string())?;
        let claims: serde_json::Value =
            serde_json::from_slice(&claims).map_err(|e| e.to_string())?;
        let is_theirs = claims["sub"] == user && answer.body["scope"] == scope;
        is_theirs
            .then_some(())
            .ok_or_else(|| format!("a token for {claims}, where it is {user}'s for {scope}"))
    })
}

pub fn revoke(d: &mut Draw<'_>) -> Attempt {
    let (_, secret, sql) = session(d.who.id, "memory-copilot-cli", ALL);
    let attempt = Attempt::new(http::Method::POST, "/auth/revoke").form(&[("token", &secret)]);
    if d.one_in(2) { attempt.before(sql) } else { attempt }
}

pub fn begin(d: &mut Draw<'_>) -> Attempt {
    let scope = names_of(d.pick(&[1, ALL])).join(" ");
    Attempt::new(http::Method::POST, "/auth/device").form(&[("scope", &scope)])
}

/// Draws a browser session, valid or not: its cookie, its statement, and whether it is valid.
fn visit(d: &mut Draw<'_>) -> (String, String, bool) {
    let spoilt = d.pick(&["", "", "another client", "revoked", "expired", "spent"]);
    let client = if spoilt == "another client" { "memory-copilot-cli" } else { "browser" };
    let (id, secret, sql) = session(d.who.id, client, ALL);
    let spoil = match spoilt {
        "revoked" => format!("update sessions set revoked_at = now() where id = '{id}'"),
        "expired" => format!(
            "update refresh_tokens set expires_at = now() - interval '1 hour' where session_id = \
             '{id}'"
        ),
        "spent" => format!("update refresh_tokens set used_at = now() where session_id = '{id}'"),
        _ => "perform 1".to_owned(),
    };
    let counts = spoilt.is_empty() && d.who.post != Post::Disabled;
    (secret, format!("{sql} {spoil}"), counts)
}

pub fn page(d: &mut Draw<'_>) -> Attempt {
    let (secret, sql, counts) = visit(d);
    let (code, grant) = waiting();
    let attempt = Attempt::get(format!("/auth/device?user_code={code}"))
        .header("cookie", format!("mc_visit={secret}"));
    attempt.before(format!("{sql}; {grant}")).check(move |answer| {
        let may_agree = answer.text().contains("name=\"proof\"");
        (may_agree == counts)
            .then_some(())
            .ok_or_else(|| "a visit that is over may not agree, one that goes on may".into())
    })
}

/// The form is valid only with the token of the page, which it never has here.
pub fn form(d: &mut Draw<'_>) -> Attempt {
    let (secret, sql, counts) = visit(d);
    let (code, grant) = waiting();
    let proof = d.name();
    let form = [("user_code", code.to_string()), ("decision", "approve".into()), ("proof", proof)];
    let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
    let attempt = Attempt::new(http::Method::POST, "/auth/device/page").form(&form);
    let attempt =
        attempt.header("cookie", format!("mc_visit={secret}")).before(format!("{sql}; {grant}"));
    attempt.expect(if counts { 403 } else { 303 })
}

/// Like the form above, for the sign-out page. Without a session, nothing is requested.
pub fn sign_out(d: &mut Draw<'_>) -> Attempt {
    let (secret, sql, counts) = visit(d);
    let proof = d.name();
    let form = [("proof", proof.as_str())];
    let attempt = Attempt::new(http::Method::POST, "/auth/sign-out").form(&form);
    let attempt = attempt.header("cookie", format!("mc_visit={secret}")).before(sql);
    if counts { attempt.expect(403) } else { attempt }
}

pub fn start(d: &mut Draw<'_>) -> Attempt {
    let name = d.name();
    Attempt::get(format!("/auth/oauth/{name}/start")).expect(404)
}

pub fn callback(d: &mut Draw<'_>) -> Attempt {
    let name = d.name();
    Attempt::get(format!("/auth/oauth/{name}/callback?code=x&state=y")).expect(404)
}
