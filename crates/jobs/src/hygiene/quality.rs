//! How the team's records stand, and which of them help nobody: listed for people, or taken out, as the policy has
//! it.

use mc_domain::{Act, HygieneAction, RecordId};
use mc_memory::Error;
use mc_memory::quality::{self, Judged};
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::{Given, Outcome, wear};
use serde_json::{Value, json};

/// Records looked at in one go, and taken out in one transaction.
const PAGE: i64 = 500;

pub(super) async fn run(store: &Store, given: &Given) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let action = given.policy.hygiene.noise;
    let mut after: Option<RecordId> = None;
    loop {
        let days = given.policy.hygiene.unused_days;
        let page = quality::judge(store, given.project, days, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(outcome) };
        after = Some(last.wear.id);
        for judged in &page {
            outcome.count("records", 1);
            outcome.count(level(judged.standing), 1);
        }
        if action == HygieneAction::Off {
            continue;
        }
        let noise: Vec<_> = page.into_iter().filter(|one| !one.noise.is_empty()).collect();
        outcome.count("noise", noise.len() as u64);
        for judged in &noise {
            outcome.found(finding(judged));
        }
        if action == HygieneAction::Apply && !given.is_dry_run && !noise.is_empty() {
            outcome.count("retired", take_out(store, given, &noise).await?);
        }
    }
}

/// How a record stands, in a word.
fn level(standing: Option<f32>) -> &'static str {
    match standing {
        None => "not_found",
        Some(standing) if standing > 1.0 => "raised",
        Some(standing) if standing < 1.0 => "lowered",
        Some(_) => "as_new",
    }
}

fn finding(judged: &Judged) -> Value {
    let standing = judged.standing.map(|standing| (f64::from(standing) * 100.0).round() / 100.0);
    json!({ "record": judged.wear.id, "standing": standing, "reasons": reasons(judged) })
}

fn reasons(judged: &Judged) -> Vec<String> {
    judged.noise.iter().map(ToString::to_string).collect()
}

/// Takes out those that nobody touched meanwhile; answers how many.
async fn take_out(store: &Store, given: &Given, noise: &[Judged]) -> Result<u64, Error> {
    let looked_at: Vec<_> = noise.iter().map(|judged| judged.wear.clone()).collect();
    let mut tx = store.begin().await?;
    let retired = wear::retire(&mut tx, given.project, &looked_at).await?;
    let gone = noise.iter().filter(|judged| retired.contains(&judged.wear.id));
    let why = |judged: &Judged| json!({ "record": judged.wear.id, "reasons": reasons(judged) });
    let detail = json!({ "records": gone.map(why).collect::<Vec<_>>() });
    if !retired.is_empty() {
        let event = NewEvent::new(Act::RecordsRetired, "noise").with(detail);
        audit::add(&mut tx, Chain::Project(given.project), None, &[event]).await?;
    }
    tx.commit().await?;
    Ok(retired.len() as u64)
}
