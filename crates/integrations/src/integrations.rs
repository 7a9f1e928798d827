//! Integrations: a project's subscriptions to resources of connectors.

use mc_connectors::client::{self, Connector};
use mc_connectors::{ConnectorRegistry, PLAIN_GIT, parse_plain_git};
use mc_contract::ValidationError;
use mc_contract::number::IntervalMinutes;
use mc_contract::operations::integration::{CreateIntegration, Integration, UpdateIntegration};
use mc_contract::operations::page::Page;
use mc_domain::{AuditAction, Capability, IntegrationId};
use mc_memory::ProjectContext;
use mc_store::audit::{self, NewEvent};
use mc_store::integrations::{self, IntegrationUpdate, NewIntegration};
use mc_store::{Tx, repositories};
use serde_json::{Value, json};

use crate::Error;

/// Creates an integration and enqueues its first sync.
pub async fn create(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
    request: &CreateIntegration,
) -> Result<Integration, Error> {
    let new = validate(ctx, connectors, request).await?;
    let mut tx = ctx.store.begin().await?;
    integrations::create(&mut tx, ctx.project.id, &new).await?;
    let details = json!({
        "change": "created", "connector": new.connector, "capability": new.capability,
    });
    record_event(&mut tx, new.id, details);
    tx.commit().await?;
    get(ctx, new.id).await
}

/// Lists the integrations of a project, in the order of their creation.
pub async fn list(ctx: &ProjectContext) -> Result<Page<Integration>, Error> {
    Ok(Page::new(integrations::list(&ctx.store, ctx.project.id).await?, None))
}

/// Returns an integration of the project, or an error if there is none.
pub async fn get(ctx: &ProjectContext, id: IntegrationId) -> Result<Integration, Error> {
    integrations::find(&ctx.store, ctx.project.id, id).await?.ok_or_else(|| unknown(ctx))
}

/// Changes the interval or the import of comments, or pauses or resumes.
pub async fn update(
    ctx: &ProjectContext,
    id: IntegrationId,
    request: &UpdateIntegration,
) -> Result<Integration, Error> {
    let interval_minutes = request.interval_minutes.map(IntervalMinutes::get);
    let UpdateIntegration { include_comments, is_paused, .. } = *request;
    let update = IntegrationUpdate { interval_minutes, include_comments, is_paused };
    let mut tx = ctx.store.begin().await?;
    if !integrations::update(&mut tx, ctx.project.id, id, &update).await? {
        return Err(unknown(ctx));
    }
    let details = json!({
        "change": "updated", "interval_minutes": interval_minutes,
        "include_comments": include_comments, "is_paused": is_paused,
    });
    record_event(&mut tx, id, details);
    tx.commit().await?;
    get(ctx, id).await
}

/// Enqueues a sync, whatever the interval.
pub async fn request_sync(ctx: &ProjectContext, id: IntegrationId) -> Result<Integration, Error> {
    let integration = get(ctx, id).await?;
    let mut tx = ctx.store.begin().await?;
    if !integrations::request_sync(&mut tx, ctx.project.id, id).await? {
        return Err(Error::IntegrationPaused);
    }
    tx.commit().await?;
    Ok(integration)
}

/// Deletes an integration; with `purge` also its documents and the data of its tasks.
pub async fn delete(ctx: &ProjectContext, id: IntegrationId, purge: bool) -> Result<(), Error> {
    let project = ctx.project.id;
    let mut tx = ctx.store.begin().await?;
    let (tasks, documents) =
        if purge { integrations::purge(&mut tx, project, id).await? } else { (0, 0) };
    let deleted = integrations::delete(&mut tx, project, id).await?;
    let deleted = deleted.ok_or_else(|| unknown(ctx))?;
    let details = json!({
        "change": "deleted", "connector": deleted.connector, "tasks_purged": tasks,
        "documents_purged": documents,
    });
    record_event(&mut tx, id, details);
    Ok(tx.commit().await?)
}

fn record_event(tx: &mut Tx, id: IntegrationId, details: Value) {
    audit::record(tx, NewEvent::new(AuditAction::IntegrationChanged, id).with(details));
}

fn unknown(ctx: &ProjectContext) -> Error {
    Error::UnknownIntegration(ctx.project.key.clone())
}

/// Returns the integration if the project may use the connector, and that has the resource.
async fn validate(
    ctx: &ProjectContext,
    connectors: &ConnectorRegistry,
    request: &CreateIntegration,
) -> Result<NewIntegration, Error> {
    let (name, key) = (request.connector.as_str(), &ctx.project.key);
    if name == PLAIN_GIT {
        check_is_indexed(ctx, request.resource.as_str()).await?;
        return Ok(with_capability(&[Capability::Refs], name, request)?);
    }
    let connector = connectors.find(name, key);
    let connector =
        connector.ok_or_else(|| Error::UnknownConnector(name.to_owned(), key.clone()))?;
    let provider = connector.kind();
    let new = with_capability(Capability::of(provider), provider.as_str(), request)?;
    check_resource(connector, &new)?;
    Ok(new)
}

/// Checks that the project has indexed the repository: `POST /ingest/git` decided whether it may.
async fn check_is_indexed(ctx: &ProjectContext, resource: &str) -> Result<(), Error> {
    let Some((owner, name)) = parse_plain_git(resource) else {
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
