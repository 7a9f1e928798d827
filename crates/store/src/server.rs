//! The server behind the store's connections.

use mc_postgres::server_version::{self, Versions};

use crate::{Result, Store};

/// Reads the server's versions.
pub async fn versions(store: &Store) -> Result<Versions> {
    Ok(server_version::versions(&mut *store.plain().await?).await?)
}

/// Reads the identity of the database; see [`server_version::identity`].
pub async fn identity(store: &Store) -> Result<String> {
    Ok(server_version::identity(&mut *store.plain().await?).await?)
}

/// Returns once the database has answered a query.
pub async fn ping(store: &Store) -> Result<()> {
    sqlx::query!("select 1 as one").fetch_one(&mut *store.plain().await?).await?;
    Ok(())
}
