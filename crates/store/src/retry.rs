//! Retries after deadlocks.

use crate::Error;

/// Most attempts.
const MAX_ATTEMPTS: usize = 5;

/// Runs a whole transaction, or a single statement, again if a deadlock rolled it back.
pub(crate) async fn retry_on_deadlock<T, Attempt>(attempt: impl Fn() -> Attempt) -> Result<T, Error>
where
    Attempt: Future<Output = Result<T, Error>>,
{
    for _ in 1..MAX_ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_deadlock() => {}
            result => return result,
        }
    }
    attempt().await
}
