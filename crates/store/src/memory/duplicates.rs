//! Duplicates: clusters of team records with the same content, and the decisions about them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use mc_domain::{ClusterState, DuplicateClusterId, ProjectId, RecordId, RecordKind, Trust};

use crate::error::word;
use crate::row::read;
use crate::{Result, Store, Tx};

/// A live team record with the values that clustering compares and merging chooses by.
#[derive(Debug, Clone)]
pub struct DuplicateCandidate {
    /// Identifier.
    pub id: RecordId,
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Text of the record.
    pub content: String,
    /// sha256 of the normalized content.
    pub content_hash: Vec<u8>,
    /// Trust level.
    pub trust: Trust,
    /// Number of bundles after which feedback named the record as used.
    pub use_count: i32,
    /// Number of recalls.
    pub recall_count: i32,
}

/// A record as it was when the cluster was formed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// Id of the record.
    pub id: RecordId,
    /// sha256 of its normalized content.
    pub content_hash: Vec<u8>,
}

/// A cluster to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCluster {
    /// The records; the first one would remain.
    pub record_ids: Vec<Member>,
    /// The lowest share of words that a record has in common with the first one, 0 to 1.
    pub similarity: f32,
}

/// A cluster of duplicate records.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Identifier, in the order of detection.
    pub id: DuplicateClusterId,
    /// The records; the first one would remain.
    pub record_ids: Vec<Member>,
    /// The lowest share of words that a record has in common with the first one, 0 to 1.
    pub similarity: f32,
    /// Decision about the cluster.
    pub state: ClusterState,
    /// Time of detection.
    pub detected_at: DateTime<Utc>,
}

/// How the set of open clusters changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proposed {
    /// New clusters.
    pub added: u64,
    /// Deleted clusters: a member changed or was deleted.
    pub withdrawn: u64,
}

/// Returns live, unexpired team records after an id, oldest first.
pub async fn list_candidates(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<DuplicateCandidate>> {
    let rows = sqlx::query!(
        "select id, kind, content, content_hash, trust, use_count, recall_count from memory_records
         where project_id = $1 and visibility = 'team' and state in ('active', 'stale')
             and ttl > now()
             and id > $2
         order by id limit $3",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => DuplicateCandidate {
        id: row.id.into(), kind: word(&row.kind)?, content, content_hash, trust: word(&row.trust)?,
        use_count, recall_count
    })
}

/// Returns the cosine similarity of each pair's vectors, by the newest model that has both; `None`
/// without one.
pub async fn cosines(store: &Store, pairs: &[(RecordId, RecordId)]) -> Result<Vec<Option<f32>>> {
    let [left, right]: [Vec<_>; 2] =
        [pairs.iter().map(|pair| pair.0.0).collect(), pairs.iter().map(|pair| pair.1.0).collect()];
    let cosines = sqlx::query_scalar!(
        r#"select (select 1 - (a.embedding <=> b.embedding)
                   from passages p join embeddings a on a.passage_id = p.id,
                        passages q join embeddings b on b.passage_id = q.id
                   where p.record_id = pair.a and q.record_id = pair.b and b.model_id = a.model_id
                   order by a.model_id desc limit 1) as "cosine?"
           from unnest($1::uuid[], $2::uuid[]) with ordinality as pair (a, b, n) order by pair.n"#,
        &left,
        &right
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    #[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more")]
    let cosines = cosines.into_iter().map(|cosine| cosine.map(|cosine| cosine as f32)).collect();
    Ok(cosines)
}

/// Returns the clusters of a project that were merged or dismissed.
pub async fn list_decided(store: &Store, project: ProjectId) -> Result<Vec<Vec<Member>>> {
    let rows = sqlx::query!(
        "select record_ids, content_hashes from duplicate_clusters where project_id = $1
             and state <> 'open'",
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| members(row.record_ids, row.content_hashes)).collect())
}

/// Replaces the open clusters of a project; a cluster that is open already stays as it is. Call it
/// in a transaction of [`Store::begin_with_memory_lock`]; two concurrent calls would add the same
/// cluster twice.
pub async fn propose(tx: &mut Tx, project: ProjectId, clusters: &[NewCluster]) -> Result<Proposed> {
    let rows = sqlx::query!(
        "select id, record_ids, content_hashes from duplicate_clusters
         where project_id = $1 and state = 'open' for update",
        project.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let open = rows.into_iter().map(|row| (members(row.record_ids, row.content_hashes), row.id));
    let mut open: HashMap<_, _> = open.collect();
    let mut proposed = Proposed::default();
    for cluster in clusters {
        if open.remove(&cluster.record_ids).is_none() {
            insert(tx, project, cluster, ClusterState::Open).await?;
            proposed.added += 1;
        }
    }
    let obsolete: Vec<_> = open.into_values().collect();
    let delete = sqlx::query!("delete from duplicate_clusters where id = any($1)", &obsolete);
    proposed.withdrawn = tx.count_changed(delete).await?;
    Ok(proposed)
}

/// Stores a cluster that was merged because the policy says so.
pub async fn insert_merged(
    tx: &mut Tx,
    project: ProjectId,
    cluster: &NewCluster,
) -> Result<DuplicateClusterId> {
    insert(tx, project, cluster, ClusterState::Merged).await
}

async fn insert(
    tx: &mut Tx,
    project: ProjectId,
    cluster: &NewCluster,
    state: ClusterState,
) -> Result<DuplicateClusterId> {
    let id = DuplicateClusterId::generate();
    let (ids, contents) = columns(&cluster.record_ids);
    tx.run(sqlx::query!(
        "insert into duplicate_clusters (id, project_id, record_ids, content_hashes, similarity,
             state, decided_at)
         values ($1, $2, $3, $4, $5, $6, case when $6 <> 'open' then now() end)",
        id.0,
        project.0,
        &ids,
        &contents,
        cluster.similarity,
        state.as_str()
    ))
    .await?;
    Ok(id)
}

/// Deletes decided clusters of which fewer than two records are left; returns their number.
pub async fn delete_decided(store: &Store, project: ProjectId) -> Result<u64> {
    let done = sqlx::query!(
        "delete from duplicate_clusters c
         where c.project_id = $1 and c.state <> 'open'
             and (select count(*) from memory_records r where r.id = any(c.record_ids)) < 2",
        project.0
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(done.rows_affected())
}

/// Returns the open clusters of a project after an id, oldest first.
pub async fn list_open(
    store: &Store,
    project: ProjectId,
    after: Option<DuplicateClusterId>,
    limit: i64,
) -> Result<Vec<Cluster>> {
    let rows = sqlx::query_as!(
        ClusterRow,
        "select id, record_ids, content_hashes, similarity, state, detected_at
             from duplicate_clusters
         where project_id = $1 and state = 'open' and id > $2 order by id limit $3",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(ClusterRow::into_cluster).collect()
}

/// Returns a cluster of the project, locked until the transaction ends.
pub async fn lock(
    tx: &mut Tx,
    project: ProjectId,
    id: DuplicateClusterId,
) -> Result<Option<Cluster>> {
    let row = sqlx::query_as!(
        ClusterRow,
        "select id, record_ids, content_hashes, similarity, state, detected_at
             from duplicate_clusters
         where project_id = $1 and id = $2 for update",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    row.map(ClusterRow::into_cluster).transpose()
}

/// Stores the decision about a locked cluster.
pub async fn decide(tx: &mut Tx, id: DuplicateClusterId, state: ClusterState) -> Result<()> {
    tx.run(sqlx::query!(
        "update duplicate_clusters set state = $2, decided_at = now(), decided_by = $3
             where id = $1",
        id.0,
        state.as_str(),
        tx.principal().map(|user| user.0)
    ))
    .await
}

struct ClusterRow {
    id: uuid::Uuid,
    record_ids: Vec<uuid::Uuid>,
    content_hashes: Vec<Vec<u8>>,
    similarity: f32,
    state: String,
    detected_at: DateTime<Utc>,
}

impl ClusterRow {
    fn into_cluster(self) -> Result<Cluster> {
        read!(self => Cluster {
            id: self.id.into(), record_ids: members(self.record_ids, self.content_hashes),
            similarity, state: word(&self.state)?, detected_at
        })
    }
}

fn members(ids: Vec<uuid::Uuid>, contents: Vec<Vec<u8>>) -> Vec<Member> {
    let pairs = ids.into_iter().zip(contents);
    pairs.map(|(id, content_hash)| Member { id: id.into(), content_hash }).collect()
}

fn columns(members: &[Member]) -> (Vec<uuid::Uuid>, Vec<Vec<u8>>) {
    members.iter().map(|member| (member.id.0, member.content_hash.clone())).unzip()
}
