#![doc = include_str!("../README.md")]

mod deliveries;
mod hygiene;
mod schedule;
mod upkeep;
mod work;
mod workers;

use mc_store::Store;

pub use deliveries::Delivered;
pub use hygiene::{Hygiene, Round};
pub use schedule::Schedule;
pub use upkeep::Upkeep;
pub use work::{Failure, Request, Work};
pub use workers::{Timing, Workers};

/// The workers of a node of the service: each kind of work, and when it is asked for by the clock. Both see every
/// project: `queue` is for taking work and saying how it ended, which must not wait for the work, done over `store`.
pub fn workers(queue: Store, store: &Store) -> Workers {
    let [of_all, told, kept, asked] = [(); 4].map(|()| store.clone());
    let workers = Workers::new(queue)
        .with(move |_: Upkeep| upkeep::run(of_all.clone()))
        .with(move |delivered: Delivered| deliveries::run(told.clone(), delivered))
        .with(move |work: Hygiene| hygiene::run(kept.clone(), work))
        .with(move |round: Round| hygiene::ask_everywhere(asked.clone(), round))
        .scheduled(Schedule::new("0 7 * * * *", Upkeep {}));
    hygiene::schedules().fold(workers, Workers::scheduled)
}
