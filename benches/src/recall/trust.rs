//! The cost of row-level security and the audit for a recall: the same service on the same database
//! with and without both, in turn.

use anyhow::Result;
use mc_store::testing;

use super::measure::{self, Workload};
use super::{CLIENTS, say};
use crate::harness::database::Database;
use crate::harness::report::Report;
use crate::harness::service::{Service, Setup};
use crate::harness::stats::{Spread, Times};
use crate::text::Note;

/// Enables the row-level security of every table that has policies, and the recording of events.
const ON: &str = "do $$
declare
    protected text;
begin
    drop rule if exists not_kept on audit_events;
    for protected in select distinct tablename from pg_policies where schemaname = 'public' loop
        execute format('alter table %I enable row level security', protected);
    end loop;
end $$";

/// Disables row-level security and the recording of events.
const OFF: &str = "do $$
declare
    protected text;
begin
    create or replace rule not_kept as on insert to audit_events do instead nothing;
    for protected in select distinct tablename from pg_policies where schemaname = 'public' loop
        execute format('alter table %I disable row level security', protected);
    end loop;
end $$";

/// Measures both, each run with the same queries in alternating order: a service that has just
/// started has none of them cached.
pub async fn measure(
    setup: &Setup,
    kept_back: &[Note],
    runs: usize,
    report: &mut Report,
) -> Result<()> {
    let workload = Workload::new(kept_back, 1, false);
    let (alone, together) = &workload.questions[0];
    report.note(
        "without: row-level security disabled on every table and no event of the audit written; \
         transactions are entered all the same",
    );
    report.note(format!(
        "every run asks the same {} questions one by one and {} by several, of a service just \
         started; of all: over the requests of all runs",
        alone.len(),
        together.len()
    ));
    let mut figures = [Vec::new(), Vec::new()];
    for run in 0..runs {
        for at in [run % 2, (run + 1) % 2] {
            switch(setup, [ON, OFF][at]).await?;
            let service = Service::start(setup).await?;
            measure::ask(&service.api, &workload.warm_up, 1).await?;
            let one = measure::ask(&service.api, alone, 1).await?;
            figures[at].push((one, measure::ask(&service.api, together, CLIENTS).await?));
            service.stop()?;
        }
        say(&format!("trust: run {} of {runs}", run + 1));
    }
    switch(setup, ON).await?;
    for (name, runs) in ["with", "without"].into_iter().zip(&figures) {
        let times = || runs.iter().map(|(one, _)| &one.times);
        let of = |share| Spread::of(times().map(|times| times.percentile(share)));
        report.add(format!("recall, cold, p50, {name}"), "ms", of(0.5));
        report.add(format!("recall, cold, p99, {name}"), "ms", of(0.99));
        let all = Times::together(times());
        let of_all = |share| Spread::of([all.percentile(share)]);
        report.add(format!("recall, cold, p50 of all, {name}"), "ms", of_all(0.5));
        report.add(format!("recall, cold, p99 of all, {name}"), "ms", of_all(0.99));
        let rate = Spread::of(runs.iter().map(|(_, many)| many.a_second));
        report.add(format!("recalls, cold, 8 clients, {name}"), "a second", rate);
    }
    Ok(())
}

/// Changes the database while no service runs on it.
async fn switch(setup: &Setup, sql: &str) -> Result<()> {
    let database = Database::open(&setup.data_dir, &setup.cache_dir).await?;
    testing::execute(database.url(), sql).await?;
    database.close().await;
    Ok(())
}
