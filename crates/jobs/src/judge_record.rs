//! The job `judge_record`: a chat model judges a record that was saved before the model answered.

use std::time::Duration;

use mc_domain::RecordId;
use mc_memory::{Error, judge_again};
use mc_store::records;
use serde::{Deserialize, Serialize};

use crate::JobContext;
use crate::job::{BackgroundJob, JobError};

/// Judges one record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeRecord {
    /// Id of the record.
    id: RecordId,
}

impl BackgroundJob for JudgeRecord {
    const NAME: &'static str = records::JUDGE_JOB;
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = records::JUDGE_JOB_ATTEMPTS;
    /// Longer than a request with its retries.
    const TIMEOUT: Duration = Duration::from_hours(1);
    /// The attempts take half an hour, after which most outages have ended.
    const BACKOFF_BASE: Duration = Duration::from_mins(1);

    type Context = JobContext;

    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        let JobContext { store, chat, embedding, .. } = context;
        match judge_again(store, chat, &embedding.model, self.id).await {
            Ok(rejudged) => {
                tracing::debug!(record.id = %self.id, ?rejudged, "record judged by a chat model");
                Ok(())
            }
            // The rules have kept the record, and a later attempt gets no other answer.
            Err(Error::Chat(error)) if error.is_final() => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(record.id = %self.id, error, "record not judged by a chat model");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}
