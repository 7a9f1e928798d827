//! A registered job kind with its type erased, so that the worker is compiled once for all kinds.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::job::{BackgroundJob, JobError};
use crate::settings::{JobSettings, KindSettings};

type Handler = dyn Fn(Value) -> BoxFuture<'static, Result<(), JobError>> + Send + Sync;

/// A registered job kind.
#[derive(Clone)]
pub(super) struct JobKind {
    pub(super) name: &'static str,
    pub(super) fetch_batch: usize,
    pub(super) backoff_base: Duration,
    pub(super) settings: KindSettings,
    handler: Arc<Handler>,
}

impl JobKind {
    /// Creates a kind with the dependencies of its jobs.
    pub(super) fn new<J: BackgroundJob>(settings: &JobSettings, context: J::Context) -> Self {
        let handler = move |args| -> BoxFuture<'static, _> {
            let context = context.clone();
            Box::pin(async move {
                let job: J = serde_json::from_value(args).map_err(|error| {
                    JobError::Permanent(format!("the job's arguments can't be read: {error}"))
                })?;
                job.run(&context).await
            })
        };
        Self {
            name: J::NAME,
            fetch_batch: J::FETCH_BATCH,
            backoff_base: J::BACKOFF_BASE,
            settings: settings.kind::<J>(),
            handler: Arc::new(handler),
        }
    }

    /// Runs one attempt of a job with these arguments.
    pub(super) fn run(&self, args: Value) -> BoxFuture<'static, Result<(), JobError>> {
        (self.handler)(args)
    }
}
