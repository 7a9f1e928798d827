//! Connections that are ready before the first question comes.

use std::time::Duration;

use futures::future::try_join_all;
use mc_domain::{BundleId, PassageId, ProjectId, ProjectKey, RecordId, SourceKind, UserId};
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use crate::bundles::{self, NewBundle};
use crate::passages::{self, PassageFilter};
use crate::vectors::{self, Model, VectorPlacement};
use crate::{Error, Store, citations, projects};

/// PostgreSQL plans the first executions of a statement each anew.
const EXECUTIONS: u32 = 6;
/// It takes some hundred milliseconds; whoever asks meanwhile has only one connection at a time.
const AT_MOST: Duration = Duration::from_secs(2);

/// Opens connections and lets each of them plan what a recall asks and leaves behind, about a project
/// that does not exist. A new connection takes ten times as long for its first statements as for
/// later ones.
pub async fn warm_up(store: &Store, model: &Model) -> Result<(), Error> {
    timeout(AT_MOST, each_connection(store, model)).await.unwrap_or_else(|_| {
        tracing::debug!("connections were busy and are not all warmed up");
        Ok(())
    })
}

async fn each_connection(store: &Store, model: &Model) -> Result<(), Error> {
    let cold = try_join_all((0..store.max_connections()).map(|_| store.plain())).await?;
    let mut warm = Vec::new();
    for connection in cold {
        // All others are held, and no more may be opened: everything goes through this one.
        drop(connection);
        for _ in 0..EXECUTIONS {
            recall(store, model).await?;
        }
        warm.push(store.plain().await?);
    }
    Ok(())
}

/// The statements of a recall.
async fn recall(store: &Store, model: &Model) -> Result<(), Error> {
    let nobody = ProjectId(Uuid::nil());
    let mut records = PassageFilter::project(nobody);
    records.sources = vec![SourceKind::Memory];
    let direction = vec![1.0; usize::try_from(model.dimensions).unwrap_or(0)];
    let key = ProjectKey::parse("warm-up").expect("a key");
    projects::find(store, UserId::LOCAL, &key).await?;
    let store = &store.for_project(UserId::LOCAL, nobody);
    let visit = store.visit();
    vectors::nearest_in(&visit, model, &direction, &records, 1, VectorPlacement::Flat).await?;
    passages::load(&visit, nobody, &[PassageId(Uuid::nil())]).await?;
    // Its connection is the only one there is.
    drop(visit);
    citations::of_records(store, &[RecordId(Uuid::nil())]).await?;
    let mut tx = store.begin_frequent().await?;
    bundles::insert(&mut tx, nobody, &[&unheard(nobody)]).await?;
    tx.commit().await
}

/// A bundle that is not kept, since its project does not exist.
fn unheard(project: ProjectId) -> NewBundle {
    NewBundle {
        id: BundleId::generate(),
        project,
        principal: String::new(),
        request: json!({}),
        confidence: 0.0,
        token_count: 0,
        degraded: Vec::new(),
        items: Vec::new(),
        handles: Vec::new(),
    }
}
