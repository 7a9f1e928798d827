//! Decisions about records: accept, reject, share, confirm, roll back, forget.

use serde_json::{Value, json};

use super::{Draw, Target};
use crate::attempt::Attempt;
use crate::oracle::{self, CURATE, PROPOSE, READ, WRITE};
use crate::world::{private, proposal};

pub fn proposals(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let query = format!("/proposals?project_key={}&limit=200", d.key(target));
    let attempt = d.in_project(Attempt::get(query), READ, target);
    match target {
        Target::Of(project) => {
            attempt.shows(&project.proposals[0].mark).shows(&project.proposals[1].mark)
        }
        Target::Missing => attempt,
    }
}

pub fn accept(d: &mut Draw<'_>) -> Attempt {
    let body = |is_amendment| {
        if is_amendment {
            json!({"version": 1, "amends_version": 1})
        } else {
            json!({"version": 1})
        }
    };
    decided(d, "accept", body, 200)
}

pub fn reject(d: &mut Draw<'_>) -> Attempt {
    decided(d, "reject", |_| json!({"reason": "It is not so"}), 204)
}

fn decided(
    d: &mut Draw<'_>,
    decision: &str,
    body: impl Fn(bool) -> Value,
    success: u16,
) -> Attempt {
    let decide = |id: &str, is_amendment| {
        Attempt::post(format!("/proposals/{id}/{decision}"), &body(is_amendment)).expect(success)
    };
    let request = |id: &str| decide(id, false);
    if let Some((project, of, thing)) = d.private().filter(|_| d.one_in(4)) {
        let attempt = request(&thing.id.to_string());
        let attempt = d.holding_private(attempt, oracle::review(project), (project, of, thing));
        // Their own is no proposal.
        return if attempt.is_allowed() { attempt.expect(409) } else { attempt };
    }
    let is_proposal = !d.one_in(4);
    let thing = if is_proposal {
        d.thing(|project| &project.proposals)
    } else {
        d.thing(|project| &project.records)
    };
    let id = thing.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let action = thing.map_or(WRITE, |(project, _)| oracle::review(project));
    let attempt = d.holding(request(&id.to_string()), action, thing);
    let (Some((project, _)), true) = (thing, attempt.is_allowed()) else { return attempt };
    if !is_proposal {
        return attempt.expect(409);
    }
    // One that is there to be decided about, now and then for a change of another.
    let (spare, changed, words) = (d.id(), d.id(), d.name());
    let mut sql = String::new();
    let is_amendment = d.one_in(2);
    if is_amendment {
        sql = format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
             values ('{changed}', '{}', 'fact', 'old {words}', now() + interval '1 day', \
             sha256('old {words}'), 1);",
            project.id
        );
    }
    sql.push_str(&proposal(project, spare, &words, is_amendment.then_some(changed)));
    let request = decide(&spare.to_string(), is_amendment);
    d.signed(request).places(attempt.places).before(sql)
}

pub fn share(d: &mut Draw<'_>) -> Attempt {
    let request = |id: &str| Attempt::post(format!("/records/{id}/share"), &json!({}));
    if d.one_in(4) {
        let thing = d.thing(|project| &project.records);
        let id = thing.map_or_else(|| d.id(), |(_, thing)| thing.id);
        let attempt = d.holding(request(&id.to_string()), PROPOSE, thing);
        // The team has it already.
        return if attempt.is_allowed() { attempt.expect(409) } else { attempt };
    }
    let Some((project, of, thing)) = d.private() else {
        let id = d.id().to_string();
        return d.holding(request(&id), PROPOSE, None);
    };
    let attempt = request(&thing.id.to_string());
    let attempt = d.holding_private(attempt, PROPOSE, (project, of, thing));
    if !attempt.is_allowed() {
        return attempt;
    }
    let (spare, words) = (d.id(), d.name());
    let visibility = if oracle::decides(d.who, project) { "team" } else { "proposed" };
    let request = d.signed(request(&spare.to_string())).places(attempt.places);
    request.before(private(project, spare, d.who.id, &words)).check(move |answer| {
        let is_right = !answer.is_success() || answer.body["visibility"] == visibility;
        is_right.then_some(()).ok_or_else(|| format!("not {visibility}"))
    })
}

pub fn confirm(d: &mut Draw<'_>) -> Attempt {
    let request =
        |id: &str| Attempt::post(format!("/records/{id}/confirm"), &json!({"version": 1}));
    if let Some((project, of, thing)) = d.private().filter(|_| d.one_in(4)) {
        let attempt = request(&thing.id.to_string());
        let attempt = d.holding_private(attempt, oracle::review(project), (project, of, thing));
        // Only team records can be confirmed.
        return if attempt.is_allowed() { attempt.expect(404) } else { attempt };
    }
    let thing = d.thing(|project| &project.records);
    let id = thing.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let action = thing.map_or(WRITE, |(project, _)| oracle::review(project));
    let attempt = d.holding(request(&id.to_string()), action, thing);
    thing.into_iter().fold(attempt, |attempt, (_, thing)| attempt.shows(&thing.mark))
}

pub fn roll_back(d: &mut Draw<'_>) -> Attempt {
    let request = |id: &str, body: &Value| Attempt::post(format!("/records/{id}/rollback"), body);
    let never = json!({"version": 77});
    if let Some((project, of, thing)) = d.private().filter(|_| d.one_in(3)) {
        let attempt = request(&thing.id.to_string(), &never);
        let attempt = d.holding_private(attempt, CURATE, (project, of, thing));
        return if attempt.is_allowed() { attempt.expect(409) } else { attempt };
    }
    let thing = d.thing(|project| &project.records);
    let id = thing.map_or_else(|| d.id(), |(_, thing)| thing.id);
    let attempt = d.holding(request(&id.to_string(), &never), CURATE, thing);
    let (Some((project, _)), true) = (thing, attempt.is_allowed()) else { return attempt };
    if d.one_in(2) {
        return attempt.expect(409);
    }
    let (spare, words) = (d.id(), d.name());
    let sql = format!(
        "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash, \
         state)
         values ('{spare}', '{}', 'fact', '{words}', now() + interval '1 day', sha256('{words}'), \
         1, 'deleted')",
        project.id
    );
    let request = d.signed(request(&spare.to_string(), &json!({})));
    request.places(attempt.places).before(sql).shows(&words)
}

pub fn forget(d: &mut Draw<'_>) -> Attempt {
    let target = d.project();
    let key = d.key(target);
    let request = |whose: &str, value: &str, dry_run: bool| {
        let mut body = json!({"project_key": key, "dry_run": dry_run});
        body[whose] = value.into();
        Attempt::post("/forget", &body)
    };
    let (whose, mut value) = ("source", format!("https://source.example/{}", d.name()));
    let Target::Of(project) = target else {
        return d.in_project(request(whose, &value, true), CURATE, target);
    };
    if d.one_in(3) {
        // The response does not reveal which other users exist.
        let (login, missing) = (d.outsider(project), d.name());
        let attempt = d.in_project(request("saved_by", &login, true), CURATE, target);
        let twin = if attempt.is_allowed() { Some((login, missing)) } else { attempt.twin.clone() };
        return Attempt { twin, ..attempt };
    }
    if d.one_in(3) {
        let inside = |one: &&crate::world::Person| one.tenant == Some(project.tenant);
        let inside: Vec<_> = d.world.people.iter().filter(inside).collect();
        let login = &d.pick(&inside).login;
        return d.in_project(request("saved_by", login, true), CURATE, target);
    }
    let of_record = d.thing(|project| &project.records);
    if let Some((of, thing)) = of_record.filter(|_| d.one_in(2)) {
        value = format!("https://source.example/{}", thing.mark);
        let attempt = d.in_project(request(whose, &value, true), CURATE, target);
        let is_own = of.id == project.id;
        return if is_own { attempt.shows(&thing.id.to_string()) } else { attempt };
    }
    let attempt = d.in_project(request(whose, &value, false), CURATE, target);
    if !attempt.is_allowed() {
        return attempt;
    }
    let (spare, words) = (d.id(), d.name());
    let sql = format!(
        "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
         values ('{spare}', '{0}', 'fact', '{words}', now() + interval '1 day', sha256('{words}'), \
         1);
         insert into record_contributions (project_id, record_id, version, source)
         values ('{0}', '{spare}', 1, '{value}')",
        project.id
    );
    attempt.before(sql).shows(&spare.to_string())
}
