//! The registry of patches: requests of users.

use mc_accounts::Principal;
use mc_contract::operations::page::{Page, page};
use mc_contract::operations::patch::{Patch, PatchListItem, PatchQuery, PatchUsage};
use mc_domain::{PatchId, PatchState, Permission, WorkspaceId};
use mc_memory::ProjectContext;
use mc_store::patches::{self, Patch as StoredPatch, PatchFilter, PatchItem as StoredItem};

use crate::Error;

/// Returns a patch of the caller, or one that the caller sees as a maintainer.
pub async fn get(ctx: &ProjectContext, id: PatchId) -> Result<Patch, Error> {
    Ok(patch(stored(ctx, id).await?))
}

/// Returns why a patch is not one that could still be applied.
pub(crate) async fn ended(ctx: &ProjectContext, id: PatchId) -> Result<Error, Error> {
    Ok(Error::Ended(stored(ctx, id).await?.state))
}

/// Lists the patches of the caller, or all of the project, newest first.
pub async fn list(
    ctx: &ProjectContext,
    principal: &Principal,
    query: &PatchQuery,
) -> Result<Page<PatchListItem>, Error> {
    let all = query.all.unwrap_or_default();
    if all && !ctx.allows(Permission::Curate) {
        return Err(Error::PatchesOfOthers(ctx.project.policy.min_role(Permission::Curate)));
    }
    let filter = PatchFilter {
        author: (!all).then_some(principal.user),
        workspace: query.workspace_id,
        state: query.state,
        cursor: query.cursor,
    };
    let limit = query.limit.unwrap_or_default().get();
    let found = patches::list(&ctx.store, ctx.project.id, filter, limit).await?;
    let items = found.into_iter().map(item).collect();
    Ok(page(items, limit, |last: &PatchListItem| last.patch_id))
}

/// Discards a patch that changed no file.
pub async fn discard(ctx: &ProjectContext, id: PatchId) -> Result<Patch, Error> {
    let mut tx = ctx.store.begin().await?;
    let is_discarded = patches::discard(&mut tx, id).await?;
    tx.commit().await?;
    let patch = get(ctx, id).await?;
    if is_discarded { Ok(patch) } else { Err(Error::Ended(patch.state)) }
}

async fn stored(ctx: &ProjectContext, id: PatchId) -> Result<StoredPatch, Error> {
    patches::find(&ctx.store, id).await?.ok_or(Error::UnknownPatch(id))
}

/// Returns a patch of a workspace that changed no file.
pub(crate) async fn of_workspace(
    ctx: &ProjectContext,
    workspace: WorkspaceId,
    id: PatchId,
) -> Result<StoredPatch, Error> {
    let patch = stored(ctx, id).await?;
    if patch.workspace != Some(workspace) {
        return Err(Error::UnknownPatch(id));
    }
    if patch.state != PatchState::Generated {
        return Err(Error::Ended(patch.state));
    }
    Ok(patch)
}

fn item(stored: StoredItem) -> PatchListItem {
    PatchListItem {
        patch_id: stored.id,
        workspace_id: stored.workspace,
        state: stored.state,
        requires_manual_review: stored.requires_manual_review,
        has_dry_run: stored.has_dry_run,
        author: stored.author_login,
        instructions: stored.instructions,
        summary: stored.summary,
        files: serde_json::from_value(stored.files).unwrap_or_default(),
        task_external_id: some(stored.task_external_id),
        created_at: stored.created_at,
        expires_at: stored.expires_at,
    }
}

fn patch(stored: StoredPatch) -> Patch {
    Patch {
        patch_id: stored.id,
        workspace_id: stored.workspace,
        state: stored.state,
        requires_manual_review: stored.requires_manual_review,
        has_dry_run: stored.has_dry_run,
        author: stored.author_login,
        instructions: stored.instructions,
        summary: stored.summary,
        diff: stored.diff,
        grade: stored.grade,
        annotations: serde_json::from_value(stored.annotations).unwrap_or_default(),
        usage: PatchUsage {
            prompt_tokens: stored.prompt_tokens.cast_unsigned(),
            completion_tokens: stored.completion_tokens.cast_unsigned(),
        },
        model: stored.model,
        base_commit: stored.base_commit,
        bundle_id: stored.bundle,
        task_external_id: some(stored.task_external_id),
        review: stored.review.and_then(|review| serde_json::from_value(review).ok()),
        created_at: stored.created_at,
        expires_at: stored.expires_at,
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
