//! Operations on single jobs for service administrators. They take a store of the worker role.

use mc_contract::operations::job::Job;
use mc_domain::{AuditAction, Classified, ErrorKind, UserId};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::jobs;
use mc_store::{Store, Tx};
use serde_json::json;

/// A failed operation on a job.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No job has this id.
    #[error("there is no such job")]
    NotFound,
    /// Only discarded jobs are retried.
    #[error("only a discarded job can be retried")]
    NotDiscarded,
    /// Only jobs that are pending (also between attempts) or discarded are deleted.
    #[error("only a pending or discarded job can be deleted")]
    NotDeletable,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound => ErrorKind::NotFound,
            Self::NotDiscarded | Self::NotDeletable => ErrorKind::Conflict,
            Self::Store(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.field(),
            _ => Some("id".to_owned()),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound => Some("GET /jobs lists jobs".to_owned()),
            Self::NotDiscarded => Some("GET /jobs?state=discarded lists such jobs".to_owned()),
            Self::NotDeletable | Self::Store(_) => None,
        }
    }
}

/// Returns the job with this id.
pub async fn get(store: &Store, id: &str) -> Result<Job, Error> {
    jobs::find(store, id).await?.ok_or(Error::NotFound)
}

/// Enqueues a discarded job again, with its attempts reset, and returns it.
pub async fn retry(store: &Store, actor: UserId, id: &str) -> Result<Job, Error> {
    let job = get(store, id).await?;
    let mut tx = store.begin().await?;
    if !jobs::retry(&mut tx, id).await? {
        return Err(Error::NotDiscarded);
    }
    audit_and_commit(tx, actor, AuditAction::JobRetried, &job).await?;
    get(store, id).await
}

/// Deletes a job that is pending (also between attempts) or discarded.
pub async fn delete(store: &Store, actor: UserId, id: &str) -> Result<(), Error> {
    let job = get(store, id).await?;
    let mut tx = store.begin().await?;
    if !jobs::delete(&mut tx, id).await? {
        return Err(Error::NotDeletable);
    }
    audit_and_commit(tx, actor, AuditAction::JobDeleted, &job).await
}

async fn audit_and_commit(
    mut tx: Tx,
    actor: UserId,
    action: AuditAction,
    job: &Job,
) -> Result<(), Error> {
    let event = NewEvent::new(action, &job.id).with(json!({ "kind": job.kind }));
    audit::add(&mut tx, Chain::Service, Some(actor), &[event]);
    Ok(tx.commit().await?)
}
