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
            for integration in integrations::list(&self.store, project).await? {
                if integration.is_paused {
                    continue;
                }
                let key = integrations::project_of(&self.store, integration.id).await?;
                let found = key
                    .and_then(|key| self.connectors.find(&integration.connector, &key))
                    .and_then(|connector| connector.git_credential(url, &integration.resource));
                if let Some(found) = found {
                    return Ok(Some(Credential { user: found.user, secret: found.token }));
                }
            }
            Ok(None)
        })
    }
}
