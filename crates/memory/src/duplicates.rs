//! Finding duplicate team records that saves did not merge: saved concurrently, imported, or
//! changed since. A hygiene task finds them all at once; a person or the policy merges them.

mod cluster;
mod merge;
mod minhash;

use std::sync::Arc;

use mc_domain::{AuditAction, ClusterState, DuplicateClusterId, ProjectId, RecordId};
use mc_store::audit::{self, NewEvent};
use mc_store::duplicates::{self, Cluster, DuplicateCandidate, NewCluster};
use mc_store::records::{self, Record};
use mc_store::{Store, Tx};
use serde_json::json;

pub use cluster::{ClusterMatch, Decided, MEMBERS_MAX, clusters};

use crate::content_filter::run_blocking;
use crate::judge::MERGE_COSINE_MIN;
use crate::{Error, MemoryContext};
use cluster::member;

const PAGE_SIZE: i64 = 1_000;

/// Finds clusters of duplicate records that are not decided about, without writing anything.
pub async fn find(store: &Store, project: ProjectId) -> Result<Vec<NewCluster>, Error> {
    let notes: Arc<[DuplicateCandidate]> = notes(store, project).await?.into();
    let decided = Decided::new(duplicates::list_decided(store, project).await?);
    let shared = Arc::clone(&notes);
    let found = run_blocking(move || clusters(&shared, &decided)).await;
    let cosines = cosines(store, &notes, &found).await?;
    Ok(found
        .iter()
        .zip(cosines)
        .filter_map(|(cluster, cosines)| confirmed_by_vectors(&notes, cluster, &cosines))
        .collect())
}

async fn notes(store: &Store, project: ProjectId) -> Result<Vec<DuplicateCandidate>, Error> {
    let mut notes: Vec<DuplicateCandidate> = Vec::new();
    loop {
        let after = notes.last().map(|note| note.id);
        let page = duplicates::list_candidates(store, project, after, PAGE_SIZE).await?;
        if page.is_empty() {
            return Ok(notes);
        }
        notes.extend(page);
    }
}

/// Returns the cosine of each member and its keeper, cluster by cluster; `None` without vectors.
async fn cosines(
    store: &Store,
    notes: &[DuplicateCandidate],
    found: &[ClusterMatch],
) -> Result<Vec<Vec<Option<f32>>>, Error> {
    let mut cosines = Vec::with_capacity(found.len());
    for cluster in found {
        let pair = |(other, _): &(usize, f32)| (notes[cluster.keeper].id, notes[*other].id);
        let pairs: Vec<_> = cluster.others.iter().map(pair).collect();
        cosines.push(duplicates::cosines(store, &pairs).await?);
    }
    Ok(cosines)
}

/// Removes members whose vectors are too far from the keeper's: a second opinion, as for a save.
fn confirmed_by_vectors(
    notes: &[DuplicateCandidate],
    cluster: &ClusterMatch,
    cosines: &[Option<f32>],
) -> Option<NewCluster> {
    let is_near = |cosine: &Option<f32>| cosine.is_none_or(|cosine| cosine >= MERGE_COSINE_MIN);
    let others = cluster.others.iter().zip(cosines).filter(|(_, cosine)| is_near(cosine));
    let others: Vec<_> = others.map(|(other, _)| *other).collect();
    let similarity = others.iter().map(|(_, jaccard)| *jaccard).reduce(f32::min)?;
    let members = std::iter::once(cluster.keeper).chain(others.iter().map(|(other, _)| *other));
    Some(NewCluster { record_ids: members.map(|at| member(&notes[at])).collect(), similarity })
}

/// Merges a cluster into its first record, as a background job; `false` if a member has changed.
pub async fn merge_by_policy(
    store: &Store,
    project: ProjectId,
    cluster: &NewCluster,
) -> Result<bool, Error> {
    let mut tx = store.begin_with_memory_lock(project).await?;
    let Some(records) = merge::lock_members(&mut tx, project, &cluster.record_ids).await? else {
        return Ok(false);
    };
    merge::merge_into(&mut tx, &records, None).await?;
    let id = duplicates::insert_merged(&mut tx, project, cluster).await?;
    audit_merge(&mut tx, store, project, id, &records)?;
    tx.commit().await?;
    Ok(true)
}

/// Merges a cluster into its best record, or the one that a reviewer keeps; returns it.
pub async fn accept(
    ctx: &MemoryContext,
    project: ProjectId,
    id: DuplicateClusterId,
    keep: Option<RecordId>,
    reviewer: &str,
) -> Result<Record, Error> {
    let mut tx = ctx.store.begin_with_memory_lock(project).await?;
    let mut cluster = lock_open_cluster(&mut tx, project, id).await?;
    if let Some(keep) = keep {
        let at = cluster.record_ids.iter().position(|member| member.id == keep);
        cluster.record_ids.swap(0, at.ok_or(Error::NotInCluster(keep))?);
    }
    let records = merge::lock_members(&mut tx, project, &cluster.record_ids).await?;
    let records = records.ok_or(Error::ClusterChanged(id))?;
    merge::merge_into(&mut tx, &records, Some(reviewer)).await?;
    duplicates::decide(&mut tx, id, ClusterState::Merged).await?;
    audit_merge(&mut tx, &ctx.store, project, id, &records)?;
    tx.commit().await?;
    let kept = cluster.record_ids[0].id;
    records::find(&ctx.store, kept).await?.ok_or(Error::NoRecord(kept))
}

/// Dismisses a cluster. Its records are not clustered again unless one of them changes.
pub async fn dismiss(
    ctx: &MemoryContext,
    project: ProjectId,
    id: DuplicateClusterId,
) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    let cluster = lock_open_cluster(&mut tx, project, id).await?;
    duplicates::decide(&mut tx, id, ClusterState::Dismissed).await?;
    let members: Vec<_> = cluster.record_ids.iter().map(|member| member.id).collect();
    let event = NewEvent::new(AuditAction::DuplicateClusterDismissed, id)
        .with(json!({ "records": members }));
    audit::record(&mut tx, event);
    Ok(tx.commit().await?)
}

async fn lock_open_cluster(
    tx: &mut Tx,
    project: ProjectId,
    id: DuplicateClusterId,
) -> Result<Cluster, Error> {
    let cluster = duplicates::lock(tx, project, id).await?;
    let cluster = cluster.filter(|cluster| cluster.state == ClusterState::Open);
    cluster.ok_or(Error::NoCluster(id))
}

fn audit_merge(
    tx: &mut Tx,
    store: &Store,
    project: ProjectId,
    cluster: DuplicateClusterId,
    records: &[Record],
) -> Result<(), Error> {
    let (kept, replaced) = records.split_first().ok_or(Error::NoCluster(cluster))?;
    let replaced: Vec<_> = replaced.iter().map(|record| record.id).collect();
    let detail = json!({ "cluster": cluster, "replaced": replaced });
    let event = NewEvent::new(AuditAction::DuplicateClusterMerged, kept.id).with(detail);
    audit::add(tx, audit::Chain::Project(project), store.principal(), &[event]);
    Ok(())
}
