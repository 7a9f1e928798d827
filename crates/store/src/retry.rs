//! Retries after deadlocks.

use crate::Error;

/// Most attempts.
const TIMES: usize = 5;

/// Runs a whole transaction, or a single statement, again if a deadlock rolled it back.
pub(crate) async fn retry_on_deadlock<T, Done>(attempt: impl Fn() -> Done) -> Result<T, Error>
where
    Done: Future<Output = Result<T, Error>>,
{
    for _ in 1..TIMES {
        match attempt().await {
            Err(error) if error.is_deadlock() => {}
            ended => return ended,
        }
    }
    attempt().await
}
