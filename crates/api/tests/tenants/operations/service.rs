//! What anybody may ask, and how the service is.

use super::Draw;
use crate::attempt::Attempt;
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

/// How much all tenants hold together is for the service's administrators.
pub fn status(d: &mut Draw<'_>) -> Attempt {
    let may_count = d.who.administers_service() && d.with.is_for(Scope::Admin);
    d.for_anyone(Attempt::get("/status")).check(move |answer| {
        let counts = answer.body["pending_vectors"].is_number()
            || answer.body["index"]["passages"].is_number();
        let is_right = !answer.is_success() || counts == may_count;
        is_right
            .then_some(())
            .ok_or_else(|| "the counts of all tenants are for administrators".into())
    })
}
