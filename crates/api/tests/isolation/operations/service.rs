//! Operations for every caller, and the state of the service.

use serde_json::json;

use super::Draw;
use super::draw::refused;
use crate::attempt::Attempt;
use crate::marks::Places;
use crate::oracle::Scope;

pub fn public(d: &mut Draw<'_>) -> Attempt {
    let path = d.pick(&[
        "/healthz",
        "/readyz",
        "/.well-known/jwks.json",
        "/.well-known/oauth-authorization-server",
    ]);
    d.signed(Attempt::get(path))
}

/// Versions, and how much all tenants hold together, are for the service's administrators.
pub fn status(d: &mut Draw<'_>) -> Attempt {
    let may_see_all = d.who.administers_service() && d.with.is_for(Scope::Admin);
    d.for_anyone(Attempt::get("/status")).check(move |answer| {
        let counts = answer.body["pending_vectors"].is_number()
            || answer.body["index"]["passages"].is_number();
        let versions = ["version", "postgres", "pgvector"];
        let versions = versions.iter().any(|name| !answer.body[name].is_null());
        let is_right = !answer.is_success() || [counts, versions] == [may_see_all; 2];
        is_right
            .then_some(())
            .ok_or_else(|| "versions and counts of all tenants are for administrators".into())
    })
}

/// The background work is that of all tenants.
pub fn jobs(d: &mut Draw<'_>) -> Attempt {
    d.for_root(Attempt::get("/jobs?limit=200").places(Places::ALL))
}

pub fn job(d: &mut Draw<'_>) -> Attempt {
    unknown(d, Attempt::get(JOB))
}

pub fn retry_job(d: &mut Draw<'_>) -> Attempt {
    unknown(d, Attempt::post(format!("{JOB}/retry"), &json!({})))
}

pub fn discard_job(d: &mut Draw<'_>) -> Attempt {
    unknown(d, Attempt::new(http::Method::DELETE, JOB))
}

/// An unknown job.
const JOB: &str = "/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn unknown(d: &Draw<'_>, attempt: Attempt) -> Attempt {
    let attempt = d.for_root(attempt);
    if attempt.is_allowed() { refused(attempt, 404) } else { attempt }
}
