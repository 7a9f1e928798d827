//! A run of attempts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use uuid::Uuid;

use crate::attempt::{self, Attempt};
use crate::marks::{Owners, Places};
use crate::operations::{self, Draw, Generator, OPERATIONS, TOOLS};
use crate::probes;
use crate::world::World;

/// Attempts in one world; then a new one is built, because attempts add to it.
const ROUND: u64 = 2_500;
const CONCURRENCY: usize = 8;
/// Attempts that are drawn for one that is made: mostly the one of these that comes furthest.
const CANDIDATES: usize = 4;
const SHORT: u64 = 1_000;

/// An error, with instructions to reproduce it.
pub type Fault = String;

/// Returns an environment variable, or the default.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}"))
    })
}

pub fn seed() -> u64 {
    setting("ISOLATION_SEED", 20_261_121)
}

/// Makes attempts `from..to` in the world; the first fault ends it.
pub async fn attempts(world: &Arc<World>, seed: u64, from: u64, to: u64) -> Result<(), Fault> {
    let generators: Arc<Vec<(&str, Generator)>> = Arc::new(operations::all());
    let mut results = stream::iter(from..to)
        .map(|number| {
            let (world, generators) = (Arc::clone(world), Arc::clone(&generators));
            tokio::spawn(async move { one(&world, &generators, seed, number).await })
        })
        .buffer_unordered(CONCURRENCY);
    let mut unknown = Vec::new();
    let mut faults = Faults::default();
    while let Some(result) = results.next().await {
        match result.map_err(|failure| failure.to_string())? {
            Ok(shown) => unknown.extend(shown),
            Err(fault) => faults.note(fault)?,
        }
    }
    drop(results);
    faults.end()?;
    // An attempt has created the rows that the world did not know; their owners are read now.
    let owners = if unknown.is_empty() { Owners::new() } else { world.owners_now().await };
    for (id, places, what) in unknown {
        if let Some(owner) = owners.get(&id).filter(|owner| !places.holds(**owner)) {
            return Err(format!("{what}: shows {id}, an id of {}", world.describe(*owner)));
        }
    }
    Ok(())
}

/// Faults until there are as many as are wanted, for who mends several at once.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn note(&mut self, fault: Fault) -> Result<(), Fault> {
        self.0.push(fault);
        let is_enough = self.0.len() as u64 >= setting("ISOLATION_FAULTS", 1);
        if is_enough { std::mem::take(self).end() } else { Ok(()) }
    }

    fn end(self) -> Result<(), Fault> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0.join("\n\n=== ")) }
    }
}

type Shown = (Uuid, Places, String);

async fn one(
    world: &World,
    generators: &[(&'static str, Generator)],
    seed: u64,
    number: u64,
) -> Result<Vec<Shown>, Fault> {
    let (attempt, what) = drawn(world, generators, seed, number);
    let places = attempt.places | attempt.ids;
    let unknown = attempt::make(&attempt, world).await;
    let unknown = unknown.map_err(|fault| {
        let body = attempt.body.clone().unwrap_or_default();
        let headers = attempt.headers.iter().filter(|(name, _)| *name != "authorization");
        let headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
        let sent = format!("{} {}\n{}\n{body}", attempt.method, attempt.target, headers.join("\n"));
        format!("{what}: {fault}\n--- sent\n{sent}")
    })?;
    Ok(unknown.into_iter().map(|id| (id, places, what.clone())).collect())
}

fn drawn(
    world: &World,
    generators: &[(&'static str, Generator)],
    seed: u64,
    number: u64,
) -> (Attempt, String) {
    use rand::Rng as _;
    let mut rng = StdRng::seed_from_u64(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (name, generate) = generators[rng.random_range(0..generators.len())];
    let candidates = if rng.random_bool(0.7) { CANDIDATES } else { 1 };
    let drawn = (0..candidates).map(|_| {
        let mut draw = Draw::new(world, StdRng::seed_from_u64(rng.random()));
        (generate(&mut draw), draw)
    });
    let (attempt, draw) = drawn.max_by_key(|(attempt, _)| attempt.reached).expect("some");
    let attempt = Attempt { operation: name, ..attempt };
    let Draw { who, with, .. } = draw;
    let what = format!(
        "ISOLATION_SEED={seed}, attempt {number}: {name} by the {:?} of tenant {:?} with {} \
         ({:06b})",
        who.post, who.tenant, with.what, with.scopes
    );
    (attempt, what)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_attempts_reveal_no_foreign_data() {
    let (seed, wanted) = (seed(), setting("ISOLATION_ATTEMPTS", SHORT));
    let limit = Duration::from_secs(setting("ISOLATION_SECONDS", 170));
    println!("ISOLATION_SEED={seed} ISOLATION_ATTEMPTS={wanted}");
    let done = tokio::time::timeout(limit, rounds(seed, wanted)).await;
    let done = done.expect("no more time than ISOLATION_SECONDS");
    if let Err(fault) = done {
        panic!("isolation is broken: {fault}");
    }
}

async fn rounds(seed: u64, wanted: u64) -> Result<(), Fault> {
    let began = Instant::now();
    let mut done = 0;
    while done < wanted {
        let world = Arc::new(World::build(seed ^ done).await);
        let to = wanted.min(done + ROUND);
        attempts(&world, seed, done, to).await?;
        probes::counts(&world).await.map_err(|fault| format!("after attempt {to}: {fault}"))?;
        done = to;
        println!("{done} attempts, nothing foreign, {:.1} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}

#[test]
fn sampled_operations_are_in_the_openapi_document() {
    let document = serde_json::to_value(mc_api::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let named: Vec<_> = operations.map(|one| one["operationId"].as_str().unwrap()).collect();
    for (name, _) in OPERATIONS {
        assert!(named.contains(name), "{name} is not an operation of the API");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sampled_tools_are_listed() {
    let listed = operations::tools::listed(&World::build(seed()).await).await;
    for (name, _) in TOOLS {
        assert!(listed.iter().any(|tool| tool["name"] == *name), "{name} is not a tool");
    }
}
