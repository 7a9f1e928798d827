//! What PostgreSQL took back, since it and another waited for each other, is begun again.

use crate::Error;

/// How often one and the same thing may have to give way.
const TIMES: usize = 5;

/// Does it again where it was rolled back because of a deadlock. It is a transaction, or a statement by itself, as a
/// whole.
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
