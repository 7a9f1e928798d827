//! Warm-up of connections before the first request.

use std::time::Duration;

use futures::future::try_join_all;
use mc_domain::{BundleId, PassageId, ProjectId, ProjectKey, RecordId, SourceKind, UserId};
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use crate::bundles::{self, NewBundle};
use crate::passages::{self, PassageFilter};
use crate::vectors::{self, Model, ScanWidth, VectorPlacement};
use crate::{Result, Store, citations, projects};

/// PostgreSQL plans the first executions of a statement each time; so many make it use the cached
/// plan.
const EXECUTIONS: u32 = 6;
/// Timeout: it takes some hundred milliseconds, in which requests have one connection.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Opens all connections and runs the statements of a recall on each, for a project that does not
/// exist. The first statements on a new connection take ten times as long as later ones.
pub async fn warm_up(store: &Store, model: &Model) -> Result<()> {
    timeout(TIMEOUT, each_connection(store, model)).await.unwrap_or_else(|_| {
        tracing::debug!("connections were busy and are not all warmed up");
        Ok(())
    })
}

async fn each_connection(store: &Store, model: &Model) -> Result<()> {
    let cold = try_join_all((0..store.max_connections()).map(|_| store.plain())).await?;
    let mut warm = Vec::new();
    for connection in cold {
        // All other connections are held and no more may be opened, so that all statements use this
        // one.
        drop(connection);
        for _ in 0..EXECUTIONS {
            recall(store, model).await?;
        }
        warm.push(store.plain().await?);
    }
    Ok(())
}

/// Runs the statements of a recall.
async fn recall(store: &Store, model: &Model) -> Result<()> {
    let no_project = ProjectId(Uuid::nil());
    let mut records = PassageFilter::project(no_project);
    records.sources = vec![SourceKind::Memory];
    let direction = vec![1.0; usize::try_from(model.dimensions).unwrap_or(0)];
    let key = ProjectKey::parse("warm-up").expect("a key");
    projects::find(store, UserId::LOCAL, &key).await?;
    let store = &store.for_project(UserId::LOCAL, no_project);
    let shared = store.share_reads();
    let (placement, width) = (VectorPlacement::Flat, ScanWidth::Wide);
    vectors::nearest_in(&shared, model, &direction, &records, 1, placement, width).await?;
    passages::load(&shared, no_project, &[PassageId(Uuid::nil())]).await?;
    // The only free connection.
    drop(shared);
    citations::of_records(store, &[RecordId(Uuid::nil())]).await?;
    let mut tx = store.begin_frequent().await?;
    bundles::insert(&mut tx, no_project, &[&unstored_bundle(no_project)]).await?;
    tx.commit().await
}

/// Returns a bundle that is not stored, because its project does not exist.
fn unstored_bundle(project: ProjectId) -> NewBundle {
    NewBundle {
        id: BundleId::generate(),
        project,
        principal: String::new(),
        session: None,
        is_control: false,
        prompt_version: None,
        request: json!({}),
        confidence: 0.0,
        token_count: 0,
        degraded: Vec::new(),
        items: Vec::new(),
        handles: Vec::new(),
    }
}
