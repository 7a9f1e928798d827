//! Connections that are ready before the first question comes.

use futures::future::try_join_all;
use mc_domain::{PassageId, ProjectId, ProjectKey, RecordId};
use uuid::Uuid;

use crate::feed::{self, FeedCursor};
use crate::passages::{self, PassageFilter};
use crate::vectors::{self, Model};
use crate::{Error, Store, citations, projects};

/// What a few recalls at the same time take.
const CONNECTIONS: u32 = 8;
/// PostgreSQL plans the first executions of a statement each anew.
const EXECUTIONS: u32 = 6;

/// Opens connections and lets each of them plan what a recall asks, about nothing that exists. A new
/// connection takes ten times as long for its first statements as for later ones.
pub async fn warm_up(store: &Store, model: &Model) -> Result<(), Error> {
    let connections = store.pool.options().get_max_connections().min(CONNECTIONS);
    // All at once, so that each is one of its own.
    drop(try_join_all((0..connections).map(|_| store.pool.acquire())).await?);
    let key = ProjectKey::parse("warm-up").expect("a key");
    let nobody = ProjectId(Uuid::nil());
    let everything = PassageFilter::project(nobody);
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
        passages::load(store, nobody, &[PassageId(Uuid::nil())]).await?;
    }
    for _ in 0..EXECUTIONS * connections {
        citations::of_records(store, &[RecordId(Uuid::nil())]).await?;
    }
    Ok(())
}
