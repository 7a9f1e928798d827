//! `/prompts/{key}`: the system prompt of a project and its versions.

use axum::Json;
use axum::extract::State;
use mc_contract::number::PromptNumber;
use mc_contract::operations::page::{Page, next_cursor};
use mc_contract::operations::project::ProjectPath;
use mc_contract::operations::prompt::{
    NewPromptItem, PromptArm, PromptItem, PromptVersion, PromptVersionPath, PromptVersionQuery,
    SetPrompt, SystemPrompt,
};
use mc_domain::Permission;
use mc_memory::prompts as use_cases;
use mc_optimizer::{Arm, Item, Prompt, Section};
use mc_store::prompts::{self, VersionFilter};
use serde_json::json;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Get the system prompt.
///
/// Returns the version that the caller gets: while a new one is tried, a tenth of the developers
/// get that.
#[utoipa::path(
    get, path = "/prompts/{key}", tag = "prompts", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The caller's version", body = SystemPrompt))
)]
pub async fn get_prompt(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<SystemPrompt>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let user = ctx.store.principal();
    let served = use_cases::served(&ctx.store, ctx.project.id, user).await?;
    Ok(Json(SystemPrompt {
        project_key: ctx.project.key.to_string(),
        prompt_version: served.version.to_string(),
        arm: served.arm.map(|arm| match arm {
            Arm::Parent => PromptArm::Parent,
            Arm::Canary => PromptArm::Canary,
        }),
        text: served.prompt.render(),
        instructions: items(&served.prompt, Section::Instructions),
        examples: items(&served.prompt, Section::Examples),
        quality: json!(served.quality),
    }))
}

/// Set the system prompt.
///
/// Stores the prompt as a new version, which all developers get. A canary ends. It instructs the
/// models of the team; for maintainers.
#[utoipa::path(
    put, path = "/prompts/{key}", tag = "prompts", params(ProjectPath), request_body = SetPrompt,
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The new version", body = PromptVersion))
)]
pub async fn set_prompt(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    JsonBody(request): JsonBody<SetPrompt>,
) -> Result<Json<PromptVersion>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    let read = |items: Vec<NewPromptItem>| -> Vec<Item> {
        let items = items.into_iter();
        items.map(|NewPromptItem { id, text }| Item { id: id.into(), text: text.into() }).collect()
    };
    let (instructions, examples) = (read(request.instructions), read(request.examples));
    let id = ctx.project.id;
    representation(use_cases::set(&ctx.memory, id, instructions, examples).await?, true).map(Json)
}

/// List the versions of the system prompt.
///
/// Returns a page of the stored versions, newest first, with the figures of canaries. The built-in
/// prompt is stored once another version follows it.
#[utoipa::path(
    get, path = "/prompts/{key}/versions", tag = "prompts",
    params(ProjectPath, PromptVersionQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Newest first", body = Page<PromptVersion>))
)]
pub async fn list_prompt_versions(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<PromptVersionQuery>,
) -> Result<Json<Page<PromptVersion>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let limit = query.limit.unwrap_or_default().get();
    let before = query.cursor.map(PromptNumber::get);
    let filter = VersionFilter { before, limit: Some(limit), ..VersionFilter::default() };
    let found = prompts::list(&ctx.store, ctx.project.id, filter).await?;
    // No version is older than the built-in one.
    let next_cursor = next_cursor(&found, limit, |last| last.version).filter(|last| last != "0");
    let representation = |version| representation(version, ctx.allows(Permission::Curate));
    let versions = found.into_iter().map(representation).collect::<Result<_, _>>()?;
    Ok(Json(Page::new(versions, next_cursor)))
}

/// Get a version of the system prompt.
#[utoipa::path(
    get, path = "/prompts/{key}/versions/{version}", tag = "prompts", params(PromptVersionPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The version", body = PromptVersion))
)]
pub async fn get_prompt_version(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(PromptVersionPath { key, version }): PathParams<PromptVersionPath>,
) -> Result<Json<PromptVersion>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let found = use_cases::find(&ctx.store, ctx.project.id, version.get()).await?;
    representation(found, ctx.allows(Permission::Curate)).map(Json)
}

/// Promote the canary.
///
/// All developers get the version that a tenth of them tries. For maintainers.
#[utoipa::path(
    post, path = "/prompts/{key}/promote", tag = "prompts", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The promoted version", body = PromptVersion))
)]
pub async fn promote_prompt(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<PromptVersion>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    representation(use_cases::promote(&ctx.memory, ctx.project.id).await?, true).map(Json)
}

/// Roll back the system prompt.
///
/// Ends the canary; without one, the version before the present one is used again. Returns the
/// version that was taken back. For maintainers.
#[utoipa::path(
    post, path = "/prompts/{key}/rollback", tag = "prompts", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The version taken back", body = PromptVersion))
)]
pub async fn roll_back_prompt(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<PromptVersion>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Curate).await?;
    representation(use_cases::roll_back(&ctx.memory, ctx.project.id).await?, true).map(Json)
}

/// Returns a version on the wire. The figures of a canary may be those of one developer, so only
/// maintainers see them.
fn representation(
    found: prompts::PromptVersion,
    shows_report: bool,
) -> Result<PromptVersion, Problem> {
    let prompt = use_cases::prompt_of(&found)?;
    Ok(PromptVersion {
        version: found.version,
        parent_version: found.parent_version,
        state: found.state,
        quality: found.quality,
        diff: found.diff,
        instructions: items(&prompt, Section::Instructions),
        examples: items(&prompt, Section::Examples),
        report: found.report.filter(|_| shows_report),
        created_by: found.created_by,
        created_at: found.created_at,
        decided_by: found.decided_by,
        decided_at: found.decided_at,
        git_commit: found.git_commit,
    })
}

fn items(prompt: &Prompt, section: Section) -> Vec<PromptItem> {
    let items = prompt.items(section).iter().cloned();
    items.map(|Item { id, text }| PromptItem { id, text }).collect()
}
