//! What the team knows, kept as a document: what was known then can be read, and imported, however
//! the memory goes on.

use mc_memory::{Error, export};
use mc_store::Store;
use mc_store::hygiene::{HygieneTarget, Outcome};

pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let records = if given.is_dry_run {
        export::team_records(store, given.project).await?.len()
    } else {
        export::keep(store, given.project).await?
    };
    let mut outcome = Outcome::default();
    outcome.count("records", records as u64);
    Ok(outcome)
}
