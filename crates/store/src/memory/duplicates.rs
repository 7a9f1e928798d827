//! Records of the team that say the same: what they are compared by, and what was decided about them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use mc_domain::{ClusterState, DuplicateClusterId, ProjectId, RecordId, RecordKind, Trust};

use crate::error::word;
use crate::{Error, Store, Tx};

/// A live record of the team, by what it is compared and chosen by.
#[derive(Debug, Clone)]
pub struct DuplicateCandidate {
    /// Identifier.
    pub id: RecordId,
    /// Kind.
    pub kind: RecordKind,
    /// What it says.
    pub content: String,
    /// sha256 of the normalised content.
    pub content_hash: Vec<u8>,
    /// Who vouches for it.
    pub trust: Trust,
    /// How often feedback said it was used.
    pub use_count: i32,
    /// How often it was recalled.
    pub recall_count: i32,
}

/// A record as it was when it was put together with others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// Which.
    pub id: RecordId,
    /// sha256 of its normalised content.
    pub content_hash: Vec<u8>,
}

/// Records that say the same, to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCluster {
    /// The first is the one that would stay.
    pub record_ids: Vec<Member>,
    /// The least share of words that one has in common with the first, 0 to 1.
    pub similarity: f32,
}

/// Records that say the same.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Identifier, in the order of finding.
    pub id: DuplicateClusterId,
    /// The first is the one that would stay.
    pub record_ids: Vec<Member>,
    /// The least share of words that one has in common with the first, 0 to 1.
    pub similarity: f32,
    /// What was decided.
    pub state: ClusterState,
    /// When they were found.
    pub detected_at: DateTime<Utc>,
}

/// How the clusters that wait for a person changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proposed {
    /// They were not there before.
    pub added: u64,
    /// They are no more: a member changed, or is gone.
    pub withdrawn: u64,
}

/// Live, unexpired records of the team after an id, oldest first.
pub async fn notes(
    store: &Store,
    project: ProjectId,
    after: Option<RecordId>,
    limit: i64,
) -> Result<Vec<DuplicateCandidate>, Error> {
    let rows = sqlx::query!(
        "select id, kind, content, content_hash, trust, use_count, recall_count from memory_records
         where project_id = $1 and visibility = 'team' and state in ('active', 'stale') and ttl > now()
             and id > $2
         order by id limit $3",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(DuplicateCandidate {
                id: row.id.into(),
                kind: word(&row.kind)?,
                content: row.content,
                content_hash: row.content_hash,
                trust: word(&row.trust)?,
                use_count: row.use_count,
                recall_count: row.recall_count,
            })
        })
        .collect()
}

/// How near the vectors of each pair are, by the newest model that has both; `None` where none has.
pub async fn cosines(
    store: &Store,
    pairs: &[(RecordId, RecordId)],
) -> Result<Vec<Option<f32>>, Error> {
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

/// What was decided about a project's records: each entry holds those that were decided about together.
pub async fn decided(store: &Store, project: ProjectId) -> Result<Vec<Vec<Member>>, Error> {
    let rows = sqlx::query!(
        "select record_ids, content_hashes from duplicate_clusters where project_id = $1 and state <> 'open'",
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    Ok(rows.into_iter().map(|row| members(row.record_ids, row.content_hashes)).collect())
}

/// Makes these the clusters that wait for a person: what waits already stays as it is. To be called in a
/// transaction that decides alone what is new in the memory ([`Store::begin_in_memory`]), or two at once would add
/// the same twice.
pub async fn propose(
    tx: &mut Tx,
    project: ProjectId,
    clusters: &[NewCluster],
) -> Result<Proposed, Error> {
    let rows = sqlx::query!(
        "select id, record_ids, content_hashes from duplicate_clusters
         where project_id = $1 and state = 'open' for update",
        project.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let waiting = rows.into_iter().map(|row| (members(row.record_ids, row.content_hashes), row.id));
    let mut waiting: HashMap<_, _> = waiting.collect();
    let mut proposed = Proposed::default();
    for cluster in clusters {
        if waiting.remove(&cluster.record_ids).is_none() {
            insert(tx, project, cluster, ClusterState::Open).await?;
            proposed.added += 1;
        }
    }
    let gone: Vec<_> = waiting.into_values().collect();
    let done = sqlx::query!("delete from duplicate_clusters where id = any($1)", &gone)
        .execute(&mut *tx.0)
        .await?;
    proposed.withdrawn = done.rows_affected();
    Ok(proposed)
}

/// Keeps what the policy decided about records.
pub async fn merged(
    tx: &mut Tx,
    project: ProjectId,
    cluster: &NewCluster,
) -> Result<DuplicateClusterId, Error> {
    insert(tx, project, cluster, ClusterState::Merged).await
}

async fn insert(
    tx: &mut Tx,
    project: ProjectId,
    cluster: &NewCluster,
    state: ClusterState,
) -> Result<DuplicateClusterId, Error> {
    let id = DuplicateClusterId::generate();
    let (ids, contents) = columns(&cluster.record_ids);
    sqlx::query!(
        "insert into duplicate_clusters (id, project_id, record_ids, content_hashes, similarity, state, decided_at)
         values ($1, $2, $3, $4, $5, $6, case when $6 <> 'open' then now() end)",
        id.0,
        project.0,
        &ids,
        &contents,
        cluster.similarity,
        state.as_str()
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(id)
}

/// Forgets what was decided about records of which fewer than two are left.
pub async fn delete_decided(store: &Store, project: ProjectId) -> Result<u64, Error> {
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

/// The clusters of a project that wait for a person, after an id, oldest first.
pub async fn waiting(
    store: &Store,
    project: ProjectId,
    after: Option<DuplicateClusterId>,
    limit: i64,
) -> Result<Vec<Cluster>, Error> {
    let rows = sqlx::query_as!(
        Row,
        "select id, record_ids, content_hashes, similarity, state, detected_at from duplicate_clusters
         where project_id = $1 and state = 'open' and id > $2 order by id limit $3",
        project.0,
        after.map_or_else(uuid::Uuid::nil, |id| id.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_cluster).collect()
}

/// A cluster of the project, about which nobody else decides until the transaction ends.
pub async fn hold(
    tx: &mut Tx,
    project: ProjectId,
    id: DuplicateClusterId,
) -> Result<Option<Cluster>, Error> {
    let row = sqlx::query_as!(
        Row,
        "select id, record_ids, content_hashes, similarity, state, detected_at from duplicate_clusters
         where project_id = $1 and id = $2 for update",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    row.map(Row::into_cluster).transpose()
}

/// Settles a cluster that is held.
pub async fn decide(tx: &mut Tx, id: DuplicateClusterId, state: ClusterState) -> Result<(), Error> {
    sqlx::query!(
        "update duplicate_clusters set state = $2, decided_at = now(), decided_by = $3 where id = $1",
        id.0,
        state.as_str(),
        tx.1.entry.map(|entry| entry.principal.0)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

struct Row {
    id: uuid::Uuid,
    record_ids: Vec<uuid::Uuid>,
    content_hashes: Vec<Vec<u8>>,
    similarity: f32,
    state: String,
    detected_at: DateTime<Utc>,
}

impl Row {
    fn into_cluster(self) -> Result<Cluster, Error> {
        Ok(Cluster {
            id: self.id.into(),
            record_ids: members(self.record_ids, self.content_hashes),
            similarity: self.similarity,
            state: word(&self.state)?,
            detected_at: self.detected_at,
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
