//! The job that asks a chat model about a record that was saved before the model answered.

use mc_domain::RecordId;
use serde_json::json;

use crate::jobs::{self, NewJob};
use crate::{Result, Tx};

/// Kind of the job.
pub const JUDGE_JOB: &str = "judge_record";
/// Attempts after which it is discarded.
pub const JUDGE_JOB_ATTEMPTS: u16 = 6;

/// Enqueues the job of a record.
pub async fn enqueue_judgment(tx: &mut Tx, record: RecordId) -> Result<()> {
    jobs::enqueue(tx, &NewJob::now(JUDGE_JOB, json!({ "id": record }), JUDGE_JOB_ATTEMPTS)).await?;
    Ok(())
}
