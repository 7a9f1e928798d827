//! Users, tokens, and who the caller is.

use serde_json::json;

use super::Draw;
use super::draw::refused;
use crate::attempt::{Answer, Attempt};
use crate::marks::Places;
use crate::oracle::Scope;
use crate::world::{ALL, Person, Post, names_of, session, token_row};

pub fn whoami(d: &mut Draw<'_>) -> Attempt {
    let (login, scopes) = (d.who.login.clone(), json!(names_of(d.with.scopes)));
    d.for_anyone(Attempt::get("/whoami")).check(move |answer| {
        let is_right = !answer.is_success()
            || (answer.body["login"] == login && answer.body["scopes"] == scopes);
        is_right.then_some(()).ok_or_else(|| format!("they are {login}, for {scopes}"))
    })
}

pub fn add_user(d: &mut Draw<'_>) -> Attempt {
    let (login, is_taken) =
        if d.one_in(3) { (d.pick(&d.world.people).login, true) } else { (d.common_name(), false) };
    let attempt = Attempt::post("/users", &json!({"login": login, "name": "New"})).expect(201);
    let attempt = d.for_root(attempt);
    if attempt.is_allowed() && is_taken { refused(attempt, 409) } else { attempt }
}

pub fn users(d: &mut Draw<'_>) -> Attempt {
    let after = d.pick(&d.world.people).login;
    d.for_root(Attempt::get(format!("/users?limit=200&cursor={after}")).places(Places::ALL))
}

pub fn change_user(d: &mut Draw<'_>) -> Attempt {
    let someone = d.pick(&d.world.people);
    // An administrator's changes keep the current values.
    let body = json!({"name": format!("Name {}", someone.login)});
    let request =
        Attempt::new(http::Method::PATCH, format!("/users/{}", someone.login)).json(&body);
    d.for_root(request.places(Places::ALL))
}

pub fn end_sessions(d: &mut Draw<'_>) -> Attempt {
    // A caller that revoked their own sessions could not use them any more.
    let others: Vec<_> = d.world.people.iter().filter(|one| one.id != d.who.id).collect();
    let login = d.pick(&others).login.clone();
    let attempt = d.for_anyone(Attempt::delete(format!("/users/{login}/sessions")));
    if !attempt.is_allowed() {
        return attempt;
    }
    if !d.with.is_present {
        return refused(attempt, 403);
    }
    if !administers(d) {
        return unnamed(d, attempt, login);
    }
    // Those of a spare one, for the same reason.
    let (user, login) = (d.id(), d.common_name());
    let (_, _, session) = session(user, "memory-copilot-cli", ALL);
    let sql = format!("insert into users (id, login) values ('{user}', '{login}'); {session}");
    d.signed(Attempt::delete(format!("/users/{login}/sessions"))).before(sql)
}

/// Returns whether the caller administers the service and has the scope for it.
fn administers(d: &Draw<'_>) -> bool {
    d.who.administers_service() && d.with.is_for(Scope::Admin)
}

/// Denied, without revealing whether the login exists.
fn unnamed(d: &mut Draw<'_>, attempt: Attempt, login: String) -> Attempt {
    // The word stands in the refusal as well.
    let twin = (login != "local").then(|| (login, d.name()));
    Attempt { twin, ..refused(attempt, 403) }
}

pub fn make_token(d: &mut Draw<'_>) -> Attempt {
    // An operation that few callers may use should not fail by their scopes.
    let scopes = if d.who.administers_service() {
        1
    } else {
        d.pick(&[1_u8, 2, 3, Scope::Admin.bit(), ALL])
    };
    let is_for_another = d.one_in(4) != d.who.administers_service();
    // The agent sees the name of its token.
    let name = if is_for_another { d.name() } else { d.own_name() };
    let mut body = json!({"name": name, "scopes": names_of(scopes)});
    let program = is_for_another.then(|| d.pick(&d.world.people));
    if let Some(program) = &program {
        body["agent_login"] = program.login.clone().into();
    }
    let attempt = d.for_anyone(Attempt::post("/tokens", &body).expect(201));
    if !attempt.is_allowed() {
        return attempt;
    }
    if !d.with.is_present || scopes & !d.with.scopes != 0 {
        return refused(attempt, 403);
    }
    match program {
        None => attempt,
        Some(_) if !administers(d) => refused(attempt, 403),
        Some(program) if program.post == Post::Agent => attempt,
        Some(_) => attempt.expect(409),
    }
}

pub fn tokens(d: &mut Draw<'_>) -> Attempt {
    let named = d.one_in(3).then(|| d.pick(&d.world.people));
    let query = named.as_ref().map_or_else(String::new, |of| format!("?user={}", of.login));
    let of = named.unwrap_or_else(|| d.who.clone());
    let attempt = d.for_anyone(Attempt::get(format!("/tokens{query}")).places(of.place()));
    if !attempt.is_allowed() {
        return attempt;
    }
    if !d.with.is_present {
        return refused(attempt, 403);
    }
    if of.id != d.who.id && !administers(d) {
        return unnamed(d, attempt, of.login);
    }
    attempt.check(move |answer| are_all_of(&of, answer))
}

/// Checks that the list has all initial tokens of the person, and no other person's.
fn are_all_of(person: &Person, answer: &Answer) -> Result<(), String> {
    let (own, name) = (person.tokens.len(), format!("token {}", person.login));
    let listed = answer.body["items"].as_array().into_iter().flatten();
    let seeded = listed.filter(|token| token["name"] == name).count();
    let is_right = !answer.is_success() || seeded == own;
    is_right.then_some(()).ok_or_else(|| format!("{seeded} tokens, of which {own} are theirs"))
}

pub fn revoke_token(d: &mut Draw<'_>) -> Attempt {
    let of = d.pick(&d.world.people);
    let token = d.pick(&of.tokens);
    let id = if d.one_in(5) { d.id() } else { token.id };
    let attempt = d.for_anyone(Attempt::delete(format!("/tokens/{id}")));
    if !attempt.is_allowed() {
        return attempt;
    }
    if !d.with.is_present {
        return refused(attempt, 403);
    }
    if of.id == d.who.id || (administers(d) && id == token.id) {
        // A spare one: theirs are still needed.
        let (spare, sql) = token_row(&mut d.rng, of.id);
        return d.signed(Attempt::delete(format!("/tokens/{spare}"))).before(sql);
    }
    let missing = d.id().to_string();
    Attempt { twin: Some((id.to_string(), missing)), ..refused(attempt, 404) }
}
