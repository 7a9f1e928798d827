//! Enqueueing of index runs at the refs that were last requested.

use mc_store::repositories::Repository;
use mc_store::{Error, Tx, ingest_runs};

/// Enqueues an index run of each repository that `is_affected` selects by its last requested ref.
/// Returns these repositories; those that were deleted meanwhile are left out.
///
/// All repositories are locked before the first run is enqueued. Enqueueing also locks the head of
/// the audit chain, and every request for a run locks its repository first: another order could
/// deadlock.
pub(crate) async fn enqueue_runs<'a>(
    tx: &mut Tx,
    repositories: impl IntoIterator<Item = &'a Repository>,
    is_affected: impl Fn(&str) -> bool,
) -> Result<Vec<&'a Repository>, Error> {
    let mut locked = Vec::new();
    for repository in repositories {
        match ingest_runs::last_requested_ref(tx, repository).await {
            Ok(requested_ref) => locked.push((repository, requested_ref)),
            Err(Error::DeletedConcurrently) => {}
            Err(error) => return Err(error),
        }
    }
    locked.retain(|(_, requested_ref)| is_affected(requested_ref));
    for (repository, requested_ref) in &locked {
        ingest_runs::enqueue(tx, repository, requested_ref).await?;
    }
    Ok(locked.into_iter().map(|(repository, _)| repository).collect())
}
