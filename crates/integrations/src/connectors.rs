//! Connectors: the configured accesses to providers, and git, which needs no configuration.

use mc_connectors::{ConnectorRegistry, PLAIN_GIT, client};
use mc_contract::operations::integration::{Connector, ConnectorProvider};
use mc_contract::operations::page::Page;
use mc_domain::Capability;
use mc_memory::ProjectContext;
use mc_store::Store;
use mc_store::integrations::{self, ConnectorHealth};

use crate::Error;

/// Lists the connectors that a project may use, with the state of its integrations.
pub async fn list(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
) -> Result<Page<Connector>, Error> {
    let health = integrations::health(&ctx.store, Some(ctx.project.id)).await?;
    Ok(with_health(connectors.of(&ctx.project.key), &health))
}

/// Lists all connectors with the state of all integrations. `background` has the worker's role.
pub async fn list_all(
    background: &Store,
    connectors: &ConnectorRegistry,
) -> Result<Page<Connector>, Error> {
    let health = integrations::health(background, None).await?;
    Ok(with_health(connectors.all(), &health))
}

fn with_health<'a>(
    connectors: impl Iterator<Item = &'a client::Connector>,
    health: &[ConnectorHealth],
) -> Page<Connector> {
    let configured = connectors.map(|one| {
        let provider = one.kind();
        connector(one.name(), provider.into(), Capability::of(provider), health)
    });
    let git = connector(PLAIN_GIT, ConnectorProvider::Git, &[Capability::Refs], health);
    Page::new(configured.chain([git]).collect(), None)
}

fn connector(
    name: &str,
    provider: ConnectorProvider,
    capabilities: &[Capability],
    health: &[ConnectorHealth],
) -> Connector {
    let health = health.iter().find(|health| health.connector == name);
    Connector {
        name: name.to_owned(),
        provider,
        capabilities: capabilities.to_vec(),
        integration_count: health.map_or(0, |health| health.integration_count),
        failing_count: health.map_or(0, |health| health.failing_count),
        last_success_at: health.and_then(|health| health.last_success_at),
        last_error: health.and_then(|health| health.last_error.clone()),
        next_sync_at: health.and_then(|health| health.next_sync_at),
    }
}
