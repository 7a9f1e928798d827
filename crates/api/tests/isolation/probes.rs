//! Tests of each layer without the others, which responses can't show.

mod counts;
mod decisions;
mod filters;
mod foreign_keys;
mod functions;
mod interference;
pub mod policies;
mod proof;

pub use counts::counts;

use std::sync::Arc;

use crate::run::{Fault, seed};
use crate::world::World;

/// All that look at the database, which takes well under a second.
pub async fn of_the_database(world: &World) -> Result<(), Fault> {
    decisions::decisions(world).await?;
    proof::proof(world).await?;
    functions::functions(world).await?;
    foreign_keys::foreign_keys(world).await?;
    policies::policies(world, false).await
}

/// The same without the policy that hides data of others' private records.
pub async fn without_the_policy_of_records(world: &World) -> Result<(), Fault> {
    policies::policies(world, true).await
}

/// Those that look at the code.
pub async fn of_the_code(world: &Arc<World>) -> Result<(), Fault> {
    filters::filters(world).await?;
    interference::interference(world).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_hides_foreign_rows_without_a_filter() {
    let world = World::build(seed()).await;
    if let Err(fault) = of_the_database(&world).await {
        panic!("isolation is broken: {fault}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_queries_read_and_change_no_foreign_rows() {
    let world = Arc::new(World::build(seed()).await);
    if let Err(fault) = of_the_code(&world).await {
        panic!("isolation is broken: {fault}");
    }
}
