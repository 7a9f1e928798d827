//! Validation of an integration to create.

use mc_connectors::client::{self, Connector};
use mc_connectors::{ConnectorRegistry, PlainGit};
use mc_contract::ValidationError;
use mc_contract::operations::integration::CreateIntegration;
use mc_domain::{Capability, IntegrationId};
use mc_memory::ProjectContext;
use mc_store::integrations::NewIntegration;
use mc_store::repositories;

use crate::Error;

/// Returns the integration if the project may use the connector, and the connector can have the
/// resource.
pub async fn validate(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
    request: &CreateIntegration,
) -> Result<NewIntegration, Error> {
    let (name, key) = (request.connector.as_str(), &ctx.project.key);
    if name == PlainGit::CONNECTOR_NAME {
        check_is_indexed(ctx, request.resource.as_str()).await?;
        return Ok(with_capability(&[Capability::Refs], name, request)?);
    }
    let connector = connectors.find(name, key);
    let connector = connector
        .ok_or_else(|| Error::UnknownConnector { name: name.to_owned(), project: key.clone() })?;
    let provider = connector.kind();
    let new = with_capability(Capability::of(provider), provider.as_str(), request)?;
    check_resource(connector, &new)?;
    Ok(new)
}

/// Checks that the project has indexed a repository under this name. Where the repository is was
/// decided by the rules of `POST /ingest/git`.
async fn check_is_indexed(ctx: &ProjectContext, resource: &str) -> Result<(), Error> {
    let Some(PlainGit { owner, name }) = PlainGit::parse(resource) else {
        let rule = "must be the owner/name under which the project has indexed a repository";
        return Err(ValidationError::new("resource", rule).into());
    };
    let repository = repositories::find(&ctx.store, ctx.project.id, owner, name).await?;
    repository.map(drop).ok_or_else(|| Error::NotIndexed(resource.to_owned()))
}

fn check_resource(connector: &Connector, new: &NewIntegration) -> Result<(), ValidationError> {
    let checked = match new.capability {
        Capability::Issues => connector.tracker(&new.resource).map(drop),
        Capability::Pages => connector.wiki(&new.resource).map(drop),
        Capability::Refs => connector.git_host(&new.resource).map(drop),
    };
    checked.map_err(|error| match error {
        client::Error::InvalidResource { rule, .. } => ValidationError::new("resource", rule),
        other => ValidationError::new("resource", other),
    })
}

/// Returns the integration if its capability is one of `capabilities`; the first one by default.
fn with_capability(
    capabilities: &[Capability],
    provider: &str,
    request: &CreateIntegration,
) -> Result<NewIntegration, ValidationError> {
    let capability = request.capability.or(capabilities.first().copied());
    let capability = capability.filter(|capability| capabilities.contains(capability));
    let capability = capability.ok_or_else(|| {
        let names: Vec<_> = capabilities.iter().map(|one| one.as_str()).collect();
        let rule = format!("must be one that a {provider} has: {}", names.join(", "));
        ValidationError::new("capability", rule)
    })?;
    Ok(NewIntegration {
        id: IntegrationId::generate(),
        connector: request.connector.as_str().to_owned(),
        resource: request.resource.as_str().to_owned(),
        capability,
        interval_minutes: request.interval_minutes.get(),
        include_comments: request.include_comments.unwrap_or(true),
    })
}
