#![doc = include_str!("../README.md")]

pub mod comments;
mod deliveries;
mod hygiene;
mod index;
mod issue;
mod links;
mod poll;
mod schedule;
mod sync;
mod told;
mod upkeep;
mod work;
mod workers;

use mc_store::Store;
use tokio_util::sync::CancellationToken;

pub use deliveries::Delivered;
pub use hygiene::{Embedding, Hygiene, Round};
use index::Turns;
pub use index::{Index, Indexing};
pub use links::Links;
pub use poll::Poll;
pub use schedule::Schedule;
pub use sync::{Connecting, Due};
pub use upkeep::Upkeep;
pub use work::{Failure, Request, Work};
pub use workers::{Timing, Workers};

/// The workers of a node of the service: each kind of work, and when it is asked for by the clock. Both see every
/// project: `queue` is for taking work and saying how it ended, which must not wait for the work, done over `store`.
/// Other systems are asked as `connecting` has them; `embedding` is the model in use.
pub fn workers(
    queue: Store,
    store: &Store,
    connecting: Connecting,
    embedding: Embedding,
) -> Workers {
    let [of_all, told, looked_at, asking, writing, kept, asked] = [(); 7].map(|()| store.clone());
    let connected = connecting.clone();
    let workers = Workers::new(queue)
        .with(move |_: Upkeep| upkeep::run(of_all.clone()))
        .with(move |delivered: Delivered| deliveries::run(told.clone(), delivered))
        .with(move |_: Poll| poll::run(looked_at.clone()))
        .with(move |due: Due| sync::run(asking.clone(), connecting.clone(), due))
        .with(move |links: Links| links::run(writing.clone(), connected.clone(), links))
        .with(move |work: Hygiene| hygiene::run(kept.clone(), embedding.clone(), work))
        .with(move |round: Round| hygiene::ask_everywhere(asked.clone(), round))
        .scheduled(Schedule::new("0 7 * * * *", Upkeep {}))
        .scheduled(Schedule::new("30 * * * * *", Poll {}));
    hygiene::schedules().fold(workers, Workers::scheduled)
}

/// The same, indexing repositories as well until `stop`; then what is at work is broken off, to be gone on with.
pub fn indexing(
    workers: Workers,
    store: &Store,
    how: Indexing,
    stop: &CancellationToken,
) -> Workers {
    let (context, stop, of_all) = (how.context(store.clone()), stop.clone(), store.clone());
    workers
        .with(move |work: Index| index::run(context.clone(), work, stop.clone()))
        .with(move |_: Turns| index::look_after(of_all.clone()))
        .scheduled(Schedule::new("30 * * * * *", Turns {}))
}
