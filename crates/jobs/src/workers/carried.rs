//! What Redis hands out. A worker of the library's on its Redis storage gets the ids of jobs; each is claimed in
//! PostgreSQL by the worker of the kind, and done like any other. What is at work does not end with a connection to
//! Redis: it is done beside that worker, which hands on what it gets.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use apalis::prelude::{
    BackendExt, Strategy, TaskId, WorkerBuilder, WorkerBuilderExt, WorkerContext,
};
use apalis_redis::{Config, RedisStorage};
use futures::{FutureExt as _, TryFutureExt as _};
use mc_shared::{Connection, Shared};
use mc_store::jobs;
use redis::{RedisError, Script};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::begin::{begin, insist};
use super::gate::Gate;
use super::node::Node;
use crate::work::{Failure, Work};

/// Between two looks into Redis that nobody called for.
const LOOK: Duration = Duration::from_millis(100);
/// Redis has answered by then, or is away.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two signs of life of a worker, and how many of them it may miss before what it had in its hands when it
/// died is put back. After an hour that clears up, and no more: the jobs were found in PostgreSQL long before.
const HEARTBEAT: Duration = Duration::from_secs(30);
const MISSED: usize = 120;
/// What the library writes down of a worker that died is kept so long, in seconds.
const KNOWN: u32 = 86_400;

/// The queue of a kind, as it is in Redis. How a job ends is none of its business.
pub(super) fn queue(redis: &Shared, kind: &str) -> Config {
    Config::default()
        .queue(format!("{}jobs:{kind}", redis.prefix()))
        .heartbeat_interval(HEARTBEAT)
        .missed_heartbeats(MISSED)
        .lock_tasks(false)
        .persist_results(false)
        .emit_events(false)
}

/// What Redis answers, if it does soon.
pub(super) async fn in_time<T, E: std::fmt::Display>(
    asked: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it did not answer within {} s", PATIENCE.as_secs())),
    }
}

/// Does the jobs of a kind that Redis hands to `worker`, from when PostgreSQL has it `known` until `stop`. In a task of
/// its own, as is what receives them: a worker of the library looks for jobs whenever its task is woken by anything.
pub(super) fn carry_out<W, F, Fut>(
    worker: Arc<str>,
    node: Arc<Node>,
    run: F,
    free: Arc<Semaphore>,
    known: Arc<Notify>,
    stop: CancellationToken,
) -> AbortOnDropHandle<Result<(), String>>
where
    W: Work,
    F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    // There are never more under way than permits.
    let (to, handed) = mpsc::channel(W::AT_ONCE);
    let hands = Hands { free, to };
    let receiving = receive::<W>(Arc::clone(&worker), Arc::clone(&node), hands, known, stop);
    let receiving = AbortOnDropHandle::new(tokio::spawn(receiving));
    AbortOnDropHandle::new(tokio::spawn(async move {
        let doing = do_all::<W, F, Fut>(&worker, &node, run, handed);
        let received = receiving.map_err(|error| error.to_string());
        tokio::try_join!(received, doing).map(|((), ())| ())
    }))
}

/// A job that may be at work now.
struct Handed {
    id: String,
    permit: OwnedSemaphorePermit,
}

/// Where what comes goes.
#[derive(Clone)]
struct Hands {
    free: Arc<Semaphore>,
    to: mpsc::Sender<Handed>,
}

/// Does what is handed on until nothing more can come.
async fn do_all<W, F, Fut>(
    worker: &Arc<str>,
    node: &Arc<Node>,
    run: F,
    mut handed: mpsc::Receiver<Handed>,
) -> Result<(), String>
where
    W: Work,
    F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut at_work = JoinSet::new();
    loop {
        tokio::select! {
            Some(job) = handed.recv() => {
                let (node, worker) = (Arc::clone(node), Arc::clone(worker));
                at_work.spawn(do_one::<W, F, Fut>(node, worker, job, run.clone()));
            }
            Some(ended) = at_work.join_next() => ended.map_err(|error| error.to_string())?,
            else => return Ok(()),
        }
    }
}

/// Does a job, if it still waits for somebody.
async fn do_one<W, F, Fut>(node: Arc<Node>, worker: Arc<str>, job: Handed, run: F)
where
    W: Work,
    F: Fn(W) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let Handed { id, permit } = job;
    match jobs::claim(&node.store, &id, &worker).await {
        Ok(Some(args)) => begin::<W, F, Fut>(node, worker, id, args, run).await,
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(job.id = id, %error, "whether a job was taken is unknown, so it is given back");
            insist(|| jobs::give_back(&node.store, &id, &worker)).await;
        }
    }
    drop(permit);
}

/// Takes what Redis hands out, from when PostgreSQL has the worker `known` until `stop`: by a new worker of the
/// library's whenever the one before has ended.
async fn receive<W: Work>(
    name: Arc<str>,
    node: Arc<Node>,
    hands: Hands,
    known: Arc<Notify>,
    stop: CancellationToken,
) {
    let Some(redis) = &node.redis else {
        return stop.cancelled().await;
    };
    // Before that no row can say that the worker has it.
    let _ = stop.run_until_cancelled(known.notified()).await;
    let mut number = 0_u64;
    while !stop.is_cancelled() {
        number += 1;
        if let Some(connection) = redis.connection() {
            let worker = format!("{name} {number}");
            let queue = queue(redis, W::KIND).batch_size(W::BATCH);
            let receiving = receive_as::<W>(&worker, queue, connection, &node, &hands, &stop);
            let ended = AssertUnwindSafe(receiving).catch_unwind().await;
            if let Err(error) = ended.unwrap_or_else(|_| Err("it panicked".to_owned()))
                && !redis.is_away()
            {
                tracing::warn!(job.kind = W::KIND, error, "nothing comes by redis for now");
            }
        }
        let _ = stop.run_until_cancelled(tokio::time::sleep(node.timing.look)).await;
    }
}

/// The same under a name that no worker had before, until `stop` or until Redis is away.
async fn receive_as<W: Work>(
    name: &str,
    queue: Config,
    mut connection: Connection,
    node: &Node,
    hands: &Hands,
    stop: &CancellationToken,
) -> Result<(), String> {
    let context = WorkerContext::new(name);
    let traces = Arc::new(Traces::of(&queue, &context));
    in_time(traces.announce(&mut connection)).await?;
    let (_bell, woken) = node.carried.hang(W::KIND);
    let strategy = Strategy::new().interval(LOOK).stream(woken);
    let storage = RedisStorage::<String>::new(connection.clone()).with_config(queue);
    let service = {
        let (connection, context, hands) = (connection.clone(), context.clone(), hands.clone());
        let traces = Arc::clone(&traces);
        move |id: String, _: TaskId| {
            let (connection, context) = (connection.clone(), context.clone());
            hand_on(id, hands.clone(), Arc::clone(&traces), connection, context)
        }
    };
    let worker = WorkerBuilder::new(&context)
        .backend(storage.poll_with_strategy(strategy))
        .layer(Gate::of(&hands.free))
        .concurrency(W::AT_ONCE)
        .build(service);

    let mut working = std::pin::pin!(worker.run());
    let ended = tokio::select! {
        ended = &mut working => ended.map_err(|error| error.to_string()),
        () = stop.cancelled() => match context.stop() {
            Ok(()) => in_time(working).await,
            Err(error) => Err(error.to_string()),
        },
    };
    ended.and(in_time(traces.clear(&mut connection)).await)
}

/// Hands a job on that came while there was a permit for it. Where there is none any more it waits in PostgreSQL.
async fn hand_on(
    id: String,
    hands: Hands,
    traces: Arc<Traces>,
    mut connection: Connection,
    context: WorkerContext,
) {
    // Before all that takes time: the gate counts the permits that are left.
    let permit = hands.free.try_acquire_owned();
    if let Err(error) = in_time(traces.forget(&mut connection, &id)).await {
        // As long as this worker has the id, nobody could be told of it again.
        tracing::debug!(job.id = id, error, "an id stays in Redis; its worker ends");
        if let Err(error) = context.stop() {
            tracing::debug!(%error, "it had ended");
        }
    }
    if let Ok(permit) = permit {
        let handed = hands.to.send(Handed { id, permit }).await;
        if handed.is_err() {
            tracing::debug!("a job came too late; it waits in PostgreSQL");
        }
    }
}

/// What the library writes into Redis about a worker and what it has in its hands, and would leave there.
struct Traces {
    worker: String,
    /// The ids that wait.
    waiting: String,
    /// The workers.
    workers: String,
    /// What is known of this one.
    about: String,
    /// The ids that it has.
    held: String,
    /// What each id stands for.
    data: String,
    /// Before an id: what is known of it.
    meta: String,
}

/// Forgets an id, unless somebody put it back and it waits for another worker.
static FORGET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('srem', KEYS[1], ARGV[1]) == 1 then
             redis.call('hdel', KEYS[2], ARGV[1])
             redis.call('del', KEYS[3])
         end
         return 1",
    )
});

/// Forgets a worker; the ids that it had wait for another. One of which Redis dropped a part, for want of room, would
/// end each worker that gets it, so it is forgotten as well.
static CLEAR: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for _, id in ipairs(redis.call('smembers', KEYS[1])) do
             local about = KEYS[6] .. ':' .. id
             if redis.call('hexists', KEYS[5], id) == 1 and redis.call('exists', about) == 1 then
                 redis.call('rpush', KEYS[2], id)
             else
                 redis.call('hdel', KEYS[5], id)
                 redis.call('del', about)
             end
         end
         redis.call('del', KEYS[1], KEYS[3])
         redis.call('zrem', KEYS[4], ARGV[1])
         return 1",
    )
});

impl Traces {
    fn of(config: &Config, context: &WorkerContext) -> Self {
        Self {
            worker: context.name().to_owned(),
            waiting: config.active_jobs_list(),
            workers: config.workers_set(),
            about: config.worker_metadata_key(context),
            held: config.inflight_set_for(context),
            data: config.job_data_hash(),
            meta: config.job_meta_hash(),
        }
    }

    /// Has what is known of the worker end some time even if its process is killed; the library sets no such time.
    async fn announce(&self, connection: &mut Connection) -> Result<(), RedisError> {
        let mut both = redis::pipe();
        both.cmd("HSET").arg(&self.about).arg("of").arg("memory-copilot");
        both.cmd("EXPIRE").arg(&self.about).arg(KNOWN);
        both.query_async::<()>(connection).await
    }

    async fn forget(&self, connection: &mut Connection, id: &str) -> Result<(), RedisError> {
        let about = format!("{}:{id}", self.meta);
        let mut forget = FORGET.prepare_invoke();
        forget.key(&self.held).key(&self.data).key(about).arg(id);
        forget.invoke_async::<()>(connection).await
    }

    async fn clear(&self, connection: &mut Connection) -> Result<(), RedisError> {
        let mut clear = CLEAR.prepare_invoke();
        clear.key(&self.held).key(&self.waiting).key(&self.about).key(&self.workers);
        clear.key(&self.data).key(&self.meta).arg(&self.worker);
        clear.invoke_async::<()>(connection).await
    }
}
