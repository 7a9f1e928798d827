//! `/sgr` and `/projects/{key}/sgr`: reasoning schemas.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mc_contract::ProjectKey;
use mc_contract::operations::page::Page;
use mc_contract::operations::sgr::{
    ProjectSchemaPath, ReasoningSchema, ReasoningStep, SchemaOrigin, SchemaPath, SchemaQuery,
    SchemaSummary, SetSchema,
};
use mc_domain::{Permission, ProjectId};
use mc_memory::sgr::{self as use_cases, FoundSchema};
use mc_sgr::{Step, Template};
use mc_store::Store;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List the reasoning schemas.
///
/// Returns the built-in schemas, and with a project its own, which override those of the same name.
#[utoipa::path(
    get, path = "/sgr", tag = "sgr", params(SchemaQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "By name", body = Page<SchemaSummary>))
)]
pub async fn list_schemas(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<SchemaQuery>,
) -> Result<Json<Page<SchemaSummary>>, Problem> {
    let (store, project) = scope(&api, &caller, query.project_key).await?;
    let found = use_cases::list(&store, project).await?;
    Ok(Json(Page::new(found.iter().map(summary).collect(), None)))
}

/// Get a reasoning schema.
///
/// Returns its steps, with those of the schemas that it extends, and the JSON Schema of an answer.
#[utoipa::path(
    get, path = "/sgr/{schema}", tag = "sgr", params(SchemaPath, SchemaQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The schema", body = ReasoningSchema))
)]
pub async fn get_schema(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(SchemaPath { schema }): PathParams<SchemaPath>,
    QueryString(query): QueryString<SchemaQuery>,
) -> Result<Json<ReasoningSchema>, Problem> {
    let (store, project) = scope(&api, &caller, query.project_key).await?;
    let found = use_cases::get(&store, project, schema.as_str()).await?;
    Ok(Json(representation(found)))
}

/// Set a reasoning schema of a project.
///
/// Creates or replaces it. It overrides the built-in schema of the same name, and may extend any
/// other one. It instructs the models of the team; for maintainers.
#[utoipa::path(
    put, path = "/projects/{key}/sgr/{schema}", tag = "sgr", params(ProjectSchemaPath),
    request_body = SetSchema,
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses(
        (status = 200, description = "Replaced", body = ReasoningSchema),
        (status = 201, description = "Created", body = ReasoningSchema),
    )
)]
pub async fn set_schema(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectSchemaPath { key, schema }): PathParams<ProjectSchemaPath>,
    JsonBody(request): JsonBody<SetSchema>,
) -> Result<Response, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    let file = request.source.as_str();
    let (found, is_new) =
        use_cases::set(&ctx.memory, ctx.project.id, schema.as_str(), file).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(representation(found))).into_response())
}

/// Delete a reasoning schema of a project.
///
/// A built-in schema of the same name is used again. A schema that others extend can't be deleted.
#[utoipa::path(
    delete, path = "/projects/{key}/sgr/{schema}", tag = "sgr", params(ProjectSchemaPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_schema(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectSchemaPath { key, schema }): PathParams<ProjectSchemaPath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    use_cases::delete(&ctx.memory, ctx.project.id, schema.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the store and the project whose schemas are read; without a project the built-in ones.
async fn scope(
    api: &ApiState,
    caller: &Principal,
    key: Option<ProjectKey>,
) -> Result<(Store, Option<ProjectId>), Problem> {
    let Some(key) = key else {
        caller.require(Permission::Read.scope())?;
        return Ok((api.store.clone(), None));
    };
    let ctx = api.authorize(caller, &key, Permission::Read).await?;
    Ok((ctx.store, Some(ctx.project.id)))
}

fn summary(found: &FoundSchema) -> SchemaSummary {
    let FoundSchema { schema, stored } = found;
    let is_own = stored.is_some();
    SchemaSummary {
        schema: schema.name().to_owned(),
        origin: if is_own { SchemaOrigin::Project } else { SchemaOrigin::BuiltIn },
        title: schema.title().map(source),
        description: schema.description().map(source),
        updated_by: stored.as_ref().and_then(|stored| stored.updated_by.clone()),
        updated_at: stored.as_ref().map(|stored| stored.updated_at),
    }
}

fn representation(found: FoundSchema) -> ReasoningSchema {
    ReasoningSchema {
        summary: summary(&found),
        steps: found.schema.steps().iter().map(step).collect(),
        answer_schema: found.schema.answer_schema(),
        source: found.stored.map(|stored| stored.source),
    }
}

fn step(step: &Step) -> ReasoningStep {
    ReasoningStep {
        name: step.name.clone(),
        output: step.output.clone(),
        field_type: step.field_type,
        is_required: step.is_required,
        description: step.description.as_ref().map(source),
        hints: step.hints.iter().map(source).collect(),
        sources: step.sources.iter().map(|source| source.as_str().to_owned()).collect(),
    }
}

fn source(template: &Template) -> String {
    template.source().to_owned()
}
