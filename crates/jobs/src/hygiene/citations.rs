//! The task `citations`: checks citations for changes of code that nothing else has noticed.

use mc_domain::RecordId;
use mc_memory::{Error, RecheckReport, preview_recheck, recheck_records};
use mc_store::Store;
use mc_store::citations::citing;
use mc_store::hygiene::{HygieneTarget, Outcome};

/// Records per page.
const PAGE_SIZE: i64 = 200;

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let mut after: Option<RecordId> = None;
    loop {
        let page = citing(store, target.project, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(outcome) };
        after = Some(*last);
        let RecheckReport { records, turned_stale, turned_active } = if target.is_dry_run {
            preview_recheck(store, target.project, &page).await?
        } else {
            recheck_records(store, target.project, &page).await?.1
        };
        outcome.count("records", records as u64);
        outcome.count("turned_stale", turned_stale as u64);
        outcome.count("turned_active", turned_active as u64);
    }
}
