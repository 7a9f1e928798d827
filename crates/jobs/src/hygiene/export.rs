//! The task `export`: stores the team's records as a document for download and import.

use mc_memory::{Error, export};
use mc_store::Store;
use mc_store::hygiene::{HygieneTarget, Outcome};

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let records = if target.is_dry_run {
        export::team_records(store, target.project).await?.len()
    } else {
        export::keep(store, target.project).await?
    };
    let mut outcome = Outcome::default();
    outcome.count("records", records as u64);
    Ok(outcome)
}
