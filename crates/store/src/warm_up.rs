//! Connections that are ready before the first question comes.

use std::time::Duration;

use futures::future::try_join_all;
use mc_domain::{BundleId, PassageId, ProjectId, ProjectKey, RecordId};
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use crate::bundles::{self, NewBundle};
use crate::feed::{self, FeedCursor};
use crate::passages::{self, PassageFilter};
use crate::vectors::{self, Extent, Model};
use crate::{Error, Store, citations, projects};

/// What a few recalls at the same time take.
const CONNECTIONS: u32 = 8;
/// PostgreSQL plans the first executions of a statement each anew.
const EXECUTIONS: u32 = 6;
/// Opening so many takes some fifty milliseconds.
const OPENING_MAX: Duration = Duration::from_secs(1);

/// Opens connections and lets each of them plan what a recall asks and leaves behind, about a project
/// that does not exist. A new connection takes ten times as long for its first statements as for
/// later ones.
pub async fn warm_up(store: &Store, model: &Model) -> Result<(), Error> {
    let connections = store.pool.options().get_max_connections().min(CONNECTIONS);
    // All at once, so that each is one of its own; but not for long, since whoever holds one and waits
    // for another would wait for this, and this for them.
    let all = try_join_all((0..connections).map(|_| store.pool.acquire()));
    if let Ok(opened) = timeout(OPENING_MAX, all).await {
        drop(opened?);
    }
    let key = ProjectKey::parse("warm-up").expect("a key");
    let nobody = ProjectId(Uuid::nil());
    let everything = PassageFilter::project(nobody);
    let direction = vec![1.0; usize::try_from(model.dimensions).unwrap_or(0)];
    // The pool hands out its connections in turn: as many executions in a row reach each of them.
    for _ in 0..EXECUTIONS * connections {
        projects::find(store, &key).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        feed::since(store, FeedCursor { txid: u64::MAX >> 1, seq: 0 }, 1).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        vectors::extent(store, model, &everything).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        vectors::nearest_in(store, model, &direction, &everything, 1, Extent::Heap).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        passages::load(store, nobody, &[PassageId(Uuid::nil())]).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        citations::of_records(store, &[RecordId(Uuid::nil())]).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        bundles::insert(store, &unheard(nobody)).await?;
    }
    Ok(())
}

/// A bundle that is not kept, since its project does not exist.
fn unheard(project: ProjectId) -> NewBundle {
    NewBundle {
        id: BundleId::generate(),
        project,
        principal: String::new(),
        request: json!({}),
        confidence: 0.0,
        tokens: 0,
        degraded: Vec::new(),
        items: Vec::new(),
    }
}
