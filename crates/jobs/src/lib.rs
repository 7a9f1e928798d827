#![doc = include_str!("../README.md")]

mod deliveries;
mod schedule;
mod upkeep;
mod work;
mod workers;

use mc_store::Store;

pub use deliveries::Delivered;
pub use schedule::Schedule;
pub use upkeep::Upkeep;
pub use work::{Failure, Request, Work};
pub use workers::{Timing, Workers};

/// The workers of a node of the service, over connections that see every project: each kind of work, and when
/// it is asked for by the clock.
pub fn workers(store: &Store) -> Workers {
    let [of_all, told] = [store.clone(), store.clone()];
    Workers::new(store.clone())
        .with(move |_: Upkeep| upkeep::run(of_all.clone()))
        .with(move |delivered: Delivered| deliveries::run(told.clone(), delivered))
        .scheduled(Schedule::new("0 7 * * * *", Upkeep {}))
}
