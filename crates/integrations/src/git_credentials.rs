//! Credentials with which git fetches private repositories.

use std::sync::Arc;

use futures::future::BoxFuture;
use mc_connectors::ConnectorRegistry;
use mc_domain::ProjectId;
use mc_git::{Credential, Location, Origin};
use mc_indexer::index::GitCredentials;
use mc_store::{Store, integrations};

/// The credentials of the configured connectors.
#[derive(Debug, Clone)]
pub struct ConnectorCredentials {
    store: Store,
    connectors: Arc<ConnectorRegistry>,
}

impl ConnectorCredentials {
    /// Creates the finder. `store` has access to every project.
    pub fn new(store: Store, connectors: Arc<ConnectorRegistry>) -> Self {
        Self { store, connectors }
    }
}

impl GitCredentials for ConnectorCredentials {
    /// Returns the credential of an integration of the project with this repository. Another
    /// connector gives none: maintainers decide which private repositories their project reads.
    fn find<'a>(
        &'a self,
        project: ProjectId,
        origin: &'a Origin,
    ) -> BoxFuture<'a, Result<Option<Credential>, mc_store::Error>> {
        Box::pin(async move {
            let Location::Url(url) = &origin.location else { return Ok(None) };
            if self.connectors.all().next().is_none() {
                return Ok(None);
            }
            let all = integrations::list(&self.store, project).await?;
            let Some(first) = all.first() else { return Ok(None) };
            let Some(key) = integrations::project_of(&self.store, first.id).await? else {
                return Ok(None);
            };
            let found = all.iter().filter(|integration| !integration.is_paused).find_map(|found| {
                let connector = self.connectors.find(&found.connector, &key)?;
                connector.git_credential(url, &found.resource)
            });
            Ok(found.map(|found| Credential { user: found.user, secret: found.token }))
        })
    }
}
